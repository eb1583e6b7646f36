"""What every body has in common: `Given` comes in, `Shown` goes out; forms of ids and texts; pages; problems."""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")
ID = r"^[A-Za-z0-9+@_][A-Za-z0-9._:@+=~-]*$"
TENANT = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
NO_NUL = r"^[^\x00]*$"
ONE_LINE = r"^[^\x00\r\n]*$"
IN_WORDS = {
    ID: "may hold letters, digits and . _ : @ + = ~ -, and begins with a letter, a digit, + @ or _",
    TENANT: "may hold letters, digits and _ . -, at most 64, and begins with a letter or a digit",
    NO_NUL: "must not hold a NUL character",
    ONE_LINE: "must be one line, without a NUL character",
}
"""What to say of text that does not match: few people read patterns."""
ResourceId = Annotated[str, Field(min_length=1, max_length=128, pattern=ID)]
PlainText = Annotated[str, Field(pattern=NO_NUL)]
OneLine = Annotated[str, Field(max_length=1_000, pattern=ONE_LINE)]


class RequestBody(BaseModel):
    """A request body. A field that we do not know is refused, by name."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


class AnswerBody(BaseModel):
    """An answer."""


class ProblemBody(AnswerBody):
    """What is wrong and what to do about it. The same for every error."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "code": "not_found",
                    "problem": "There is no such conversation.",
                    "fix": "Check the id, and whose key you use.",
                }
            ]
        },
    )

    code: str = Field(description="For programs: it stays the same when the words change.")
    problem: str
    fix: str


class AnswerPage(AnswerBody, Generic[T]):
    items: list[T]
    next: str | None = Field(description="Pass it as `after` for the next page; null when this is the last.")
