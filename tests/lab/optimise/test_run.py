"""C14: GEPA over a prompt, against a server that responds to what the prompt says."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from examples.review.stand_in import StandIn
from tests.lab.optimise.conftest import PLAN, WEAK, Ran, run

from circumspect import prompts
from circumspect.errors import ConfigError
from circumspect.lab.optimise.adapter import RunStopped, find_prompt_problem
from circumspect.lab.optimise.dataset import Dataset
from circumspect.lab.optimise.run import OptimisationProgress, check, floor_of
from circumspect.lab.optimise.values import Example, ReviewOutcome


def test_a_weak_prompt_gets_better_on_cases_that_had_no_part_in_it(ran: Ran, dataset: Dataset) -> None:
    report = ran.report
    assert report.has_improved
    assert report.winner_held.score > report.start_held.score + 0.2
    assert (report.start_held.examples, report.start_held.cases) == (len(dataset.held_out), 6)
    assert report.winner.front
    assert set(report.winner.parts) == {"citations", "coherence", "calibration", "status"}
    assert report.start.text == WEAK
    assert report.diff.startswith(f"--- {report.start.prompt.id}\n+++ {report.winner.prompt.id}")
    assert (ran.path / "winner.md").read_text("utf-8").strip() == report.winner.text
    assert orjson.loads((ran.path / "report.json").read_bytes()) == orjson.loads(orjson.dumps(report.to_json()))


def test_the_budget_counts_every_review_and_is_never_exceeded(ran: Ran) -> None:
    asked = ran.server.reviews
    assert set(asked.values()) == {1}
    assert len(asked) == ran.report.used == ran.told[-1].used <= PLAN.budget


def test_nobody_learns_from_a_held_out_case(ran: Ran, dataset: Dataset) -> None:
    """Only start and winner are ever tried on one, at the end."""
    held = {one.case.id for one in dataset.held_out}
    systems = {system for system, task in ran.server.reviews if any(f"Case {case} " in task for case in held)}
    assert systems == {one.text.replace("$floor", "0.65") for one in (ran.report.start, ran.report.winner)}


def test_the_same_command_again_asks_nobody_and_comes_to_the_same(ran: Ran, dataset: Dataset) -> None:
    before = (sum(ran.server.reviews.values()), ran.server.reflections)
    assert run(PLAN, dataset, ran.server, ran.path).to_json() == ran.report.to_json()
    assert (sum(ran.server.reviews.values()), ran.server.reflections) == before


def test_another_run_does_not_belong_into_the_same_directory(ran: Ran, dataset: Dataset) -> None:
    with pytest.raises(ConfigError, match="its seed was different"):
        run(replace(PLAN, seed=1), dataset, ran.server, ran.path)


def test_a_budget_that_is_too_small_to_mean_anything_is_refused_with_the_floor(dataset: Dataset) -> None:
    floor = floor_of(dataset, 3)
    assert floor.total == len(dataset.validation) + 3 * (6 + len(dataset.validation)) + 2 * len(dataset.held_out)
    check(replace(PLAN, budget=floor.total), dataset)
    with pytest.raises(ConfigError) as refused:
        check(replace(PLAN, budget=floor.total - 1), dataset)
    assert f"at least {floor.total} reviews" in refused.value.problem
    assert f"--budget {floor.total} or more" in refused.value.fix


def test_too_few_labels_are_refused(dataset: Dataset) -> None:
    few = replace(dataset, examples=dataset.train + dataset.validation)
    with pytest.raises(ConfigError, match="0 labels for the held-out test"):
        check(PLAN, few)


def test_a_model_that_is_away_stops_the_run_and_leaves_no_zeros_behind(
    dataset: Dataset, stand_in: StandIn, tmp_path: Path
) -> None:
    small = replace(dataset, examples=dataset.train[:6] + dataset.validation[:5] + dataset.held_out[:5])
    plan = replace(PLAN, budget=floor_of(small, 3).total)
    stand_in.down = True
    with pytest.raises(RunStopped, match="All of 5 reviews failed") as stopped:
        run(plan, small, stand_in, tmp_path / "run")
    assert "same command again" in stopped.value.fix
    stand_in.down = False
    report = run(plan, small, stand_in, tmp_path / "run")
    assert report.spent.failed == 0
    assert report.used <= plan.budget


def test_a_review_or_metric_that_fails_counts_as_nothing_and_ends_nothing(
    dataset: Dataset, stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(dataset, examples=dataset.train[:6] + dataset.validation[:5] + dataset.held_out[:5])
    bad = small.held_out[0].id

    def moody(example: Example, outcome: ReviewOutcome) -> float:
        if example.id == bad:
            raise ZeroDivisionError("no metric today")
        return outcome.confidence

    monkeypatch.setattr("circumspect.lab.optimise.run.find_metric", lambda name: moody)
    plan = replace(PLAN, budget=floor_of(small, 3).total)
    report = run(plan, small, stand_in, tmp_path / "run")
    assert report.spent.failed >= 1
    assert report.start_held.score == pytest.approx(0.99 * 4 / 5)


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "empty"), ("Pay $5 for $floor.", "names nothing"), ("For $whom, $floor.", "$whom"), ("Fine.", "$floor")],
)
def test_a_text_that_cannot_be_a_prompt_is_known_before_anybody_is_asked(text: str, said: str) -> None:
    assert said in find_prompt_problem("review", text)


def test_the_prompts_that_come_with_the_package_can_be_started_from() -> None:
    for name in ("review", "review_case", "review_search", "review_summary"):
        assert find_prompt_problem(name, prompts.load_default_prompt(name).text) == ""


def test_a_broken_proposal_scores_nothing_at_no_cost(dataset: Dataset, stand_in: StandIn, tmp_path: Path) -> None:
    """What a reflection model writes is data; the run goes on."""
    small = replace(dataset, examples=dataset.train[:6] + dataset.validation[:5] + dataset.held_out[:5])
    plain, answers = stand_in.reply, iter(["```\nCosts $5.\n```"])

    def reply(request: dict[str, Any]) -> dict[str, Any]:
        given = plain(request)
        content = given.get("content") or ""
        return {**given, "content": next(answers, content)} if content.startswith("```") else given

    stand_in.reply = reply  # type: ignore[method-assign]
    plan = replace(PLAN, budget=floor_of(small, 3).total)
    report = run(plan, small, stand_in, tmp_path / "run")
    assert report.spent.failed == 3
    assert not any("Costs $5." in system for system, _ in stand_in.reviews)


def test_ctrl_c_keeps_what_is_done(dataset: Dataset, stand_in: StandIn, tmp_path: Path) -> None:
    small = replace(dataset, examples=dataset.train[:6] + dataset.validation[:5] + dataset.held_out[:5])
    plan = replace(PLAN, budget=floor_of(small, 3).total, concurrency=2)

    def interrupt(now: OptimisationProgress) -> None:
        if now.used == 8:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(plan, small, stand_in, tmp_path / "run", watch=interrupt)
    begun = sum(stand_in.reviews.values())
    report = run(plan, small, stand_in, tmp_path / "run")
    assert 8 <= begun <= 8 + plan.concurrency
    assert sum(stand_in.reviews.values()) <= report.used + plan.concurrency


def test_a_larger_budget_goes_on_from_a_smaller_one(ran: Ran, dataset: Dataset) -> None:
    longer = run(replace(PLAN, budget=PLAN.budget + 16), dataset, ran.server, ran.path)
    assert [one.text for one in longer.candidates[: len(ran.report.candidates)]] == [
        one.text for one in ran.report.candidates
    ]
    assert set(ran.server.reviews.values()) == {1}
    # The winner of the smaller one was tried on held-out cases too.
    assert len(ran.server.reviews) <= PLAN.budget + 16 + len(dataset.held_out)
