"""Is it alive, can it serve."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from circumspect.server.schemas.bodies import AnswerBody


class Health(AnswerBody):
    status: Literal["ok"]


class Readiness(AnswerBody):
    status: Literal["ready", "not_ready"]
    database: str
    redis: str = Field(description="Reported; never makes a worker unready.")
    model: str = Field(description="Reported; never makes a worker unready.")
    clock: str = Field(description="This worker's against the database's; never makes a worker unready.")
    turns_in_flight: int
    stopping: bool = Field(description="The server was asked to stop: send requests elsewhere.")
