"""Workers: the real pipeline over ports that delay, fail and die. The store is the real one, on SQLite in memory.

What may surprise: a transaction is run at once, in the loop's own thread. What a database adds to that is when it
happens and whether anybody hears of it, and both are drawn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeVar

from tests.simulation.loop import OUTSIDE, SimulatedProcess
from tests.simulation.shop import POLICY, Shop, SimulatedModel, SimulatedTools
from tests.simulation.world import FURTHEST_JUMP, LONGEST_STOP, SimulatedClock, World

from circumspect.errors import CircumspectError, ConversationBusy, StoreError
from circumspect.pipeline import run_turn
from circumspect.ports import Ports
from circumspect.profiles import PROFILES
from circumspect.server.background import finish_turns
from circumspect.setup import TurnSetup
from circumspect.steps.sweep import sweep
from circumspect.stores import SqlStore, ledger
from circumspect.stores.engine import Database, connect
from circumspect.stores.schema import prepare
from circumspect.values import Business, Incoming, Plan, Tenant, TenantId

T = TypeVar("T")

RESTART = 6.0
"""Simulated seconds, on average, until somebody starts a worker again."""
TENANTS: Mapping[str, Tenant] = {
    "north": Tenant(TenantId("north"), Business("North"), Plan("free", "standard")),
    "south": Tenant(TenantId("south"), Business("South"), Plan("pro", "adaptive")),
}
_WRITTEN = (
    "usage", "outbox", "escalations", "operator_log", "tool_executions", "intents", "messages", "turns",
    "conversations",
)  # fmt: skip


@cache
def open_database() -> Database:
    """One for all schedules: making the schema takes longer than using it."""
    database = connect("sqlite:///:memory:")
    prepare(database, migrate=True)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER operator_log_kept")  # each schedule begins with nothing
    return database


@cache
def _open_connection() -> Any:
    return open_database().engine.raw_connection().driver_connection


def ask_database(query: str) -> list[Any]:
    """From outside of the schedule: at once, and whatever is broken in it."""
    rows: list[Any] = _open_connection().execute(query).fetchall()
    return rows


def empty_database() -> None:
    for table in _WRITTEN:
        ask_database(f"DELETE FROM {table}")


class SimulatedStore(SqlStore):
    """The real statements. Before them something may go wrong, and after them nobody may hear of it."""

    def __init__(self, database: Database, world: World, worker: Worker) -> None:
        super().__init__(database)
        self.world, self.worker = world, worker

    async def tx(self, body: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        world, worker, name = self.world, self.worker, body.__name__
        await world.wait(10.0 if world.happens("database is slow") else 0.01)
        await worker.take_chances()
        if world.happens("database refuses"):
            world.note(worker.name, f"{name}: refused")
            raise StoreError("The database refused.")
        try:
            result = self._database.transaction(body, *args, **kwargs)
        except ConversationBusy:
            world.note(worker.name, f"{name}: busy")
            await world.wait(12.0)  # as a row would be waited for; asking every moment would find out nothing more
            raise
        except CircumspectError as problem:
            world.note(worker.name, f"{name}: {problem.code}")
            raise
        world.note(worker.name, f"{name}{_describe(result)}")
        if body is ledger.begin_call and result:
            world.begun[args[0].key] = world.now
        await worker.take_chances()
        if world.happens("database does not answer"):
            world.note(worker.name, f"{name}: its answer is lost")
            raise StoreError("The database did not answer.")
        return result


def _describe(result: object) -> str:
    return f": {result}" if isinstance(result, bool) else ""


class Worker(SimulatedProcess):
    """A process that serves: it answers messages and sweeps, and has a clock of its own."""

    def __init__(self, world: World, number: int, shops: Mapping[str, Shop], colleagues: list[Worker]) -> None:
        super().__init__(world.loop)
        self.world, self.number, self.name = world, number, f"worker {number}"
        self.shops, self.colleagues = shops, colleagues
        self.clock = SimulatedClock(world.loop)
        self.store = SimulatedStore(open_database(), world, self)
        self.turns: list[asyncio.Task[Any]] = []
        self.waiting: list[asyncio.Future[Any]] = []
        model = SimulatedModel(world, self)
        self.setups = {
            name: TurnSetup(
                TENANTS[name],
                POLICY,
                PROFILES,
                Ports(model, SimulatedTools(shop, self), self.store, self.clock, world),
            )
            for name, shop in shops.items()
        }

    async def take_chances(self) -> None:
        """Any await may be the last, or last very long; and meanwhile somebody may set the clock."""
        world = self.world
        if world.happens("worker dies"):
            self.die("dies")
            await world.loop.create_future()
        if world.happens("worker stands still"):
            seconds = world.draws.uniform(1.0, LONGEST_STOP)
            world.note(self.name, f"stands still for {seconds:.0f} s")
            self.stand_still(seconds)
            await asyncio.sleep(0)
        if world.happens("clock jumps"):
            self.clock.ahead = world.draws.uniform(-FURTHEST_JUMP, FURTHEST_JUMP)
            world.note(self.name, f"its clock is off by {self.clock.ahead:.0f} s")
        if world.happens("worker is stopped"):
            self.stop()
            await asyncio.sleep(0)
        if self.clock.ahead and world.is_calm:
            self.clock.ahead = 0.0

    def answer(self, incoming: Incoming) -> asyncio.Future[Any]:
        """What whoever sent it gets: the result of the turn, what it raised, or a broken connection."""
        answer: asyncio.Future[Any] = self.loop.create_future()
        if not self.alive:
            answer.set_exception(ConnectionError())
            return answer
        task = self.start(run_turn(incoming, self.setups[incoming.tenant]))
        self.turns.append(task)
        self.waiting.append(answer)

        def pass_on(done: asyncio.Task[Any]) -> None:
            if answer.done():
                return
            if done.cancelled():
                answer.set_exception(ConnectionError())
            elif problem := done.exception():
                answer.set_exception(problem)
            else:
                answer.set_result(done.result())

        task.add_done_callback(pass_on, context=self.context)
        return answer

    async def setup(self, tenant: TenantId) -> TurnSetup:
        """As the server's directory gives it."""
        return self.setups[tenant]

    async def look_after(self) -> None:
        """What the server does in the background: settle the calls and end the turns of those who died."""
        try:
            for tenant in await self.store.tx(ledger.tenants_with_expired):
                ports = self.setups[tenant].ports
                settled = await sweep(tenant, ports.tools, ports.store, ports.clock, ports.ids)
                self.world.note(self.name, f"swept {[f'{one.key}: {one.state}' for one in settled]}")
            if finished := await finish_turns(SimpleNamespace(store=self.store, clock=self.clock, directory=self)):
                self.world.note(self.name, f"ended {finished} turns that nobody sent again")
        except CircumspectError as problem:
            self.world.note(self.name, f"sweep: {problem.code}")

    def stop(self) -> None:
        """SIGTERM: what is under way is broken off and has a moment to write that down."""
        self.world.note(self.name, "is asked to stop")
        for task in self.turns:
            task.cancel()
        self.loop.call_later(5.0, self.die, "stops")

    def die(self, how: str) -> None:
        if not self.alive:
            return
        self.world.note(self.name, how)
        self.alive = False
        self.loop.call_later(self.world.draw_delay(RESTART), self.replace, context=OUTSIDE)
        for answer in self.waiting:
            if not answer.done():
                answer.set_exception(ConnectionError())

    def replace(self) -> None:
        started = Worker(self.world, self.number + 10, self.shops, self.colleagues)
        self.colleagues[self.colleagues.index(self)] = started
        self.world.note(started.name, "is started")
