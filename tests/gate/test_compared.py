"""The page that compares us with others says what our gate does today."""

from __future__ import annotations

from collections import Counter

import pytest
from bench.gates.field import gather_ours, run_all
from bench.gates.page import PAGE, count_row
from bench.gates.proposals import House, load_house


@pytest.fixture(scope="module")
def house() -> House:
    return load_house()


def test_there_are_forty_proposals_and_half_of_them_are_wrong(house: House) -> None:
    assert len({one.name for one in house.proposals}) == 40
    assert Counter(one.kind for one in house.proposals)["wrong"] == 20


async def test_the_page_has_the_row_of_our_gate_as_it_is_now(house: House) -> None:
    [result] = await run_all(house, gather_ours(house), rounds=0)
    assert f"| {' | '.join(count_row(result, house))} |" in PAGE.read_text()


async def test_no_wrong_call_runs_unasked_and_every_call_that_needs_a_yes_is_asked_about(house: House) -> None:
    [result] = await run_all(house, gather_ours(house), rounds=0)
    assert result.count(house.proposals, "wrong")["ran"] == 0
    assert result.count(house.proposals, "yes") == {"asked": 9}
