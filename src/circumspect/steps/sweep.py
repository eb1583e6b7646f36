"""sweep: calls that were started and never finished -> what is known about them now.

Takes ledger rows whose lease ran out (their worker died or hangs) and settles each by the tool's recovery class. A call
that may have happened and cannot be looked up or safely repeated stays unknown, and a person is told. What one sweep
takes is settled side by side, so that it ends before the leases do, however many tools do not answer.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

from circumspect.ports import Clock, Ids, Store, Tools
from circumspect.running import call_under_way, recover, unknown
from circumspect.values import Execution, Incoming, Opened, TenantId

LEASE_SECONDS = 75.0
AT_ONCE = 8
"""Calls of one tenant: fewer than it has threads, so that none of them has to wait for the others."""
CLOCKS_DIFFER = timedelta(minutes=10)
"""By less than this one worker's clock may be behind another's."""
REPEAT_WITHIN = timedelta(days=1)
"""A call that began longer ago is not made again, whatever its tool allows: the other side may have forgotten the key,
and whoever restored an old backup did not ask for what it left open."""


async def sweep(
    tenant: TenantId,
    tools: Tools,
    store: Store,
    clock: Clock,
    ids: Ids,
    *,
    limit: int = AT_ONCE,
    repeat_within: timedelta = REPEAT_WITHIN,
) -> tuple[Execution, ...]:
    """The calls this sweep settled, with this tenant's own tools. A call whose tool is gone stays unknown, and so does
    one that began too long ago to be made again."""
    claimed = await store.claim_expired(ids.new("sweep"), LEASE_SECONDS, limit, tenant)
    oldest = clock.now() - repeat_within
    ends = await asyncio.gather(
        *(_settle_call(one, tools, store, clock, oldest) for one in claimed), return_exceptions=True
    )
    for one in ends:
        if isinstance(one, BaseException):
            raise one
    return tuple(one for one in ends if isinstance(one, Execution))


async def _settle_call(
    started: Execution, tools: Tools, store: Store, clock: Clock, oldest: datetime
) -> Execution | None:
    """How it ended; None where somebody else has found out meanwhile."""
    spec = tools.specs().get(started.call.tool)
    if spec is None or not spec.configured:
        ended = unknown(started, clock)
    elif started.started_at < oldest and started.recovery != "lookup":
        ended = unknown(started, clock, "It began too long ago to be made again.")
    else:
        ended = await recover(started, tools, clock, min(spec.timeout, LEASE_SECONDS / 2))
    return ended if await store.finish_call(ended) else None


async def catch_up(
    opened: Opened,
    incoming: Incoming,
    tools: Tools,
    store: Store,
    clock: Clock,
    ids: Ids,
    repeat_within: timedelta = REPEAT_WITHIN,
) -> tuple[Opened, tuple[Execution, ...]]:
    """If an earlier turn died with a call under way, settle that call first, and say what is now known about it. A
    message that is sent again while a call of its own may still be running has no answer yet: it has to come later."""
    if not opened.unsettled:
        return opened, ()
    known = {}
    if any(one.state == "started" for one in opened.unsettled):
        swept = await sweep(incoming.tenant, tools, store, clock, ids, repeat_within=repeat_within)
        known = {one.id: one for one in swept}
    current = tuple(known.get(one.id, one) for one in opened.unsettled)
    # One that began much later than now was begun before the clock was set back: what its lease says tells nothing.
    soon = clock.now() + CLOCKS_DIFFER
    if any(one.state == "started" and one.turn == incoming.turn and one.started_at <= soon for one in current):
        await store.give_back(incoming, opened.token)
        raise call_under_way()
    # One that failed by itself was spoken of in its own turn; of this one a person found out since. What this very turn
    # did before it was broken off is its answer, and no news.
    told = (one for one in current if one.id in known or one.state in ("succeeded", "failed"))
    news = tuple(one for one in told if one.turn != incoming.turn)
    left = tuple(one for one in current if one.state in ("started", "indeterminate"))
    return replace(opened, unsettled=left, before=tuple(known.get(one.id, one) for one in opened.before)), news
