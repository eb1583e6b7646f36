"""An audit in parts: byte for byte what reading whole files says."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from bench.audit import POLICY, made
from tests.patience import PATIENCE

from circumspect.audit.auditor import audit
from circumspect.audit.file_parts import PartReader, parts
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
{"messages": [{"role": "user", "content": "nothing\\u0000here"}, {"role": "assistant", "content": "I have cancelled A\\u00001."}],\
 "proposal": {"tool": "cancel\\u0000it", "arguments": {"id": "A\\u00001"}}}

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
        reader = PartReader(toolbox)
        expected = list(read([path], toolbox))
        assert [one for part in found for one in reader.read(path, part)] == expected
        # Somebody else may have had the parts between, and one may be done again.
        assert [*reader.read(path, found[-1]), *reader.read(path, found[0])][-1] in expected
        reader.close()


def test_a_packed_file_falls_into_the_parts_of_what_is_in_it(files, tmp_path):
    for path in files:
        packed = pack(path)
        assert parts(packed, 3_000) == parts(path, 3_000)
        assert in_parts([packed], size=3_000) == list(audit([packed], load(POLICY), now=AT))


def pack(path: Path) -> Path:
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


def test_documents_damaged_files_and_small_ones_do_not_fall_into_parts(files, tmp_path):
    damaged, document, utf16 = tmp_path / "damaged.jsonl.gz", tmp_path / "all.json", tmp_path / "utf16.jsonl"
    damaged.write_bytes(pack(files[0]).read_bytes()[:-100])
    document.write_text(json.dumps([json.loads(line) for line in files[1].read_text().splitlines()]))
    utf16.write_text(files[1].read_text(), "utf-16")
    for path in (damaged, document, utf16):
        assert parts(path, 100) == []
        assert in_parts([path], size=100) == list(audit([path], load(POLICY), now=AT))
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


def test_an_audit_goes_on_when_one_of_its_processes_is_killed(files):
    order = AuditOrder(tuple(map(str, files)), POLICY.read_text("utf-8"), at=AT, size=8_000)
    rows = run(audit_of(order), partial(processes, count=2))
    found = [next(rows)]
    os.kill(next(one.pid for one in multiprocessing.active_children()), signal.SIGKILL)
    assert [decode_row(row) for row in (*found, *rows)] == list(audit(files, load(POLICY), now=AT))


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


@pytest.fixture
def long(tmp_path) -> Path:
    """More than one part of the size that the command takes, packed, with labels."""
    whole, _ = made(tmp_path, 400)
    path = tmp_path / "long.jsonl"
    lines = (
        f'{{"label": {{"expected": "PROCEED"}}, {line[1:]}' for line in whole.read_text().splitlines(keepends=True)
    )
    path.write_text("".join(lines) + ODD)
    assert len(parts(path)) > 2
    return pack(path)


PROGRAM = [sys.executable, "-c", "from circumspect.cli import main; main()", "audit"]
OPTIONS = ["--policy", str(POLICY), "--at", AT.isoformat()]


def test_the_command_prints_the_same_divided_or_not(files, long, tmp_path):
    # Which of two equally frequent rules comes first is left to the hash of their names.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}

    def printed(paths, *options):
        command = [*PROGRAM, *map(str, paths), *OPTIONS, *options]
        return subprocess.run(command, capture_output=True, check=True, env=environment).stdout

    assert printed(files, "--json", "--run", str(tmp_path / "kept.run")) == printed(files, "--json")
    assert printed([long], "--json", "--labels", "--jobs", "2") == printed([long], "--json", "--labels")


def test_ctrl_c_ends_an_audit_and_its_processes(long):
    command = [*PROGRAM, str(long), *OPTIONS, "--json", "--jobs", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)
    assert process.stdout
    assert process.stdout.readline().startswith(b'{"id":')
    os.killpg(process.pid, signal.SIGINT)
    # Both ends are closed only when nobody holds them any more.
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"Traceback" not in err
