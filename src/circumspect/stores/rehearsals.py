"""Rehearsals: conversations of the playground, in which no call is made that changes anything.

They are told from others by their ids. What such a call would have brought is taken from the ledger: what the same tool
brought last time, if it can be with the same arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from circumspect.stores import codec
from circumspect.stores.codec import epoch
from circumspect.stores.tables import tool_executions
from circumspect.values import REHEARSED, Execution, Json, TenantId, ToolCall

_LOOKED_THROUGH = 200


@dataclass(frozen=True, slots=True)
class Recording:
    """What a tool once brought. `same`: with these very arguments."""

    execution: Execution
    same: bool


def is_rehearsal(conversation: str) -> bool:
    """Whoever named it so: of what is rehearsed nothing happens, and only of that may nothing count."""
    return conversation.startswith(REHEARSED)


def is_real(table: sa.Table) -> sa.ColumnElement[bool]:
    """The row belongs to a conversation with a user: the same test, letter by letter, which LIKE is not."""
    return sa.func.substr(table.c.conversation, 1, len(REHEARSED)) != REHEARSED


def find_recording(connection: sa.Connection, tenant: TenantId, call: ToolCall, before: datetime) -> Recording | None:
    """The newest result of such a call that really was made; one with the same arguments comes before any other."""
    rows = tool_executions.c
    query = (
        sa.select(tool_executions)
        .where(
            rows.tenant == tenant,
            rows.tool == call.tool,
            rows.started_at < epoch(before),
            rows.state == "succeeded",
            is_real(tool_executions),
        )
        .order_by(rows.started_at.desc())
        .limit(_LOOKED_THROUGH)
    )
    found: list[Execution] = [codec.execution(row) for row in connection.execute(query)]
    same = next((one for one in found if one.call.hash == call.hash), None)
    if same is not None:
        return Recording(same, True)
    return Recording(found[0], False) if found else None


def transpose(result: Json, was: Mapping[str, Json], now: Mapping[str, Json]) -> Json:
    """A recorded result with the arguments of another call: where it repeats a value that was given then, it repeats
    the one that is given now."""
    renamed = {
        was[name]: value
        for name, value in now.items()
        if isinstance(was.get(name), str) and isinstance(value, str) and was[name]
    }

    def walk(value: Json) -> Json:
        if isinstance(value, str):
            return renamed.get(value, value)
        if isinstance(value, dict):
            return {name: walk(one) for name, one in value.items()}
        return [walk(one) for one in value] if isinstance(value, list) else value

    return walk(result)
