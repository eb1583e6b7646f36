"""What a database is asked, and how it goes about it: statements in, the tables that it would read from end to end out.

with overhear() as asked:
    ...                                   # open stores, serve requests
assert walk_tables(url, asked) == {}
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.pool import Pool

GROWING = frozenset({
    "conversations", "turns", "messages", "intents", "tool_executions", "escalations", "outbox", "operator_log",
    "exposures", "shadows", "labels", "turn_marks", "held_calls",
})  # fmt: skip
"""Tables that have a row, or many, for each conversation."""
WAITING = (
    "ix_tool_executions_running",
    "ix_tool_executions_unreported",
    "ix_outbox_waiting",
    "ix_intents_waiting",
    "ix_outbox_dead",
    "ix_turns_unfinished",
)
"""Indexes of what waits, which is little however much there was."""
_DATA = re.compile(r"\s*(WITH|SELECT|UPDATE|DELETE|INSERT)\b")
STEP = 100
MOST_ROWS = 1_500
"""What a statement may read on PostgreSQL; tests store many times as much."""


class Asked(NamedTuple):
    text: str
    values: Any = None


class Steps:
    """How far SQLite's virtual machine went, in hundreds of its instructions: work, whatever the machine is doing."""

    def __init__(self) -> None:
        self.count = 0

    def _one(self) -> int:
        self.count += 1
        return 0

    def follow(self, driver: Any) -> None:
        driver.set_progress_handler(self._one, STEP)


@contextmanager
def _on_connect(listener: Callable[[Any], None]) -> Iterator[None]:
    def connected(driver: Any, _record: object) -> None:
        listener(driver)

    sa.event.listen(Pool, "connect", connected)
    try:
        yield
    finally:
        sa.event.remove(Pool, "connect", connected)


@contextmanager
def overhear() -> Iterator[list[Asked]]:
    """Every statement that goes over a connection opened in this block, with its values."""
    heard: list[Asked] = []

    def listen(driver: Any) -> None:
        if hasattr(driver, "set_trace_callback"):
            driver.set_trace_callback(lambda text: heard.append(Asked(text)))
            return
        made = driver.cursor_factory

        class Overheard(made):  # type: ignore[misc, valid-type]
            def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
                heard.append(Asked(str(query), params))
                return super().execute(query, params, **options)

        driver.cursor_factory = Overheard

    with _on_connect(listen):
        yield heard


@contextmanager
def count_steps() -> Iterator[Steps]:
    """Of every connection that is taken in this block. Not when it is made: the store sets a handler of its own then."""
    steps = Steps()

    def taken(driver: Any, _record: object, _proxy: object) -> None:
        steps.follow(driver)

    sa.event.listen(Pool, "checkout", taken)
    try:
        yield steps
    finally:
        sa.event.remove(Pool, "checkout", taken)


def walk_tables(url: str, asked: Sequence[Asked]) -> Mapping[str, str]:
    """Statements that read a table that grows from end to end, or all that a tenant has in it; each with its plan. A
    walk along an index that ends with the page is none."""
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    explain = _explain_sqlite if engine.dialect.name == "sqlite" else _explain_postgres
    found: dict[str, str] = {}
    try:
        with engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            for one in {re.sub(r"\s+", " ", one.text): one for one in asked}.values():
                if _DATA.match(one.text) and "pg_catalog" not in one.text and (plan := explain(driver, one)):
                    found[one.text] = plan
    finally:
        engine.dispose()
    return found


def _explain_sqlite(driver: Any, asked: Asked) -> str:
    plan = [(row[1], row[3]) for row in driver.execute(f"EXPLAIN QUERY PLAN {asked.text}")]
    sorted_whole = {parent for parent, line in plan if line.startswith("USE TEMP B-TREE FOR ORDER BY")}
    lines = [line for _, line in plan]
    for parent, line in plan:
        ends = " LIMIT " in re.sub(r"\s", " ", asked.text) and parent not in sorted_whole
        if any(name in line for name in WAITING):
            continue
        read = re.match(r"(SCAN|SEARCH) (\w+)(?: USING (?:COVERING )?INDEX \w+(?: \((.*)\))?)?", line)
        if read is None or read[2] not in _names(asked.text):
            continue
        if (read[1] == "SCAN" or read[3] == "tenant=?") and not (ends and "INDEX" in line):
            return "\n".join(lines)
    return ""


def _names(text: str) -> set[str]:
    """The tables that grow, as the statement calls them."""
    aliases = re.findall(r"\b(\w+) AS (\w+)", text)
    return GROWING | {alias for table, alias in aliases if table in GROWING}


def _explain_postgres(driver: Any, asked: Asked) -> str:
    """PostgreSQL chooses by what is in the tables, so what counts is what it reads when it does it again."""
    if asked.text.lstrip().startswith("INSERT"):
        return ""
    with driver.transaction(force_rollback=True):
        # What is much for a test is little for a disk.
        driver.execute("SET LOCAL enable_seqscan = off")
        (found,) = driver.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {asked.text}", asked.values).fetchone()
    plan = found[0]["Plan"]
    return json.dumps(plan, indent=1) if _most_read(plan) > MOST_ROWS else ""


def _most_read(node: Mapping[str, Any]) -> float:
    """Rows that one of the plan's parts looks at, those included that it does not want."""
    unwanted = sum(node.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck", "Join Filter"))
    own = (node["Actual Rows"] + unwanted) * node["Actual Loops"]
    return max([own, *(_most_read(part) for part in node.get("Plans", ()))])
