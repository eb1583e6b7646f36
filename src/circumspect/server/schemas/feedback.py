"""What people say about a turn."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from circumspect.server.schemas.bodies import NO_NUL, PERSON, AnswerBody, AnswerTime, PersonId, RequestBody


class FeedbackGiven(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"thumb": "down", "correction": "Returns are free for 30 days, not 14."}]}
    )

    thumb: Literal["up", "down"] = Field(description="Was the turn right: its answer, what it did, that it asked?")
    correction: Annotated[str, Field(min_length=1, max_length=20_000, pattern=NO_NUL)] | None = Field(
        None, description="What would have been right. Only with a thumb down."
    )
    person: PersonId | None = Field(default=None, description=PERSON)

    @model_validator(mode="after")
    def _nothing_to_correct(self) -> FeedbackGiven:
        if self.thumb == "up" and self.correction is not None:
            raise ValueError("what was right needs no correction: leave it out, or turn the thumb down")
        return self


class FeedbackShown(AnswerBody):
    tenant: str
    conversation_id: str = Field(validation_alias="conversation")
    turn_id: str = Field(validation_alias="turn")
    thumb: Literal["up", "down"]
    correction: str | None
    decision: str = Field(description="What is judged: answer, act, ask, escalate, block or fail.")
    tool: str | None = Field(description="The tool that was called or asked about, where there was one.")
    at: AnswerTime
