"""A proposed call -> what its conditions read of earlier results, for whoever is asked to approve it.

They are what the policy itself saw: the same places, with the same values. What was not looked up is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from circumspect.policy.condition_view import MISSING, View, view
from circumspect.policy.expressions import find_places
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.places import ExpressionPath, Many, PathStep
from circumspect.values import EstablishedFact, Json

_ROOTS = frozenset(("facts", "latest", "results"))
_MOST = 50
_LONGEST = 2000
"""Characters of a value as JSON. Conditions read fields; what is longer is a whole list that one of them went over."""


def find_established(facts: Facts) -> tuple[EstablishedFact, ...]:
    """In the order in which the conditions name them."""
    policy = facts.policy
    if policy is None:
        return ()
    seen, found = view(facts), dict[str, Json]()
    conditions = [*(one.condition for one in policy.deny_unless), *(one.condition for one in policy.when)]
    for condition in conditions:
        for path in find_places(condition, policy.scope):
            if path.root not in _ROOTS:
                continue
            place = ExpressionPath(path.root, tuple(_find_steps(path, seen)))
            value: Any = seen.at(place) if len(place.steps) > 1 else MISSING
            if value is not MISSING:
                found[str(place)] = _shorten(value)
    return tuple(EstablishedFact(place, value) for place, value in list(found.items())[:_MOST])


def _find_steps(path: ExpressionPath, seen: View) -> Iterator[PathStep]:
    """With every key as the value it has here; up to where a condition goes over many."""
    for step in path.steps:
        if isinstance(step, Many):
            return
        key = seen.at(step) if isinstance(step, ExpressionPath) else step
        if key is MISSING:
            return
        yield key


def _shorten(value: Json) -> Json:
    text = orjson.dumps(value, default=str).decode()
    return value if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
