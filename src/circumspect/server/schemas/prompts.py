"""Versions of prompts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from circumspect.server.schemas.bodies import AnswerBody, OneLine, PlainText, RequestBody

PromptName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z_-]+(/[a-z_-]+)?$")]
PROMPT_ID = r"^[a-z_-]+(/[a-z_-]+)?@[0-9a-f]{8}$"
PromptId = Annotated[str, Field(max_length=80, pattern=PROMPT_ID)]


class PromptGiven(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"name": "critique", "text": "Judge the call below.\nAnswer in JSON.", "note": "shorter"},
            ]
        }
    )

    name: PromptName
    text: Annotated[PlainText, Field(min_length=1, max_length=100_000)]
    parent: PromptId | None = Field(None, description="The version it was made from.")
    note: OneLine = ""


class PromptShown(AnswerBody):
    id: str
    name: str
    shipped: bool = Field(description="Comes with the package, and is used where nothing else is chosen.")
    parent: str | None
    note: str
    created_by: str
    created_at: datetime | None


class PromptWhole(PromptShown):
    text: str


class DiffShown(AnswerBody):
    old: str
    new: str
    lines: list[str] = Field(description="A unified diff.")


class UseShown(AnswerBody):
    turn: str
    conversation: str
    outcome: str | None
    at: datetime
