"""The heuristic on the sample set: whatever it says, its quotes are real, and when it decides it is nearly always right.

The bounds below are what the benchmark prints, with room to move; `python -m bench.review` has the figures."""

from __future__ import annotations

import asyncio

import pytest
from bench.review import Judged, judged

from circumspect.review.reviewing import Reviewing


@pytest.fixture(scope="module")
def found() -> list[Judged]:
    return asyncio.run(judged(Reviewing()))


@pytest.mark.slow
def test_every_quote_is_in_its_document(found: list[Judged]) -> None:
    assert len(found) == 200
    assert sum(one.real for one in found) == sum(len(one.result.citations) for one in found) > 200


@pytest.mark.slow
def test_it_decides_seldom_and_then_rightly(found: list[Judged]) -> None:
    decided = [one for one in found if one.decided]
    assert len(decided) >= 10
    assert sum(one.right for one in decided) >= 0.85 * len(decided)


@pytest.mark.slow
def test_it_does_not_decide_what_the_case_does_not_say(found: list[Judged]) -> None:
    assert [one.label for one in found if one.label["trap"] == "absent_fact" and one.decided] == []
