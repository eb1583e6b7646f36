"""Everything about one end user, to hand over and to delete."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from circumspect.server.schemas.bodies import AnswerBody


class PersonExport(AnswerBody):
    model_config = ConfigDict(extra="allow")

    person: str
    conversations: list[dict[str, Any]]


class Forgotten(AnswerBody):
    conversations: int = Field(description="How many were deleted.")
