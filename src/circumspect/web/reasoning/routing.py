"""Where the information is said to be, and how surely -> what is done about it. One table, read by people and code.

The one choice that may surprise: a low confidence is not refused, it is sent to search or to the user. Nothing that is
under .5 ever goes straight on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Where = Literal["MEMORY", "PAGE", "KNOWLEDGE", "WEB_SEARCH", "ASK_USER"]
WHERES: tuple[Where, ...] = get_args(Where)
"""In the order in which they are looked at."""
RoutingMove = Literal["go", "check_page", "verify_by_search", "search", "search_once", "ask"]

SURE, GO, DEGRADED_GO, ACTS = 0.9, 0.7, 0.6, 0.5

MATRIX: Mapping[Where, tuple[RoutingMove, RoutingMove, RoutingMove, RoutingMove]] = {
    #             from .9   from .7 (.6 when degraded)  from .5        below .5
    "MEMORY":     ("go",     "check_page",               "search",      "search"),
    "PAGE":       ("go",     "verify_by_search",         "search",      "search"),
    "KNOWLEDGE":  ("go",     "verify_by_search",         "search",      "search"),
    "WEB_SEARCH": ("search", "search",                   "search_once", "ask"),
    "ASK_USER":   ("ask",    "ask",                      "ask",         "ask"),
}  # fmt: skip

OTHERWISE: Mapping[RoutingMove, RoutingMove] = {"check_page": "search", "verify_by_search": "ask"}
"""What is done where a check does not pass."""

LEADS_TO: Mapping[RoutingMove, Where] = {"search": "WEB_SEARCH", "search_once": "WEB_SEARCH", "ask": "ASK_USER"}
"""Where the information will have come from; every other move stays with what was said."""


@dataclass(frozen=True, slots=True)
class Route:
    move: RoutingMove
    source: Where
    """Where the information is looked for: not always where the model said."""
    otherwise: RoutingMove | None = None


def route(source: Where, confidence: float, go_threshold: float = GO) -> Route:
    """`go_threshold` is `DEGRADED_GO` where the fast model thought for the smart one."""
    bounds = (SURE, go_threshold, ACTS)
    # A number that is none (NaN) is not at least anything, and so ends up in the last column.
    column = next((at for at, bound in enumerate(bounds) if confidence >= bound), len(bounds))
    move = MATRIX[source][column]
    return Route(move, LEADS_TO.get(move, source), OTHERWISE.get(move))
