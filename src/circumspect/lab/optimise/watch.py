"""Is it time for another optimisation? Stored evaluations -> what they are worth, and whether that is below a bound.

One look, no daemon: a scheduler calls it as often as it likes. Evaluations whose verdict a person corrected or
confirmed, and those of cases that the dataset has labels for, are measured whole; of the others, only whether quotes
stand and the reasoning hangs together. Ones that failed because the model was away, and ones of the heuristic
controller, say nothing about a prompt and are left out.

Where both speak, the person has the last word on the verdict; if they agree, the dataset knows more about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from circumspect.lab.optimise.metric import apply_metric, score_unlabelled
from circumspect.lab.optimise.metric import review as our_metric
from circumspect.lab.optimise.values import Example, ReviewMetric, outcome_of
from circumspect.reasons import ReasonCode

if TYPE_CHECKING:
    import sqlalchemy as sa

MINIMUM = 50
"""Fewer evaluations than this and one bad day starts a run."""


@dataclass(frozen=True, slots=True)
class Due:
    due: bool
    mean: float | None
    count: int
    why: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A result as the database has it."""

    case_hash: str
    criterion: str
    prompt_id: str
    result: Mapping[str, Any]
    corrected: Example | None = None
    """As a person says that it should have been."""


@dataclass(frozen=True)
class StoredScores:
    scores: tuple[float, ...]
    labelled: int
    prompts: Mapping[str, int]
    """How many of them were made with which version."""

    def to_json(self, verdict: Due, bound: float) -> dict[str, Any]:
        mean = None if verdict.mean is None else round(verdict.mean, 4)
        shown = {"due": verdict.due, "evaluations": verdict.count, "mean": mean, "below": bound}
        return {**shown, "labelled": self.labelled, "prompts": dict(self.prompts), "why": verdict.why}


def check_due(scores: Sequence[float], bound: float, minimum: int = MINIMUM) -> Due:
    """Whether the mean is below the bound, of enough scores to say so."""
    if not scores or len(scores) < minimum:
        known = fmean(scores) if scores else None
        return Due(False, known, len(scores), f"only {len(scores)} evaluations, {minimum} are needed")
    mean = fmean(scores)
    below = mean < bound
    why = f"the mean of {len(scores)} evaluations is {mean:.3f}, {'below' if below else 'not below'} {bound:g}"
    return Due(below, mean, len(scores), why)


def score_stored(
    stored: Sequence[Stored], examples: Sequence[Example], metric: ReviewMetric = our_metric
) -> StoredScores:
    """A metric of somebody else's sees only what has a label."""
    by_key = {(one.case.hash, one.criterion.id): one for one in examples}
    scores: list[float] = []
    used: Counter[str] = Counter()
    labelled = 0
    for row in stored:
        outcome, example = outcome_of(row.result), _label(row.corrected, by_key.get((row.case_hash, row.criterion)))
        if example is not None:
            labelled += 1
            scores.append(apply_metric(metric, example, outcome).total)
        elif metric is our_metric:
            scores.append(score_unlabelled(outcome).total)
        else:
            continue
        used[row.prompt_id] += 1
    return StoredScores(tuple(scores), labelled, dict(used))


def _label(said: Example | None, known: Example | None) -> Example | None:
    agree = said is None or (known is not None and known.label.verdict == said.label.verdict)
    return known if agree else said


def read_latest(connection: sa.Connection, last: int, tenant: str | None = None) -> list[Stored]:
    """The newest evaluations by a model; of a tenant, or of all."""
    import sqlalchemy as sa

    from circumspect.lab.optimise.from_store import read_corrections
    from circumspect.stores.review_tables import results

    columns = results.c
    broken = [str(code) for code in (ReasonCode.MODEL_FAILED, ReasonCode.INTERNAL_ERROR)]
    query = (
        sa.select(
            columns.tenant, columns.evaluation, columns.case_hash, columns.criterion, columns.prompt_id, columns.result
        )
        .where(
            columns.controller == "react",
            sa.or_(columns.reason_code.is_(None), columns.reason_code.not_in(broken)),
            *((columns.tenant == tenant,) if tenant is not None else ()),
        )
        .order_by(columns.made_at.desc(), columns.case_id, columns.criterion)
        .limit(last)
    )
    rows = connection.execute(query).all()
    said = read_corrections(connection, {(row.tenant, row.evaluation) for row in rows})
    return [Stored(*row[2:], said.get((row.tenant, row.evaluation, row.criterion))) for row in rows]
