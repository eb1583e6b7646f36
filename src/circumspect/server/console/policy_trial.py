"""A trial: a changed policy and stored conversations in, how far it is and at last what would be decided otherwise out.

Nothing is written and no model is asked. Deciding again is computation, so it has a thread of its own, and the worker
goes on serving meanwhile. It is bounded twice, by a number of conversations and by time; whoever stops listening stops
the thread at the next conversation.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from threading import Event

from circumspect.lab.replay.backtest import backtest
from circumspect.lab.replay.flips import BacktestSummary
from circumspect.lab.replay.stored_turns import count
from circumspect.policy.policy_file import Policy
from circumspect.stores import SqlStore
from circumspect.values import TenantId, ToolSpec

SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class TrialProgress:
    done: int
    of: int


async def trial(
    store: SqlStore,
    policy: Policy,
    *,
    tenant: TenantId,
    specs: Mapping[str, ToolSpec],
    limit: int,
    against: Policy | None = None,
    seconds: float = SECONDS,
) -> AsyncGenerator[TrialProgress | BacktestSummary, None]:
    """Of the newest conversations, at most `limit`. What flips does so against the policy in force. The summary comes
    last; it covers fewer when the time ran out."""
    loop = asyncio.get_running_loop()
    steps: asyncio.Queue[TrialProgress | None] = asyncio.Queue()
    stopped = Event()

    def tell(step: TrialProgress) -> None:
        loop.call_soon_threadsafe(steps.put_nowait, step)

    async def decide() -> BacktestSummary:
        summary, until = BacktestSummary(), time.monotonic() + seconds
        of = await count(store, tenant, None, limit)
        tell(TrialProgress(0, of))
        async for visited in backtest(store, policy, tenant=tenant, specs=specs, limit=limit, against=against):
            if stopped.is_set():
                break
            summary.add(visited)
            tell(TrialProgress(summary.conversations, of))
            if time.monotonic() > until:
                break
        return summary

    # The store serves any loop, so that the thread can have one of its own.
    work = asyncio.ensure_future(asyncio.to_thread(lambda: asyncio.run(decide())))
    work.add_done_callback(lambda _: steps.put_nowait(None))
    try:
        while (step := await steps.get()) is not None:
            yield step
        yield await work
    finally:
        stopped.set()
