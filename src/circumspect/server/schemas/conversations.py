"""Conversations, their messages, and what became of a turn."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field

from circumspect.reasons import ReasonCode
from circumspect.server.schemas.bodies import AnswerBody, PlainText, RequestBody, ResourceId
from circumspect.values import EntryKind, Language, Mode, Role, TurnOutcome


class NewConversation(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"person": "customer-17", "language": "en"}]})

    id: ResourceId | None = Field(None, description="Your own id for it; without one we make one.")
    person: ResourceId | None = Field(
        None, description="Your id of the end user, by which their data can be exported and deleted."
    )
    language: Language | None = Field(None, description="Without it the first message tells.")


class ConversationShown(AnswerBody):
    id: str
    tenant: str
    mode: Mode
    language: Language | None
    person: str | None
    paused_by: str | None = Field(description="The person who took over; the agent is silent until they hand back.")
    created_at: datetime
    updated_at: datetime


class NewMessage(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"content": "cancel order 12345"}]})

    content: PlainText = Field(description="What the user says. Too long or empty is answered, not refused.")
    person: ResourceId | None = Field(None, description="Your id of the end user, where the conversation has none yet.")
    language: Language | None = Field(None, description="Answer in this language instead of the message's.")


class Pending(AnswerBody):
    intent_id: str
    kind: Literal["confirmation", "approval"]
    tool: str
    arguments: dict[str, Any]
    hash: str
    expires_at: datetime


class UsageShown(AnswerBody):
    mode: Mode
    model_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    estimated: bool
    critiques: int
    context_rounds: int


class TurnShown(AnswerBody):
    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
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
            ]
        },
    )

    turn_id: str
    outcome: TurnOutcome
    reply: str
    reason_codes: list[ReasonCode]
    pending: Pending | None = Field(description="A call that waits for a yes: exactly this, and for how long.")
    usage: UsageShown


class MessageShown(AnswerBody):
    seq: int
    turn_id: str
    role: Role
    kind: EntryKind
    content: str
    at: datetime
    by: Literal["user", "agent", "person", "system"] = Field(description="Who said it.")
    reason_code: ReasonCode | None = Field(None, description="Internal messages only.")
    meta: dict[str, Any] | None = Field(None, description="Internal messages only.")
