"""optimise: a prompt, labelled cases, a model and a budget -> a report with a winner. The same call again goes on.

    start ─▶ validate ─▶ ┌ pick from the Pareto front ─▶ review a minibatch ─▶ reflect ─▶ review it again ┐ ─▶ held out
                         └───────────────────── better: validate, keep ─────────────────────────────────┘

The budget counts reviews, all of them: validation, minibatches and the final comparison on held-out cases. It is never
exceeded: a round is begun only if it can be paid for to its end. A budget that leaves room for too few rounds to mean
anything is refused, with the smallest one that does.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from circumspect import prompts
from circumspect.errors import ConfigError
from circumspect.lab.batch.reviews import ReviewWorkers
from circumspect.lab.optimise.adapter import Reflection, ReviewAdapter, find_prompt_problem
from circumspect.lab.optimise.dataset import Dataset
from circumspect.lab.optimise.folder import Evaluated, Folder, key_of
from circumspect.lab.optimise.metric import DEFAULT, find_metric
from circumspect.lab.optimise.optimise_report import HeldOutScore, OptimisationReport, Tried, mean_parts
from circumspect.lab.optimise.values import Example
from circumspect.models import close_model
from circumspect.ports import Model
from circumspect.private_files import write
from circumspect.prompts import Prompt
from circumspect.review.controller import ReviewLimits

if TYPE_CHECKING:
    from gepa.core.result import GEPAResult

PROMPTS = ("review", "review_case", "review_search", "review_summary")
ROUNDS = 3
"""A budget pays for so many rounds at least, even if every proposal is worth a validation."""
FEWEST = 5
"""Examples in each part. Fewer decide nothing."""
IDLE = 10
"""So many rounds in a row that need no review: nothing new is proposed any more."""


@dataclass(frozen=True)
class OptimisationPlan:
    """What is optimised and how. All of it but budget, concurrency and seconds makes the run what it is."""

    budget: int
    prompt: str = "review"
    start: str = ""
    """The text to begin with; empty is the prompt that comes with the package."""
    metric: str = DEFAULT
    minibatch: int = 5
    seed: int = 0
    tokens: int = 6_000
    """What one review may cost."""
    concurrency: int = 8
    seconds: float = 120.0
    """How long one review may take."""

    @property
    def text(self) -> str:
        return self.start.strip() or prompts.load_default_prompt(self.prompt).text

    def settings(self, dataset: Dataset, model: str, reflection: str) -> dict[str, Any]:
        return {
            "prompt": self.prompt,
            "start": key_of(self.text),
            "metric": self.metric,
            "minibatch": self.minibatch,
            "seed": self.seed,
            "tokens": self.tokens,
            "dataset": dataset.hash,
            "model": model,
            "reflection_model": reflection,
            "reflection_prompt": prompts.load_default_prompt("reflection").id,
        }


@dataclass(frozen=True, slots=True)
class Floor:
    """The smallest budget that means something, and what it is made of."""

    validation: int
    held: int
    minibatch: int

    @property
    def round(self) -> int:
        """The most that a round costs: parent and child on a minibatch, and the child's validation."""
        return 2 * self.minibatch + self.validation

    @property
    def total(self) -> int:
        return self.validation + ROUNDS * self.round + 2 * self.held

    @property
    def explanation(self) -> str:
        return (
            f"{self.validation} to validate the start, {ROUNDS} rounds of at most {self.round}, "
            f"and 2 × {self.held} held-out reviews of start and winner"
        )


@dataclass(frozen=True, slots=True)
class OptimisationProgress:
    used: int
    budget: int
    candidates: int
    best: float | None
    rounds: int


def floor_of(dataset: Dataset, minibatch: int) -> Floor:
    return Floor(len(dataset.validation), len(dataset.held_out), min(minibatch, len(dataset.train)))


