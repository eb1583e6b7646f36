"""Every list, in the console and over the API, costs the same however much is stored."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
import sqlalchemy as sa
from bench import growth_rows
from bench.growth_rows import conversation_id, fill, person, rare_word
from tests.server.console.building import ConsoleHouse
from tests.server.house import METRICS, OURS, PASSWORD, THEIRS
from tests.stores.conftest import BOTH, postgres  # noqa: F401
from tests.stores.plans import count_steps, overhear, walk_tables

from circumspect.server import credentials
from circumspect.server.console import conversation_search
from circumspect.server.console.conversation_search import ConversationFilter, find
from circumspect.server.stores import access
from circumspect.server.stores.access import OperatorRow
from circumspect.stores import SqlStore
from circumspect.values import TenantId

FEW, MANY = 200, 2000
WALK = 700
"""Hundreds of steps that the bounds below allow to a filter."""
SHOWN = 20
RARE = 7
"""Its conversation has a word and a reason that few have."""
FILTERS = (
    "",
    "tenant=shop",
    "outcome=answered",
    "outcome=escalated",
    "outcome=failed",
    "reason=SUCCESS",
    "reason=OUTCOME_UNKNOWN",
    "reason=CONTEXT_LOOP",
    "tool=cancel_order",
    "tool=nothing",
    "language=he",
    "mode=standard",
    "held=1",
    "fate=prevented",
    "fate=waiting",
    "fate=waiting&days=7",
    "critique=1",
    "context=1",
    "days=7",
    "on=2020-01-01",
    "q=order",
    f"q={rare_word(RARE)}",
    "q=nobodysaysthis",
    f"q=ORD-{RARE:08d}",
    f"q={conversation_id(RARE)}",
    f"q={person(RARE)}",
    "outcome=escalated&tool=cancel_order",
    "q=order&reason=OUTCOME_UNKNOWN",
)
PAGES = (
    *(f"/conversations?{wanted}" for wanted in FILTERS),
    "/",
    "/?tenant=shop",
    "/?kind=unknown&assignee=@me",
    "/?snoozed=1&assignee=@nobody",
    "/queue/escalation/esc-turn-shop-00000007-1/next",
    "/queue/escalation/esc-turn-shop-00000007-1/previous",
    "/escalations/esc-turn-shop-00000007-1",
    "/find?q=order",
    f"/find?q={rare_word(RARE)}",
    "/overview",
    "/overview?days=90",
    "/overview?tenant=shop",
    "/usage",
    f"/usage?period={time.strftime('%Y-%m', time.gmtime())}",
    "/escalations",
    "/escalations?state=all",
    "/approvals",
    "/approvals?state=all",
    "/experiments",
    "/shadows",
    "/reviews",
    "/tenants",
    "/policies",
    "/counts",
    "/customer?tenant=shop",
    "/customer/conversations?tenant=shop",
    "/customer/conversations?tenant=shop&q=order",
    f"/conversations/shop/{conversation_id(5)}",
)
ROUTES = (
    "/v1/conversations",
    "/v1/conversations?tenant=shop",
    f"/v1/conversations?person={person(5)}",
    f"/v1/conversations/{conversation_id(5)}?tenant=shop",
    "/v1/escalations",
    "/v1/escalations?state=open",
    "/v1/escalations?state=resolved",
    "/v1/escalations?tenant=shop",
    "/v1/work",
    "/v1/work?tenant=shop&holder=noa",
    "/v1/work?snoozed=true",
    "/v1/approvals",
    "/v1/approvals?tenant=shop",
    "/v1/evaluations",
    "/v1/admin/log",
    "/v1/admin/log?tenant=shop",
    "/v1/admin/experiments",
    "/v1/admin/shadows",
    "/v1/admin/usage?tenant=shop",
    "/v1/admin/tenants",
    "/v1/admin/tools?tenant=shop",
    "/v1/admin/policies?tenant=shop",
    "/v1/admin/keys?tenant=shop",
    f"/v1/admin/persons/{person(5)}?tenant=shop",
    "/metrics",
)


WHO = ("root", "both")


class GrownHouse(ConsoleHouse):
    """With so many conversations of two tenants, and an operator who sees just these two."""

    def __init__(self, database: str, number: int) -> None:
        super().__init__(database)
        self.number = number

    async def _furnish(self, store: SqlStore) -> None:
        await super()._furnish(store)
        row = OperatorRow("op-both", "both", "admin", (TenantId(OURS), TenantId(THEIRS)), time.time())
        await store.tx(access.add_operator, row, credentials.hash_password(PASSWORD))
        fill(self.settings.database, (OURS, THEIRS), self.number, now=time.time())

    def ask(self, name: str, path: str) -> None:
        if path.startswith("/v1") or path == "/metrics":
            answer = (self.operator(name) if path.startswith("/v1") else self.client(METRICS)).get(path)
        else:
            with self.visitor(name) as client:
                answer = client.get(path)
                if path.startswith("/queue/"):
                    assert answer.status_code == 303, (path, answer.text)
                    return
        assert answer.status_code == 200, (path, answer.text)


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is stored here is much, and what is rare fits under them."""
    monkeypatch.setattr(growth_rows, "FULL", 8)
    for name, bound in {"MOST_LISTED": 20, "MOST_WALKED": 300, "AT_ONCE": 100}.items():
        monkeypatch.setattr(conversation_search, name, bound)


