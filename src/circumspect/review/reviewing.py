"""review: one case, one criterion -> one Result, whatever happens. The door that the CLI, the batch and the API use.

`Reviewing` is what a run decided once: which controller, which model, which limits. With no model the heuristic
controller answers. When a model was asked for and fails, the result is UNCERTAIN with the cause: nobody else's verdict
goes out in its name. With `fallback` it carries the passages that a search by words finds, for whoever reads on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from circumspect.errors import ConfigError, ModelError
from circumspect.hashing import digest
from circumspect.ports import Model
from circumspect.prompts import Prompt, prompt
from circumspect.reasons import ReasonCode
from circumspect.review.controller import ReviewJournal, ReviewLimits, react
from circumspect.review.heuristic import find_passages, heuristic
from circumspect.review.outline import MemoryCache, Summaries, SummaryCache, leading, summarise
from circumspect.review.shelf import Shelf
from circumspect.review.values import (
    Citation,
    ControllerName,
    Criterion,
    CriterionResult,
    ReviewCase,
    TraceStep,
    read_spent,
)
from circumspect.review.verdict import FLOOR
from circumspect.values import ModelUsage

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reviewing:
    """How criteria are reviewed in one run."""

    model: Model | None = None
    limits: ReviewLimits = field(default_factory=ReviewLimits)
    fallback: bool = True
    """When the model fails, show the passages that words find."""
    prompt: Prompt | None = None
    """Other words than ours for the model; results carry its id."""
    summarise: bool = True
    """Have the model write the outline that it searches; without, a section is described by how it begins."""
    stream: bool = False

    @property
    def controller(self) -> ControllerName:
        return "react" if self.model else "heuristic"

    @property
    def words(self) -> Prompt:
        return self.prompt or prompt("review")

    @property
    def hash(self) -> str:
        """Two runs with the same one give comparable results."""
        if self.model is None:
            return digest(["heuristic", self.limits.floor])
        limits = [getattr(self.limits, name) for name in ReviewLimits.__slots__]
        return digest(["react", self.model.name, self.words.id, limits, self.fallback])


def require_model(controller: object, model: Model | None) -> None:
    """Raises `ConfigError` where a model is to review and there is none: code never answers in its place."""
    if controller == "react" and model is None:
        fix = "Give it one with `model` in its file, or choose the heuristic controller."
        raise ConfigError("This tenant has no language model to review cases with.", fix=fix)


@dataclass(frozen=True)
class Prepared:
    """A shelf with its outline."""

    shelf: Shelf
    summaries: Mapping[str, Summaries] = field(default_factory=dict)
    calls: tuple[ModelUsage, ...] = ()
    """What the outline cost; no criterion's budget pays for it."""


async def prepare(
    shelf: Shelf,
    reviewing: Reviewing,
    cache: SummaryCache | None = None,
    *,
    about: Collection[str | None] = (None,),
) -> Prepared:
    """`about` names the documents that criteria will be held against; None among them stands for all. An outline costs
    a call for every few sections, so others get none."""
    if reviewing.model is None:
        return Prepared(shelf)
    summaries: dict[str, Summaries] = {}
    spent: list[ModelUsage] = []
    for document in shelf.documents.values():
        if None not in about and document.id not in about:
            continue
        if reviewing.summarise:
            summaries[document.id], calls = await summarise(document, reviewing.model, cache or MemoryCache())
            spent.extend(calls)
        else:
            summaries[document.id] = {one.id: leading(document, one) for one in document.sections() if one.id}
    return Prepared(shelf, summaries, tuple(spent))


async def review(
    case: ReviewCase,
    criterion: Criterion,
    prepared: Prepared,
    reviewing: Reviewing,
    *,
    document: str | None = None,
    watch: Callable[[TraceStep], None] | None = None,
) -> CriterionResult:
    """`document` narrows the shelf to the one that the criterion is about. Never raises, but when it is cancelled."""
    shelf = prepared.shelf.only(document)
    if reviewing.model is None:
        return by_heuristic(case, criterion, shelf, reviewing.limits.floor, watch)
    journal = ReviewJournal(watch)
    try:
        return await react(
            case, criterion, shelf, reviewing.model, limits=reviewing.limits, summaries=prepared.summaries,
            words=reviewing.words, journal=journal, stream=reviewing.stream,
        )  # fmt: skip
    except ModelError as problem:
        journal.add_usage(read_spent(problem, reviewing.model.name))
        journal.write(TraceStep("notice", f"{problem.code}: {problem.problem}", reason=ReasonCode.MODEL_FAILED))
        passages = find_passages(criterion, shelf, journal.write) if reviewing.fallback else ()
        cited = tuple(one.citation for one in passages)
        return _abstain(case, criterion, reviewing, journal, ReasonCode.MODEL_FAILED, problem.problem, cited)
    except Exception as problem:
        log.exception("evaluation failed", extra={"criterion": criterion.id})
        journal.write(TraceStep("notice", type(problem).__name__, reason=ReasonCode.INTERNAL_ERROR))
        return _abstain(case, criterion, reviewing, journal, ReasonCode.INTERNAL_ERROR, "Something of ours failed.")


def _abstain(
    case: ReviewCase,
    criterion: Criterion,
    reviewing: Reviewing,
    journal: ReviewJournal,
    reason: ReasonCode,
    why: str,
    cited: tuple[Citation, ...] = (),
) -> CriterionResult:
    return CriterionResult(
        case.id, criterion.id, "UNCERTAIN", 0.0, why, "react", cited, reason_code=reason,
        prompt_id=reviewing.words.id, trace=tuple(journal.steps), calls=tuple(journal.calls),
        seconds=time.monotonic() - journal.began,
    )  # fmt: skip


def by_heuristic(
    case: ReviewCase,
    criterion: Criterion,
    shelf: Shelf,
    floor: float = FLOOR,
    watch: Callable[[TraceStep], None] | None = None,
) -> CriterionResult:
    """A few milliseconds of computing, and never an exception."""
    try:
        return heuristic(case, criterion, shelf, floor=floor, watch=watch)
    except Exception as problem:
        log.exception("evaluation failed", extra={"criterion": criterion.id})
        step = TraceStep("notice", type(problem).__name__, reason=ReasonCode.INTERNAL_ERROR)
        return CriterionResult(
            case.id, criterion.id, "UNCERTAIN", 0.0, "Something of ours failed.", "heuristic",
            reason_code=ReasonCode.INTERNAL_ERROR, trace=(step,),
        )  # fmt: skip
