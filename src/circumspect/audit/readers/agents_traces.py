"""Traces of the OpenAI Agents SDK, as its exporters write them: spans of generations and of functions.

Spans of the Responses API hold no words, only the response's id; what is left are the calls as they ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.audit.readers.model_bodies import read_logged_answer, read_request, report_answer
from circumspect.audit.readers.talk_pieces import (
    PieceKind,
    RecordFormat,
    TalkPiece,
    find_mapping,
    find_text,
    open_json,
    write_call,
)


def recognises(record: Mapping[str, Any]) -> bool:
    return record.get("object") in ("trace", "trace.span")


def read(record: Mapping[str, Any]) -> Iterator[TalkPiece]:
    data = find_mapping(record, "span_data")
    thread, at = find_text(record, "group_id", "trace_id", "id"), find_text(record, "started_at")
    trace = f"trace {find_text(record, 'trace_id', 'id')}"
    if record["object"] == "trace":
        # Its spans name the trace only; the trace names the group, such as a chat, that it belongs to.
        yield TalkPiece([], None, thread, "next", key=trace)
    match data.get("type"):
        case "generation":
            request, answer = read_request(data.get("input")), read_logged_answer(data.get("output"))
            if request is not None or answer:
                messages = [*(request.messages if request else ()), *(answer.messages if answer else ())]
                kind: PieceKind = "whole" if request else "next"
                yield TalkPiece(messages, None, thread, kind, at, "", trace, "", *report_answer(answer))
        case "function":
            messages = write_call(
                data.get("name"), open_json(data.get("input")), "", data.get("output"), failed=bool(record.get("error"))
            )
            yield TalkPiece(messages, None, thread, "step", at, after=trace)


AGENTS = RecordFormat("agents", recognises, read)
