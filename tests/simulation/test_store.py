"""The store of the simulation is held to what every store is held to."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import is_hypothesis_test
from tests.simulation.loop import SimulatedLoop
from tests.simulation.workers import SimulatedStore, Worker, empty_database, open_database
from tests.simulation.world import World
from tests.stores import test_ledger, test_turns
from tests.stores.words import NOON, DatabaseMoment

from circumspect.stores import database_time

CONTRACT = [
    test
    for module in (test_turns, test_ledger)
    for name, test in vars(module).items()
    if name.startswith("test_")
    and list(inspect.signature(test).parameters) == ["store"]
    and not is_hypothesis_test(test)
]


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda one: one.__name__)
def test_the_simulated_store_keeps_the_promises_of_the_port(promise, monkeypatch):
    monkeypatch.setattr(DatabaseMoment, "now", NOON)
    monkeypatch.setattr(database_time, "read", lambda _: DatabaseMoment.now.timestamp())
    loop = SimulatedLoop()
    world = World(0, loop, faults=())
    open_database()
    empty_database()
    try:
        loop.run_until_complete(promise(SimulatedStore(open_database(), world, Worker(world, 0, {}, []))))
    finally:
        loop.close()
