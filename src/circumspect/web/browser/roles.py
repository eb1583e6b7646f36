"""Roles, patterns and limits, shared by the script that runs in a page and by the reader of plain HTML."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

FACTS: dict[str, Any] = json.loads((resources.files(__package__) / "roles.json").read_text(encoding="utf-8"))
MOST: dict[str, int] = FACTS["most"]
SETS: dict[str, frozenset[str]] = {name: frozenset(one) for name, one in FACTS.items() if isinstance(one, list)}
