"""`circumspect audit`: what a build must not take for a pass, and mistakes told with what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.patience import PATIENCE

from circumspect.audit.readers.record_formats import FORMAT_NAMES
from circumspect.cli.audit import EXPORTS, FORMATS

CALL = {"function": {"name": "cancel_order", "arguments": '{"order_id": "A1"}'}}
TALK = {"id": "c1", "messages": [{"role": "user", "content": "café"}, {"role": "assistant", "tool_calls": [CALL]}]}


@pytest.fixture(autouse=True)
def talk(folder: Path) -> Path:
    path = folder / "talk.jsonl"
    path.write_text(json.dumps(TALK, ensure_ascii=False), "utf-8")
    return path


def test_transcripts_of_which_nothing_can_be_read_are_no_pass(run: Run, talk: Path) -> None:
    talk.write_bytes(talk.read_bytes().decode("utf-8").encode("latin-1"))
    ran = run("audit", "talk.jsonl", "--fail-on", "deny")
    ran.refused("nothing to rule on", "UTF-8")
    assert "1 thing could not be read: 1 encoding" in ran.out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file is empty"),
        ("[]", "it holds no conversation"),
        ('{"steps": [{"tool_calls": [{"name": "pay"}]}]}', "members: steps; it seems to hold tool calls"),
        (
            '{"messages": [{"role": "user", "content": "hi"}], "reply": {"tool_calls": [{"name": "pay"}]}}',
            "'reply' seems",
        ),
        ('{"messages": [{"role": "assistant", "content": "", "call": {"type": "tool_call"}}]}', "the message seems to"),
        ('{"messages": [{"role": "assistant", "content": [{"type": "tool_hand_over"}]}]}', "tool_hand_over"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--fail-on", "ask"), ("--jobs", "2")])
def test_silence_is_never_a_pass(run: Run, folder: Path, content: str, said: str, options: tuple[str, ...]) -> None:
    (folder / "odd.jsonl").write_text(content)
    run("audit", "odd.jsonl", *options).refused("nothing to rule on in odd.jsonl", said, "--format")


def test_a_file_that_was_named_and_not_read_fails_also_beside_one_that_was(run: Run, folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "notes.json").write_text('{"a": 1}')
    (folder / "more" / "talk.jsonl").write_text(json.dumps(TALK))
    run("audit", "talk.jsonl", "more/notes.json").refused("nothing to rule on in notes.json")
    ran = run("audit", "more")
    assert ran.code == 0
    assert "1 unknown format" in ran.out


def test_the_format_can_be_forced_and_exports_are_taken_by_the_folder(run: Run, folder: Path) -> None:
    formats = Path(__file__).parents[1] / "audit" / "formats"
    (folder / "export").mkdir()
    (folder / "export" / "spans.json").write_bytes((formats / "otlp.json").read_bytes())
    assert "2 proposed calls in 1 conversation" in run("audit", "export", "--from", "otlp").out
    run("audit", str(formats / "otlp.json"), "--format", "mcp").refused("nothing to rule on")
    run("audit", "export", "--from", "otlp", "--format", "csv").refused("do not agree")
    assert FORMAT_NAMES == FORMATS
    assert set(EXPORTS) < set(FORMATS)


WORDS = (
    '{"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "Hello, how can I help?"}]}'
)


@pytest.mark.parametrize("options", [(), ("--fail-on", "ask"), ("--jobs", "2")])
def test_an_audit_that_ruled_on_nothing_is_no_pass(run: Run, folder: Path, options: tuple[str, ...]) -> None:
    (folder / "words.jsonl").write_text(f"{WORDS}\n")
    run("audit", "words.jsonl", *options).refused("nothing to rule on in words.jsonl", "no call was proposed")


def test_beside_conversations_with_calls_words_are_nothing_to_report(run: Run, folder: Path) -> None:
    (folder / "words.jsonl").write_text(f"{WORDS}\n")
    ran = run("audit", "talk.jsonl", "words.jsonl")
    assert ran.code == 0
    assert "could not be read" not in ran.out


@pytest.mark.parametrize(
    "words",
    [
        "Thought: cancel\nAction: cancel_order\nAction Input: {}",
        "<function=cancel_order>{}</function>",
        "<function=cancel_order>\n<parameter=order_id>\nA1\n</parameter>\n</function>",
        '[TOOL_CALLS] [{"name": "cancel_order"}]',
        "<tool_call>cancel_order(order_id='A1')</tool_call>",
        '<tool_call>{"name": "cancel_order", "arguments": {"order_id": "A1"</tool_call>',
        '<invoke name="cancel_order">',
        '<|python_tag|>{"name": "cancel_order"}',
        '<functioncall> {"name": "cancel_order"}',
        "<｜tool▁calls▁begin｜>cancel_order",
        '{"name": "cancel_order", "parameters": {"order_id": "A1"}}',
        "```tool_code\ncancel_order('A1')\n```",
    ],
)
def test_calls_in_words_that_nobody_reads_are_no_pass(run: Run, folder: Path, words: str) -> None:
    messages = [{"role": "user", "content": "What does it cost?"}, {"role": "assistant", "content": words}]
    (folder / "odd.jsonl").write_text("\n" + json.dumps({"id": "c1", "messages": messages}))
    ran = run("audit", "odd.jsonl", "--fail-on", "redo")
    ran.refused("nothing to rule on in odd.jsonl", "not everything could be read")
    assert "1 unknown piece" in ran.out
    assert "odd.jsonl:2" in ran.out


def test_who_describes_a_notation_calls_nothing(run: Run, folder: Path) -> None:
    rules = "Write <tool_call>{}</tool_call>, or\nAction: name\nAction Input: {}"
    told = {"id": "c2", "messages": [{"role": role, "content": rules} for role in ("system", "user")]}
    (folder / "told.jsonl").write_text(f"{json.dumps(TALK)}\n{json.dumps(told)}\n")
    assert "could not be read" not in run("audit", "told.jsonl").out


def test_an_answer_that_its_logger_left_out_is_no_pass(run: Run, folder: Path) -> None:
    one = {"id": "o1", "traceId": "t1", "type": "GENERATION", "startTime": "2026-01-01T00:00:00Z"}
    cut = "<truncated due to size exceeding limit>"
    asked = [{"role": "user", "content": "What does it cost?"}]
    for kind, given in (("GENERATION", asked), ("SPAN", asked), ("GENERATION", cut)):
        trace = {"id": "t1", "observations": [{**one, "type": kind, "input": given, "output": cut}]}
        (folder / "trace.json").write_text(json.dumps(trace))
        ran = run("audit", "trace.json")
        ran.refused("nothing to rule on in trace.json")
        if kind == "GENERATION":
            assert "1 unread answer" in ran.out
            assert "trace.json:1" in ran.out


def test_a_pipe_can_be_read_and_cannot_be_divided(run: Run, talk: Path) -> None:
    for options, code in (("--fail-on", "ask"), 1), (("--jobs", "2"), 2):
        command = f"cat talk.jsonl | {sys.executable} -m circumspect audit /dev/stdin {' '.join(options)}"
        done = subprocess.run(command, shell=True, capture_output=True, encoding="utf-8", timeout=PATIENCE)
        assert done.returncode == code, done.stderr
    assert "A pipe is read once" in done.stderr


def test_labels_that_fit_no_call_are_told(run: Run, folder: Path) -> None:
    (folder / "labels.jsonl").write_text('{"id": "another", "expected": "HOLD"}\n')
    run("audit", "talk.jsonl", "--label-file", "labels.jsonl").refused("None of the calls has a label")
    run("audit", "talk.jsonl", "--labels").refused("None of the calls has a label")


def test_tools_in_another_encoding_are_told(run: Run, folder: Path) -> None:
    (folder / "tools.json").write_bytes('[{"name": "café"}]'.encode("latin-1"))
    run("audit", "talk.jsonl", "--tools", "tools.json").refused("tools.json is not UTF-8 text")


def test_a_page_that_cannot_be_written_is_told(run: Run) -> None:
    run("audit", "talk.jsonl", "--html", "nowhere/page.html").refused("nowhere/page.html: No such file or directory")
