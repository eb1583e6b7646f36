"""Rows that a test needs and that only a long story would make: an escalation, an approval that waits, a notification
that was given up."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

import sqlalchemy as sa
from tests.server.house import House

from circumspect.stores import SqlStore
from circumspect.stores.codec import epoch
from circumspect.stores.tables import escalations, intents, outbox
from circumspect.values import ToolCall


def write_now() -> float:
    """As the product writes it: lists go on where the last page ended by what they read of it."""
    return epoch(datetime.now(UTC))


def escalation(house: House, tenant: str, conversation: str, summary: str = "help") -> str:
    id_ = f"esc_{secrets.token_hex(6)}"

    def body(connection: sa.Connection) -> None:
        connection.execute(
            sa.insert(escalations).values(
                id=id_, tenant=tenant, conversation=conversation, turn="turn_x", reason_code="ESCALATED_TO_HUMAN",
                summary=summary, state="open", created_at=write_now(),
            )
        )  # fmt: skip

    async def add(store: SqlStore) -> None:
        await store.tx(body)

    house.stored(add)
    return id_


def approval(house: House, tenant: str, conversation: str, order: str = "12345") -> str:
    id_, call = f"intent_{secrets.token_hex(6)}", ToolCall("cancel_order", {"order_id": order, "reason": ""})

    def body(connection: sa.Connection) -> None:
        connection.execute(
            sa.insert(intents).values(
                id=id_, tenant=tenant, conversation=conversation, kind="approval", state="pending",
                call={"tool": call.tool, "arguments": dict(call.arguments), "id": ""}, hash=call.hash,
                tool_version="v", policy_version="p", principal="user", nonce="n", question="Shall it run?",
                question_hash="q", question_seq=0, created_at=write_now(), expires_at=write_now() + 3600,
                proposed_by=["user"], edited_by=[], keys_approve=False, facts=[],
            )
        )  # fmt: skip

    async def add(store: SqlStore) -> None:
        await store.tx(body)

    house.stored(add)
    return id_


def notification(house: House, tenant: str, conversation: str) -> str:
    """One that was given up."""
    id_, now = f"esc_{secrets.token_hex(6)}", write_now()

    async def add(store: SqlStore) -> None:
        values = {"id": id_, "topic": "escalation", "payload": {}, "state": "dead", "attempts": 80, "next_at": now}
        where = {"created_at": now, "tenant": tenant, "conversation": conversation}
        await store.tx(lambda connection: connection.execute(sa.insert(outbox).values(**values, **where)) and None)

    house.stored(add)
    return id_
