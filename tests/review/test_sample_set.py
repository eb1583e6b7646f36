"""The sample set without a model: whatever is said, its quotes are real, and what is not proved is left open.

`python -m bench.review` has the figures."""

from __future__ import annotations

import asyncio

import pytest
from bench.review import Judged, measure
from bench.review_sets import read_samples


@pytest.fixture(scope="module")
def found() -> list[Judged]:
    results: list[Judged] = []
    asyncio.run(measure({"samples": read_samples()}, ["none"], None, results))
    return results


@pytest.mark.slow
def test_every_quote_is_in_its_document(found: list[Judged]) -> None:
    assert len(found) == 200
    assert sum(len(one.quotes) for one in found) > 200
    assert sum(one.invented for one in found) == 0
    assert sum(bool(one.telling) for one in found) >= 0.6 * len(found)


@pytest.mark.slow
def test_it_decides_nothing_wrongly(found: list[Judged]) -> None:
    """These policies say more than its grammar reads, so it decides next to nothing of them."""
    assert [one.name for one in found if one.decided and not one.right] == []
