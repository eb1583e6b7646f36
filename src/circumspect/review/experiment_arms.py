"""Reviews under an experiment: the arm of a case goes with its request; what came of it is written with its end.

`request["experiment"]` is made by whoever accepted the case: `{"id", "arm", "period", "prompts"}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from circumspect.errors import ConfigError
from circumspect.prompts import Prompt, load_default_prompt, make_prompt_version
from circumspect.stores import experiments, prompts, reviews
from circumspect.stores.engine import Transactions
from circumspect.stores.experiments import ExposureRow
from circumspect.stores.reviews import Evaluation, EvaluationState
from circumspect.values import TenantId


async def load_prompts(store: Transactions, tenant: str, request: Mapping[str, Any]) -> Mapping[str, Prompt]:
    """The versions of prompts that the case's arm chose; a version that is gone is an error of this evaluation."""
    found: dict[str, Prompt] = {}
    for name, id_ in ((request.get("experiment") or {}).get("prompts") or {}).items():
        if load_default_prompt(name).id == id_:
            continue
        row = await store.tx(prompts.get, TenantId(tenant), id_)
        if row is None:
            raise ConfigError(f"There is no version {id_} of a prompt.", fix="Stop the experiment that chose it.")
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
    if evaluation is not None and evaluation.request.get("experiment"):
        experiments.expose(connection, [_exposure(connection, evaluation, now)])
    return True


def _exposure(connection: sa.Connection, evaluation: Evaluation, now: float) -> ExposureRow:
    """A case in which something stayed uncertain goes to a person: that is an escalation."""
    under: Any = evaluation.request["experiment"]
    statuses, tokens, cost = reviews.count_results(connection, evaluation.tenant, evaluation.id)
    outcome = "failed" if evaluation.state == "failed" else "escalated" if statuses.get("UNCERTAIN") else "answered"
    return ExposureRow(
        tenant=TenantId(evaluation.tenant),
        experiment=under["id"],
        turn=evaluation.id,
        case_id=evaluation.case_id,
        arm=under["arm"],
        period=under["period"],
        outcome=outcome,
        cost_usd=cost,
        tokens=tokens,
        seconds=now - evaluation.created_at,
        at=now,
    )
