"""Engines: the same rows whoever does the work, and nobody's death or error costs more than the chunk it belongs to."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
from functools import partial

import pytest
from tests.lab.batch.sums import Sums, all_rows, begun, job_of, list_chunks

from circumspect.errors import CircumspectError
from circumspect.lab.batch import engines
from circumspect.lab.batch.engines import processes, serial
from circumspect.lab.batch.job import ATTEMPTS, Incomplete
from circumspect.lab.batch.job_ledger import DatabaseLedger
from circumspect.lab.batch.ray_engine import on_ray
from circumspect.lab.batch.run_job import run

two = partial(processes, count=2)


def all_of(job, engine):
    rows = []
    problem = None
    try:
        for row in run(job, engine):
            rows.append(row)
    except Incomplete as incomplete:
        problem = incomplete
    return rows, problem


@pytest.mark.parametrize("engine", [serial, two], ids=["serial", "processes"])
def test_rows_come_in_the_order_of_the_chunks_each_once(engine, tmp_path):
    assert all_of(job_of(Sums(str(tmp_path), 30)), engine) == (all_rows(30), None)
    assert begun(tmp_path) == dict.fromkeys(range(30), 1)


@pytest.mark.parametrize("engine", [serial, two], ids=["serial", "processes"])
def test_a_chunk_that_fails_each_time_is_named_and_the_others_are_done(engine, tmp_path):
    rows, problem = all_of(job_of(Sums(str(tmp_path), 8, raises=(3,))), engine)
    assert rows == all_rows(8, without=(3,))
    assert problem.findings == ("number 3: ZeroDivisionError: 3 cannot be divided",)
    assert begun(tmp_path) == {**dict.fromkeys(range(8), 1), 3: ATTEMPTS}


def test_a_worker_that_is_killed_costs_only_what_was_under_way(tmp_path):
    rows, problem = all_of(job_of(Sums(str(tmp_path), 20, kills_once=(7,))), two)
    assert (rows, problem) == (all_rows(20), None)
    again = [number for number, times in begun(tmp_path).items() if times > 1]
    assert 7 in again
    # Two workers with one chunk each, and one in each one's queue.
    assert len(again) <= 4
    assert max(begun(tmp_path).values()) == 2


def test_a_chunk_that_kills_every_worker_is_found_among_its_neighbours_and_named(tmp_path):
    rows, problem = all_of(job_of(Sums(str(tmp_path), 12, kills=(5,), raises=(6,))), two)
    assert rows == all_rows(12, without=(5, 6))
    assert [line.partition(":")[0] for line in problem.findings] == ["number 5", "number 6"]
    # Once among others, and then alone.
    assert begun(tmp_path)[5] == 1 + ATTEMPTS


def test_rows_of_the_first_chunks_do_not_wait_for_the_last(tmp_path):
    rows = run(job_of(Sums(str(tmp_path), 6, waits=(5,))), two)
    assert [next(rows) for _ in range(50)] == all_rows(2)
    (tmp_path / "go").touch()
    assert [*all_rows(2), *rows] == all_rows(6)


@pytest.mark.parametrize("engine", [serial, two], ids=["serial", "processes"])
def test_what_is_wrong_for_every_chunk_stops_the_run_and_the_same_run_goes_on_when_it_is_mended(engine, tmp_path):
    job = job_of(Sums(str(tmp_path), 8, refuses=(4,)))
    with DatabaseLedger.open(str(tmp_path / "kept.run")) as ledger:
        with pytest.raises(CircumspectError, match=r"The database is away\. Bring it back\."):
            list(run(job, engine, ledger))
        left = {chunk.number for chunk in ledger.list_remaining()}
        assert 4 in left
        (tmp_path / "mended").touch()
        assert list(run(job, engine, ledger)) == all_rows(8)
    done_at_once = set(range(8)) - left
    assert all(begun(tmp_path)[number] == 1 for number in done_at_once)


def test_whoever_stops_asking_for_rows_ends_the_processes_too(tmp_path):
    rows = run(job_of(Sums(str(tmp_path), 6, waits=(3, 4))), two)
    next(rows)
    workers = [one.pid for one in multiprocessing.active_children()]
    assert workers
    rows.close()
    for _ in range(500):
        if not any(is_alive(worker) for worker in workers):
            break
        time.sleep(0.02)
    assert not any(is_alive(worker) for worker in workers)


def test_processes_that_never_hear_that_there_is_no_more_work_are_ended(tmp_path, monkeypatch):
    """As when one is killed while it holds the lock that the others wait for."""
    monkeypatch.setattr(engines, "_PATIENCE", 0.2)
    pool = engines._Pool(2)
    job = job_of(Sums(str(tmp_path), waits=(0,)))
    pool.submit(engines._Sent(job.identity, pickle.dumps(job)), list_chunks(job.order)[0])
    before_one_begins = time.monotonic() + 60
    while not (tmp_path / "begun").exists() and time.monotonic() < before_one_begins:
        time.sleep(0.01)
    pool.close()
    assert multiprocessing.active_children() == []


def is_alive(process: int) -> bool:
    multiprocessing.active_children()  # joins those that have ended
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_without_ray_installed_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(CircumspectError, match=r"pip install 'circumspect\[ray\]'"):
        list(run(job_of(Sums(str(tmp_path))), partial(on_ray, address="127.0.0.1:1")))
