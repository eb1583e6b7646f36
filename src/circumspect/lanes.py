"""Lanes: long computations of one kind, so many at a time, shared fairly by tenants.

    found = await lane.compute(tenant, audit_lines, lines)

A tenant has so many places in a lane, fewer than there are, and waits for the rest in a queue of its own; a place that
falls free goes to the tenants in turn. So one who sends a hundred things waits for a hundred, and another who sends one
waits for a single place at most. The queue is bounded: beyond it work is refused at once, with the limit's name. A
place is free again when the computation has ended, not when somebody stopped waiting for it: else whoever hangs up
would get another.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import ParamSpec, Protocol, TypeVar

from circumspect.errors import CircumspectError

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE, PER_TENANT, WAITING = 2, 1, 8
TENANTS_WAITING = 16
"""So many full queues are all that may wait in a lane."""
_LONGEST_WAIT = 60


class LaneFull(CircumspectError):
    """Somebody waits for so much already that more is not taken."""

    code = "too_much_at_once"

    def __init__(self, problem: str, fix: str, *, status: int, seconds: float) -> None:
        self.status = status
        self.headers: Mapping[str, str] = {"Retry-After": str(min(_LONGEST_WAIT, max(1, math.ceil(seconds))))}
        super().__init__(problem, fix=fix)


class LaneWatch(Protocol):
    """Hears how it goes in a lane."""

    def note_wait(self, lane: str, seconds: float) -> None: ...

    def note_refusal(self, lane: str, tenant: str) -> None: ...


class Lane:
    def __init__(
        self,
        name: str,
        *,
        at_once: int = AT_ONCE,
        per_tenant: int = PER_TENANT,
        waiting: int = WAITING,
        watch: LaneWatch | None = None,
    ) -> None:
        self.name = name
        self._at_once, self._per_tenant, self._most_waiting, self._watch = at_once, per_tenant, waiting, watch
        self._running: Counter[str] = Counter()
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        self._usual = 1.0
        """Seconds that a place is held, lately."""

    async def compute(self, tenant: str, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` returns, from a thread. Raises `LaneFull` when too much waits already."""
        return await self._compute(tenant, False, lambda: work(*args, **kwargs))

    async def compute_later(self, tenant: str, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for what nobody waits for in person: never refused, however much there is."""
        return await self._compute(tenant, True, lambda: work(*args, **kwargs))

    @asynccontextmanager
    async def hold(self, tenant: str, *, patiently: bool = False) -> AsyncIterator[None]:
        """A place for as long as the block lasts."""
        await self._enter(tenant, patiently)
        began = time.monotonic()
        try:
            yield
        finally:
            self._leave(tenant, began)

    async def _compute(self, tenant: str, patiently: bool, work: Callable[[], T]) -> T:
        await self._enter(tenant, patiently)
        began = time.monotonic()

        def end(done: asyncio.Future[T]) -> None:
            self._leave(tenant, began)
            if not done.cancelled():
                done.exception()  # nobody may be waiting for it any more

        computing = asyncio.ensure_future(asyncio.to_thread(work))
        computing.add_done_callback(end)
        return await asyncio.shield(computing)

    # --- places -----------------------------------------------------------------------------------------------------

    async def _enter(self, tenant: str, patiently: bool) -> None:
        began = time.monotonic()
        queue = self._queues.get(tenant)
        if queue or not self._has_place(tenant):
            if not patiently:
                self._refuse_excess(tenant, len(queue or ()))
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._queues.setdefault(tenant, deque()).append(place)
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():  # it was given just when nobody wanted it any more
                    self._free(tenant)
                elif waiting := self._queues.get(tenant):
                    waiting.remove(place)
                raise
        else:
            self._running[tenant] += 1
        if self._watch:
            self._watch.note_wait(self.name, time.monotonic() - began)

    def _leave(self, tenant: str, began: float) -> None:
        self._usual += 0.2 * (time.monotonic() - began - self._usual)
        self._free(tenant)

    def _free(self, tenant: str) -> None:
        self._running[tenant] -= 1
        if not self._running[tenant]:
            del self._running[tenant]
        self._give_places()

    def _has_place(self, tenant: str) -> bool:
        return self._running.total() < self._at_once and self._running[tenant] < self._per_tenant

    def _give_places(self) -> None:
        """To the tenants in turn: who was given one goes to the end."""
        for tenant in list(self._queues):
            queue = self._queues[tenant]
            if not queue:
                del self._queues[tenant]
            elif self._has_place(tenant):
                self._running[tenant] += 1
                queue.popleft().set_result(None)
                del self._queues[tenant]
                if queue:
                    self._queues[tenant] = queue

    def _refuse_excess(self, tenant: str, own: int) -> None:
        if own >= self._most_waiting:
            self._refuse(
                tenant, 429, f"{own} of your requests wait for {self.name} already, and that is the limit.", own
            )
        everybody = sum(map(len, self._queues.values()))
        if everybody >= self._most_waiting * TENANTS_WAITING:
            self._refuse(tenant, 503, f"Too many requests of all tenants wait for {self.name}.", everybody)

    def _refuse(self, tenant: str, status: int, problem: str, ahead: int) -> None:
        if self._watch:
            self._watch.note_refusal(self.name, tenant)
        fix = "Wait for answers before you send more; the operator can raise lane_waiting and lane_per_tenant."
        raise LaneFull(problem, fix, status=status, seconds=self._usual * (ahead + 1) / self._per_tenant)
