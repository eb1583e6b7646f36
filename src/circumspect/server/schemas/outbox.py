"""Notifications that wait to leave, left, or were given up."""

from __future__ import annotations

from pydantic import Field

from circumspect.server.schemas.bodies import AnswerBody, AnswerTime
from circumspect.stores.notifications import NotificationState


class NotificationShown(AnswerBody):
    id: str
    topic: str = Field(description="`webhook` or `mail`; anything else has not been addressed yet.")
    tenant: str | None
    conversation_id: str | None = Field(validation_alias="conversation")
    target: str = Field(description="The URL or the addresses; empty while it has not been addressed.")
    state: NotificationState
    attempts: int
    created_at: AnswerTime
    next_at: AnswerTime = Field(description="When it is tried again, where it waits.")


class Redriven(AnswerBody):
    notifications: int = Field(description="How many are sent again; at most a thousand at once.")
