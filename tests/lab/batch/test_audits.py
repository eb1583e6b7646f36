"""An audit in parts: byte for byte what reading whole files says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from bench.audit import POLICY, made

from circumspect.audit.auditor import audit
from circumspect.audit.file_parts import parts, read_part
from circumspect.audit.rulings import line_of
from circumspect.audit.tool_defs import Toolbox
from circumspect.audit.transcript_files import read
from circumspect.errors import CircumspectError
from circumspect.lab.batch.audits import AuditOrder, audit_of, decode_row, encode_row
from circumspect.lab.batch.engines import processes, serial
from circumspect.lab.batch.run_job import run
from circumspect.policy.load import load

AT = datetime(2026, 1, 1, tzinfo=UTC)
ODD = """{"messages": [

{"messages": [{"role": "user", "content": "héllo"}, {"role": "martian", "content": "x"}]}
[1, 2]
{"a": 1}
{"messages": [{"role": "user", "content": "hi"}]}"""


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path]:
    """Whole conversations and proposals, with lines in them that nobody can read."""
    whole, proposals = made(tmp_path, 12)
    lines = whole.read_text("utf-8").splitlines(keepends=True)
    whole.write_bytes(b"\xef\xbb\xbf" + "".join([*lines[:5], ODD + "\n", *lines[5:], ODD]).encode())
    return whole, proposals


@pytest.mark.parametrize("size", [1, 3_000, 20_000])
def test_parts_are_whole_lines_and_together_they_are_the_file(files, size):
    for path in files:
        found = parts(path, size)
        assert len(found) > 1
        data = path.read_bytes()
        assert found[0].start == (3 if data.startswith(b"\xef\xbb\xbf") else 0)
        assert [one.start for one in found[1:]] == [one.end for one in found[:-1]]
        assert found[-1].end == len(data)
        toolbox = Toolbox()
        assert [one for part in found for one in read_part(path, part, toolbox)] == list(read([path], toolbox))


def test_packed_files_documents_and_small_ones_do_not_fall_into_parts(files, tmp_path):
    import gzip

    packed, document, utf16 = tmp_path / "packed.jsonl", tmp_path / "all.json", tmp_path / "utf16.jsonl"
    packed.write_bytes(gzip.compress(files[0].read_bytes()))
    document.write_text(json.dumps([json.loads(line) for line in files[1].read_text().splitlines()]))
    utf16.write_text(files[1].read_text(), "utf-16")
    for path in (packed, document, utf16):
        assert parts(path, 100) == []
    assert parts(files[0]) == []


def in_parts(paths, engine=serial, size=4_000):
    order = AuditOrder(tuple(map(str, paths)), POLICY.read_text("utf-8"), at=AT, size=size)
    return [decode_row(row) for row in run(audit_of(order), engine)]


def test_an_audit_in_parts_says_what_an_audit_of_whole_files_says(files):
    expected = list(audit(files, load(POLICY), now=AT))
    found = in_parts(files)
    assert [line_of(row) for row in found] == [line_of(row) for row in expected]
    assert found == expected
    assert len({type(row) for row in found}) >= 2
    assert in_parts(files, partial(processes, count=2), 20_000) == expected


def test_every_kind_of_row_comes_back_as_it_was(tmp_path):
    talk = {
        "messages": [
            {"role": "user", "content": "Send it to me"},
            {"role": "assistant", "content": "I have cancelled your order.", "tool_calls": [
                {"id": "1", "function": {"name": "send_money", "arguments": '{"to": "x", "amount": 12345678901234567890}'}}
            ]},
            {"role": "assistant", "tool_calls": [{"id": "2", "function": {"name": "send_money", "arguments": "{"}}]},
        ],
        "tools": [{"function": {"name": "send_money", "parameters": {
            "type": "object", "properties": {"to": {"type": "string"}, "why": {"type": "string"}}, "required": ["why"],
        }}}],
        "label": {"expected": "HOLD"},
    }  # fmt: skip
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps(talk) + "\n{")
    rows = list(audit([path], now=AT))
    assert {type(row).__name__ for row in rows} == {"AuditedCall", "Unsupported", "TranscriptProblem"}
    for row in rows:
        assert decode_row(encode_row(row)) == row
        assert line_of(decode_row(encode_row(row))) == line_of(row)


def test_a_file_that_changed_makes_another_run_and_one_that_is_gone_is_named(files):
    order = AuditOrder((str(files[0]),))
    identity = audit_of(order).identity
    assert audit_of(order).identity == identity
    files[0].write_bytes(files[0].read_bytes() + b"\n")
    assert audit_of(order).identity != identity
    files[0].unlink()
    with pytest.raises(CircumspectError, match="Cannot read"):
        audit_of(order)


def test_the_command_prints_the_same_divided_or_not(files, tmp_path):
    # Which of two equally frequent rules comes first is left to the hash of their names.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    program = [sys.executable, "-c", "from circumspect.cli import main; main()", "audit", *map(str, files)]
    common = ["--policy", str(POLICY), "--at", AT.isoformat()]

    def printed(*options):
        ended = subprocess.run([*program, *common, *options], capture_output=True, check=True, env=environment)
        return ended.stdout

    assert printed("--json", "--run", str(tmp_path / "kept.run")) == printed("--json")
