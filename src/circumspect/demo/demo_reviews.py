"""Demo evaluations: returns held against the sample shop's rules, really reviewed, with no model.

The cases carry the mark `demo-` in their id, by which they are found and taken away.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from importlib import resources
from typing import Any

import sqlalchemy as sa
import yaml

from circumspect.clock import FixedClock, RandomIds
from circumspect.review.service import EvaluationRunner, read_request
from circumspect.stores import SqlStore, reviews
from circumspect.stores.review_tables import evaluations
from circumspect.values import TenantId

TENANT = TenantId("shop")


async def seed_reviews(store: SqlStore, mark: str, now: datetime) -> int:
    """How many were made."""
    text = resources.files("circumspect.demo").joinpath("demo_reviews.yaml").read_text("utf-8")
    given: Mapping[str, Any] = yaml.safe_load(text)
    ids = RandomIds()
    for back, case in enumerate(given["cases"], start=1):
        request = {
            "case": {**case, "id": f"{mark}{case['id']}"},
            "criteria": given["criteria"],
            "documents": [{"name": "returns.md", "text": given["document"]}],
        }
        clock, id_ = FixedClock(now - timedelta(hours=7 * back)), ids.new("eval")
        await store.tx(
            reviews.create,
            tenant=TENANT,
            id=id_,
            case_id=request["case"]["id"],
            controller="heuristic",
            total=len(read_request(request, {}).items),
            request=request,
            at=clock.now().timestamp(),
        )
        await EvaluationRunner(store, clock, ids).run(TENANT, id_)
    return len(given["cases"])


async def remove_reviews(store: SqlStore, mark: str) -> None:
    await store.tx(_forget, mark)


def _forget(connection: sa.Connection, mark: str) -> None:
    marked = sa.select(evaluations.c.case_id).where(
        evaluations.c.tenant == TENANT, evaluations.c.case_id.startswith(mark, autoescape=True)
    )
    for case in list(connection.execute(marked).scalars()):
        reviews.forget_case(connection, TENANT, case)
