"""Reading conversations: every format as it is, and nothing unreadable that goes unsaid."""

from __future__ import annotations

import gzip
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.audit.audit_talk import SHOP, Talk, conversation, kinds, policy, written

from circumspect.audit import json_stream
from circumspect.audit.auditor import audit
from circumspect.audit.json_stream import Truncated, pieces
from circumspect.audit.message_formats import steps
from circumspect.audit.rulings import AuditedCall
from circumspect.audit.tool_defs import Toolbox, specs_of
from circumspect.audit.transcript_files import Transcript, TranscriptProblem, read, read_stream
from circumspect.audit.transcript_steps import (
    TranscriptCall,
    TranscriptGap,
    TranscriptResult,
    TranscriptText,
    Unknown,
)
from circumspect.errors import ConfigError
from circumspect.policy.grounding.words import bag

TALK = Talk().user("where is A10077?").calls("get_order", order_id="A10077").returns({"status": "open"}).says("Open.")


def everything(path: Path) -> list[object]:
    return list(audit([path], policy()))


def tools_called(path: Path) -> list[str]:
    return [row.tool for row in everything(path) if isinstance(row, AuditedCall)]


def test_a_line_of_jsonl_is_a_conversation(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", conversation(TALK), "", conversation(TALK, id="c2"))
    assert [one.id for one in read([path]) if isinstance(one, Transcript)] == ["c1", "c2"]


def test_compressed_files_are_read_whatever_they_are_called(tmp_path: Path) -> None:
    plain = written(tmp_path / "t.jsonl", conversation(TALK))
    for name in ("t.jsonl.gz", "squeezed.jsonl"):
        (tmp_path / name).write_bytes(gzip.compress(plain.read_bytes()))
        if name != "t.jsonl":
            assert tools_called(tmp_path / name) == ["get_order"]


def test_a_json_file_of_messages_is_one_conversation(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(TALK.messages, indent=2))
    (one,) = read([path])
    assert isinstance(one, Transcript)
    assert len(one.messages) == 4


def test_a_json_file_of_one_conversation_keeps_its_tools(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(conversation(TALK), indent=1))
    (one,) = read([path])
    assert isinstance(one, Transcript)
    assert one.specs is not None
    assert "get_order" in one.specs


def test_json_lines_in_a_file_called_json_are_all_read(tmp_path: Path) -> None:
    path = written(tmp_path / "talk.json", conversation(TALK), conversation(TALK, id="c2"))
    assert [one.id for one in read([path]) if isinstance(one, Transcript)] == ["c1", "c2"]


def test_tau_bench_results_are_read(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps([{"task_id": 3, "reward": 1.0, "info": {}, "traj": TALK.messages, "trial": 0}]))
    (one,) = read([path])
    assert isinstance(one, Transcript)
    assert (one.id, one.specs, len(one.messages)) == ("task 3, trial 0", None, 4)


def test_tau2_bench_results_are_read_with_the_tools_in_front(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "where is A10077?", "turn_idx": 0},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "k1", "name": "get_order", "arguments": {"order_id": "A10077"}, "requestor": "assistant"}
            ],
        },
        {"id": "k1", "role": "tool", "content": '{"status": "open"}', "requestor": "assistant", "error": False},
        {"role": "user", "content": "ok", "tool_calls": [{"id": "u1", "name": "reboot", "arguments": {}}]},
    ]
    tools = {"get_order": {"name": "get_order", "doc": "Get.", "params": SHOP[0]["function"]["parameters"]}}
    document = {
        "timestamp": "now",
        "info": {"environment_info": {"domain_name": "shop", "policy": "…", "tool_defs": tools}},
        "tasks": [{"id": "1"}],
        "simulations": [{"id": "s1", "task_id": "1", "messages": messages}],
    }
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document, indent=2))
    rows = everything(path)
    assert [(row.id, row.tool, row.verdict) for row in rows if isinstance(row, AuditedCall)] == [
        ("s1", "get_order", "allow")
    ]
    assert not [row for row in rows if isinstance(row, TranscriptProblem)]


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(
            [
                {"role": "user", "content": "where is A10077?"},
                {"type": "reasoning", "summary": []},
                {"type": "function_call", "call_id": "k", "name": "get_order", "arguments": '{"order_id": "A10077"}'},
                {"type": "function_call_output", "call_id": "k", "output": "open"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Open."}]},
            ],
            id="OpenAI Agents",
        ),
        pytest.param(
            [
                {"type": "human", "data": {"content": "where is A10077?", "type": "human"}},
                {
                    "type": "ai",
                    "data": {
                        "content": "",
                        "tool_calls": [{"name": "get_order", "args": {"order_id": "A10077"}, "id": "k"}],
                    },
                },
                {"type": "tool", "data": {"content": "open", "tool_call_id": "k", "status": "success"}},
            ],
            id="LangChain messages_to_dict",
        ),
        pytest.param(
            [
                {"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": {"content": "A10077?"}},
                {
                    "lc": 1,
                    "type": "constructor",
                    "id": ["langchain", "AIMessage"],
                    "kwargs": {
                        "content": "",
                        "tool_calls": [{"name": "get_order", "args": {"order_id": "A10077"}, "id": "k"}],
                    },
                },
                {
                    "lc": 1,
                    "type": "constructor",
                    "id": ["langchain", "ToolMessage"],
                    "kwargs": {"content": "open", "tool_call_id": "k"},
                },
            ],
            id="LangChain dumpd",
        ),
        pytest.param(
            [
                {"role": "user", "content": [{"type": "text", "text": "where is A10077?"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "Let me look."},
                        {"type": "tool_use", "id": "k", "name": "get_order", "input": {"order_id": "A10077"}},
                    ],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "k", "content": "open"}]},
            ],
            id="Anthropic",
        ),
    ],
)
def test_other_ways_of_writing_messages_are_read_as_they_are(tmp_path: Path, messages: list[dict[str, Any]]) -> None:
    path = written(tmp_path / "t.jsonl", {"id": "x", "tools": SHOP, "messages": messages})
    rows = everything(path)
    assert [(row.tool, row.arguments) for row in rows if isinstance(row, AuditedCall)] == [
        ("get_order", {"order_id": "A10077"})
    ]
    assert not [row for row in rows if isinstance(row, TranscriptProblem)]


