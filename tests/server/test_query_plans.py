"""Lists find their rows by an index: what one page costs does not grow with what is stored.

Every list of the API is asked for, with and without its filters, as an operator of all tenants and as a tenant's key;
SQLite says for each statement how it would go about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.server.house import METRICS, House

GROWING = (
    "conversations", "turns", "messages", "turn_events", "model_calls", "intents", "tool_executions", "escalations",
    "outbox", "feedback", "corrections", "evaluations", "operator_log", "action_log", "shadow_turns",
)  # fmt: skip
"""Tables that hold a row for everything that happens."""
LISTS = (
    "/v1/conversations", "/v1/conversations?person=p1", "/v1/conversations?tenant=shop",
    "/v1/escalations", "/v1/escalations?state=open", "/v1/escalations?tenant=shop&state=resolved",
    "/v1/approvals", "/v1/approvals?tenant=shop", "/v1/admin/outbox", "/v1/admin/outbox?tenant=shop",
    "/v1/admin/log", "/v1/admin/log?tenant=shop", "/v1/admin/persons/p1?tenant=shop",
)  # fmt: skip


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with House(f"sqlite:///{tmp_path}/c.db") as house:
        house.conversation(house.key(), person="p1")
        yield house


def _find_scans(house: House, path: str, client: Any, **headers: str) -> list[str]:
    engine = house.app.state.services.store._database.engine
    ran: list[dict[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *_: object) -> None:
        if statement.lstrip().upper().startswith(("SELECT", "WITH")):
            ran[-1][statement] = parameters

    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        for _ in range(3):
            ran.append({})
            answer = client.get(path, headers=headers)
            assert answer.status_code == 200, (path, answer.text[:300])
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)
    # What the server reads of its own accord falls into one of them, and not into all.
    every_time = {statement: ran[0][statement] for statement in ran[0] if all(statement in one for one in ran)}
    other = sa.create_engine(house.settings.database)
    with other.connect() as connection:
        plans = [
            (
                statement,
                [step for *_, step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)],
            )
            for statement, parameters in every_time.items()
        ]
    other.dispose()
    return [f"{step} in {statement[:200]}" for statement, plan in plans for step in plan if _is_scan(step, plan)]


def _is_scan(step: str, plan: Sequence[str] = ()) -> bool:
    """Of a whole table, or of what must be sorted before its first row is known. What few rows come from may be sorted:
    the calls that wait at this moment, and what one person has."""
    table = re.fullmatch(r"SCAN (\w+)", step)
    few = any("ix_intents_waiting" in one or "person=?" in one or "conversation=?" in one for one in plan)
    return (step == "USE TEMP B-TREE FOR ORDER BY" and not few) or bool(table and table[1] in GROWING)


@pytest.mark.parametrize("path", LISTS)
def test_a_list_reads_no_more_than_its_page(house: House, path: str) -> None:
    assert _find_scans(house, path, house.operator("root")) == []


@pytest.mark.parametrize("path", [path for path in LISTS if "admin" not in path and "tenant=" not in path])
def test_a_tenants_list_reads_no_more_than_its_page(house: House, path: str) -> None:
    assert _find_scans(house, path, house.key()) == []


def test_the_metrics_count_no_table(house: House) -> None:
    assert _find_scans(house, "/metrics", house.key(), Authorization=f"Bearer {METRICS}") == []


def test_a_scan_is_found() -> None:
    assert _is_scan("SCAN escalations")
    assert _is_scan("USE TEMP B-TREE FOR ORDER BY")
    assert not _is_scan("SCAN escalations USING INDEX ix_escalations_created_at_id")
    assert not _is_scan("SEARCH turns USING INDEX ix_turns_started_at (started_at>?)")