def check(plan: OptimisationPlan, dataset: Dataset) -> Floor:
    """Raises `ConfigError` for a plan that could not show anything."""
    if plan.prompt not in PROMPTS:
        raise ConfigError(f"{plan.prompt!r} is not a prompt of the reviewer.", fix=f"Use {', '.join(PROMPTS)}.")
    problem = find_prompt_problem(plan.prompt, plan.text)
    if problem:
        raise ConfigError(problem, fix="Correct the text to start with.")
    sizes = {"training": dataset.train, "validation": dataset.validation, "the held-out test": dataset.held_out}
    for name, examples in sizes.items():
        if len(examples) < FEWEST:
            raise ConfigError(
                f"There are {len(examples)} labels for {name}, {FEWEST} are needed.",
                fix="Label more cases. A hash of a case's id says where it belongs: half trains, a quarter validates.",
            )
    floor = floor_of(dataset, plan.minibatch)
    if plan.budget < floor.total:
        raise ConfigError(
            f"A budget of {plan.budget} is too small to mean anything: with these cases it takes at least "
            f"{floor.total} reviews ({floor.explanation}).",
            fix=f"Use --budget {floor.total} or more.",
        )
    return floor


def default_folder(plan: OptimisationPlan, dataset: Dataset, model: str, reflection: str) -> Path:
    """The same for the same command, so that running it again finds its run."""
    settings = plan.settings(dataset, model, reflection)
    name = key_of(orjson.dumps(settings, option=orjson.OPT_SORT_KEYS).decode())[:8]
    return Path("optimise") / f"{plan.prompt}-{name}"


def optimise(
    plan: OptimisationPlan,
    dataset: Dataset,
    model: Model,
    reflection: Model,
    path: Path,
    *,
    elsewhere: ReviewWorkers | None = None,
    watch: Callable[[OptimisationProgress], None] | None = None,
) -> OptimisationReport:
    """Blocks until the budget is used. Raises `RunStopped` when the model is away; what is done stays in `path`."""
    need_gepa()
    floor = check(plan, dataset)
    settings = plan.settings(dataset, model.name, reflection.name)
    cases = {one.case.id for one in dataset.examples}
    with Folder(path, settings, cases, dataset.tenant) as folder, _loop(model, reflection) as runner:
        adapter = ReviewAdapter(
            plan.prompt, dataset.shelf, model, find_metric(plan.metric), folder, runner.run, plan.concurrency,
            elsewhere, ReviewLimits(tokens=plan.tokens, seconds=plan.seconds),
        )  # fmt: skip
        writer = Reflection(reflection, folder, runner.run)
        rounds = _Rounds(plan, floor, adapter, writer, watch)
        adapter.watch = rounds.tell
        found = _search(plan, dataset, adapter, writer, rounds)
        if writer.problem:
            raise writer.problem
        report = _report(plan, dataset, adapter, found, rounds)
        write(path / "report.json", orjson.dumps(report.to_json(), option=orjson.OPT_INDENT_2))
        if report.winner.number:
            write(path / "winner.md", f"{report.winner.text}\n".encode())
        return report


def need_gepa() -> None:
    if find_spec("gepa") is None:
        raise ConfigError("The package gepa is not installed.", fix="pip install 'circumspect[optimise]'")


@contextlib.contextmanager
def _loop(*models: Model) -> Iterator[asyncio.Runner]:
    async def close() -> None:
        for one in {id(model): model for model in models}.values():
            await close_model(one)

    with asyncio.Runner() as runner:
        try:
            yield runner
        finally:
            runner.run(close())


def _search(
    plan: OptimisationPlan, dataset: Dataset, adapter: ReviewAdapter, writer: Reflection, rounds: _Rounds
) -> GEPAResult[str, int]:
    from gepa.api import optimize

    return optimize(
        seed_candidate={plan.prompt: plan.text},
        trainset=list(dataset.train),
        valset=list(dataset.validation),
        adapter=adapter,  # type: ignore[arg-type]
        reflection_lm=writer,
        reflection_prompt_template=prompts.load_default_prompt("reflection").text,
        reflection_minibatch_size=min(plan.minibatch, len(dataset.train)),
        stop_callbacks=[rounds],
        logger=adapter.folder,
        callbacks=[rounds],  # type: ignore[list-item]
        track_best_outputs=False,
        seed=plan.seed,
    )


