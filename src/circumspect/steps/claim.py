"""claim: Incoming -> Opened, for the length of a turn.

One worker at a time answers a conversation. Within a process messages wait their turn in order; between processes the
store's lease decides, and is lengthened for as long as the turn runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from weakref import WeakValueDictionary

from circumspect.errors import ConversationBusy, StoreError
from circumspect.ports import Clock, Ids, Store
from circumspect.values import Incoming, Mode, Opened

LEASE_SECONDS = 20.0
PATIENCE_SECONDS = 60.0
"""How long a message waits for its conversation to come free before the sender is told that it is busy."""

_queues: WeakValueDictionary[tuple[int, str, str], asyncio.Lock] = WeakValueDictionary()


@asynccontextmanager
async def claim(
    incoming: Incoming, mode: Mode, history: int, store: Store, clock: Clock, ids: Ids, *, drawn: bool = False
) -> AsyncIterator[Opened]:
    """`drawn`: the mode is the draw of a share, which the conversation keeps."""
    key = (id(store), incoming.tenant, incoming.conversation)
    queue = _queues.get(key)
    if queue is None:
        queue = _queues[key] = asyncio.Lock()
    busy = queue.locked()
    async with queue:
        opened = await _open(incoming, mode, drawn, history, store, clock, ids)
        opened = replace(opened, waited=True) if busy else opened
        if opened.answered:
            yield opened
            return
        renewal = _Renewal(incoming, opened.token, store)
        try:
            yield opened
        finally:
            renewal.stop()


async def _open(
    incoming: Incoming, mode: Mode, drawn: bool, history: int, store: Store, clock: Clock, ids: Ids
) -> Opened:
    token, wait, waited = ids.new("lease"), 0.02, False
    give_up = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while True:
        try:
            opened = await store.open_turn(
                incoming, mode=mode, history=history, token=token, lease_seconds=LEASE_SECONDS, drawn=drawn
            )
            return replace(opened, waited=True) if waited else opened
        except ConversationBusy:
            waited = True
            if asyncio.get_running_loop().time() > give_up:
                raise
            await asyncio.sleep(wait)
            incoming = replace(incoming, at=clock.now())
            wait = min(wait * 1.5, 0.5)


class _Renewal:
    """Lengthens the lease while a turn runs. A timer, not a task: most turns are over before it first goes off."""

    def __init__(self, incoming: Incoming, token: str, store: Store) -> None:
        self.incoming, self.token, self.store = incoming, token, store
        self.task: asyncio.Task[None] | None = None
        self.timer = self._again()

    def _again(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(LEASE_SECONDS / 3, self._start)

    def _start(self) -> None:
        self.task = asyncio.create_task(self._renew())
        self.timer = self._again()

    async def _renew(self) -> None:
        with suppress(StoreError):
            await self.store.renew(self.incoming, self.token, LEASE_SECONDS)

    def stop(self) -> None:
        self.timer.cancel()
        if self.task:
            self.task.cancel()
