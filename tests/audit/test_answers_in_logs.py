"""Answers in logs of requests: in whatever shape one was written down, its calls are ruled on, or it is said that there
was one which gave nothing. A log whose answers all gave nothing is no pass."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.audit.audit_talk import written

from circumspect.audit.auditor import audit
from circumspect.audit.rulings import AuditedCall
from circumspect.audit.transcript_files import TranscriptProblem
from circumspect.cli import cli
from circumspect.errors import ConfigError
from circumspect.policy.load import load

POLICY = """
version: 1
tools:
  look: {effect: read}
  ship:
    effect: write
    deny_unless: [{if: size(args) > 9, because: Nothing is shipped.}]
"""
LOOKED = [
    {"role": "user", "content": "ship it to the moon"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
]
GIVEN = '{"to": "moon"}'


def sse(*events: Any, names: bool = False, end: str = "") -> str:
    lines = [f"event: {one['type']}\n" if names else "" for one in events]
    return "".join(f"{name}data: {json.dumps(one)}\n\n" for name, one in zip(lines, events, strict=True)) + end


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(arguments: str, name: str | None = None) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {"index": 0, "function": function, **({"id": "k1", "type": "function"} if name else {})}


CHUNKS = [
    chunk(role="assistant", content=None, tool_calls=[piece("", "ship")]),
    chunk(tool_calls=[piece(GIVEN[:5])]),
    chunk(tool_calls=[piece(GIVEN[5:])]),
    chunk("tool_calls"),
]
EVENTS = [
    {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Now."}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "k", "name": "ship", "input": {}}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": GIVEN[:6]}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": GIVEN[6:]}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    {"type": "message_stop"},
]  # fmt: skip
ITEM = {"type": "function_call", "id": "f", "call_id": "k", "name": "ship", "arguments": ""}
RESPONSE = {"object": "response", "status": "completed", "output": [{**ITEM, "arguments": GIVEN}]}
RESPONSE_EVENTS = [
    {"type": "response.created", "response": {"object": "response", "status": "in_progress", "output": []}},
    {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
    {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": GIVEN[:6]},
    {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": GIVEN[6:]},
    {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": GIVEN},
]
MESSAGE = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "k", "function": {"name": "ship", "arguments": GIVEN}}],
}
WHOLE = {"object": "chat.completion", "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}]}
OPENAI, ANTHROPIC = sse(*CHUNKS, end="data: [DONE]\n\n"), sse(*EVENTS, names=True)
GEMINI = {
    "candidates": [
        {
            "content": {"role": "model", "parts": [{"functionCall": {"name": "ship", "args": {"to": "moon"}}}]},
            "finishReason": "STOP",
        }
    ]
}
CONVERSE = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "k", "name": "ship"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": GIVEN}}}},
    {"messageStop": {"stopReason": "tool_use"}},
]  # fmt: skip
OLLAMA = [
    {"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "ship", "arguments": {"to": "moon"}}}]}, "done": False},
    {"message": {"role": "assistant", "content": ""}, "done": True},
]  # fmt: skip


def output(**item: Any) -> dict[str, Any]:
    return {"object": "response", "output": [{"type": "reasoning", "summary": []}, item]}


READ = {
    "events of OpenAI": OPENAI,
    "with carriage returns": OPENAI.replace("\n", "\r\n"),
    "events of Anthropic": ANTHROPIC,
    "events of Responses": sse(*RESPONSE_EVENTS, {"type": "response.completed", "response": RESPONSE}, names=True),
    "events of Responses without what they come to": sse(
        *RESPONSE_EVENTS, {"type": "response.completed", "response": {"output": []}}
    ),
    "events of Gemini": sse(GEMINI),
    "events of Bedrock": CONVERSE,
    "lines of Ollama": "\n".join(map(json.dumps, OLLAMA)),
    "events in a body": {"status": 200, "headers": {}, "body": ANTHROPIC},
    "events in a text of JSON": json.dumps(OPENAI),
    "events in bytes as Python prints them": repr(OPENAI.encode()),
    "a list of lines": OPENAI.split("\n"),
    "a list of events as text": [f"{one}\n\n" for one in ANTHROPIC.split("\n\n") if one],
    "a list of chunks that end anywhere": [OPENAI[at : at + 50] for at in range(0, len(OPENAI), 50)],
    "a list of JSON texts": [*map(json.dumps, CHUNKS), "[DONE]"],
    "a list of events with their data": [{"event": one["type"], "data": json.dumps(one)} for one in EVENTS],
    "a list of events": RESPONSE_EVENTS,
    "chunks in an object": {"chunks": CHUNKS},
    "a function of the old kind, streamed": sse(
        chunk(function_call={"name": "ship", "arguments": GIVEN[:4]}),
        chunk(function_call={"arguments": GIVEN[4:]}),
        end="data: [DONE]\n\n",
    ),
    "one stream without numbers": sse(
        chunk(tool_calls=[{"id": "a", "function": {"name": "look", "arguments": "{}"}}]),
        chunk("tool_calls", tool_calls=[{"id": "b", "function": {"name": "ship", "arguments": GIVEN}}]),
    ),
    "a whole answer": WHOLE,
    "a whole answer as text": json.dumps(WHOLE),
    "a second choice": {"choices": [{"message": {"role": "assistant", "content": "No."}}, *WHOLE["choices"]]},
    "an answer of Gemini": GEMINI,
    "a call of a server's tool": output(type="mcp_call", id="m", name="ship", arguments=GIVEN),
    "a call that waits for approval": output(type="mcp_approval_request", id="m", name="ship", arguments=GIVEN),
    "a call of a kind to come": output(type="tool_call_v9", call_id="m", name="ship", arguments=GIVEN),
    "a call of a kind to come, with input": output(type="agent_call", call_id="m", name="ship", input={"to": "moon"}),
    "a free-form call": output(type="custom_tool_call", call_id="m", name="ship", input="to the moon"),
}
UNREAD = {
    "packed": base64.b64encode(gzip.compress(OPENAI.encode())).decode(),
    "a page": "<html><body>502 Bad Gateway</body></html>",
    "an error": {"error": {"message": "Rate limit reached", "type": "tokens"}},
    "an error of Anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "an error in a stream": sse({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    "a status": {"status": 502, "body": "Bad Gateway"},
    "JSON that breaks off": json.dumps(WHOLE)[:90],
    "a stream of an unknown kind": sse({"kind": "tool", "what": 5}),
    "an object of an unknown kind": {"reply": {"calls": []}},
    "an empty message": {"choices": [{"message": {"role": "assistant", "content": None}, "finish_reason": "length"}]},
    "no choices": {"object": "chat.completion", "choices": []},
    "an unknown item": output(type="shell_call", action={"commands": ["rm -r /"]}),
    "a refusal of Gemini": {"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL"}]},
    "a number": 502,
}  # fmt: skip


def log(path: Path, *answers: Any, asked: str = "request", answered: str = "response") -> Path:
    return written(path, *({asked: {"messages": LOOKED}, answered: one} for one in answers))


def rows(path: Path) -> tuple[list[tuple[str, str]], list[TranscriptProblem]]:
    found = list(audit([path], load(POLICY)))
    ruled = [(one.tool, one.verdict) for one in found if isinstance(one, AuditedCall)]
    return ruled, [one for one in found if isinstance(one, TranscriptProblem)]


@pytest.mark.parametrize("name", READ)
def test_the_call_of_an_answer_is_ruled_on_in_whatever_shape_it_was_logged(tmp_path: Path, name: str) -> None:
    ruled, problems = rows(log(tmp_path / "log.jsonl", READ[name]))
    assert ("ship", "deny") in ruled
    ended = [one for one in problems if "breaks off" not in one.problem]
    assert not ended
    assert bool(problems) == (name == "a list of events")


@pytest.mark.parametrize("name", READ)
def test_a_responses_request_and_flat_records_are_read_likewise(tmp_path: Path, name: str) -> None:
    asked = [{"role": "user", "content": "ship it"}]
    records = (
        {"input": asked, "response": READ[name]},
        {"messages": asked, "response_body": READ[name]},
        {"request_body": json.dumps({"messages": asked}), "response_body": READ[name]},
    )
    for record in records:
        ruled, _ = rows(written(tmp_path / "log.jsonl", record))
        assert ("ship", "deny") in ruled, record.keys()


@pytest.mark.parametrize("name", UNREAD)
def test_an_answer_that_gives_nothing_is_a_problem_with_its_line_and_a_log_of_such_is_no_pass(
    tmp_path: Path, name: str
) -> None:
    path = log(tmp_path / "log.jsonl", UNREAD[name], UNREAD[name])
    _, problems = rows(path)
    assert [(one.kind, one.line) for one in problems] == [
        ("unread_answer", 1), ("unread_answer", 2), ("nothing_read", 1),
    ]  # fmt: skip
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY, "utf-8")
    ran = CliRunner().invoke(cli, ["audit", str(path), "--policy", str(policy), "--json"])
    assert isinstance(ran.exception, ConfigError)  # the command ends with 2
    assert json.loads(ran.stdout.splitlines()[-1])["summary"]["problems"]["unread_answer"] == 2


def test_one_error_among_answers_that_were_read_is_said_and_the_rest_counts(tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", UNREAD["an error"], READ["a whole answer"])
    ruled, problems = rows(path)
    assert ("ship", "deny") in ruled
    assert [(one.kind, one.line) for one in problems] == [("unread_answer", 1)]
    assert CliRunner().invoke(cli, ["audit", str(path)]).exit_code == 0


@pytest.mark.parametrize(("text", "seen"), [(OPENAI, 3), (ANTHROPIC, 5), (sse(*RESPONSE_EVENTS), 3)])
def test_a_stream_that_breaks_off_is_said_to_and_the_call_in_it_is_not_let_through(
    tmp_path: Path, text: str, seen: int
) -> None:
    """Within its arguments, and between two of its events."""
    events = text.split("\n\n")
    for cut in ("\n\n".join(events[:seen]), "\n\n".join(events[:seen])[:-3]):
        ruled, problems = rows(log(tmp_path / "log.jsonl", cut))
        assert [verdict for tool, verdict in ruled if tool == "ship"] == ["deny"]
        assert ["breaks off" in one.problem for one in problems] == [True]


def test_plain_words_are_what_the_model_said_and_no_problem(tmp_path: Path) -> None:
    _, problems = rows(log(tmp_path / "log.jsonl", "Your parcel is on its way.", "Да"))
    assert not problems


def test_answers_in_traces_and_batches_are_held_to_the_same(tmp_path: Path) -> None:
    broken = {"weird": 1}
    observation = {"id": "o", "traceId": "t", "type": "GENERATION", "input": LOOKED, "output": broken}
    run = {"id": "r", "trace_id": "t", "run_type": "llm", "inputs": {"messages": LOOKED}, "outputs": broken}
    span = {
        "object": "trace.span",
        "trace_id": "t",
        "span_data": {"type": "generation", "input": LOOKED, "output": broken},
    }
    body = {"custom_id": "b", "body": {"messages": LOOKED}, "response": {"status_code": 500, "body": broken}}
    for record in (observation, run, span, body):
        _, problems = rows(written(tmp_path / "log.jsonl", record))
        assert [one.kind for one in problems] == ["unread_answer", "nothing_read"], record
