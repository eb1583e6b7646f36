"""Verification on a live site in Chromium (R14): what the site says is true against what ours says.

Some pairs of the benchmark's table, and the menu case; `python -m bench.verification` plays all of them.
"""

from __future__ import annotations

import pytest
from bench.verification import Judged, judge_all
from bench.verification_pairs import PAIRS

from circumspect.errors import ConfigError
from circumspect.web.browser.chromium import find_chromium

MENU = ("a menu opens", "a menu's button is dead", "another menu opens", "a link opens its page")
SOME = [pair for place, pair in enumerate(PAIRS) if place % 18 == 3 or pair.what in MENU]


@pytest.fixture(scope="module")
def chromium() -> None:
    try:
        find_chromium()
    except ConfigError:
        pytest.skip("NO BROWSER: install Chromium (or set CHROMIUM=/path/to/it) to test verification on a live site")


async def test_ours_agrees_with_the_site(chromium: None) -> None:
    judged = await judge_all(SOME, at_once=2)
    assert [one.pair.what for one in judged if one.truth != one.pair.good] == [], "the table and the site disagree"
    assert [one.pair.what for one in judged if one.verified.success and not one.truth] == [], "false successes"
    assert [one.pair.what for one in judged if one.truth and not one.verified.success] == [], "false failures"
    menu = _of(judged, "a menu opens")
    assert not menu.by_address, "the address of a menu does not change: to look at it only would call this a failure"
    assert len(menu.verified.choices) == 3


def _of(judged: list[Judged], what: str) -> Judged:
    return next(one for one in judged if one.pair.what == what)


def test_the_table_has_every_kind_of_action_with_a_good_and_a_bad_end() -> None:
    assert len(PAIRS) >= 60
    assert len({pair.what for pair in PAIRS}) == len(PAIRS)
    for tool in ("click", "submit", "type", "select", "navigate", "press", "scroll", "wait"):
        assert {pair.good for pair in PAIRS if pair.action.tool == tool} == {True, False}, tool
