"""What every body has in common: `RequestBody` comes in, `AnswerBody` goes out; ids, texts, times; pages; problems."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from circumspect.stores.codec import moment

T = TypeVar("T")
ID = r"^[A-Za-z0-9+@_][A-Za-z0-9._:@+=~-]{0,127}$"
TENANT = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
PERSON_ID = r"^[\x21-\x7e]+$"
NO_NUL = r"^[^\x00]*$"
ONE_LINE = r"^[^\x00\r\n]*$"
IN_WORDS = {
    ID: "may hold letters, digits and . _ : @ + = ~ -, at most 128, and begins with a letter, a digit, + @ or _",
    TENANT: "may hold letters, digits and _ . -, at most 64, and begins with a letter or a digit",
    PERSON_ID: "may hold letters, digits and signs of ASCII, but no spaces",
    NO_NUL: "must not hold a NUL character",
    ONE_LINE: "must be one line, without a NUL character",
}
"""What to say of text that does not match: few people read patterns."""
ResourceId = Annotated[str, Field(min_length=1, max_length=128, pattern=ID)]
PersonId = Annotated[str, Field(min_length=1, max_length=128, pattern=PERSON_ID)]
"""A tenant's own id of an end user, which another system made: `auth0|5f7c`, a number, an address."""
PERSON = "Your id of the end user. A conversation belongs to the first it is given; for anybody else it is not there."
PlainText = Annotated[str, Field(pattern=NO_NUL)]
OneLine = Annotated[str, Field(max_length=1_000, pattern=ONE_LINE)]
AnswerTime = Annotated[
    datetime,
    BeforeValidator(lambda at: moment(at) if isinstance(at, float | int) else at),
    PlainSerializer(datetime.isoformat),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A time in an answer; rows have it as a `datetime` or in seconds."""


def sort_names(names: Collection[str] | None) -> list[str] | None:
    """In order, for an answer that says the same twice; None stays none."""
    return None if names is None else sorted(names)


class RequestBody(BaseModel):
    """A request body. A field that we do not know is refused, by name."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


class AnswerBody(BaseModel):
    """An answer. A field that was never set is left out; one that is null is said to be."""

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)

    @classmethod
    def of(cls, row: object, **more: Any) -> Self:
        """The answer with the attributes of a row; `more` is what the row does not have, or has otherwise."""
        return cls.model_validate(_Extended(row, more) if more else row)

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)


class _Extended:
    def __init__(self, row: object, more: dict[str, Any]) -> None:
        self._row, self._more = row, more

    def __getattr__(self, name: str) -> Any:
        return self._more[name] if name in self._more else getattr(self._row, name)


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
