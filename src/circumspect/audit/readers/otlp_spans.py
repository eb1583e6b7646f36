"""OTLP JSON as collectors write it: spans of generative AI, their events, and log records that stand for events.

Messages are found where instrumentations put them: `gen_ai.input.messages` and `gen_ai.output.messages` (attributes of
the span, of one of its events or of a log record), the older one event a message (`gen_ai.user.message`,
`gen_ai.choice`), OpenLLMetry's and OpenInference's numbered attributes (`gen_ai.prompt.0.content`,
`llm.input_messages.0.message.content`), and the Vercel AI SDK's (`ai.prompt.messages`). A span that ran a tool is a
call with its result. Spans are also read as OpenTelemetry's own SDKs print them, as Phoenix gives them out (by its API,
or as a table with a column for each attribute) and as Jaeger does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from circumspect.audit.readers.model_bodies import check_answer, read_logged_answer, report_answer
from circumspect.audit.readers.talk_pieces import (
    PieceKind,
    RecordFormat,
    TalkPiece,
    find_mapping,
    find_text,
    open_json,
    write_call,
)

_CONVERSATION = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "ai.telemetry.metadata.sessionId")
_TOOLS = ("gen_ai.tool.definitions", "gen_ai.request.tools", "llm.tools", "ai.prompt.tools")
_IN = ("gen_ai.input.messages", "ai.prompt.messages")
_ROLE_OF_EVENT = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_TIMES = ("startTimeUnixNano", "start_time_unix_nano", "timeUnixNano", "observedTimeUnixNano", "start_time")
_MOST = 2_000
"""Numbered attributes that are looked at in a span."""


def recognises(record: Mapping[str, Any]) -> bool:
    return any(isinstance(record.get(key), list) for key in _RESOURCES) or _is_scope(record) or _is_span(record)


_RESOURCES = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs")
_LEAVES = ("spans", "logRecords", "log_records")


def _is_scope(record: Mapping[str, Any]) -> bool:
    return any(isinstance(record.get(key), list) for key in _SCOPES)


def _is_span(record: Mapping[str, Any]) -> bool:
    """A span or log record by itself, as some exporters write one a line."""
    if _COLUMN in record:
        return True
    named = "traceId" in record or "trace_id" in record or "trace_id" in find_mapping(record, "context")
    return _is_jaegers(record) or (named and isinstance(record.get("attributes"), list | Mapping))


_COLUMN = "context.trace_id"
"""Of a table of spans, in which attributes are columns."""


def _is_jaegers(record: Mapping[str, Any]) -> bool:
    return "traceID" in record and isinstance(record.get("spans"), list)


def read(record: Mapping[str, Any]) -> Iterator[TalkPiece]:
    for span in _find_leaves(record):
        yield from _read_span(span)


def _find_leaves(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if _is_jaegers(record):
        for span in _find_all(record, "spans"):
            logs = [{"attributes": one.get("fields")} for one in _find_all(span, "logs")]
            at = find_text(span, "startTime")
            yield {
                "traceId": record["traceID"],
                "startTimeUnixNano": at,
                "attributes": span.get("tags"),
                "events": logs,
            }
        return
    if _COLUMN in record:
        start = "attributes."
        columns = {key.removeprefix(start): value for key, value in record.items() if key.startswith(start)}
        yield {"trace_id": record[_COLUMN], "start_time": record.get("start_time"), "attributes": columns}
        return
    if _is_span(record):
        yield record
        return
    resources = [one for key in _RESOURCES for one in _find_all(record, key)] or [record]
    for resource in resources:
        for scope in (one for key in _SCOPES for one in _find_all(resource, key)):
            for key in _LEAVES:
                yield from _find_all(scope, key)


def _find_all(record: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    found = record.get(key)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else ()


def _read_span(span: Mapping[str, Any]) -> Iterator[TalkPiece]:
    own = _read_attributes(span.get("attributes"))
    trace = find_text(span, "traceId", "trace_id") or find_text(find_mapping(span, "context"), "trace_id")
    thread = find_text(own, *_CONVERSATION) or trace
    at = find_text(span, *_TIMES)
    name = find_text(own, "gen_ai.tool.name", "tool.name", "ai.toolCall.name")
    if "ai.prompt" in own and "ai.prompt.messages" not in own:
        return  # the Vercel AI SDK's span around all steps: each of them has its own
    if name and (any(own.get(key) in _TOOL_RUNS for key in _SPAN_KINDS) or _GIVEN_TO_TOOLS & own.keys()):
        yield TalkPiece(_read_tool(name, own), None, thread, "step", at)
        return
    events = [
        (find_text(one, "name", "eventName") or find_text(attributes, "event.name", "event"), attributes, one)
        for one in (span, *_find_all(span, "events"))
        for attributes in (_read_attributes(one.get("attributes")),)
    ]
    asked = _read_asked(own, events)
    answer = check_answer(_read_answered(own, events)) or next(
        filter(None, map(read_logged_answer, _find_raw(own))), None
    )
    answered = answer.messages if answer else []
    if asked or answer:
        kind: PieceKind = "whole" if asked else "next"
        yield TalkPiece([*asked, *answered], _read_tools(own), thread, kind, at, "", "", "", *report_answer(answer))


def _find_raw(own: Mapping[str, Any]) -> Iterator[Any]:
    """An answer that an instrumentation kept as it came."""
    yield from (own.get(key) for key in ("gen_ai.output.messages", "gen_ai.completion"))
    if own.get("openinference.span.kind") == "LLM":
        yield own.get("output.value")


_SPAN_KINDS = ("gen_ai.operation.name", "openinference.span.kind")
_TOOL_RUNS = ("execute_tool", "TOOL")
_GIVEN_TO_TOOLS = {"gen_ai.tool.call.arguments", "tool_arguments", "ai.toolCall.args"}
_Event = tuple[str, Mapping[str, Any], Mapping[str, Any]]


def _read_tool(name: str, own: Mapping[str, Any]) -> list[Any]:
    given = next((own[key] for key in (*_GIVEN_TO_TOOLS, "input.value") if key in own), None)
    found = ("gen_ai.tool.call.result", "tool_response", "ai.toolCall.result", "output.value")
    result = next((own[key] for key in found if key in own), None)
    key = find_text(own, "gen_ai.tool.call.id", "ai.toolCall.id")
    return write_call(name, open_json(given), key, result, failed=bool(own.get("error.type")))


def _read_asked(own: Mapping[str, Any], events: Sequence[_Event]) -> list[Any]:
    for attributes in (own, *(one for _, one, _ in events)):
        for key in _IN:
            if isinstance(found := open_json(attributes.get(key)), list):
                return [*_read_instructions(attributes), *found]
    said = [message for name, one, event in events if (message := _read_event(name, one, event))]
    return said or _read_numbered(own, "gen_ai.prompt.") or _read_numbered(own, "llm.input_messages.")


def _read_answered(own: Mapping[str, Any], events: Sequence[_Event]) -> list[Any]:
    for attributes in (own, *(one for _, one, _ in events)):
        if isinstance(found := open_json(attributes.get("gen_ai.output.messages")), list):
            return found
    for name, attributes, event in events:
        if name == "gen_ai.choice":
            body = _read_body(attributes, event)
            message = find_mapping(body, "message") or body
            return [{"role": "assistant", **message, "tool_calls": open_json(message.get("tool_calls"))}]
    if "ai.response.text" in own or "ai.response.toolCalls" in own:
        found = open_json(own.get("ai.response.toolCalls"))
        calls = found if isinstance(found, list) else ()
        blocks = [{"type": "tool-call", **one} for one in calls if isinstance(one, Mapping)]
        text = own.get("ai.response.text")
        return [{"role": "assistant", "content": [*([text] if isinstance(text, str) and text else []), *blocks]}]
    return _read_numbered(own, "gen_ai.completion.") or _read_numbered(own, "llm.output_messages.")


def _read_instructions(attributes: Mapping[str, Any]) -> list[Any]:
    found = open_json(attributes.get("gen_ai.system_instructions"))
    if isinstance(found, list) and found:
        return [{"role": "system", "parts": found}]
    return [{"role": "system", "content": found}] if isinstance(found, str) and found else []


def _read_event(name: str, attributes: Mapping[str, Any], event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    role = _ROLE_OF_EVENT.get(name)
    if role is None:
        return None
    body = _read_body(attributes, event)
    message = {"role": role, **body}
    message["tool_calls"] = open_json(message.get("tool_calls"))
    if role == "tool":
        message["tool_call_id"] = body.get("id") or body.get("tool_call_id")
    return message


def _read_body(attributes: Mapping[str, Any], event: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an event says: a log record has a body, a span's event has attributes."""
    found = open_json(_read_value(event.get("body")))
    return found if isinstance(found, Mapping) else attributes


