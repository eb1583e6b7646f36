"""Results -> lines for a terminal: one block a criterion, its quotes and facts below, then a count."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from circumspect.review.values import Criterion, CriterionResult

_MARK = {"MET": "✓", "NOT_MET": "✗", "UNCERTAIN": "?"}


def lines(results: Sequence[CriterionResult], criteria: Mapping[str, Criterion], *, width: int = 100) -> Iterator[str]:
    for result in results:
        reason = f"  {result.reason_code}" if result.reason_code else ""
        yield f"{_MARK[result.status]} {result.status:<9} {result.confidence:.2f}  {result.criterion}{reason}"
        criterion = criteria.get(result.criterion)
        yield from _wrap(criterion.text if criterion else "", width, "    ")
        yield from _wrap(result.rationale, width, "    → ")
        for citation in result.citations:
            page = f", page {citation.page}" if citation.page else ""
            yield from _wrap(f"“{citation.quote}”", width, "    ")
            yield from _wrap(f"{citation.document}, {' › '.join(citation.path[-2:])}{page}", width, "      — ")
        if result.evidence:
            facts = "; ".join(f"{one.field} = {one.value}" for one in result.evidence)
            yield from _wrap(facts, width, "    facts: ")
        yield ""
    yield summary(results)


def summary(results: Sequence[CriterionResult]) -> str:
    counted = Counter(result.status for result in results)
    tokens, cost = sum(result.tokens for result in results), sum(result.cost_usd for result in results)
    spent = f"; {tokens:,} tokens, ${cost:.4f}" if tokens else ""
    controllers = " and ".join(sorted({result.controller for result in results}))
    noun = "criterion" if len(results) == 1 else "criteria"
    return (
        f"{len(results)} {noun}: {counted['MET']} met, {counted['NOT_MET']} not met, "
        f"{counted['UNCERTAIN']} uncertain (controller: {controllers}{spent})"
    )


def _wrap(text: str, width: int, first: str) -> Iterator[str]:
    yield from textwrap.wrap(" ".join(text.split()), width, initial_indent=first, subsequent_indent=" " * len(first))
