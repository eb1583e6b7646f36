"""A gate without a store, on SQLite and on PostgreSQL: what it promises is the same on all three."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stores import postgres_server

from circumspect import Gate
from circumspect.clock import FixedClock

PLACES = ["process", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
POLICY = """
version: 1
facts:
  get_order: {key: order_id}
tools:
  get_order: {effect: read}
  cancel_order:
    effect: destructive
    deny_unless:
      - if: facts.get_order[args.order_id].status != "shipped"
        because: A shipped order cannot be cancelled.
  add_note: {effect: write}
  refund:
    effect: destructive
    limits: [{sum: amount, at_most: 100, per: person, window: 24h}]
  close_account: {effect: destructive, confirm: four_eyes}
"""


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.Server]:
    try:
        with postgres_server.running() as server:
            yield server
    except postgres_server.NoPostgres as reason:
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {reason}")


@pytest.fixture(params=PLACES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    if request.param == "process":
        return None
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/gate.db"
    server: postgres_server.Server = request.getfixturevalue("postgres")
    name = f"gate_{uuid.uuid4().hex[:12]}"
    server.sql(f"CREATE DATABASE {name}")
    return server.url(name)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


@pytest.fixture
async def open_gate(policy: Path, store: str | None) -> AsyncIterator[Callable[..., Gate]]:
    opened: list[Gate] = []

    def made(**options: Any) -> Gate:
        gate = Gate(options.pop("policy", policy), store=options.pop("store", store), **options)
        opened.append(gate)
        return gate

    yield made
    for gate in opened:
        await gate.close()


@pytest.fixture
def gate(open_gate: Callable[..., Gate], clock: FixedClock) -> Gate:
    return open_gate(clock=clock)
