"""Versions of prompts."""

from __future__ import annotations

from difflib import unified_diff
from typing import Annotated, Self

from pydantic import ConfigDict, Field

from circumspect.prompts import Prompt
from circumspect.server.schemas.bodies import AnswerBody, AnswerTime, OneLine, PlainText, RequestBody
from circumspect.stores.prompts import PromptRow

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
    created_at: AnswerTime | None

    @classmethod
    def of_prompt(cls, one: Prompt | PromptRow) -> Self:
        """Of a prompt that comes with the package, or of a version that a tenant has added."""
        if isinstance(one, Prompt):
            return cls.of(one, shipped=True, parent=None, note="", created_by="", created_at=None)
        return cls.of(one, shipped=False)


class PromptWhole(PromptShown):
    text: str


class DiffShown(AnswerBody):
    old: str
    new: str
    lines: list[str] = Field(description="A unified diff.")

    @classmethod
    def between(cls, old: Prompt, new: Prompt) -> Self:
        texts = old.text.splitlines(), new.text.splitlines()
        return cls(old=old.id, new=new.id, lines=list(unified_diff(*texts, old.id, new.id, lineterm="")))


class UseShown(AnswerBody):
    turn: str
    conversation: str
    outcome: str | None
    at: AnswerTime
