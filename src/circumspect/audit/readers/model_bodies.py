"""What is sent to a model and what comes back, whosever model it is: OpenAI chat and Responses, Anthropic Messages,
Gemini `generateContent`, Bedrock Converse. Out come messages and tools as their writers wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from circumspect.audit.message_formats import steps
from circumspect.audit.readers.logged_bodies import WirePieces, find_pieces, unwrap_text
from circumspect.audit.readers.streamed_bodies import BROKEN_OFF, JoinedStream, find_error, join_stream
from circumspect.audit.readers.talk_pieces import find_text, open_json
from circumspect.audit.transcript_steps import TranscriptCall, TranscriptGap, Unknown


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    messages: list[Any]
    tools: Any = None
    after: str = ""
    """The response that it goes on from: the messages before are not in it."""


def read_request(body: Any) -> LoggedRequest | None:
    """The messages and tools of a request; None when it is none."""
    body = open_json(body)
    if isinstance(body, list):
        return LoggedRequest(body) if _are_messages(body) else None
    if not isinstance(body, Mapping):
        return None
    if isinstance(contents := body.get("contents"), list):
        system = body.get("systemInstruction") or body.get("system_instruction")
        return LoggedRequest([*_system(system), *contents], find_tools(body))
    if isinstance(messages := body.get("messages"), list):
        if len(messages) == 1 and isinstance(messages[0], list):
            messages = messages[0]  # LangChain asks a batch of one
        return LoggedRequest([*_system(body.get("system")), *messages], find_tools(body))
    given = body.get("input")
    if isinstance(given, str) or (isinstance(given, list) and _are_messages(given)):
        said: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else given
        after = body.get("previous_response_id")
        return LoggedRequest(
            [*_system(body.get("instructions")), *said], find_tools(body), after if isinstance(after, str) else ""
        )
    return None


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    messages: list[Any]
    """What the model said."""
    unread: str = ""
    """Why that is nothing, or may not be all."""


def report_answer(answer: LoggedAnswer | None) -> tuple[bool, str]:
    """What a piece of a conversation says of the answer in it: whether it gave something, and what is the matter."""
    return (bool(answer.messages), answer.unread) if answer else (False, "")


def read_logged_answer(body: Any) -> LoggedAnswer | None:
    """What a model answered, as it was logged; None where nothing was. Whatever was there and gives neither words nor
    calls says why, so that nobody takes it for a model that did nothing."""
    body = unwrap_text(body)
    if body is None or body == "" or body == {} or body == []:
        return None
    joined = _join(body)
    if is_cut_off(body):
        return LoggedAnswer([], CUT_OFF)
    messages, problem = (joined.messages, joined.problem) if joined else (_find_messages(body), "")
    if messages is None and isinstance(body, str) and _are_words(body):
        return LoggedAnswer([{"role": "assistant", "content": body}])
    if messages is None:
        return LoggedAnswer([], _say_why_unread(body))
    silent = _find_silence(messages)
    if silent is None:
        return LoggedAnswer(messages, problem)
    return LoggedAnswer([], problem or _find_error(body) or silent)


def check_answer(messages: Sequence[Any]) -> LoggedAnswer | None:
    """The same for messages that were found where a writer puts an answer; None where there are none."""
    if not messages:
        return None
    silent = _find_silence(messages)
    return LoggedAnswer(list(messages) if silent is None else [], silent or "")


def read_answer(body: Any) -> list[Any] | None:
    """What the model said, as messages; None when it is no answer."""
    body = unwrap_text(body)
    joined = _join(body)
    return joined.messages if joined else _find_messages(body)


def _join(body: Any) -> JoinedStream | None:
    if isinstance(body, Mapping):
        inner = next((body[key] for key in _STREAMS if isinstance(body.get(key), list | str)), None)
        # A whole answer of Gemini's looks like a piece of a streamed one.
        found = find_pieces(inner) if inner else WirePieces([body] if "candidates" not in body else [])
    else:
        found = find_pieces(body)
    joined = join_stream(found.pieces, ended=found.ended) if found and found.pieces else None
    if joined is None and isinstance(body, str) and found and found.pieces:
        error = next(filter(None, (find_error(one) for one in found.pieces if isinstance(one, Mapping))), "")
        whole = None if error or len(found.pieces) > 1 else _find_messages(found.pieces[0])
        return JoinedStream(whole or [], error or ("" if whole else "the response is a stream of an unknown kind"))
    if joined and found and found.broken and not joined.problem:
        return JoinedStream(joined.messages, BROKEN_OFF)
    return joined


_STREAMS = ("chunks", "events", "stream")


def _find_messages(body: Any) -> list[Any] | None:
    if isinstance(body, list):
        choice = body[0] if body and isinstance(body[0], Mapping) else {}
        if isinstance(choice.get("message"), Mapping):  # of an answer, without what is around them
            return [choice["message"]]
        return body if _are_messages(body) else None
    if not isinstance(body, Mapping):
        return None
    for key, inner in (("choices", "message"), ("candidates", "content"), ("generations", "message")):
        if isinstance(found := body.get(key), list) and found:
            return _find_choices(found, inner)
    output = body.get("output")
    if isinstance(output, list) and (_are_messages(output) or (body.get("object") == "response" and output)):
        return output
    if isinstance(output, Mapping) and isinstance(output.get("message"), Mapping):
        return [output["message"]]
    if isinstance(body.get("message"), Mapping):
        return [body["message"]]
    if _is_message(body):
        return [body]
    if isinstance(messages := body.get("messages"), list):
        return messages
    return None


def _find_choices(found: list[Any], inner: str) -> list[Any] | None:
    """The first of them, and of the others those that call something: nothing that was proposed is passed over."""
    made: list[Any] = []
    for one in found:
        one = one[0] if isinstance(one, list) and one else one
        message = one.get(inner) if isinstance(one, Mapping) else None
        if isinstance(message, Mapping) and (not made or _count_calls(message)):
            made.append(message)
        elif isinstance(one, Mapping) and not made and isinstance(text := one.get("text"), str):
            made.append({"role": "assistant", "content": text})
    return made or None


def _count_calls(message: Any) -> int:
    try:
        return sum(isinstance(step, TranscriptCall) for step in steps(message))
    except Unknown:
        return 0


def _find_silence(messages: Sequence[Any]) -> str | None:
    """Why messages say nothing and call nothing; None where they do."""
    why = "the response holds neither words nor calls"
    for message in messages:
        try:
            found = steps(message)
        except Unknown as problem:
            why = str(problem)
            continue
        for step in found:
            if not isinstance(step, TranscriptGap):
                return None
            why = f"unknown kind of content: {step.kind!r}"
    return why


CUT_OFF = "the response was left out when it was logged, because it was too long"
_CUT = re.compile(r"\s{0,8}[<\[(](?:\.{3}|…)? ?truncated\b[^<>\[\]()]{0,200}[>\])]\s{0,8}", re.IGNORECASE)


def is_cut_off(body: Any) -> bool:
    """What a logger writes in place of a text that was too long for it: `<truncated due to size exceeding limit>`."""
    return isinstance(body, str) and _CUT.fullmatch(body) is not None


_PACKED = re.compile(r"[\w+/=-]{40,}|.*[\x00-\x08\ufffd]", re.DOTALL)
_PAGE = re.compile(r"<(?:!doctype|html|\?xml)", re.IGNORECASE)


def _are_words(text: str) -> bool:
    """What a model said, and no JSON, page or packed body."""
    text = text.strip()
    return text[:1] not in ("{", "[") and not _PACKED.fullmatch(text) and not _PAGE.match(text)


def _find_error(body: Any) -> str:
    return find_error(body) if isinstance(body, Mapping) else ""


def _say_why_unread(body: Any) -> str:
    if error := _find_error(body):
        return error
    if isinstance(body, str):
        start = body.lstrip()[:1]
        if start in ("{", "["):
            return "the response is JSON that breaks off or is damaged"
        return f"the response is a text of no known format: {body.strip()[:40]!r}"
    if isinstance(body, Mapping):
        return f"the response is of no known format (members: {', '.join(str(key)[:40] for key in list(body)[:8])})"
    return f"the response is a {type(body).__name__} of no known format"


def find_tools(body: Mapping[str, Any]) -> Any:
    """The tool definitions of a request, those of Gemini and Bedrock out of their wrappings; None without any."""
    found = open_json(body.get("tools"))
    if isinstance(config := body.get("toolConfig"), Mapping):
        found = config.get("tools")
    if not isinstance(found, list) or not found:
        return None
    tools: list[Any] = []
    for one in found:
        if not isinstance(one, Mapping):
            continue
        declared = one.get("functionDeclarations") or one.get("function_declarations")
        if isinstance(declared, list):
            tools += [lower_types(tool) for tool in declared]
        elif isinstance(spec := one.get("toolSpec"), Mapping):
            schema = spec.get("inputSchema")
            tools.append({**spec, "inputSchema": schema.get("json") if isinstance(schema, Mapping) else None})
        else:
            tools.append(one)
    return tools


def lower_types(value: Any, depth: int = 0) -> Any:
    """Gemini writes the types of a schema in capitals."""
    if isinstance(value, list):
        return [lower_types(one, depth + 1) for one in value] if depth < 50 else []
    if not isinstance(value, Mapping):
        return value
    if depth >= 50:
        return {}
    return {
        key: one.lower() if key == "type" and isinstance(one, str) else lower_types(one, depth + 1)
        for key, one in value.items()
    }


def _system(said: Any) -> list[Any]:
    if isinstance(said, str):
        return [{"role": "system", "content": said}] if said else []
    parts = said.get("parts") if isinstance(said, Mapping) else said
    if not isinstance(parts, list):
        return []
    text = "\n".join(one["text"] for one in parts if isinstance(one, Mapping) and isinstance(one.get("text"), str))
    return [{"role": "system", "content": text}] if text else []


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and _is_message(value[0])


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and (
        (isinstance(value.get("role"), str) and any(key in value for key in ("content", "parts", "tool_calls")))
        or find_text(value, "type") in ("message", "function_call", "function_call_output", "reasoning", "constructor")
        or (value.get("type") in ("human", "ai", "system", "tool") and ("content" in value or "data" in value))
    )
