"""Conversations, their messages, and what became of a turn."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import ConfigDict, Field

from circumspect.journal import PersonReplyEvent, ReplyEvent, read_event
from circumspect.reasons import ReasonCode
from circumspect.server.schemas.bodies import (
    PERSON,
    AnswerBody,
    AnswerTime,
    PersonId,
    PlainText,
    RequestBody,
    ResourceId,
)
from circumspect.values import EntryKind, Language, Message, Mode, Role, SourceJson


class NewConversation(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"person": "customer-17", "language": "en"}]})

    id: ResourceId | None = Field(None, description="Your own id for it; without one we make one.")
    person: PersonId | None = Field(
        None,
        description="Your id of the end user: the conversation is theirs alone, every message in it names them, and "
        "by it their data can be exported and deleted.",
    )
    language: Language | None = Field(None, description="Without it the first message tells.")


class ConversationShown(AnswerBody):
    id: str
    tenant: str
    mode: Mode
    language: Language | None
    person: str | None
    paused_by: str | None = Field(description="The person who took over; the agent is silent until they hand back.")
    created_at: AnswerTime
    updated_at: AnswerTime


class NewMessage(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"content": "cancel order 12345"}]})

    content: PlainText = Field(description="What the user says. Too long or empty is answered, not refused.")
    person: PersonId | None = Field(None, description=PERSON)
    language: Language | None = Field(None, description="Answer in this language instead of the message's.")
    answers: ResourceId | None = Field(
        None, description="The question that these words answer: `pending.intent_id` of the turn that asked it."
    )
    seen: ResourceId | None = Field(
        None, description="The `turn_id` of the newest reply that the user had before them. A yes to another is asked."
    )


EXAMPLE_TURN = {
    "turn_id": "turn_5c0f9a1d2b",
    "outcome": "asked",
    "reply": "Should I cancel order 12345? Please answer yes or no.",
    "reason_codes": ["DESTRUCTIVE_NO_CONFIRM"],
    "pending": {
        "intent_id": "intent_77ab02",
        "kind": "confirmation",
        "tool": "cancel_order",
        "arguments": {"order_id": "12345"},
        "hash": "9f2c",
        "expires_at": "2026-03-31T12:05:00+00:00",
    },
    "usage": {
        "mode": "adaptive",
        "model_calls": 2,
        "input_tokens": 1130,
        "output_tokens": 92,
        "cost_usd": 0.0,
        "estimated": True,
        "critiques": 1,
        "context_rounds": 0,
    },
}


class MessageShown(AnswerBody):
    seq: int
    turn_id: str
    role: Role
    kind: EntryKind
    content: str
    at: AnswerTime
    by: Literal["user", "agent", "person", "system"] = Field(description="Who said it.")
    sources: list[SourceJson] | None = Field(None, description="What numbers like [1] in an answer stand for.")
    reason_code: ReasonCode | None = Field(None, description="Internal messages only.")
    meta: dict[str, Any] | None = Field(None, description="Internal messages only.")

    @classmethod
    def of_message(cls, row: Message, *, internal: bool) -> Self:
        said_by: dict[Role, Literal["user", "system"]] = {"user": "user", "internal": "system"}
        private: dict[str, Any] = {"reason_code": row.reason, "meta": row.meta} if internal else {}
        event = read_event(row)
        sources = [one.to_json() for one in event.sources] if isinstance(event, ReplyEvent) else []
        return cls(
            seq=row.seq,
            turn_id=row.turn,
            role=row.role,
            kind=row.kind,
            content=row.content,
            at=row.at,
            by=said_by.get(row.role) or ("person" if isinstance(event, PersonReplyEvent) else "agent"),
            sources=sources or None,
            **private,
        )
