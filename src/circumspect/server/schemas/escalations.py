"""Conversations that were handed to a person, and what the person says."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from circumspect.reasons import ReasonCode
from circumspect.server.schemas.bodies import NO_NUL, AnswerBody, RequestBody


class EscalationShown(AnswerBody):
    id: str
    tenant: str
    conversation_id: str
    turn_id: str
    execution_id: str | None = Field(description="The call whose outcome nobody knows, if that is what it is about.")
    reason_code: ReasonCode | None
    summary: str
    suggestion: str | None
    state: Literal["open", "taken", "resolved"]
    created_at: datetime
    taken_by: str | None
    taken_at: datetime | None
    resolved_by: str | None
    resolved_at: datetime | None


class PersonsReply(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"content": "Hello, this is Noa. I am looking into it."}]}
    )

    content: Annotated[str, Field(min_length=1, max_length=20_000, pattern=NO_NUL)]


class ReplyShown(AnswerBody):
    seq: int
    conversation_id: str
