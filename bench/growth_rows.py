"""How many conversations in, a database that holds them out: rows written directly, as turns would have left them.

Two turns a conversation, spread over a year. Most are ordinary; some ran a call, some were handed to a person, and few
have what a search looks for. All of it is computed from the conversation's number, so that every database holds the
same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from circumspect.stores.day_tables import turn_days
from circumspect.stores.log_tables import operator_log
from circumspect.stores.search_tables import held_calls, turn_marks
from circumspect.stores.tables import (
    VISIBLE,
    conversations,
    escalations,
    intents,
    messages,
    outbox,
    tool_executions,
    turns,
)
from circumspect.stores.turn_marks import CONTEXT, CRITIQUE, HELD, mark_reason, mark_tool
from circumspect.values import ModelUsage

YEAR = 365 * 86_400.0
AT_ONCE = 2_000
"""Conversations in one transaction."""
MANY = 10_000
"""Conversations for which indexes are made afterwards."""
OUTCOMES = (
    "answered",
    "answered",
    "answered",
    "acted",
    "asked",
    "answered",
    "answered",
    "acted",
    "blocked",
    "answered",
)
RARE = 1000
"""One conversation of so many is handed to a person, and says a word that no other says."""
PER_TURN = 5
"""Messages and journal entries of a turn."""
Row = tuple[Any, ...]

_CALL = asdict(ModelUsage("model-a", 600, 120, 0, 0.001, 0.5))
_TABLES = (
    conversations, turns, messages, turn_marks, held_calls, intents, tool_executions, escalations, outbox, operator_log,
)  # fmt: skip


def fill(url: str, tenant: str, number: int, *, now: float) -> None:
    """So many conversations of the tenant, the newest just before `now`."""
    # Not through a store, which breaks off what takes as long as this may.
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _hurry)
    with engine.begin() as connection:
        indexes = _drop_indexes(connection) if number >= MANY else []
        triggers = _drop_triggers(connection) if number >= MANY else []
        last = connection.execute(sa.select(sa.func.coalesce(sa.func.max(messages.c.id), 0))).scalar_one()
    for begin in range(0, number, AT_ONCE):
        rows: dict[str, list[dict[str, Any]]] = {table.name: [] for table in _TABLES}
        for index in range(begin, min(begin + AT_ONCE, number)):
            at = now - YEAR * (number - index) / number
            for name, row in _conversation(tenant, index, at):
                rows[name].append(row)
        with engine.begin() as connection:
            _number(connection, rows["operator_log"])
            for table in _TABLES:
                _load(connection, table, rows[table.name])
    with engine.begin() as connection:
        _load(connection, turn_days, list(_days(tenant, number, now)))
        if triggers:
            connection.exec_driver_sql(_WORDS, (last,))
        for made in (*triggers, *indexes):
            connection.exec_driver_sql(made)
    if engine.dialect.name != "sqlite":  # which nobody does there, so its plans have to do without
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("ANALYZE")
    engine.dispose()


_WORDS = f"""
    INSERT INTO message_words (rowid, scope, content)
    SELECT id, hex(tenant), content FROM messages WHERE id > ? AND {VISIBLE} ORDER BY id
