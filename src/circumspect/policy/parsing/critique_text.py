"""The second opinion, read off the model's reply: text -> Critique, or None when it does not clearly give one.

The one choice that may surprise: nothing is guessed. An opinion that broke off, or that decides twice and differently,
is no opinion; the caller asks once more and then hands over to a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, get_args

from circumspect.policy.parsing.loose_json import parse_exact, parse_intact, printable
from circumspect.values import Critique, Json

_Decision = Literal["PROCEED", "ASK_USER", "ESCALATE"]
_DECISIONS: dict[str, _Decision] = {name: name for name in get_args(_Decision)}
_BRACE = re.compile(r"\{(?!\w*\})")
_LONGEST = 50_000
_MOST = 20


def read(text: str) -> Critique | None:
    """The opinion that the text holds, as one JSON object, bare, fenced, or with words around it."""
    opinions = [opinion for found in _objects(text) if (opinion := _by_name(found)).keys() >= {"decision"}]
    decisions = {_decision(opinion["decision"]) for opinion in opinions}
    if len(decisions) != 1:
        return None
    decision = decisions.pop()
    if decision is None:
        return None
    last = opinions[-1]
    return Critique(decision, reasoning=_words(last.get("reasoning")), message=_words(last.get("message")))


def _objects(text: str) -> Iterator[dict[str, Json]]:
    """Every complete object in the text that is not inside another one."""
    whole = parse_exact(text)
    if whole is not None:
        yield whole
        return
    if len(text) > _LONGEST:
        return
    at = 0
    for _ in range(_MOST):
        brace = _BRACE.search(text, at)
        if brace is None:
            return
        found = parse_intact(text[brace.start() :])
        if found.end is None:
            # It broke somewhere: whatever it would have said, what follows cannot be told from its inside.
            yield {"decision": None}
            return
        yield found.members
        at = brace.start() + found.end
    yield {"decision": None}


def _by_name(found: dict[str, Json]) -> dict[str, Json]:
    named: dict[str, Json] = {}
    for key, value in found.items():
        name = key.strip().lower()
        named[name] = value if named.get(name, value) == value else None
    return named


def _decision(value: Json) -> _Decision | None:
    return _DECISIONS.get(re.sub(r"[\s-]+", "_", value.strip().upper())) if isinstance(value, str) else None


def _words(value: Json) -> str:
    return printable(value.strip()) if isinstance(value, str) else ""
