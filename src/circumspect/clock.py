"""Time and identifiers, as ports: the real ones, and fixed ones for scripts and tests."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass
class FixedClock:
    """Stands still until told to move."""

    at: datetime

    def now(self) -> datetime:
        return self.at

    def advance(self, **passed: float) -> None:
        """`advance(minutes=6)`"""
        self.at += timedelta(**passed)


class RandomIds:
    def new(self, prefix: str) -> str:
        return f"{prefix}_{secrets.token_hex(10)}"
