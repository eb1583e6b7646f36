"""JSON as we take it: a body's bytes in; its value, or an `HttpProblem` that says what is wrong with it, out.

Two values under one name, text that is no Unicode and numbers that are none are refused where the standard library
would shrug.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from circumspect.server.problems import HttpProblem

DEEPEST = 100
"""Levels of JSON within JSON. Deeper ones are an attack or an accident."""
MOST_PARTS = 50_000
"""Objects and lists. A hundred thousand empty ones are 300 kB, and Python goes through all of them many times over."""
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


def read_json(body: bytes) -> Any:
    """The value, or an `HttpProblem` that says what is wrong with the body."""
    if not body.strip():
        raise HttpProblem(400, "bad_json", "The body is empty.", fix="Send one JSON object in UTF-8.")
    if (parts := _count_parts(body)) > MOST_PARTS and _count_parts(_TEXT.sub(b"", body)) > MOST_PARTS:
        raise HttpProblem(
            400,
            "bad_json",
            f"The body has more than {MOST_PARTS:,} objects and lists.",
            fix="Send fewer at a time.",
        )
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if "depth" in error.msg:
            raise _too_deep() from None
        raise HttpProblem(
            400,
            "bad_json",
            f"The body is not valid JSON (character {error.pos}).",
            fix="Send one JSON object in UTF-8; text must be Unicode, without lone surrogates.",
        ) from None
    try:
        value = json.loads(body, object_pairs_hook=_once)
    except (RecursionError, ValueError) as error:
        problem = str(error) if isinstance(error, _Twice) else "the body is nested too deeply or holds a huge number"
        raise HttpProblem(
            400, "bad_json", f"The body cannot be read: {problem}.", fix="Send each name once, and plain values."
        ) from None
    if parts > DEEPEST and _depth(value) > DEEPEST:
        raise _too_deep()
    return value


def _count_parts(body: bytes) -> int:
    """At least so many as there are: those in texts count too."""
    return body.count(b"[") + body.count(b"{")


def _too_deep() -> HttpProblem:
    return HttpProblem(
        400, "bad_json", f"The body is nested deeper than {DEEPEST} levels.", fix="Send a flatter value."
    )


class _Twice(ValueError):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Twice("a name occurs twice in one object")
    return made


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level and depth <= DEEPEST:
        depth += 1
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below.extend(item for item in one.values() if isinstance(item, dict | list))
            elif isinstance(one, list):
                below.extend(item for item in one if isinstance(item, dict | list))
        level = below
    return depth
