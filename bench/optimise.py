"""What optimising is worth: a deliberately weak prompt, the winner, and the prompt we ship, on held-out cases.

    python -m bench.optimise                              with the stand-in of examples/review: no key, a few minutes
    python -m bench.optimise --seeds 3                    three runs with other random choices
    python -m bench.optimise --model openai:gpt-4o        with a real model; costs money

Prints Markdown. The stand-in plays a reader that does what its instructions say and no more; its figures show that the
optimiser finds what a prompt lacks, not how much better a real model gets.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from examples.review.stand_in import StandIn

from circumspect.lab.optimise.adapter import ReviewAdapter
from circumspect.lab.optimise.dataset import Dataset, read_dataset
from circumspect.lab.optimise.folder import Evaluated, Folder
from circumspect.lab.optimise.metric import WEIGHTS, review
from circumspect.lab.optimise.optimise_report import OptimisationReport, mean_parts
from circumspect.lab.optimise.run import OptimisationPlan, floor_of, optimise
from circumspect.models import close_model, open_model
from circumspect.prompts import load_default_prompt

SAMPLES = Path(__file__).parents[1] / "examples" / "review"
WEAK = (
    "You check one criterion of a policy against one case. When you are done, call finish with your verdict, which is "
    "not used when its confidence is below $floor."
)


def scored(text: str, dataset: Dataset, model: str, path: Path) -> list[Evaluated]:
    """A prompt on the held-out cases."""
    with Folder(path, {}) as folder, asyncio.Runner() as runner:
        opened = open_model(model)
        adapter = ReviewAdapter("review", dataset.shelf, opened, review, folder, runner.run)
        try:
            return adapter.scores(dataset.held_out, text)
        finally:
            runner.run(close_model(opened))


def row(name: str, made: list[Evaluated]) -> str:
    parts = mean_parts(made)
    total = sum(one.score.total for one in made) / len(made)
    return f"| {name} | {total:.3f} | " + " | ".join(f"{parts.get(part, 0):.3f}" for part in WEIGHTS) + " |"


def show(report: OptimisationReport, dataset: Dataset, model: str, seconds: float, path: Path) -> None:
    print(f"\n| held out | score | {' | '.join(f'{name} ({weight:g})' for name, weight in WEIGHTS.items())} |")
    print("|---|---|---|---|---|---|")
    for name, prompt in (
        ("start", report.start.prompt),
        ("winner", report.winner.prompt),
        ("ours", load_default_prompt("review")),
    ):
        print(row(f"{name}, {len(prompt.text):,} characters", scored(prompt.text, dataset, model, path / name)))
    better, worse, same = report.compared
    front, spent = sum(one.front for one in report.candidates), report.spent
    print(
        f"\n{report.start_held.examples} criteria of {report.start_held.cases} cases that had no part in it; the winner"
        f" is better on {better}, worse on {worse}, the same on {same}. {report.used} reviews of {report.budget} in"
        f" {report.rounds} rounds, {len(report.candidates)} candidates, {front} on the front, {spent.reflections}"
        f" reflections, {spent.tokens:,} tokens, ${spent.cost_usd:.2f}, {seconds:.0f} s."
    )
    print(f"\n```diff\n{report.diff}\n```")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a real model instead of the stand-in")
    parser.add_argument("--reflection-model", help="another one to write instructions")
    parser.add_argument("--budget", type=int, default=700)
    parser.add_argument("--seeds", type=int, default=1, help="how many runs")
    given = parser.parse_args()
    dataset = read_dataset(SAMPLES)
    floor = floor_of(dataset, 5)
    print(f"## A weak prompt, optimised on {len(dataset.train)} + {len(dataset.validation)} criteria")
    print(f"\nThe smallest budget is {floor.total} ({floor.explanation}); this is {given.budget}.")
    with contextlib.ExitStack() as stack:
        model = given.model or stack.enter_context(StandIn()).model
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for seed in range(given.seeds):
            plan, path = replace(OptimisationPlan(given.budget, start=WEAK), seed=seed), folder / str(seed)
            began = time.perf_counter()
            writer = open_model(given.reflection_model or model)
            report = optimise(plan, dataset, open_model(model), writer, path / "run")
            print(f"\n### Seed {seed}")
            show(report, dataset, model, time.perf_counter() - began, path)


if __name__ == "__main__":
    main()