@dataclass
class _Rounds:
    """Says when to stop, and tells whoever watches how far it is. GEPA asks before each round."""

    plan: OptimisationPlan
    floor: Floor
    adapter: ReviewAdapter
    writer: Reflection
    watch: Callable[[OptimisationProgress], None] | None
    number: int = 0
    idle: int = 0
    candidates: int = 0
    best: float | None = None
    why: str = ""
    _before: int = 0

    def __call__(self, gepa_state: Any) -> bool:
        used = len(self.adapter.seen)
        self.idle = self.idle + 1 if used == self._before else 0
        self._before = used
        if self.writer.problem:
            self.why = "reflection failed"
        elif used + self.floor.round > self.plan.budget - 2 * self.floor.held:
            self.why = "the budget is used"
        elif self.idle >= IDLE:
            self.why = "nothing new was proposed any more"
        else:
            self.number += 1
            return False
        return True

    def on_valset_evaluated(self, event: Any) -> None:
        self.candidates += 1
        self.best = max(self.best or 0.0, float(event["average_score"]))
        self.tell()

    def tell(self) -> None:
        if self.watch:
            used = len(self.adapter.seen)
            self.watch(OptimisationProgress(used, self.plan.budget, self.candidates, self.best, self.number))


# --- what came of it ------------------------------------------------------------------------------------------------


def _report(
    plan: OptimisationPlan, dataset: Dataset, adapter: ReviewAdapter, found: GEPAResult[str, int], rounds: _Rounds
) -> OptimisationReport:
    from gepa.gepa_utils import find_dominator_programs

    best_on = found.per_val_instance_best_candidates
    front = set(find_dominator_programs(best_on, found.val_aggregate_scores))  # type: ignore[no-untyped-call]
    texts = [candidate[plan.prompt] for candidate in found.candidates]
    # A text that was proposed twice is one candidate, the first: its later place goes to that one.
    first = [texts.index(text) for text in texts]
    numbers = {number: place for place, number in enumerate(dict.fromkeys(first))}
    tried = tuple(
        Tried(
            numbers[one], Prompt(plan.prompt, texts[one]), found.val_aggregate_scores[one],
            mean_parts(adapter.scores(dataset.validation, texts[one])),
            tuple(numbers[first[parent]] for parent in found.parents[one] if parent is not None),
            sum(one in {first[other] for other in those} for those in best_on.values()),
            any(first[other] == one for other in front),
        )
        for one in numbers
    )  # fmt: skip
    winner = tried[numbers[first[found.best_idx]]]
    start_held = adapter.scores(dataset.held_out, plan.text)
    winner_held = adapter.scores(dataset.held_out, winner.text) if winner.number else start_held
    return OptimisationReport(
        tried, winner.number,
        _score_held_out(dataset.held_out, start_held), _score_held_out(dataset.held_out, winner_held),
        _compare_scores(start_held, winner_held), len(dataset.train), len(dataset.validation), plan.budget,
        len(adapter.seen), rounds.number, rounds.why, adapter.folder.sum_spending(), adapter.folder.path,
    )  # fmt: skip


def _score_held_out(examples: Sequence[Example], made: Sequence[Evaluated]) -> HeldOutScore:
    total = sum(one.score.total for one in made) / len(made)
    return HeldOutScore(total, mean_parts(made), len(made), len({one.case.id for one in examples}))


def _compare_scores(start: Sequence[Evaluated], winner: Sequence[Evaluated]) -> tuple[int, int, int]:
    """Held-out examples on which the winner is better, worse and the same."""
    apart = [round(two.score.total - one.score.total, 9) for one, two in zip(start, winner, strict=True)]
    return sum(one > 0 for one in apart), sum(one < 0 for one in apart), sum(one == 0 for one in apart)
