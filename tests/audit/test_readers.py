"""Records of logs and traces: joined into conversations, within bounds, and whatever they hold."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.audit.audit_talk import written
from tests.audit.test_formats import FORMATS, POLICY

from circumspect.audit.auditor import Auditor, audit
from circumspect.audit.readers.joined_talk import FoundPiece, JoinedTalk, TalkJoiner, join
from circumspect.audit.readers.record_formats import READERS
from circumspect.audit.readers.talk_pieces import TalkPiece
from circumspect.audit.rulings import AuditedCall
from circumspect.audit.tool_defs import Toolbox
from circumspect.audit.transcript_files import Transcript, TranscriptProblem, read, read_stream
from circumspect.audit.transcript_steps import Unknown
from circumspect.lab.batch.audits import AuditOrder, audit_of, decode_row
from circumspect.lab.batch.engines import serial
from circumspect.lab.batch.run_job import run

USER = {"role": "user", "content": "cancel A1"}
ASKS = {"role": "assistant", "content": "Which one?"}


def call(key: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": "cancel_order", "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": key, "function": function}]}


def joined(*pieces: TalkPiece) -> list[JoinedTalk]:
    return list(join([FoundPiece(piece, "log", line) for line, piece in enumerate(pieces, 1)]))


def calls(path: Path) -> list[tuple[str, str]]:
    return [(row.tool, row.verdict) for row in audit([path], POLICY) if isinstance(row, AuditedCall)]


def test_what_goes_on_from_another_piece_replaces_it_in_whatever_order_they_come() -> None:
    pieces = [TalkPiece([USER, ASKS], at="1"), TalkPiece([USER, ASKS, USER, call("k1")], at="2")]
    for order in (pieces, pieces[::-1]):
        (talk,) = joined(*order)
        assert talk.messages == pieces[1].messages


def test_a_reply_that_was_asked_for_twice_is_two_conversations_and_no_call_is_ruled_on_twice() -> None:
    before = [USER, call("k1", order_id="A1"), {"role": "tool", "tool_call_id": "k1", "content": "ok"}, USER]
    first, second = joined(TalkPiece([*before, call("k2")]), TalkPiece([*before, call("k3", order_id="A2")]))
    assert (first.since, second.since) == (0, 4)
    transcript = Transcript("x", second.messages, None, None, since=second.since)
    rows = [row for row in Auditor(POLICY).audit_transcript(transcript) if isinstance(row, AuditedCall)]
    assert [row.arguments for row in rows] == [{"order_id": "A2"}]


def test_a_call_that_was_only_seen_as_it_ran_is_put_where_it_ran() -> None:
    seen = [call("", order_id="A1"), {"role": "tool", "tool_call_id": "", "content": "ok"}]
    (talk,) = joined(
        TalkPiece([USER, ASKS], at="1"),
        TalkPiece(seen, kind="step", at="2"),
        TalkPiece([USER, ASKS, USER], at="3"),
    )
    assert talk.messages == [USER, ASKS, *seen, USER]
    (same,) = joined(TalkPiece([USER, call("k1", order_id="A1")], at="1"), TalkPiece(seen, kind="step", at="2"))
    assert same.messages == [USER, call("k1", order_id="A1")]


def test_what_waits_for_its_rest_is_bounded_and_a_conversation_in_parts_is_said_to_be() -> None:
    joiner = TalkJoiner(limit=10)
    assert list(joiner.add(TalkPiece([USER], thread="a"), "log", 1, 6)) == []
    (given_out,) = joiner.add(TalkPiece([USER], thread="b"), "log", 2, 6)
    assert (given_out.id, given_out.split) == ("a", False)
    list(joiner.add(TalkPiece([USER, ASKS], thread="a"), "log", 3, 1))
    assert [(talk.id, talk.split) for talk in joiner.finish()] == [("b", False), ("a", True)]


def test_a_trace_without_words_still_has_its_calls(tmp_path: Path) -> None:
    spans = [
        {
            "object": "trace.span",
            "id": f"span_{name}",
            "trace_id": "trace_1",
            "started_at": at,
            "span_data": {"type": "function", "name": name, "input": '{"order_id": "A1"}', "output": output},
        }
        for at, name, output in (
            ("2", "cancel_order", "None"),
            ("1", "get_order", "{'order_id': 'A1', 'status': 'open'}"),
        )
    ]
    spans.insert(0, {"object": "trace.span", "id": "s", "trace_id": "trace_1", "span_data": {"type": "response"}})
    path = written(tmp_path / "spans.jsonl", *spans)
    assert calls(path) == [("get_order", "allow"), ("cancel_order", "ask")]


def test_a_batch_without_an_answer_is_said(tmp_path: Path) -> None:
    lines = [
        {"custom_id": "c1", "result": {"type": "expired"}},
        {"custom_id": "c2", "response": None, "error": {"a": 1}},
    ]
    rows = list(read([written(tmp_path / "results.jsonl", *lines)]))
    assert [row.kind for row in rows if isinstance(row, TranscriptProblem)] == ["unknown_message"] * 2
    assert "expired" in str(rows[0])


def test_rows_of_several_conversations_are_sorted_into_theirs(tmp_path: Path) -> None:
    path = tmp_path / "talk.csv"
    path.write_text("Session_ID;Speaker;Text;Tool;Args\na;customer;hi;;\nb;customer;ho;;\na;bot;;pay;{}\n", "utf-8")
    found = [one for one in read([path]) if isinstance(one, Transcript)]
    assert [(one.id, len(one.messages)) for one in found] == [("b", 1), ("a", 2)]


@pytest.mark.parametrize("names", [("openai_log.jsonl",), ("openai_batch/input.jsonl", "openai_batch/output.jsonl")])
def test_an_audit_in_parts_joins_what_belongs_together(names: tuple[str, ...]) -> None:
    paths = [FORMATS / name for name in names]
    order = AuditOrder(tuple(map(str, paths)), size=100)
    divided = [decode_row(row) for row in run(audit_of(order), serial)]
    assert [row.tool for row in divided if isinstance(row, AuditedCall)] == ["get_order", "cancel_order"]
    assert [str(row) for row in divided] == [str(row) for row in audit(paths)]


_KEYS = sorted(
    {
        key
        for path in FORMATS.rglob("*.json*")
        for line in path.read_text("utf-8").splitlines()
        for key in line.replace("\\", "").split('"')
        if key.replace("_", "").replace(".", "").isalnum() and not key[0].isdigit()
    }
)
"""Names and words of all formats."""
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(_KEYS) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5),
    max_leaves=30,
)


@given(st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=8))
@settings(max_examples=300)
def test_no_record_crashes_a_reader(record: dict[str, Any]) -> None:
    for reader in READERS:
        try:
            if reader.recognises(record):
                join([FoundPiece(piece, "x", 1) for piece in reader.read(record)])
        except Unknown:
            pass


@pytest.mark.parametrize("name", sorted(path.name for path in FORMATS.iterdir() if path.is_file()))
@given(data=st.data())
@settings(max_examples=15)
def test_no_damage_to_a_file_crashes_the_audit(name: str, data: st.DataObject) -> None:
    """A value somewhere in a good file becomes something else."""
    whole = (FORMATS / name).read_bytes().decode()
    places = [at for at, sign in enumerate(whole) if sign in ':[,{"']
    at = data.draw(st.sampled_from(places)) + 1
    end = at + data.draw(st.integers(0, 12))
    put = data.draw(st.sampled_from(["null", "[]", "{}", "[[]]", '"x"', "1", '{"type": []}', '""', "["]))
    lines = not name.endswith(".json")
    stream = BytesIO((whole[:at] + put + whole[end:]).encode())
    auditor = Auditor(POLICY)
    for one in read_stream(stream, name, folder=None, lines=lines, toolbox=Toolbox()):
        if isinstance(one, Transcript):
            list(auditor.audit_transcript(one))