"""


def _hurry(connection: Any, _record: object) -> None:
    """Nobody needs these files after a power cut."""
    for pragma in ("synchronous = OFF", "cache_size = -262144", "wal_autocheckpoint = 20000"):
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _drop_triggers(connection: sa.Connection) -> list[str]:
    """Likewise: the index of words is quickest made of all messages in their order. Of SQLite alone."""
    if connection.dialect.name != "sqlite":
        return []
    found = list(connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
    for name, _ in found:
        connection.exec_driver_sql(f'DROP TRIGGER "{name}"')
    return [made for _, made in found]


def _drop_indexes(connection: sa.Connection) -> list[str]:
    """The statements that make them again: sorting once is quicker than finding a place for each row."""
    listed = (
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        if connection.dialect.name == "sqlite"
        else "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    )
    found = [(name, made) for name, made in connection.exec_driver_sql(listed) if " UNIQUE " not in made]
    for name, _ in found:
        connection.exec_driver_sql(f'DROP INDEX "{name}"')
    return [made for _, made in found]


def _number(connection: sa.Connection, rows: Sequence[dict[str, Any]]) -> None:
    """The log goes on after its newest row. Nobody checks the chain of these."""
    newest = connection.execute(sa.select(sa.func.coalesce(sa.func.max(operator_log.c.seq), 0))).scalar_one()
    for seq, row in enumerate(rows, newest + 1):
        row["seq"] = seq


def _days(tenant: str, number: int, now: float) -> Iterator[dict[str, Any]]:
    """A year of sums, as many outcomes a day as there are."""
    for back in range(365):
        day = datetime.fromtimestamp(now - 86_400 * back, UTC).date().isoformat()
        for outcome in sorted(set(OUTCOMES)):
            sums = dict.fromkeys((one.name for one in turn_days.c if not one.primary_key), number // 365)
            yield {"tenant": tenant, "day": day, "mode": "adaptive", "outcome": outcome, **sums}


def _load(connection: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        return
    columns, driver = list(rows[0]), connection.connection.driver_connection
    assert driver is not None
    values: Iterator[Row] = (tuple(row[column] for column in columns) for row in rows)
    names = ", ".join(f'"{column}"' for column in columns)
    if connection.dialect.name == "sqlite":
        driver.executemany(f"INSERT INTO {table.name} ({names}) VALUES ({', '.join('?' * len(columns))})", values)
        return
    with driver.cursor() as cursor, cursor.copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
        for row in values:
            copy.write_row(row)


def conversation_id(index: int) -> str:
    return f"grown-{index:08d}"


def person(index: int) -> str:
    return f"person-{index // 3:08d}"


def _conversation(tenant: str, index: int, at: float) -> Iterator[tuple[str, dict[str, Any]]]:
    conversation, rare = conversation_id(index), index % RARE == 7
    own = {"tenant": tenant, "conversation": conversation}
    yield "conversations", {
        "tenant": tenant, "id": conversation, "mode": "adaptive", "drawn": True, "language": "en",
        "next_seq": 2 * PER_TURN,
        "lease_until": 0.0, "calls": False, "created_at": at - 60, "updated_at": at,
        "person": person(index) if index % 3 else None,
    }  # fmt: skip
    for half in (0, 1):
        turn, began = f"turn-{tenant}-{index:08d}-{half}", at - 60 + 60 * half
        outcome = "escalated" if rare and half else OUTCOMES[(index + half) % len(OUTCOMES)]
        codes = ["OUTCOME_UNKNOWN"] if rare and half else ["MISSING_PARAM"] if outcome == "asked" else ["SUCCESS"]
        yield "turns", {
            "id": turn, **own, "client_key": f"key-{index}-{half}", "status": "done", "outcome": outcome,
            "mode": "adaptive", "language": "en", "result": _result(turn, conversation, outcome, codes),
            "first_seq": PER_TURN * half, "started_at": began, "finished_at": began + 1,
        }  # fmt: skip
        for place, (role, kind, content, code, meta) in enumerate(_said(index, half, rare, codes[0], outcome)):
            yield "messages", {
                **own, "seq": PER_TURN * half + place, "turn": turn, "role": role, "kind": kind, "content": content,
                "reason_code": code, "meta": meta, "at": began + (place > 0),
            }  # fmt: skip
        for mark in _marks(index, codes, outcome):
            yield "turn_marks", {**own, "mark": mark, "turn": turn, "at": began + 1}
        if outcome == "asked":
            yield "held_calls", {
                **own, "seq": PER_TURN * half + 1, "turn": turn, "at": began, "tool": "cancel_order", "arguments": "{}",
                "hash": "", "verdict": "ask", "rule": "required_arguments_are_present", "policy": "",
                "reason_code": "MISSING_PARAM", "fate": "refused" if rare else "waiting",
            }  # fmt: skip
        if rare and half:
            yield from _escalation(own, turn, index, began + 1)
        if outcome == "acted":
            yield from _call(own, turn, index, began)
    if index % 100 == 0:
        yield "operator_log", {
            "id": f"act-{tenant}-{index:08d}", "at": at, "operator": "noa", "action": "resolve", "tenant": tenant,
            "subject": conversation, "origin": "", "result": "done", "hash": "",
        }  # fmt: skip


def _said(
    index: int, half: int, rare: bool, code: str, outcome: str
) -> Iterator[tuple[str, str, str, str | None, str | None]]:
    word = f"zebra{index} " if rare else ""
    yield "user", "message", f"{word}Where is my order ORD-{index:08d}? I have waited for days", None, None
    kind = "critique" if index % 50 == 3 else "context" if index % 50 == 4 else "model"
    yield "internal", kind, "what the model said, and how sure it was of it", None, '{"prompt": "adaptive@1"}'
    ruling = ("cancel_order: ask", code) if outcome == "asked" else ("cancel_order: allow", "SUCCESS")
    yield "internal", "policy", *ruling, '{"effect": "write"}'
    yield "internal", "decision", "what was decided, and by which rule", code, '{"version": "policy@1"}'
    reply = json.dumps({"outcome": outcome, "reason_codes": [code]})
    yield "assistant", "message", f"Your order ORD-{index:08d} arrives on the day after tomorrow.", code, reply


def _marks(index: int, codes: list[str], outcome: str) -> Iterator[str]:
    yield from map(mark_reason, codes)
    yield mark_tool("cancel_order")
    if outcome == "asked":
        yield HELD
    if index % 50 in (3, 4):
        yield CRITIQUE if index % 50 == 3 else CONTEXT


def _result(turn: str, conversation: str, outcome: str, codes: list[str]) -> str:
    usage = {"mode": "adaptive", "calls": [_CALL], "critiques": 0, "context_rounds": 0}
    return json.dumps({
        "turn": turn, "conversation": conversation, "outcome": outcome, "reply": "It arrives tomorrow.",
        "reason_codes": codes, "pending": None, "usage": usage, "language": "en", "calls": [],
    })  # fmt: skip


def _escalation(own: dict[str, str], turn: str, index: int, at: float) -> Iterator[tuple[str, dict[str, Any]]]:
    done = index % (3 * RARE) != 7
    yield "escalations", {
        "id": f"esc-{turn}", **own, "turn": turn, "reason_code": "OUTCOME_UNKNOWN", "summary": "Somebody has to look.",
        "state": "resolved" if done else "open", "created_at": at,
        "resolved_by": "noa" if done else None, "resolved_at": at + 9 if done else None,
    }  # fmt: skip
    yield "outbox", {
        "id": f"esc-{turn}", "topic": "escalation", "payload": "{}", "state": "delivered", "attempts": 1,
        "next_at": at, "created_at": at, **own,
    }  # fmt: skip


def _call(own: dict[str, str], turn: str, index: int, at: float) -> Iterator[tuple[str, dict[str, Any]]]:
    intent, kind = f"intent-{turn}", "approval" if index % 20 == 7 else "confirmation"
    yield "intents", {
        "id": intent, **own, "kind": kind, "state": "consumed", "call": '{"tool": "cancel_order", "arguments": {}}',
        "hash": "h", "tool_version": "1", "policy_version": "1", "principal": "user", "nonce": "n", "question": "Sure?",
        "question_hash": "q", "question_seq": 3, "created_at": at, "expires_at": at + 300, "settled_at": at + 1,
        "proposed_by": "[]", "edited_by": "[]", "keys_approve": False, "facts": "[]",
    }  # fmt: skip
    yield "tool_executions", {
        "id": f"exec-{turn}", **own, "turn": turn, "tool": "cancel_order", "arguments": '{"order_id": "1"}',
        "call_id": "c", "effect": "write", "recovery": "blind", "state": "succeeded", "token": "t", "lease_until": at,
        "started_at": at, "finished_at": at + 1, "intent": intent, "result": '"done"', "error": "", "reported": True,
        "runner": "",
    }  # fmt: skip
