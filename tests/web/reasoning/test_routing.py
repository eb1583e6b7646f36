"""The routing matrix, cell by cell and at every boundary (R5, R8)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.web.reasoning.routing import ACTS, DEGRADED_GO, GO, SURE, WHERES, route

JUST_BELOW = 1e-9

CELLS = [
    # source, confidence, what is done, where it is then looked for, what if that does not pass
    ("MEMORY", 1.0, "go", "MEMORY", None),
    ("MEMORY", 0.9, "go", "MEMORY", None),
    ("MEMORY", 0.9 - JUST_BELOW, "check_page", "MEMORY", "search"),
    ("MEMORY", 0.7, "check_page", "MEMORY", "search"),
    ("MEMORY", 0.7 - JUST_BELOW, "search", "WEB_SEARCH", None),
    ("MEMORY", 0.0, "search", "WEB_SEARCH", None),
    ("PAGE", 0.9, "go", "PAGE", None),
    ("PAGE", 0.9 - JUST_BELOW, "verify_by_search", "PAGE", "ask"),
    ("PAGE", 0.7, "verify_by_search", "PAGE", "ask"),
    ("PAGE", 0.7 - JUST_BELOW, "search", "WEB_SEARCH", None),
    ("KNOWLEDGE", 0.9, "go", "KNOWLEDGE", None),
    ("KNOWLEDGE", 0.7, "verify_by_search", "KNOWLEDGE", "ask"),
    ("KNOWLEDGE", 0.7 - JUST_BELOW, "search", "WEB_SEARCH", None),
    ("WEB_SEARCH", 0.9, "search", "WEB_SEARCH", None),
    ("WEB_SEARCH", 0.7, "search", "WEB_SEARCH", None),
    ("WEB_SEARCH", 0.7 - JUST_BELOW, "search_once", "WEB_SEARCH", None),
    ("WEB_SEARCH", 0.5, "search_once", "WEB_SEARCH", None),
    ("WEB_SEARCH", 0.5 - JUST_BELOW, "ask", "ASK_USER", None),
    ("ASK_USER", 1.0, "ask", "ASK_USER", None),
    ("ASK_USER", 0.0, "ask", "ASK_USER", None),
]


@pytest.mark.parametrize(("source", "confidence", "move", "leads_to", "otherwise"), CELLS)
def test_every_cell_of_the_matrix(source, confidence, move, leads_to, otherwise):
    found = route(source, confidence)
    assert (found.move, found.source, found.otherwise) == (move, leads_to, otherwise)


@pytest.mark.parametrize(
    ("source", "confidence", "move"),
    [
        ("MEMORY", 0.6, "check_page"),
        ("MEMORY", 0.6 - JUST_BELOW, "search"),
        ("PAGE", 0.6, "verify_by_search"),
        ("WEB_SEARCH", 0.6, "search"),
        ("WEB_SEARCH", 0.6 - JUST_BELOW, "search_once"),
        ("WEB_SEARCH", 0.5 - JUST_BELOW, "ask"),
        ("MEMORY", 0.9, "go"),
    ],
)
def test_when_the_fast_model_thought_the_threshold_is_point_six(source, confidence, move):
    assert route(source, confidence, DEGRADED_GO).move == move


def test_a_confidence_that_is_no_number_is_the_lowest():
    assert route("MEMORY", math.nan).move == "search"
    assert route("WEB_SEARCH", math.nan).move == "ask"


@given(
    st.sampled_from(WHERES),
    st.floats(max_value=ACTS, exclude_max=True, allow_nan=False),
    st.sampled_from((GO, DEGRADED_GO)),
)
def test_nothing_under_a_half_goes_straight_on(source, confidence, threshold):
    assert route(source, confidence, threshold).move in ("search", "ask")


@given(st.sampled_from(WHERES), st.floats(0, 1), st.floats(0, 1))
def test_more_confidence_never_leads_further_away(source, one, other):
    """go < a check < a search < a question."""
    ladder = ["go", "check_page", "verify_by_search", "search", "search_once", "ask"]
    low, high = sorted((one, other))
    assert ladder.index(route(source, high).move) <= ladder.index(route(source, low).move)
    assert SURE > GO > DEGRADED_GO > ACTS
