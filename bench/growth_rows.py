"""How many conversations in, a database that holds them out: rows written directly, as turns would have left them.

Two turns a conversation, spread over a year, most of them lately. Most are ordinary; some ran a call, some were handed
to a person, and few have what a search looks for: but of everything that a page lists there is more than a page, in
small databases as in large ones. All of it is computed from the conversation's number, so that every database of a size
holds the same.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

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
"""Conversations for which indexes are made afterwards, and rows in other processes."""
WRITERS = min(4, os.cpu_count() or 1)
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
"""At most every so manieth conversation is handed to a person, and says a word that no other says."""
SELDOM = 50
"""Likewise: a second opinion, more context."""
FULL = 80
"""How many there are of either at least, where there are that many conversations: two pages."""
PER_TURN = 5
"""Messages and journal entries of a turn."""
Row = tuple[Any, ...]

_CALL = asdict(ModelUsage("model-a", 600, 120, 0, 0.001, 0.5))
_TABLES = (
    conversations, turns, messages, turn_marks, held_calls, intents, tool_executions, escalations, outbox, operator_log,
)  # fmt: skip


def fill(url: str, tenants: Sequence[str], number: int, *, now: float) -> None:
    """So many conversations of each tenant, the newest just before `now`."""
    # Not through a store, which breaks off what takes as long as this may.
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    sa.event.listen(engine, "connect", _hurry if engine.dialect.name == "sqlite" else _lend_memory)
    with engine.begin() as connection:
        indexes = _drop_indexes(connection) if number >= MANY else []
        triggers = _drop_triggers(connection) if number >= MANY else []
        last = _greatest(connection, messages.c.id)
        logged = _greatest(connection, operator_log.c.seq)
    for parts in _make_rows(tenants, number, now, logged + 1):
        with engine.begin() as connection:
            for part in parts:
                _load(connection, part)
    with engine.begin() as connection:
        for tenant in tenants:
            _load(connection, _lay_out(turn_days.name, list(_days(tenant, number, now))))
        if triggers:
            connection.exec_driver_sql(_WORDS, (last,))
        for made in (*triggers, *indexes):
            connection.exec_driver_sql(made)
    if engine.dialect.name != "sqlite":  # which nobody does there, so its plans have to do without
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM (ANALYZE)" if number >= MANY else "ANALYZE")
    engine.dispose()


class Rows(NamedTuple):
    """As a driver takes them."""

    table: str
    columns: tuple[str, ...]
    values: list[Row]


def _lay_out(table: str, rows: Sequence[dict[str, Any]]) -> Rows:
    columns = tuple(rows[0]) if rows else ()
    return Rows(table, columns, [tuple(row[column] for column in columns) for row in rows])


def _make_rows(tenants: Sequence[str], number: int, now: float, log: int) -> Iterator[list[Rows]]:
    """A transaction's worth at a time; of many by processes of their own, which stay a little ahead of whoever writes.
    The log goes on with this number."""
    parts = (
        partial(_make_part, tenant, begin, min(begin + AT_ONCE, number), number, now, log + place * number)
        for place, tenant in enumerate(tenants)
        for begin in range(0, number, AT_ONCE)
    )
    if number < MANY:
        yield from (part() for part in parts)
        return
    with ProcessPoolExecutor(WRITERS, get_context("spawn")) as pool:
        begun: deque[Future[list[Rows]]] = deque()
        for part in parts:
            begun.append(pool.submit(part))
            if len(begun) > 2 * WRITERS:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


def _make_part(tenant: str, begin: int, end: int, number: int, now: float, log: int) -> list[Rows]:
    rows: dict[str, list[dict[str, Any]]] = {table.name: [] for table in _TABLES}
    for index in range(begin, end):
        at = now - YEAR * ((number - index) / number) ** 3
        for name, row in _conversation(tenant, index, at, number, log):
            rows[name].append(row)
    return [_lay_out(table, made) for table, made in rows.items()]


def spacing(number: int, widest: int) -> int:
    """Every so manieth of them has what few have."""
    return max(2, min(widest, number // FULL))


_WORDS = f"""
    INSERT INTO message_words (rowid, scope, content)
    SELECT id, hex(tenant), content FROM messages WHERE id > ? AND {VISIBLE} ORDER BY id
