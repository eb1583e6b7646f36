"""The work queue: what waits for a person, who sees to it, and what colleagues noted."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AwareDatetime, ConfigDict, Field

from circumspect.reasons import ReasonCode
from circumspect.server.schemas.bodies import NO_NUL, AnswerBody, AnswerTime, RequestBody
from circumspect.server.stores.work_queue import WorkKind, WorkSubject

LONGEST_NOTE = 4_000


class WorkShown(AnswerBody):
    kind: WorkKind
    subject: WorkSubject = Field(description="What its address begins with; it stays the same when the kind changes.")
    id: str
    tenant: str
    conversation_id: str = Field(validation_alias="conversation", description="Empty where it is about none.")
    waits_since: AnswerTime
    holder: str | None = Field(description="Who took it, or else to whom it was given.")
    snoozed_until: AnswerTime | None
    reason_code: ReasonCode | None = Field(validation_alias="reason")
    summary: str
    tool: str = Field(description="Of a call that waits for an approval.")
    arguments: dict[str, Any]
    expires_at: AnswerTime | None


class Assignment(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"to": "noa"}]})

    to: Annotated[str, Field(min_length=1, max_length=200, pattern=NO_NUL)] | None = Field(
        description="The operator who is to see to it; null gives it back to everybody."
    )


class Snoozing(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"until": "2026-12-01T09:00:00Z"}]})

    until: AwareDatetime | None = Field(
        description="Until when it is out of the queue, at most a month; null brings it back at once."
    )


class NoteWritten(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"content": "The provider calls back on Monday."}]})

    content: Annotated[str, Field(min_length=1, max_length=LONGEST_NOTE, pattern=NO_NUL)]


class NoteShown(AnswerBody):
    id: str
    by: str
    at: AnswerTime
    content: str
