"""critique_text: what the second opinion said -> Critique, or None when it cannot be read."""

from __future__ import annotations

import re

import orjson

from circumspect.turn import Critique

_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


def read(text: str) -> Critique | None:
    found = _OBJECT.search(text)
    try:
        said = orjson.loads(found[0]) if found else None
    except orjson.JSONDecodeError:
        return None
    if not isinstance(said, dict):
        return None
    decision = str(said.get("decision", "")).upper()
    if decision not in ("PROCEED", "ASK_USER", "ESCALATE"):
        return None
    return Critique(decision, str(said.get("reasoning", "")), str(said.get("message", "")))  # type: ignore[arg-type]
