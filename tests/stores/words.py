"""Turns, calls and intents for the store's tests, with only what a test cares about spelled out."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

from circumspect.ports import Closing
from circumspect.stores import SqlStore
from circumspect.values import (
    ConversationId,
    Execution,
    ExecutionId,
    Incoming,
    Intent,
    IntentId,
    JournalEntry,
    ModelUsage,
    Opened,
    TenantId,
    ToolCall,
    TurnId,
    TurnResult,
    Usage,
)

NOON = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
TENANT = TenantId("shop")
CONVERSATION = ConversationId("c1")
CALL = ToolCall("cancel_order", {"order_id": "12345"}, "call-1")
LEASE = 20.0


class DatabaseMoment:
    """What the database's clock says, in tests that set it: the time of the turn that was opened last, or of `at`."""

    now = NOON


def at(moment: datetime, store: SqlStore) -> SqlStore:
    """The store, with its database's clock at that moment."""
    DatabaseMoment.now = moment
    return store


def later(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def fresh(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(8)}"


def incoming(text: str = "hello", **fields: Any) -> Incoming:
    values: dict[str, Any] = {
        "tenant": TENANT,
        "conversation": CONVERSATION,
        "turn": TurnId(fresh("turn")),
        "text": text,
        "at": NOON,
    }
    return Incoming(**{**values, **fields})


def intent(call: ToolCall = CALL, *, created: datetime = NOON, seconds: float = 300.0, **fields: Any) -> Intent:
    values: dict[str, Any] = {
        "id": IntentId(fresh("intent")),
        "tenant": TENANT,
        "conversation": CONVERSATION,
        "kind": "confirmation",
        "call": call,
        "hash": fields.get("hash") or call.hash,
        "tool_version": "tool-1",
        "policy_version": "policy-1",
        "principal": "user",
        "nonce": fresh("nonce"),
        "question": "Shall I cancel order 12345?",
        "created_at": created,
        "expires_at": created + timedelta(seconds=seconds),
    }
    return Intent(**{**values, **fields})


def execution(turn: Incoming, call: ToolCall = CALL, *, lease: float = 45.0, **fields: Any) -> Execution:
    started = fields.get("started_at", turn.at)
    values: dict[str, Any] = {
        "id": ExecutionId(fresh("exec")),
        "tenant": turn.tenant,
        "conversation": turn.conversation,
        "turn": turn.turn,
        "call": call,
        "effect": "destructive",
        "recovery": "blind",
        "state": "started",
        "token": fresh("tok"),
        "lease_until": started + timedelta(seconds=lease),
        "started_at": started,
    }
    return Execution(**{**values, **fields})


def result(turn: Incoming, reply: str = "Hello.", **fields: Any) -> TurnResult:
    values: dict[str, Any] = {
        "turn": turn.turn,
        "conversation": turn.conversation,
        "outcome": "answered",
        "reply": reply,
        "reason_codes": (),
        "pending": None,
        "usage": Usage("adaptive", (ModelUsage("model-a", 600, 120, 0, 0.001, 0.5),)),
    }
    return TurnResult(**{**values, **fields})


def closing(turn: Incoming, token: str, answer: TurnResult | None = None, **fields: Any) -> Closing:
    values: dict[str, Any] = {
        "incoming": turn,
        "token": token,
        "language": "en",
        "result": answer or result(turn),
        "entries": (JournalEntry("model", "draft"), JournalEntry("assessment", "sure", None, {"confidence": 0.9})),
        "at": turn.at + timedelta(seconds=1),
    }
    return Closing(**{**values, **fields})


async def opened(store: SqlStore, turn: Incoming, token: str | None = None, **options: Any) -> Opened:
    settings: dict[str, Any] = {"mode": "adaptive", "history": 5, "lease_seconds": LEASE, **options}
    return await at(turn.at, store).open_turn(turn, token=token or fresh("lease"), **settings)


async def whole_turn(store: SqlStore, text: str = "hello", reply: str = "Hello.", **fields: Any) -> Incoming:
    turn = incoming(text, **fields)
    claim = await opened(store, turn)
    await store.close_turn(closing(turn, claim.token, result(turn, reply)))
    return turn


async def asked(store: SqlStore, pending: Intent | None = None, **fields: Any) -> Intent:
    """A turn that ended with a question; the intent that waits for its answer."""
    pending = pending or intent(conversation=fields.get("conversation", CONVERSATION))
    turn = incoming("cancel order 12345", **fields)
    claim = await opened(store, turn)
    answer = result(turn, pending.question, outcome="asked", pending=pending)
    await store.close_turn(closing(turn, claim.token, answer))
    return pending
