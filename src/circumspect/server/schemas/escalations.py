"""Conversations that were handed to a person, and what the person says."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from circumspect.reasons import ReasonCode
from circumspect.server.schemas.bodies import NO_NUL, AnswerBody, AnswerTime, RequestBody
from circumspect.values import ToldOutcome


class EscalationShown(AnswerBody):
    id: str
    tenant: str
    conversation_id: str = Field(validation_alias="conversation")
    turn_id: str = Field(validation_alias="turn")
    execution_id: str | None = Field(
        validation_alias="execution", description="The call whose outcome nobody knows, if that is what it is about."
    )
    asks_outcome: bool = Field(description="Nobody knows how that call ended: whoever resolves this says the outcome.")
    reason_code: ReasonCode | None = Field(validation_alias="reason")
    summary: str
    suggestion: str | None
    state: Literal["open", "taken", "resolved"]
    created_at: AnswerTime
    taken_by: str | None
    taken_at: AnswerTime | None
    resolved_by: str | None
    resolved_at: AnswerTime | None


class Resolution(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"outcome": "happened"}]})

    outcome: ToldOutcome | None = Field(
        default=None,
        description="Of the call whose outcome nobody knew, and required there: it happened, it did not (`not`), or "
        "that is still unknown. One that happened is not made again; one that did not may be asked for anew; while it "
        "is unknown, the escalation stays open.",
    )


class PersonsReply(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"content": "Hello, this is Noa. I am looking into it."}]}
    )

    content: Annotated[str, Field(min_length=1, max_length=20_000, pattern=NO_NUL)]


class ReplyShown(AnswerBody):
    seq: int
    conversation_id: str
