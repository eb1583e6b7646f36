"""The ledger: a chunk is done with all of its rows or not at all, whoever is killed and however often it is done."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from tests.lab.batch.sums import Sums, all_rows, begun, job_of, rows_of
from tests.stores import postgres_server

from circumspect.lab.batch.engines import serial
from circumspect.lab.batch.job import pack_rows, unpack_rows
from circumspect.lab.batch.job_ledger import DatabaseLedger
from circumspect.lab.batch.run_job import run


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def where(request, tmp_path):
    with contextlib.ExitStack() as stack:
        if request.param == "sqlite":
            yield str(tmp_path / "kept.run")
            return
        try:
            server = stack.enter_context(postgres_server.running())
        except postgres_server.NoPostgres as reason:
            pytest.skip(f"NOT TESTED ON POSTGRESQL: {reason}")
        server.sql("CREATE DATABASE tests")
        yield server.url("tests")


def test_what_is_left_are_the_chunks_without_a_result_and_a_result_is_kept_once(where, tmp_path):
    job = job_of(Sums(str(tmp_path), 5))
    with DatabaseLedger.open(where) as ledger:
        chunks = ledger.begin(job)
        assert [chunk.number for chunk in ledger.list_remaining()] == [0, 1, 2, 3, 4]
        ledger.commit(chunks[3], pack_rows(rows_of(3)))
        ledger.commit(chunks[3], pack_rows([b'{"another":"result"}']))
        ledger.commit(chunks[0], pack_rows(rows_of(0)))
    with DatabaseLedger.open(where) as again:
        assert again.begin(job) == chunks
        assert [chunk.number for chunk in again.list_remaining()] == [1, 2, 4]
        assert unpack_rows(again.rows(chunks[3])) == rows_of(3)
        assert unpack_rows(again.rows(chunks[0])) == ()
        assert again.rows(chunks[1]) is None
        assert list(run(job, serial, again)) == all_rows(5)
    assert begun(tmp_path) == {1: 1, 2: 1, 4: 1}


def test_a_run_that_goes_on_has_the_chunks_that_it_began_with(tmp_path):
    with DatabaseLedger.open(str(tmp_path / "kept.run")) as ledger:
        ledger.begin(job_of(Sums(str(tmp_path), 5)))
        assert len(ledger.begin(job_of(Sums(str(tmp_path), 9)))) == 5
    assert (tmp_path / "listed").read_text() == "x"


def test_two_runs_in_one_file_do_not_meet(tmp_path):
    small, large = job_of(Sums(str(tmp_path), 2)), job_of(Sums(str(tmp_path), 6), "of-more-numbers")
    with DatabaseLedger.open(str(tmp_path / "kept.run")) as ledger:
        assert list(run(small, serial, ledger)) == all_rows(2)
        assert list(run(large, serial, ledger)) == all_rows(6)


def test_a_row_of_two_lines_is_refused_because_it_would_come_back_as_two():
    with pytest.raises(ValueError, match="one line"):
        pack_rows([b"one\ntwo"])


KILLED_INSIDE = """
import os, signal, sys
from pathlib import Path
from tests.lab.batch.sums import Sums, job_of, rows_of
from circumspect.lab.batch import job_ledger as kept
from circumspect.lab.batch.job import pack_rows

def commit_and_die(connection, run):
    kept._commit(connection, run, 3, pack_rows(rows_of(3)))
    os.kill(os.getpid(), signal.SIGKILL)

with kept.DatabaseLedger.open(sys.argv[1]) as ledger:
    chunks = ledger.begin(job_of(Sums(sys.argv[2], 5)))
    ledger.commit(chunks[1], pack_rows(rows_of(1)))
    ledger._database.transaction(commit_and_die, ledger._run)
"""


def test_a_process_that_is_killed_before_the_commit_leaves_neither_rows_nor_marker(tmp_path):
    where = str(tmp_path / "kept.run")
    ended = subprocess.run([sys.executable, "-c", KILLED_INSIDE, where, str(tmp_path)], cwd=_root(), check=False)
    assert ended.returncode == -signal.SIGKILL
    with DatabaseLedger.open(where) as ledger:
        chunks = ledger.begin(job_of(Sums(str(tmp_path), 5)))
        assert [chunk.number for chunk in ledger.list_remaining()] == [0, 2, 3, 4]
        assert ledger.rows(chunks[3]) is None
        assert unpack_rows(ledger.rows(chunks[1])) == rows_of(1)


COMMITTING = """
import sys
from tests.lab.batch.sums import Sums, job_of
from circumspect.lab.batch.engines import serial
from circumspect.lab.batch.job_ledger import DatabaseLedger
from circumspect.lab.batch.run_job import run

with DatabaseLedger.open(sys.argv[1]) as ledger:
    for row in run(job_of(Sums(sys.argv[2], 120)), serial, ledger):
        pass
"""


def test_a_process_that_is_killed_anywhere_leaves_whole_chunks_and_the_next_one_does_the_others_once(tmp_path):
    where, job = str(tmp_path / "kept.run"), job_of(Sums(str(tmp_path), 120))
    for stop_at in (15, 60):
        worker = subprocess.Popen([sys.executable, "-c", COMMITTING, where, str(tmp_path)], cwd=_root())
        while not (tmp_path / "begun").exists() or begun_so_far(tmp_path) < stop_at:
            time.sleep(0.005)
        worker.kill()
        assert worker.wait() == -signal.SIGKILL
    with DatabaseLedger.open(where) as ledger:
        done = set(range(120)) - {chunk.number for chunk in ledger.begin(job) and ledger.list_remaining()}
        for chunk in ledger.begin(job):
            if chunk.number in done:
                assert list(unpack_rows(ledger.rows(chunk))) == rows_of(chunk.number)
        assert 40 < len(done) < 120
        assert list(run(job, serial, ledger)) == all_rows(120)
    # A chunk was begun again only where a process was killed while it was at it.
    assert sum(begun(tmp_path).values()) <= 122
    assert (tmp_path / "listed").read_text() == "x"


def begun_so_far(folder) -> int:
    return (folder / "begun").read_text().count("\n")


def test_two_processes_on_one_run_make_nothing_double(tmp_path):
    where = str(tmp_path / "kept.run")
    start = partial(subprocess.Popen, [sys.executable, "-c", COMMITTING, where, str(tmp_path)], cwd=_root())
    assert [one.wait() for one in (start(), start())] == [0, 0]
    with DatabaseLedger.open(where) as ledger:
        assert list(run(job_of(Sums(str(tmp_path), 120)), serial, ledger)) == all_rows(120)


def _root() -> Path:
    return Path(__file__).parents[3]
