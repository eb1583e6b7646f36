"""What the names in a condition stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class FactKeeping(Protocol):
    """How results of a tool are kept as facts: `clauses.FactSource`, as a policy file writes it."""

    @property
    def key(self) -> str | None: ...
    @property
    def updated_by(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class ConditionScope:
    """What the names in a tool's conditions stand for. `compiled` is the memory of `expressions.py`."""

    let: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, FactKeeping] = field(default_factory=dict)
    timezone: str = "UTC"
    tenant: str = ""
    compiled: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)
