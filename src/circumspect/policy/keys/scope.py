"""What the names in a condition stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from circumspect.policy.keys.clauses import FactSource


@dataclass(frozen=True)
class ConditionScope:
    """What the names in a tool's conditions stand for. `compiled` is the memory of `expressions.py`."""

    let: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, FactSource] = field(default_factory=dict)
    timezone: str = "UTC"
    tenant: str = ""
    compiled: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)
