"""LangSmith runs: a model's run holds the whole conversation and its answer, a tool's run a call and its result.

Runs that share a `thread_id` (or `session_id`, `conversation_id`) in their metadata are one conversation, others one
for each trace. A chain mostly repeats what its models saw; where only the chains were exported, it is all there is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.audit.readers.model_bodies import (
    find_tools,
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
    write_call,
)

_NAMES = ("thread_id", "session_id", "conversation_id")


def recognises(record: Mapping[str, Any]) -> bool:
    return "run_type" in record and ("inputs" in record or "outputs" in record)


def read(record: Mapping[str, Any]) -> Iterator[TalkPiece]:
    extra = find_mapping(record, "extra")
    thread = (
        find_text(find_mapping(extra, "metadata"), *_NAMES)
        or find_text(find_mapping(record, "metadata"), *_NAMES)
        or find_text(record, "trace_id", "id")
    )
    at = find_text(record, "start_time", "dotted_order")
    inputs, outputs = find_mapping(record, "inputs"), find_mapping(record, "outputs")
    if record["run_type"] == "llm":
        request, answer = read_request(inputs), read_logged_answer(record.get("outputs"))
        said = answer.messages if answer else []
        tools = find_tools(inputs) or find_tools(find_mapping(extra, "invocation_params"))
        if request is not None or answer:
            messages = [*(request.messages if request else ()), *said]
            kind: PieceKind = "whole" if request else "next"
            yield TalkPiece(messages, tools, thread, kind, at, "", "", "", *report_answer(answer))
    elif record["run_type"] == "chain":
        asked, answered = read_request(inputs), read_answer(outputs) or []
        if asked is not None and answered:
            # A chain returns all messages of its state, or only those that it added.
            whole = answered if len(answered) > len(asked.messages) else [*asked.messages, *answered]
            yield TalkPiece(whole, None, thread, "whole", at)
    elif record["run_type"] == "tool":
        key = find_text(extra, "tool_call_id")
        failed = bool(record.get("error"))
        messages = write_call(record.get("name"), _find_arguments(inputs), key, _find_output(outputs), failed=failed)
        yield TalkPiece(messages, None, thread, "step", at)
    children = record.get("child_runs")
    for child in children if isinstance(children, list) else ():
        if isinstance(child, Mapping) and recognises(child):
            yield from read({"trace_id": thread, **child})


def _find_arguments(inputs: Mapping[str, Any]) -> Any:
    """Older tools write their arguments as Python prints them, in `input`."""
    only = inputs.get("input") if set(inputs) == {"input"} else None
    if isinstance(only, str) and only.startswith("{") and len(only) < 65_536:
        try:
            return ast.literal_eval(only)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return only
    return inputs


def _find_output(outputs: Mapping[str, Any]) -> Any:
    output = outputs.get("output", outputs or None)
    if isinstance(output, Mapping):
        inner = output.get("kwargs") if isinstance(output.get("kwargs"), Mapping) else output
        if isinstance(inner, Mapping) and inner.get("type") == "tool" and "content" in inner:
            return inner["content"]
    return output


LANGSMITH = RecordFormat("langsmith", recognises, read)
