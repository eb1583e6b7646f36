"""A watch looks once, says what it saw, and starts a run only where recent evaluations are worse than a bound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.lab.optimise.conftest import PLAN, WEAK, Ran
from tests.lab.optimise.test_metric import CASE, EXAMPLE, GOLD, RULE

from circumspect.cli import cli
from circumspect.errors import ConfigError
from circumspect.lab.optimise.watch import Stored, check_due, read_latest, score_stored
from circumspect.stores import reviews
from circumspect.stores.engine import connect
from circumspect.stores.reviews import ResultRow


def result(quote: str = RULE, status: str = "MET") -> dict[str, Any]:
    stands = [{"document": GOLD.document, "start": GOLD.start, "end": GOLD.end, "quote": RULE}] if quote == RULE else []
    evidence = [{"field": "claim.submitted", "value": "2026-04-05"}, {"field": "trip.last_day", "value": "2026-03-06"}]
    given = {"status": status, "citations": [{"quote": quote}], "evidence": evidence}
    return {
        "status": status, "confidence": 1.0, "rationale": "The last day of the trip was 2026-03-06.",
        "citations": stands, "evidence": evidence, "reason_code": None,
        "trace": [{"kind": "observation", "text": RULE}, {"kind": "action", "tool": "finish", "arguments": given}],
    }  # fmt: skip


def stored(path: Path, *made: tuple[dict[str, Any], str, str | None]) -> Path:
    rows = [
        ResultRow(f"C{number}", CASE.hash, "K", 0, one["status"], 1.0, reason, controller, "review@1", 1, 1, 0.0, one)
        for number, (one, controller, reason) in enumerate(made)
    ]
    database = connect(str(path))
    try:
        database.transaction(reviews.create_tables)
        database.transaction(reviews.begin_batch, "shop", "b", "react", len(rows), {}, 0.0)
        for at, row in enumerate(rows):
            database.transaction(reviews.commit_results, "shop", "b", [row], float(at))
    finally:
        database.close()
    return path


def look(path: Path, last: int, tenant: str | None = None) -> list[Stored]:
    database = connect(str(path))
    try:
        return database.transaction(read_latest, last, tenant)
    finally:
        database.close()


@pytest.mark.parametrize(
    ("scores", "starts", "why"),
    [
        ([0.7] * 60, True, "0.700, below 0.8"),
        ([0.8] * 60, False, "not below"),
        ([0.1] * 49, False, "only 49 evaluations, 50 are needed"),
        ([], False, "only 0"),
    ],
)
def test_due_is_a_mean_below_the_bound_of_enough_evaluations(scores: list[float], starts: bool, why: str) -> None:
    verdict = check_due(scores, 0.8, 50)
    assert verdict.due is starts
    assert why in verdict.why


def test_the_newest_evaluations_by_a_model_are_looked_at(tmp_path: Path) -> None:
    good, bad = result(), result("Roughly thirty days or so")
    path = stored(
        tmp_path / "results.db",
        (bad, "react", None), (good, "react", None), (bad, "heuristic", None), (bad, "react", "MODEL_FAILED"),
        (good, "react", "LOW_CONFIDENCE"),
    )  # fmt: skip
    assert [one.result for one in look(path, 2)] == [good, good]
    assert [one.result for one in look(path, 9, "shop")] == [good, good, bad]
    assert look(path, 9, "another") == []


def test_what_has_a_label_is_measured_whole_and_the_rest_as_far_as_it_can_be() -> None:
    rows = [Stored(CASE.hash, "K", "review@1", result()), Stored("?", "K", "review@2", result("Made up by somebody"))]
    saw = score_stored(rows, [EXAMPLE])
    assert saw.scores[0] == pytest.approx(1.0)
    assert saw.scores[1] < 0.6
    assert (saw.labelled, saw.prompts) == (1, {"review@1": 1, "review@2": 1})
    own = score_stored(rows, [EXAMPLE], lambda example, outcome: 0.5)
    assert (own.scores, own.labelled) == ((0.5,), 1)


# --- the command ----------------------------------------------------------------------------------------------------


def called(folder: Path, *more: str, budget: int = PLAN.budget) -> Result:
    given = ["review", "--dataset", str(folder), "--budget", str(budget), "--minibatch", "3", *more]
    return CliRunner().invoke(cli, ["optimise", *given])


def test_a_watch_that_sees_no_need_says_what_it_saw(folder: Path, tmp_path: Path) -> None:
    path = stored(tmp_path / "results.db", *[(result(), "react", None)] * 3)
    done = called(folder, "--watch", "--below", ".8", "--at-least", "3", "--database", str(path))
    assert done.exit_code == 0, done.output
    assert "No run: the mean of 3 evaluations is 1.000, not below 0.8." in done.stdout
    assert "review@1 (3)" in done.stdout
    told = called(folder, "--watch", "--at-least", "9", "--database", str(path), "--json")
    assert json.loads(told.stdout)["watch"]["why"] == "only 3 evaluations, 9 are needed"


def test_a_watch_below_the_bound_starts_a_run_and_not_a_second_time(folder: Path, tmp_path: Path, ran: Ran) -> None:
    path = stored(tmp_path / "results.db", *[(result("Roughly thirty days"), "react", None)] * 3)
    (tmp_path / "weak.md").write_text(WEAK, "utf-8")
    watch = ["--watch", "--at-least", "3", "--database", str(path), "--start", str(tmp_path / "weak.md")]
    done = called(folder, *watch, "--model", ran.server.model, "--run", str(ran.path))
    assert done.exit_code == 0, done.output
    assert "A run is due" in done.stderr
    assert "That run has ended already" in done.stdout
    (ran.path / "report.json").unlink()
    done = called(folder, *watch, "--model", ran.server.model, "--run", str(ran.path), "--json")
    assert json.loads(done.stdout)["winner"] == ran.report.winner.prompt.id


def test_a_watch_over_nothing_says_so_and_makes_nothing(folder: Path, tmp_path: Path) -> None:
    done = called(folder, "--watch", "--database", str(tmp_path / "none.db"))
    assert isinstance(done.exception, ConfigError)
    assert "no database" in done.exception.problem
    assert list(tmp_path.iterdir()) == []
