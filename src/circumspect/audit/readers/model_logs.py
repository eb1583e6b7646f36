"""Logs of requests to a model with what it answered, one a record, as proxies, gateways and SDK hooks write them.

Each request repeats the conversation so far, or names the response that it goes on from. Requests that open with the
same words are looked at together, since most logs name no conversation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from circumspect.audit.readers.logged_bodies import unwrap_text
from circumspect.audit.readers.model_bodies import (
    LoggedAnswer,
    LoggedRequest,
    find_tools,
    read_answer,
    read_logged_answer,
    read_request,
    report_answer,
)
from circumspect.audit.readers.talk_pieces import RecordFormat, TalkPiece, find_mapping, find_text, open_json

_PAIRS = (
    ("request", "response"),
    ("request_body", "response_body"),
    ("requestBody", "responseBody"),
    ("req", "res"),
    ("input", "output"),
    ("kwargs", "response"),
    ("body", "response"),
)
_ASKED = frozenset(("contents", "toolConfig", "system", *(asked for asked, _ in _PAIRS if asked != "input")))
"""What a request that was logged without an answer has."""
_NAMES = ("conversation_id", "conversationId", "session_id", "sessionId", "thread_id", "threadId", "trace_id")
_TIMES = ("timestamp", "created_at", "time", "startTime", "start_time", "created")


_ANSWERS = ("response", "completion", "output", "response_body", "responseBody", "res")


@dataclass(frozen=True, slots=True)
class _Exchange:
    request: LoggedRequest | None
    body: Any
    """Of what came back; None where nothing was written down."""
    status: int = 0

    @property
    def answer(self) -> LoggedAnswer | None:
        answer = read_logged_answer(self.body)
        if self.status >= 400 and (answer is None or not answer.unread.startswith("the response is an error")):
            return LoggedAnswer([], f"the response is an error: status {self.status}")
        return answer


def recognises(record: Mapping[str, Any]) -> bool:
    if isinstance(record.get("proposal"), Mapping):
        return False
    found = _find_exchange(record)
    if found.request is None:
        return found.body is not None and _is_response(record)
    return found.body is not None or not record.keys().isdisjoint(_ASKED)


def _is_response(record: Mapping[str, Any]) -> bool:
    """An answer that was stored without its request, and says itself what it is."""
    return record.get("object") in ("response", "chat.completion") or (
        record.get("type") == "message" and "stop_reason" in record
    )


def _find_exchange(record: Mapping[str, Any]) -> _Exchange:
    """What was asked and the body of what came back."""
    for asked, answered in _PAIRS:
        request = read_request(_find_body(record[asked])) if asked in record else None
        if request is None or (asked == "input" and read_answer(_find_body(record.get(answered))) is None):
            continue
        names = (answered, *(one for one in _ANSWERS if one not in (answered, "output")))
        if (name := next((one for one in names if _is_there(record.get(one))), None)) is not None:
            return _Exchange(request, _find_body(record[name]), _find_status(record, record[name]))
        return _Exchange(request, None, _find_status(record, None))
    request = read_request({key: value for key, value in record.items() if key != "output"})
    for key in _ANSWERS:
        if not _is_there(record.get(key)):
            continue
        body = _find_body(record[key])
        if key == "output" and isinstance(body, list) and record.get("object") == "response":
            return _Exchange(request, record)
        if key == "output" and read_answer(body) is None:
            continue  # any program has an output
        return _Exchange(
            request, record if key == "output" and isinstance(body, list) else body, _find_status(record, record[key])
        )
    return _Exchange(request, record if read_answer({**record, "messages": None}) is not None else None)


def _is_there(value: Any) -> bool:
    return value is not None and value != "" and value != {} and value != []


def _find_status(record: Mapping[str, Any], answered: Any) -> int:
    for place in (open_json(answered), record):
        if isinstance(place, Mapping):
            for key in ("status_code", "statusCode", "status"):
                if type(status := place.get(key)) is int:
                    return status
    return 0


_WRAPPINGS = ("body", "inputBodyJson", "outputBodyJson", "json")
_LOOSE_WRAPPINGS = ("data", "text", "raw", "content", "payload", "value")
"""Members that hold a body where nothing else can be read."""


def _find_body(value: Any) -> Any:
    """The body itself, out of what HTTP loggers and Bedrock's invocation log put around it."""
    value = unwrap_text(value)
    for _ in range(2):
        if isinstance(value, Mapping):
            inner = next((value[key] for key in _WRAPPINGS if key in value), None)
            if inner is None and read_answer(value) is None and read_request(value) is None:
                inner = next((value[key] for key in _LOOSE_WRAPPINGS if isinstance(value.get(key), str | list)), None)
            value = value if inner is None else unwrap_text(inner)
    return value


def read(record: Mapping[str, Any]) -> Iterator[TalkPiece]:
    found = _find_exchange(record)
    request, body, answer = found.request, found.body, found.answer
    response: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
    after = request.after if request else find_text(response, "previous_response_id")
    messages = [*(request.messages if request else ()), *(answer.messages if answer else ())]
    if not messages and answer is None:
        return
    named = find_conversation(record)
    opening = next((one for one in messages if not (isinstance(one, Mapping) and one.get("role") == "system")), None)
    yield TalkPiece(
        messages,
        (request.tools if request else None) or find_tools(response),
        named or f"opening {_digest(opening)}",
        "next" if after else "whole",
        find_text(record, *_TIMES) or find_text(response, *_TIMES),
        find_text(response, "id"),
        after,
        named or find_text(record, "id", "request_id", "requestId") or find_text(response, "id"),
        *report_answer(answer),
    )


def find_conversation(record: Mapping[str, Any]) -> str:
    """The conversation that a record says it belongs to."""
    for place in (record, find_mapping(record, "metadata"), find_mapping(record, "request", "body", "input")):
        if found := find_text(place, *_NAMES) or find_text(find_mapping(place, "metadata"), *_NAMES):
            return found
        conversation = place.get("conversation")
        if isinstance(conversation, Mapping) and isinstance(conversation.get("id"), str):
            return str(conversation["id"])
        if isinstance(conversation, str) and conversation:
            return conversation
    return ""


def _digest(value: Any) -> str:
    return hashlib.blake2b(orjson.dumps(value, default=str), digest_size=8).hexdigest()


REQUESTS = RecordFormat("requests", recognises, read)
