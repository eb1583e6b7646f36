"""Between reviews and the database: a result as a row, outlines kept next to the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from circumspect.review.outline import Summaries
from circumspect.review.values import CriterionResult, ReviewCase
from circumspect.stores import reviews
from circumspect.stores.reviews import ResultRow


def row_of(result: CriterionResult, case: ReviewCase, position: int) -> ResultRow:
    return ResultRow(
        result.case, case.hash, result.criterion, position, result.status, result.confidence,
        str(result.reason_code) if result.reason_code else None, result.controller, result.prompt_id,
        sum(call.input_tokens for call in result.calls), sum(call.output_tokens for call in result.calls),
        result.cost_usd, result.to_json(whole=True),
    )  # fmt: skip


class StoredSummaries:
    """Outlines in the database, next to the results."""

    def __init__(self, tx: Callable[..., Any], tenant: str) -> None:
        self._tx, self._tenant = tx, tenant

    async def get(self, key: str) -> Summaries | None:
        found: Summaries | None = await self._tx(reviews.get_summaries, self._tenant, key)
        return found

    async def put(self, key: str, summaries: Summaries) -> None:
        await self._tx(reviews.put_summaries, self._tenant, key, summaries)