@pytest.fixture(params=BOTH)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/grown.db"
        return
    server, name = request.getfixturevalue("postgres"), f"grown_{secrets.token_hex(4)}"
    server.sql(f"CREATE DATABASE {name}")
    with contextlib.chdir(tmp_path):
        yield server.url(name)
    server.sql(f"DROP DATABASE {name} WITH (FORCE)")


def test_no_list_reads_a_table_from_end_to_end(database: str) -> None:
    found = {}
    with overhear() as asked, GrownHouse(database, MANY) as house:
        for name in WHO:
            for path in (*PAGES, *ROUTES):
                before = len(asked)
                house.ask(name, path)
                if walked := walk_tables(database, asked[before:]):
                    found[name, path] = walked
    assert found == {}


def test_ten_times_as_much_stored_is_not_more_work(tmp_path: Path) -> None:
    worked: dict[tuple[str, str], list[int]] = {}
    for number in (FEW, MANY):
        with count_steps() as steps, GrownHouse(f"sqlite:///{tmp_path}/{number}.db", number) as house:
            for name in WHO:
                for path in (*PAGES, *ROUTES):
                    tries = []
                    for _ in range(2):  # what is done in the background counts as well
                        before = steps.count
                        house.ask(name, path)
                        tries.append(steps.count - before)
                    worked.setdefault((name, path), []).append(min(tries))
    assert {which: each for which, each in worked.items() if each[1] > bound_steps(which[1], each[0])} == {}


def test_a_page_takes_little_more_out_of_the_database_than_it_shows(tmp_path: Path) -> None:
    """Conversations are looked at where they are stored."""
    taken, found = [0], {}

    def count(_cursor: object, row: Any) -> Any:
        taken[0] += 1
        return row

    with GrownHouse(f"sqlite:///{tmp_path}/grown.db", MANY) as house:
        engine = sa.create_engine(house.settings.database)
        with engine.connect() as connection:
            connection.connection.driver_connection.row_factory = count
            for asked in FILTERS:
                values = {name: int(value) if name == "days" else value for name, value in parse_qsl(asked)}
                wanted = ConversationFilter(**values)
                taken[0] = 0
                find(connection, {TenantId(OURS), TenantId(THEIRS)}, wanted, datetime.now(UTC), None, SHOWN)
                found[asked] = taken[0]
        engine.dispose()
    # The rows, the first and the last message of each; places where looking goes on, numbers, and what is rare.
    bound = 3 * SHOWN + conversation_search.MOST_LISTED + 20
    assert {asked: number for asked, number in found.items() if number > bound} == {}


def bound_steps(path: str, few: int) -> float:
    """As much as with few, and half as much again. A filtered list looks at `MOST_WALKED` conversations before it gives
    up, or lists what is rare: that is its bound, and where few are stored it may not come to it."""
    same = 1.5 * few + 50
    return max(same, WALK) if path.startswith("/conversations?") else same
