"""Batches: every pair once, whatever kills them; a budget that stops them; a case that changed is looked at again."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.review.conftest import IN_TIME, POLICY, call, case, document, finish, reply

from circumspect.errors import StoreError
from circumspect.lab.batch import evaluations, reviews
from circumspect.lab.batch.engines import serial
from circumspect.lab.batch.evaluations import BatchProgress, Budget, run_batch
from circumspect.lab.batch.job import Incomplete
from circumspect.lab.batch.reviews import ReviewWorkers
from circumspect.models import ScriptedModel
from circumspect.review.case_files import Criteria
from circumspect.review.reviewing import Reviewing
from circumspect.review.shelf import Shelf
from circumspect.review.stored_evaluations import row_of
from circumspect.review.values import Criterion, CriterionResult, ReviewCase
from circumspect.stores.reviews import ResultRow
from circumspect.values import ModelReply, ModelRequest, ModelUsage

CRITERIA = Criteria((IN_TIME, Criterion("K-2", "The claim is for a trip.", facts=("claim",))))
PROGRAM = "from circumspect import cli; cli.VERBS.setdefault('evaluate', ('evaluate:evaluate', '')); cli.main()"


def cases(count: int) -> list[ReviewCase]:
    return [replace(case(), id=f"C-{n}") for n in range(count)]


def rows(path: Path) -> list[tuple[str, str, str]]:
    with sqlite3.connect(path) as database:
        found = database.execute("SELECT case_id, criterion, status FROM review_results ORDER BY 1, 2").fetchall()
    database.close()
    return found


def run(
    path: Path,
    given: Sequence[ReviewCase],
    reviewing: Reviewing | None = None,
    criteria: Criteria = CRITERIA,
    **more: object,
) -> BatchProgress:
    return run_batch(given, criteria, Shelf([document()]), reviewing or Reviewing(), str(path), **more)  # type: ignore[arg-type]


def answered(request: ModelRequest) -> ModelReply:
    if request.purpose == "summarise":
        return ModelReply('{"summaries": []}', ModelUsage("scripted", 500, 50, cost_usd=0.002))
    return reply(finish())


def test_every_pair_gets_one_result_and_a_second_run_does_nothing(tmp_path: Path) -> None:
    seen: list[BatchProgress] = []
    ended = run(tmp_path / "r.db", cases(5), watch=seen.append)
    assert (ended.total, ended.done_count, ended.made, ended.complete) == (10, 10, 10, True)
    assert sum(ended.statuses.values()) == 10
    assert ended.statuses == {"UNCERTAIN": 10}
    assert len(rows(tmp_path / "r.db")) == 10
    assert seen[-1].done_count == 10
    again = run(tmp_path / "r.db", cases(5))
    assert (again.made, again.kept, again.complete) == (0, 10, True)
    assert not list(tmp_path.glob("*.lock"))


def test_new_and_changed_cases_are_evaluated_and_the_others_are_not(tmp_path: Path) -> None:
    run(tmp_path / "r.db", cases(3))
    changed = replace(case(claim__submitted="2026-06-01"), id="C-1")
    ended = run(tmp_path / "r.db", [*cases(1), changed, *cases(4)[2:]])
    assert (ended.made, ended.kept, ended.total) == (4, 4, 8)
    found = {(case_id, criterion): status for case_id, criterion, status in rows(tmp_path / "r.db")}
    assert len(found) == 8
    assert found["C-1", "K-1"] == "UNCERTAIN"


def test_other_criteria_are_another_batch_in_the_same_file(tmp_path: Path) -> None:
    run(tmp_path / "r.db", cases(2))
    ended = run(tmp_path / "r.db", cases(2), criteria=Criteria((IN_TIME,)))
    assert (ended.made, ended.total) == (2, 2)
    assert len(rows(tmp_path / "r.db")) == 6


def test_a_budget_stops_the_batch_cleanly_and_counts_what_was_spent_before(tmp_path: Path) -> None:
    model = ScriptedModel(answered)
    reviewing = Reviewing(model)
    ended = run(tmp_path / "r.db", cases(10), reviewing, budget=Budget(tokens=1_500), concurrency=1)
    assert not ended.complete
    assert "1,500 are allowed" in ended.why
    assert 1_500 <= ended.tokens < 1_500 + 120
    assert len(rows(tmp_path / "r.db")) == ended.done_count < 20
    asked = len(model.requests)
    again = run(tmp_path / "r.db", cases(10), reviewing, budget=Budget(tokens=700), concurrency=1)
    assert (again.made, len(model.requests)) == (0, asked)
    money = run(tmp_path / "r.db", cases(10), reviewing, budget=Budget(usd=0.015), concurrency=2)
    assert not money.complete
    assert "$" in money.why
    whole = run(tmp_path / "r.db", cases(10), reviewing, concurrency=4)
    assert whole.complete
    assert len(rows(tmp_path / "r.db")) == 20
    assert sum(request.purpose == "evaluate" for request in model.requests) == 20
    assert sum(request.purpose == "summarise" for request in model.requests) == 1


def test_an_interrupted_batch_keeps_what_is_finished(tmp_path: Path) -> None:
    done = 0

    class Stalling(ScriptedModel):
        async def complete(self, request: ModelRequest) -> ModelReply:
            nonlocal done
            if request.purpose == "evaluate":
                done += 1
                if done > 6:
                    await asyncio.sleep(0.05)
                    signal.raise_signal(signal.SIGINT)
                    await asyncio.Event().wait()
            return answered(request)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "r.db", cases(10), Reviewing(Stalling()), concurrency=2)
    kept = len(rows(tmp_path / "r.db"))
    assert kept == 6
    model = ScriptedModel(answered)
    ended = run(tmp_path / "r.db", cases(10), Reviewing(model), concurrency=2)
    assert (ended.kept, ended.made) == (6, 14)
    assert sum(request.purpose == "evaluate" for request in model.requests) == 14


def test_two_runs_cannot_write_to_one_file_at_once(tmp_path: Path) -> None:
    class Nested(ScriptedModel):
        async def complete(self, request: ModelRequest) -> ModelReply:
            with pytest.raises(StoreError, match="Another process"):
                run(tmp_path / "r.db", cases(1))
            return answered(request)

    assert run(tmp_path / "r.db", cases(1), Reviewing(Nested())).complete


def test_processes_come_to_the_same_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "one.db", cases(30))
    monkeypatch.setattr(evaluations, "_POOL_FROM", 1)
    ended = run(tmp_path / "two.db", cases(30))
    assert ended.complete
    assert rows(tmp_path / "one.db") == rows(tmp_path / "two.db")


def test_a_part_that_nobody_can_do_is_named_and_the_next_run_does_only_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(result: CriterionResult, of: ReviewCase, position: int) -> ResultRow:
        if of.id == "C-1":
            raise RecursionError("too deep")
        return row_of(result, of, position)

    monkeypatch.setattr(evaluations, "COMPUTED", 2)
    with monkeypatch.context() as within:
        within.setattr(reviews, "row_of", broken)
        with pytest.raises(Incomplete, match="A part of the work could not be done") as caught:
            run(tmp_path / "r.db", cases(3), elsewhere=ReviewWorkers(serial))
    assert caught.value.findings == ("2 reviews of C-1: RecursionError: too deep",)
    assert "tries only what is missing" in caught.value.fix
    assert {case_id for case_id, _, _ in rows(tmp_path / "r.db")} == {"C-0", "C-2"}
    ended = run(tmp_path / "r.db", cases(3))
    assert (ended.kept, ended.made, ended.complete) == (4, 2, True)


def test_the_whole_trace_is_in_the_database(tmp_path: Path) -> None:
    model = ScriptedModel(['{"summaries": []}', reply(call("facts_get", field="claim")), reply(finish())])
    run(tmp_path / "r.db", cases(1), Reviewing(model), Criteria((IN_TIME,)), concurrency=1)
    with sqlite3.connect(tmp_path / "r.db") as database:
        (stored,) = database.execute("SELECT result FROM review_results").fetchone()
    database.close()
    result = json.loads(stored)
    assert [step["kind"] for step in result["trace"]] == ["thought", "action", "observation", "thought", "action"]
    assert POLICY[result["citations"][0]["start"] : result["citations"][0]["end"]] == result["citations"][0]["quote"]


@pytest.mark.postgres
def test_a_batch_can_go_into_postgresql(postgres: Any) -> None:
    name = f"reviews_{secrets.token_hex(4)}"
    postgres.sql(f"CREATE DATABASE {name}")
    shelf = Shelf([document()])
    for kept, made in ((0, 6), (6, 0)):
        ended = run_batch(cases(3), CRITERIA, shelf, Reviewing(), postgres.url(name))
        assert (ended.kept, ended.made, ended.complete) == (kept, made, True)
    postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.slow
def test_a_batch_that_is_killed_twice_ends_with_every_result_once(tmp_path: Path) -> None:
    (tmp_path / "handbook.md").write_text(POLICY)
    lines = (
        json.dumps(
            {
                "id": f"C-{n}",
                "facts": {"claim": {"kind": "trip", "submitted": "2026-04-05"}, "trip": {"last_day": "2026-03-06"}},
            }
        )
        for n in range(500)
    )
    (tmp_path / "cases.jsonl").write_text("\n".join(lines))
    criteria = [{"id": f"K-{n}", "text": IN_TIME.text, "facts": list(IN_TIME.facts)} for n in range(4)]
    (tmp_path / "criteria.json").write_text(json.dumps(criteria))
    command = [sys.executable, "-c", PROGRAM, "evaluate", "cases.jsonl", "handbook.md", "--criteria", "criteria.json",
               "--out", "r.db", "--jobs", "2", "--json"]  # fmt: skip
    found = 0
    for wanted in (1, 600):
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, start_new_session=True)
        until = time.monotonic() + PATIENCE
        while process.poll() is None and found < wanted and time.monotonic() < until:
            time.sleep(0.02)
            found = counted(tmp_path / "r.db")
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert counted(tmp_path / "r.db") >= wanted
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=2 * PATIENCE, check=False)
    assert ended.returncode == 0, ended.stderr
    summary = json.loads(ended.stdout.splitlines()[-1])["summary"]
    assert (summary["total"], summary["done"], summary["complete"]) == (2000, 2000, True)
    assert len(set(rows(tmp_path / "r.db"))) == 2000 == counted(tmp_path / "r.db")


def counted(path: Path) -> int:
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            (count,) = database.execute("SELECT count(*) FROM review_results").fetchone()
        database.close()
    except sqlite3.Error:
        return 0
    return int(count)