def test_what_langchain_itself_dumps_is_read() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    load = pytest.importorskip("langchain_core.load")
    talk = [
        messages.HumanMessage("hi"),
        messages.AIMessage("", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "k"}]),
        messages.ToolMessage("ok", tool_call_id="k"),
    ]
    for dumped in (
        messages.messages_to_dict(talk),
        [load.dumpd(one) for one in talk],
        [one.model_dump() for one in talk],
    ):
        found = [step for one in dumped for step in steps(one)]
        assert [type(step) for step in found] == [TranscriptText, TranscriptCall, TranscriptResult]


# --- what cannot be read ----------------------------------------------------------------------------------------------


def test_malformed_lines_are_reported_with_their_number_and_the_rest_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", conversation(TALK), "{oops", "[1, 2]", "null", conversation(TALK, id="c5"))
    rows = everything(path)
    problems = [row for row in rows if isinstance(row, TranscriptProblem)]
    assert [(row.line, row.kind) for row in problems] == [
        (2, "malformed"),
        (3, "unknown_message"),
        (3, "unknown_message"),
        (4, "malformed"),
    ]
    assert [row.id for row in rows if isinstance(row, AuditedCall)] == ["c1", "c5"]


def test_other_encodings_are_named_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    good = json.dumps(conversation(TALK)).encode()
    path.write_bytes(good + b"\n" + json.dumps({"messages": []}).encode()[:-1] + b', "x": "\xe9"}\n' + good + b"\n")
    assert [(row.line, row.kind) for row in everything(path) if isinstance(row, TranscriptProblem)] == [(2, "encoding")]
    (tmp_path / "wide.jsonl").write_bytes(json.dumps(conversation(TALK)).encode("utf-16"))
    assert kinds(everything(tmp_path / "wide.jsonl")) == ["encoding"]
    (tmp_path / "marked.jsonl").write_bytes(b"\xef\xbb\xbf" + good)
    assert tools_called(tmp_path / "marked.jsonl") == ["get_order"]


def test_nul_bytes_and_bottomless_nesting_break_one_line_only(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    deep = b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    path.write_bytes(b'{"messages": "\x00"}\n' + deep + b"\n" + json.dumps(conversation(TALK)).encode() + b"\n")
    rows = everything(path)
    assert [row.line for row in rows if isinstance(row, TranscriptProblem)] == [1, 2]
    assert [row.tool for row in rows if isinstance(row, AuditedCall)] == ["get_order"]


def test_deep_arguments_and_results_are_survived(tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(900):
        deep = [deep]
    talk = (
        Talk().user("go").calls("get_order", order_id="A1").returns(deep).calls("send_email", recipients=deep, body="b")
    )
    assert tools_called(written(tmp_path / "t.jsonl", conversation(talk))) == ["get_order", "send_email"]


def test_unknown_roles_and_results_without_calls_are_reported_and_skipped(tmp_path: Path) -> None:
    talk = Talk().user("hi")
    talk.messages += [
        {"role": "narrator", "content": "meanwhile"},
        {"role": "tool", "tool_call_id": "never", "content": "?"},
        "not even an object",
    ]
    talk.calls("get_order", order_id="A1")
    rows = everything(written(tmp_path / "t.jsonl", conversation(talk)))
    assert [(row.kind, row.message) for row in rows if isinstance(row, TranscriptProblem)] == [
        ("unknown_message", 1),
        ("orphan_result", 2),
        ("unknown_message", 3),
    ]
    assert len([row for row in rows if isinstance(row, AuditedCall)]) == 1


def test_problems_in_a_shared_prefix_are_reported_for_every_line(tmp_path: Path) -> None:
    talk = Talk().user("hi")
    talk.messages.append({"role": "narrator", "content": "meanwhile"})
    proposal = {"tool": "get_order", "arguments": {"order_id": "A1"}}
    path = written(
        tmp_path / "t.jsonl", conversation(talk, proposal=proposal), conversation(talk, proposal=proposal, id="c2")
    )
    assert [row.line for row in everything(path) if isinstance(row, TranscriptProblem)] == [1, 2]


def test_a_message_of_ten_megabytes_is_cut_and_said_to_be(tmp_path: Path) -> None:
    talk = Talk().user("a " * 5_000_000).calls("get_order", order_id="A1").returns("b" * 10_000_000)
    rows = everything(written(tmp_path / "t.jsonl", conversation(talk)))
    assert [(row.kind, row.message) for row in rows if isinstance(row, TranscriptProblem)] == [
        ("long_message", 0),
        ("long_message", 2),
    ]
    assert [row.tool for row in rows if isinstance(row, AuditedCall)] == ["get_order"]


def test_a_damaged_archive_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    whole = gzip.compress(b"\n".join([json.dumps(conversation(TALK)).encode()] * 50))
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    assert kinds(everything(tmp_path / "cut.jsonl.gz"))[-1] == "malformed"


def test_a_file_that_is_not_there_is_a_mistake_a_person_can_mend(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Check the path"):
        list(read([tmp_path / "nothing.jsonl"]))


def test_tools_in_a_file_beside_the_transcript_are_found(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "shop.json").write_text(json.dumps({"v1": SHOP, "v2": []}))
    path = written(
        tmp_path / "t.jsonl",
        conversation(TALK, tools="tools/shop.json#v1"),
        conversation(TALK, tools="tools/shop.json#v9"),
        conversation(TALK, tools="../outside.json"),
        conversation(TALK, tools=[{"type": "function"}]),
    )
    rows = everything(path)
    assert [row.verdict for row in rows if isinstance(row, AuditedCall)] == ["allow"]
    assert [(row.line, row.kind) for row in rows if isinstance(row, TranscriptProblem)] == [
        (2, "tools"),
        (3, "tools"),
        (4, "tools"),
    ]


def test_a_server_looks_into_no_folder() -> None:
    line = json.dumps(conversation(TALK, tools="shop.json")).encode()
    rows = list(read_stream(BytesIO(line), "upload", folder=None, lines=True, toolbox=Toolbox()))
    assert kinds(rows) == ["tools"]


def test_annotations_of_a_tool_seed_its_effect() -> None:
    specs = specs_of(
        [
            {"name": "look", "inputSchema": {}, "annotations": {"readOnlyHint": True, "openWorldHint": True}},
            {"name": "wipe", "inputSchema": {}, "annotations": {"destructiveHint": True}},
            {"name": "plain", "input_schema": {"type": "object"}},
        ]
    )
    assert [(spec.effect, spec.open_world) for spec in specs.values()] == [
        ("read", True),
        ("destructive", False),
        (None, False),
    ]


# --- big documents ----------------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.recursive(
            st.text() | st.integers() | st.booleans(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
        )
    ),
    st.integers(1, 7),
    st.booleans(),
)
@settings(max_examples=150)
def test_pieces_are_what_a_parser_would_give(values: list[Any], chunk: int, indented: bool) -> None:
    data = json.dumps(values, indent=1 if indented else None, ensure_ascii=False).encode()
    before, json_stream.CHUNK = json_stream.CHUNK, chunk
    try:
        assert [json.loads(piece.data) for piece in pieces(BytesIO(data))] == values
        held = json.dumps({"a": 1, "simulations": values, "z": "]}"}).encode()
        found = list(pieces(BytesIO(held), ("simulations",)))
        assert [json.loads(piece.data) for piece in found] == [1, *values, "]}"]
    finally:
        json_stream.CHUNK = before


@pytest.mark.parametrize("data", [b"", b"  ", b"12", b"[1, 2", b'{"a": [1}', b'{"a', b'{"a" 1}', b"[1] [2]"])
def test_a_document_that_ends_too_early_or_too_late_says_so(data: bytes) -> None:
    with pytest.raises(Truncated):
        list(pieces(BytesIO(data)))


def test_a_bad_element_of_a_big_array_is_the_only_one_lost(tmp_path: Path) -> None:
    good = json.dumps({"task_id": 1, "traj": TALK.messages})
    path = tmp_path / "results.json"
    path.write_text(f"[\n{good},\n{{bad}},\n{good}\n]")
    found = list(read([path]))
    assert [type(one).__name__ for one in found] == ["Transcript", "TranscriptProblem", "Transcript"]
    assert isinstance(found[1], TranscriptProblem)
    assert found[1].line == 3


def test_reading_holds_one_conversation_at_a_time(tmp_path: Path) -> None:
    import tracemalloc

    line = json.dumps(conversation(Talk().user("x" * 20_000))) + "\n"
    peaks = []
    for count in (50, 1_000):
        path = tmp_path / f"{count}.jsonl"
        path.write_text(line * count)
        tracemalloc.start()
        assert sum(1 for _ in read([path])) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.5


@given(st.binary(max_size=300))
@settings(max_examples=200)
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    for lines in (True, False):
        for one in read_stream(BytesIO(data), "x", folder=None, lines=lines, toolbox=Toolbox()):
            assert isinstance(one, Transcript | TranscriptProblem)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    sorted(
                        bag(
                            "role type content tool_calls data kwargs id function name arguments parts kind part_kind "
                            "toolInvocations toolCallId functionCall toolUse raw_item"
                        )
                    )
                ),
                inner,
            )
        ),
    )
)
@settings(max_examples=300)
def test_no_message_crashes_the_reader(message: Any) -> None:
    try:
        found = steps(message)
    except Unknown:
        return
    assert all(isinstance(step, TranscriptText | TranscriptCall | TranscriptResult | TranscriptGap) for step in found)


@pytest.mark.parametrize("content", [None, ""])
@pytest.mark.parametrize("old", [{}, {"function_call": {"name": "look", "arguments": "{}"}}])
def test_a_message_that_only_calls_says_all_its_calls_however_it_says_nothing(
    content: str | None, old: dict[str, Any]
) -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "cancel", "arguments": '{"id": 1}'}}]
    told = steps({"role": "assistant", "content": content, "tool_calls": calls, **old})
    assert [(one.call.tool, one.call.arguments) for one in told if isinstance(one, TranscriptCall)] == [
        ("cancel", {"id": 1}),
        *([("look", {})] if old else []),
    ]
    assert len(told) == 1 + len(old)
