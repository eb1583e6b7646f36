"""sweep: calls that were started and never finished -> what is known about them now.

Takes ledger rows whose lease ran out (their worker died or hangs) and settles each by the tool's recovery class. A call
that may have happened and cannot be looked up or safely repeated stays unknown, and a person is told.
"""

from __future__ import annotations

from circumspect.ports import Clock, Ids, Store, Tools
from circumspect.running import recover
from circumspect.turn import Execution

LEASE_SECONDS = 75.0


async def sweep(tools: Tools, store: Store, clock: Clock, ids: Ids, *, limit: int = 20) -> tuple[Execution, ...]:
    """The calls this sweep settled."""
    token = ids.new("sweep")
    specs = tools.specs()
    settled = []
    for started in await store.claim_expired(token, clock.now(), LEASE_SECONDS, limit):
        spec = specs.get(started.call.tool)
        ended = await recover(started, tools, clock, min(spec.timeout, LEASE_SECONDS / 2) if spec else 30.0)
        if await store.finish_call(ended):
            settled.append(ended)
    return tuple(settled)
