"""Worker processes that race for the same rows, and some that are killed at it.

`python -m tests.stores.workers` imports everything once and then forks workers, so that a new one costs milliseconds.
It reads jobs from its input, one JSON object a line, and answers each with a line: what the workers returned.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

from tests.stores.torture import torture
from tests.stores.words import CONVERSATION, TENANT, closing, execution, incoming, opened, result

from circumspect.errors import ConversationBusy
from circumspect.stores import SqlStore
from circumspect.values import ConversationId

LEASE = 0.5
Job = Callable[[SqlStore, int], Coroutine[Any, Any, Any]]


async def use_intents(store: SqlStore, worker: int) -> int:
    """Everyone tries to use every intent, each in another order. How many this worker got."""
    rows = await store.tx(lambda connection: connection.exec_driver_sql("SELECT id, conversation FROM intents").all())
    random.Random(worker).shuffle(rows)
    won = 0
    for intent, conversation in rows:
        turn = incoming(conversation=ConversationId(conversation), at=datetime.now(UTC))
        won += await store.begin_call(execution(turn, intent=intent), "shared")
    return won


async def take_turns(store: SqlStore, worker: int) -> int:
    """Fifteen turns in the conversation that everyone else is in too. How often it was busy."""
    busy = 0
    for number in range(15):
        while True:
            turn = incoming(f"{worker}/{number}", at=datetime.now(UTC))
            try:
                claim = await opened(store, turn, lease_seconds=20)
                break
            except ConversationBusy:
                busy += 1
                await asyncio.sleep(random.uniform(0.001, 0.01))
        await store.close_turn(closing(turn, claim.token, result(turn, f"re {worker}/{number}"), at=datetime.now(UTC)))
    return busy


async def answer_one_key(store: SqlStore, worker: int) -> str:
    """The same request from everyone. Which turn answered it."""
    while True:
        turn = incoming("please", key="the key", at=datetime.now(UTC))
        try:
            claim = await opened(store, turn, lease_seconds=20)
        except ConversationBusy:
            await asyncio.sleep(0.005)
            continue
        if claim.answered:
            return claim.answered.turn
        await asyncio.sleep(0.02)
        await store.close_turn(closing(turn, claim.token, at=datetime.now(UTC)))
        return turn.turn


async def sweep(store: SqlStore, worker: int) -> list[str]:
    """Everyone takes expired calls, a few at a time. The ones this worker was given."""
    given = []
    while found := await store.claim_expired(f"sweeper {worker}", 60, 7):
        given += [one.id for one in found]
    return given


async def dispatch(store: SqlStore, worker: int) -> list[str]:
    """Everyone takes notes from the outbox. The ones this worker was given."""
    given = []
    while found := await store.claim_outbox(f"dispatcher {worker}", 60, 7):
        given += [item.id for item in found]
        for item in found:
            await store.settle_outbox(item, delivered=True)
    return given


async def die_in_a_call(store: SqlStore, worker: int) -> None:
    """Killed after the call was written down and before its end was."""
    turn = incoming("yes", at=datetime.now(UTC))
    claim = await opened(store, turn, lease_seconds=LEASE)
    row = await store.intents(TENANT, CONVERSATION)
    assert await store.begin_call(execution(turn, intent=row[0].id, lease=LEASE), claim.token)
    os.kill(os.getpid(), signal.SIGKILL)


async def die_before_the_commit(store: SqlStore, worker: int) -> None:
    """Killed inside the transaction that uses the intent and writes the call down."""
    from circumspect.stores.ledger import begin_call

    turn = incoming("yes", at=datetime.now(UTC))
    claim = await opened(store, turn, lease_seconds=LEASE)
    row = await store.intents(TENANT, CONVERSATION)

    def begun_and_killed(connection: Any) -> None:
        assert begin_call(connection, execution(turn, intent=row[0].id), claim.token)
        os.kill(os.getpid(), signal.SIGKILL)

    await store.tx(begun_and_killed)


async def write_log(store: SqlStore, worker: int) -> int:
    """Twenty rows of the operators' log, while everyone else writes theirs."""
    from circumspect.stores.action_log import log_action

    for number in range(20):
        id_ = f"act-{worker}-{number}"
        await store.tx(log_action, id=id_, at=float(number), operator=f"worker {worker}", action="key.created")
    return 20


JOBS: dict[str, Job] = {
    job.__name__: job
    for job in (
        use_intents,
        take_turns,
        answer_one_key,
        sweep,
        dispatch,
        die_in_a_call,
        die_before_the_commit,
        write_log,
    )
}


def fork(body: Callable[[], Any]) -> tuple[int, int]:
    """The child's process id, and where what it returns can be read as JSON."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as out:
            json.dump(body(), out)
        os._exit(0)
    os.close(writer)
    return pid, reader


def run(job: str, url: str, processes: int) -> list[Any]:
    """What each of so many workers returned; None for one that was killed."""

    async def work(number: int) -> Any:
        store = await SqlStore.open(url)
        try:
            return await JOBS[job](store, number)
        finally:
            await store.close()

    children = [fork(lambda number=number: asyncio.run(work(number))) for number in range(processes)]
    returned = []
    for pid, reader in children:
        with os.fdopen(reader) as lines:
            text = lines.read()
        returned.append(json.loads(text) if text else None)
        os.waitpid(pid, 0)
    return returned


def main() -> None:
    # What the workers would otherwise each import for themselves.
    with contextlib.suppress(ImportError):
        import psycopg  # noqa: F401
    for line in sys.stdin:
        request = json.loads(line)
        job = request.pop("job")
        done = torture(**request) if job == "torture" else run(job, **request)
        print(json.dumps(done), flush=True)


if __name__ == "__main__":
    main()