def _read_numbered(own: Mapping[str, Any], start: str) -> list[Any]:
    """`gen_ai.prompt.0.tool_calls.0.name` and the like, as messages again; a table has them as a list."""
    if isinstance(listed := open_json(own.get(start.removesuffix("."))), list):
        return [_read_numbered_message(_unflatten(one, "")) for one in listed if isinstance(one, Mapping)]
    return [_read_numbered_message(one) for one in _in_order(_unflatten(own, start))]


def _unflatten(own: Mapping[str, Any], start: str) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key in [key for key in own if key.startswith(start)][:_MOST]:
        place = tree
        *path, last = key.removeprefix(start).split(".")[:8]
        for step in path:
            inner = place.setdefault(step, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            place[last] = own[key]
    return tree


def _read_numbered_message(one: Mapping[str, Any]) -> dict[str, Any]:
    message = find_mapping(one, "message") or one
    calls = []
    listed = message.get("tool_calls")
    if isinstance(listed, list):  # in a table
        proposed: list[Mapping[str, Any]] = [_unflatten(one, "") for one in listed if isinstance(one, Mapping)]
    else:
        proposed = _in_order(find_mapping(message, "tool_calls"))
    for call in proposed:
        call = find_mapping(call, "tool_call") or call
        function = find_mapping(call, "function") or call
        calls.append({"id": call.get("id"), "function": {key: function.get(key) for key in ("name", "arguments")}})
    found: dict[str, Any] = {"role": message.get("role", "assistant"), "content": message.get("content")}
    if calls:
        found["tool_calls"] = calls
    if "tool_call_id" in message:
        found["tool_call_id"] = message["tool_call_id"]
    return found


def _in_order(tree: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    numbered = sorted((int(key), one) for key, one in tree.items() if key.isdigit() and isinstance(one, Mapping))
    return [one for _, one in numbered]


def _read_tools(own: Mapping[str, Any]) -> Any:
    for key in _TOOLS:
        found = open_json(own.get(key))
        if isinstance(found, list) and found:
            return [open_json(one) for one in found]
    numbered = _unflatten(own, "llm.tools.")
    return [open_json(find_mapping(one, "tool").get("json_schema")) for one in _in_order(numbered)] or None


def _read_attributes(found: Any) -> Mapping[str, Any]:
    if isinstance(found, Mapping):
        return found
    if not isinstance(found, list):
        return {}
    return {
        one["key"]: _read_value(one.get("value"))
        for one in found
        if isinstance(one, Mapping) and isinstance(one.get("key"), str)
    }


def _read_value(value: Any, depth: int = 0) -> Any:
    """OTLP says of every value what it is: `{"stringValue": "x"}`, `{"kvlistValue": {"values": […]}}`."""
    if not isinstance(value, Mapping) or depth > 50:
        return value
    for kind in ("stringValue", "boolValue", "doubleValue"):
        if kind in value:
            return value[kind]
    if "intValue" in value:
        try:
            return int(value["intValue"])
        except (TypeError, ValueError):
            return None
    if isinstance(array := value.get("arrayValue"), Mapping):
        return [_read_value(one, depth + 1) for one in _find_list(array, "values")]
    if isinstance(pairs := value.get("kvlistValue"), Mapping):
        return {
            one["key"]: _read_value(one.get("value"), depth + 1)
            for one in _find_list(pairs, "values")
            if isinstance(one, Mapping) and isinstance(one.get("key"), str)
        }
    return value


def _find_list(value: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else ()


OTLP = RecordFormat("otlp", recognises, read)
