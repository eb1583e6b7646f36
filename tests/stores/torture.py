"""Workers that use intents, call tools, sweep and dispatch, while somebody kills them at random moments.

Tools are two: `keyed`, whose other side refuses to do the same key twice, and `blind`, whose other side does whatever
it is told. Each effect is a line in a file; the file survives the worker, as a payment would.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE
from tests.stores.words import closing, execution, fresh, incoming, opened

from circumspect.errors import ConversationBusy, LeaseLost
from circumspect.stores import SqlStore
from circumspect.values import ConversationId, Execution

LEASE = 0.4
WORK = (0.0, 0.05)
"""How long a call takes on either side of its effect, so that kills land before, between and after."""


def now() -> datetime:
    return datetime.now(UTC)


class World:
    """The other side of the tools, and of the outbox."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def effect(self, execution: Execution) -> None:
        if execution.call.tool == "keyed":
            # The file is the effect: one atomic step, and the second attempt finds it done.
            with suppress(FileExistsError):
                os.close(os.open(self.folder / f"{execution.key}.done", os.O_CREAT | os.O_EXCL))
        else:
            self.write("effects", execution.key)

    def write(self, name: str, line: str) -> None:
        file = os.open(self.folder / name, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.write(file, f"{line}\n".encode())
        os.close(file)

    def read(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().split() if path.exists() else []

    def effects(self) -> list[str]:
        return [*self.read("effects"), *(path.stem for path in self.folder.glob("*.done"))]


async def call(store: SqlStore, world: World, started: Execution) -> None:
    await asyncio.sleep(random.uniform(*WORK))
    world.effect(started)
    await asyncio.sleep(random.uniform(*WORK))
    await store.finish_call(replace(started, state="succeeded", finished_at=now(), result="ok"))


async def answer_a_yes(store: SqlStore, world: World, conversation: ConversationId) -> None:
    turn = incoming("yes", conversation=conversation, at=now())
    try:
        claim = await opened(store, turn, lease_seconds=LEASE)
        if claim.intent is not None and claim.intent.state == "pending":
            tool = claim.intent.call
            started = execution(turn, tool, recovery=tool.tool, intent=claim.intent.id, lease=LEASE)
            if await store.begin_call(started, claim.token):
                await call(store, world, started)
        await store.close_turn(closing(turn, claim.token, at=now()))
    except (ConversationBusy, LeaseLost):
        await asyncio.sleep(0.01)


async def sweep(store: SqlStore, world: World) -> None:
    for started in await store.claim_expired(fresh("sweeper"), LEASE, 5):
        if started.recovery == "keyed":
            await call(store, world, started)
        else:
            await store.finish_call(replace(started, state="indeterminate", finished_at=now()))


async def dispatch(store: SqlStore, world: World) -> None:
    for item in await store.claim_outbox(fresh("dispatcher"), LEASE, 5):
        world.write("delivered", item.id)
        await store.settle_outbox(item, delivered=True)


def _left(connection: Any) -> tuple[list[str], int]:
    waiting = connection.exec_driver_sql("SELECT conversation FROM intents WHERE state = 'pending'").scalars().all()
    open_calls = connection.exec_driver_sql("SELECT count(*) FROM tool_executions WHERE state = 'started'").scalar()
    notes = connection.exec_driver_sql("SELECT count(*) FROM outbox WHERE state = 'pending'").scalar()
    return list(waiting), len(waiting) + open_calls + notes


async def worker(url: str, folder: Path) -> None:
    """Until nothing is left to do."""
    store, world = await SqlStore.open(url), World(folder)
    while True:
        waiting, left = await store.tx(_left)
        if not left:
            return await store.close()
        for _ in range(4):
            if waiting:
                await answer_a_yes(store, world, ConversationId(random.choice(waiting)))
        await sweep(store, world)
        await dispatch(store, world)


def torture(url: str, processes: int, folder: str, seed: int) -> dict[str, int]:
    """Run the workers to the end, killing one every so often. How many were killed."""
    random.seed(seed)

    def started() -> int:
        pid = os.fork()
        if pid == 0:
            random.seed(os.getpid())
            asyncio.run(worker(url, Path(folder)))
            os._exit(0)
        return pid

    alive = [started() for _ in range(processes)]
    kills, give_up = 0, time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        time.sleep(random.uniform(0.05, 0.3))
        victim = random.randrange(processes)
        pid, status = os.waitpid(alive[victim], os.WNOHANG)
        if pid and status == 0:
            break
        if not pid:
            os.kill(alive[victim], signal.SIGKILL)
            os.waitpid(alive[victim], 0)
            kills += 1
        alive[victim] = started()
    for number in range(processes):
        if number != victim:
            with suppress(ChildProcessError):
                os.waitpid(alive[number], 0)
    return {"kills": kills}
