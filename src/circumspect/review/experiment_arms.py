"""Reviews under an experiment: the arm of a case goes with its request; what came of it is written with its end.

`request["experiment"]` is made by whoever accepted the case: `{"id", "arm", "period", "prompts", "counted"}`. After a
decision the winner is served and nothing is counted any more. With `"fell_back": true` the arm could not be had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from circumspect.errors import ConfigError
from circumspect.prompts import Prompt, load_default_prompt, make_prompt_version
from circumspect.review.citations import plain
from circumspect.stores import experiments, prompts, reviews
from circumspect.stores.engine import Transactions
from circumspect.stores.experiments import ExposureRow
from circumspect.stores.reviews import Evaluation, EvaluationState
from circumspect.values import TenantId

_MOST_RESULTS = 1_000_000
_EDGES = " \"'…."
"""What models put around a quote."""


async def load_prompts(store: Transactions, tenant: str, request: Mapping[str, Any]) -> Mapping[str, Prompt]:
    """The versions of prompts that the tenant's file names, and over them those that the case's arm chose; a version
    that is gone is an error of this evaluation."""
    found: dict[str, Prompt] = {}
    arm = (request.get("experiment") or {}).get("prompts") or {}
    for name, id_ in {**(request.get("prompts") or {}), **arm}.items():
        if load_default_prompt(name).id == id_:
            continue
        row = await store.tx(prompts.get, TenantId(tenant), id_)
        if row is None:
            raise ConfigError(
                f"There is no version {id_} of a prompt.",
                fix="Choose another one in the tenant's file, and stop an experiment that chose it.",
            )
        found[name] = make_prompt_version(name, row.text)
    return found


def finish_evaluation(
    connection: sa.Connection,
    tenant: str,
    id_: str,
    token: str,
    state: EvaluationState,
    now: float,
    error: str | None = None,
) -> bool:
    """Finish an evaluation and, where it is under an experiment, count it. False when the claim on it is gone."""
    if not reviews.finish(connection, tenant, id_, token, state, now, error):
        return False
    evaluation = reviews.get(connection, frozenset({tenant}), id_)
    under: Any = evaluation.request.get("experiment") if evaluation else None
    if evaluation is not None and under and under.get("counted", True):
        experiments.expose(connection, [_exposure(connection, evaluation, now)])
    return True


def _exposure(connection: sa.Connection, evaluation: Evaluation, now: float) -> ExposureRow:
    """A case in which something stayed uncertain goes to a person: that is an escalation."""
    under: Any = evaluation.request["experiment"]
    statuses, tokens, cost = reviews.count_results(connection, evaluation.tenant, evaluation.id)
    results = reviews.results_of(connection, evaluation.tenant, evaluation.id, limit=_MOST_RESULTS)
    whole: list[Any] = [result for _, result in results]
    outcome = "failed" if evaluation.state == "failed" else "escalated" if statuses.get("UNCERTAIN") else "answered"
    return ExposureRow(
        tenant=TenantId(evaluation.tenant),
        experiment=under["id"],
        turn=evaluation.id,
        case_id=evaluation.case_id,
        arm=under["arm"],
        period=under["period"],
        fell_back=bool(under.get("fell_back")),
        outcome=outcome,
        cost_usd=cost,
        tokens=tokens,
        seconds=now - evaluation.created_at,
        calls=sum((one.get("usage") or {}).get("model_calls", 0) for one in whole),
        citations=_measure_citations(whole),
        at=now,
    )


def _measure_citations(results: Sequence[Any]) -> float | None:
    """Of all quotes that were claimed, the share that stands in the documents; None where nothing was quoted. What our
    own rules quote is copied from a document, and always stands."""
    standing = claimed = 0
    for found in results:
        kept = [plain(one["quote"]) for one in found["citations"]]
        said = {plain(quote).strip(_EDGES) for quote in _list_claims(found.get("trace") or ())}
        claimed += len(said) or len(kept)
        standing += sum(any(quote in one for one in kept) for quote in said) if said else len(kept)
    return standing / claimed if claimed else None


def _list_claims(trace: Sequence[Any]) -> Iterator[str]:
    """The quotes of every verdict that the model proposed, also of those that were sent back; as it wrote them."""
    for step in trace:
        if step.get("kind") == "action" and step.get("tool") == "finish":
            given = (step.get("arguments") or {}).get("citations")
            for one in given if isinstance(given, list) else ():
                if isinstance(one, Mapping) and one.get("quote"):
                    yield str(one["quote"])
