"""Logs of requests to a model with what it answered, one a record, as proxies, gateways and SDK hooks write them.

Each request repeats the conversation so far, or names the response that it goes on from. Requests that open with the
same words are looked at together, since most logs name no conversation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from circumspect.audit.readers.model_bodies import LoggedRequest, find_tools, read_answer, read_request
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


def recognises(record: Mapping[str, Any]) -> bool:
    request, answer = _find_bodies(record)
    if request is None:
        return answer is not None and _is_response(record)
    return answer is not None or not record.keys().isdisjoint(_ASKED)


def _is_response(record: Mapping[str, Any]) -> bool:
    """An answer that was stored without its request, and says itself what it is."""
    return record.get("object") in ("response", "chat.completion") or (
        record.get("type") == "message" and "stop_reason" in record
    )


def _find_bodies(record: Mapping[str, Any]) -> tuple[LoggedRequest | None, Any]:
    """What was asked and the body of what came back."""
    for asked, answered in _PAIRS:
        request = read_request(_find_body(record[asked])) if asked in record else None
        body = _find_body(record.get(answered))
        if request is not None and (asked != "input" or read_answer(body) is not None):
            return request, body if read_answer(body) is not None else None
    request = read_request({key: value for key, value in record.items() if key != "output"})
    for key in ("response", "completion", "output"):
        body = _find_body(record.get(key))
        if read_answer(body) is not None:
            return request, record if key == "output" and isinstance(body, list) else body
    return request, record if read_answer({**record, "messages": None}) is not None else None


_WRAPPINGS = ("body", "inputBodyJson", "outputBodyJson", "json")


def _find_body(value: Any) -> Any:
    """The body itself, out of what HTTP loggers and Bedrock's invocation log put around it."""
    value = open_json(value)
    for _ in range(2):
        if isinstance(value, Mapping):
            inner = next((value[key] for key in _WRAPPINGS if key in value), None)
            value = value if inner is None else open_json(inner)
    return value


def read(record: Mapping[str, Any]) -> Iterator[TalkPiece]:
    request, body = _find_bodies(record)
    answer = read_answer(body) or []
    response: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
    after = request.after if request else find_text(response, "previous_response_id")
    messages = [*(request.messages if request else ()), *answer]
    if not messages:
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
