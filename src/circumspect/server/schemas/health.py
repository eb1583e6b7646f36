"""Is it alive, can it serve."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from circumspect.server.schemas.bodies import Shown


class Health(Shown):
    status: Literal["ok"]


class Readiness(Shown):
    status: Literal["ready", "not_ready"]
    database: str
    redis: str = Field(description="Reported; never makes a worker unready.")
    model: str = Field(description="Reported; never makes a worker unready.")
    turns_in_flight: int
