"""Langfuse traces and observations, from its API, its exports or a download; input and output may be JSON as text.

A generation holds what the model was sent and what it answered; a tool observation is a call as it ran. A trace's own
input and output count only where it comes without observations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.audit.readers.model_bodies import (
    CUT_OFF,
    is_cut_off,
    read_answer,
    read_logged_answer,
    read_request,
    report_answer,
)
from circumspect.audit.readers.talk_pieces import (
    PieceKind,
    RecordFormat,
    TalkPiece,
    find_mapping,
    find_text,
    open_json,
    write_call,
)

_KINDS = ("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL")


def recognises(record: Mapping[str, Any]) -> bool:
    return _is_observation(record) or isinstance(record.get("observations"), list) or _is_trace(record)


def _is_observation(record: Mapping[str, Any]) -> bool:
    return ("traceId" in record or "trace_id" in record) and record.get("type") in _KINDS


def _is_trace(record: Mapping[str, Any]) -> bool:
    return "timestamp" in record and "input" in record and ("sessionId" in record or "htmlPath" in record)


def read(record: Mapping[str, Any]) -> Iterator[TalkPiece]:
    if _is_observation(record):
        yield from _read_observation(record, find_text(record, "sessionId") or find_text(record, "traceId", "trace_id"))
        return
    trace = find_mapping(record, "trace") or record
    thread = find_text(trace, "sessionId", "id")
    observations = record.get("observations") or trace.get("observations")
    found = [
        piece
        for one in (observations if isinstance(observations, list) else ())
        if isinstance(one, Mapping)
        for piece in _read_observation(one, thread)
    ]
    yield from found or _read_exchange(trace, thread, find_text(trace, "timestamp"))


def _read_observation(one: Mapping[str, Any], thread: str) -> Iterator[TalkPiece]:
    at = find_text(one, "startTime", "start_time")
    if one.get("type") == "GENERATION":
        yield from _read_exchange(one, thread, at)
    elif one.get("type") == "TOOL":
        given, output = open_json(one.get("input")), open_json(one.get("output"))
        failed = one.get("level") == "ERROR"
        key = find_text(find_mapping(one, "metadata"), "tool_call_id", "toolCallId")
        messages = write_call(one.get("name"), _find_arguments(given), key, output, failed=failed)
        yield TalkPiece(messages, None, thread, "step", at)
    elif read_request(_find_messages(one.get("input"))) and read_answer(_find_messages(one.get("output"))):
        yield from _read_exchange(one, thread, at)


def _find_messages(value: Any) -> Any:
    """What a chain or agent was given, where that is messages and no plain words."""
    found = open_json(value)
    return found if isinstance(found, list) or (isinstance(found, Mapping) and "messages" in found) else None


def _find_arguments(given: Any) -> Any:
    """A traced function's input is often `{"args": [], "kwargs": {…}}`."""
    if isinstance(given, Mapping) and set(given) == {"args", "kwargs"}:
        return given["kwargs"]
    return given


def _read_exchange(one: Mapping[str, Any], thread: str, at: str) -> Iterator[TalkPiece]:
    asked, output = open_json(one.get("input")), open_json(one.get("output"))
    request = read_request(asked)
    logged = read_logged_answer(output)
    answer = logged.messages if logged else []
    # A trace may return anything; only what a model answered has to be words or calls.
    is_model = one.get("type") == "GENERATION" or (logged is not None and logged.unread == CUT_OFF)
    said = report_answer(logged) if answer or is_model else (False, "")
    if is_cut_off(asked):
        said = said[0], said[1] or "what the model was asked was left out when it was logged, because it was too long"
        asked = None
    if request is None and isinstance(asked, str) and asked:
        messages = [{"role": "user", "content": asked}, *answer]
        yield TalkPiece(messages, None, thread, "next", at, "", "", "", *said)
    elif request is not None or answer or said[1]:
        messages = [*(request.messages if request else ()), *answer]
        tools = request.tools if request else None
        kind: PieceKind = "whole" if request else "next"
        yield TalkPiece(messages, tools, thread, kind, at, "", "", "", *said)


LANGFUSE = RecordFormat("langfuse", recognises, read)