"""


def _hurry(connection: Any, _record: object) -> None:
    """Nobody needs these files after a power cut."""
    for pragma in ("synchronous = OFF", "cache_size = -262144", "wal_autocheckpoint = 20000"):
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _lend_memory(connection: Any, _record: object) -> None:
    """For indexes over everything, which a server of few connections can spare."""
    connection.execute("SET maintenance_work_mem = '1GB'")
    connection.commit()


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


def _greatest(connection: sa.Connection, column: sa.Column[Any]) -> int:
    return int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(column), 0))).scalar_one())


def _days(tenant: str, number: int, now: float) -> Iterator[dict[str, Any]]:
    """A year of sums, as many outcomes a day as there are."""
    for back in range(365):
        day = datetime.fromtimestamp(now - 86_400 * back, UTC).date().isoformat()
        for outcome in sorted(set(OUTCOMES)):
            sums = dict.fromkeys((one.name for one in turn_days.c if not one.primary_key), number // 365)
            yield {"tenant": tenant, "day": day, "mode": "adaptive", "outcome": outcome, **sums}


def _load(connection: sa.Connection, rows: Rows) -> None:
    driver = connection.connection.driver_connection
    if not rows.values:
        return
    assert driver is not None
    names = ", ".join(f'"{column}"' for column in rows.columns)
    if connection.dialect.name == "sqlite":
        places = ", ".join("?" * len(rows.columns))
        driver.executemany(f"INSERT INTO {rows.table} ({names}) VALUES ({places})", rows.values)
        return
    with driver.cursor() as cursor, cursor.copy(f"COPY {rows.table} ({names}) FROM STDIN") as copy:
        for row in rows.values:
            copy.write_row(row)


def conversation_id(index: int) -> str:
    return f"grown-{index:08d}"


def person(index: int) -> str:
    return f"person-{index // 3:08d}"


def rare_word(index: int) -> str:
    return f"zebra{index:08d}"


def _conversation(tenant: str, index: int, at: float, number: int, log: int) -> Iterator[tuple[str, dict[str, Any]]]:
    conversation, every = conversation_id(index), spacing(number, RARE)
    rare, second = index % every == 7 % every, index % spacing(number, SELDOM)
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
        for place, (role, kind, content, code, meta) in enumerate(_said(index, rare, second, codes[0], outcome)):
            yield "messages", {
                **own, "seq": PER_TURN * half + place, "turn": turn, "role": role, "kind": kind, "content": content,
                "reason_code": code, "meta": meta, "at": began + (place > 0),
            }  # fmt: skip
        for mark in _marks(second, codes, outcome):
            yield "turn_marks", {**own, "mark": mark, "turn": turn, "at": began + 1}
        if outcome == "asked":
            yield "held_calls", {
                **own, "seq": PER_TURN * half + 1, "turn": turn, "at": began, "tool": "cancel_order", "arguments": "{}",
                "hash": "", "verdict": "ask", "rule": "required_arguments_are_present", "policy": "",
                "reason_code": "MISSING_PARAM", "fate": "refused" if rare else "waiting",
            }  # fmt: skip
        if rare and half:
            yield from _escalation(own, turn, (index // every) % 2 == 1, began + 1)
        if outcome == "acted":
            yield from _call(own, turn, index, began)
    if index % spacing(number, 100) == 0:
        yield "operator_log", {
            "seq": log + index, "id": f"act-{tenant}-{index:08d}", "at": at, "operator": "noa", "action": "resolve",
            "tenant": tenant, "subject": conversation, "origin": "", "result": "done", "hash": "",
        }  # fmt: skip


def _said(
    index: int, rare: bool, second: int, code: str, outcome: str
) -> Iterator[tuple[str, str, str, str | None, str | None]]:
    word = f"{rare_word(index)} " if rare else ""
    yield "user", "message", f"{word}Where is my order ORD-{index:08d}? I have waited for days", None, None
    kind = ("critique", "context")[second] if second < 2 else "model"
    yield "internal", kind, "what the model said, and how sure it was of it", None, '{"prompt": "adaptive@1"}'
    ruling = ("cancel_order: ask", code) if outcome == "asked" else ("cancel_order: allow", "SUCCESS")
    yield "internal", "policy", *ruling, '{"effect": "write"}'
    yield "internal", "decision", "what was decided, and by which rule", code, '{"version": "policy@1"}'
    reply = json.dumps({"outcome": outcome, "reason_codes": [code]})
    yield "assistant", "message", f"Your order ORD-{index:08d} arrives on the day after tomorrow.", code, reply


def _marks(second: int, codes: list[str], outcome: str) -> Iterator[str]:
    yield from map(mark_reason, codes)
    yield mark_tool("cancel_order")
    if outcome == "asked":
        yield HELD
    if second < 2:
        yield CONTEXT if second else CRITIQUE


def _result(turn: str, conversation: str, outcome: str, codes: list[str]) -> str:
    usage = {"mode": "adaptive", "calls": [_CALL], "critiques": 0, "context_rounds": 0}
    return json.dumps({
        "turn": turn, "conversation": conversation, "outcome": outcome, "reply": "It arrives tomorrow.",
        "reason_codes": codes, "pending": None, "usage": usage, "language": "en", "calls": [],
    })  # fmt: skip


def _escalation(own: dict[str, str], turn: str, done: bool, at: float) -> Iterator[tuple[str, dict[str, Any]]]:
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
    intent, kind = f"intent-{turn}", "approval" if index % 10 == 7 else "confirmation"
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
