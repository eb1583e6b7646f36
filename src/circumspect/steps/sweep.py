"""sweep: calls that were started and never finished -> what is known about them now.

Takes ledger rows whose lease ran out (their worker died or hangs) and settles each by the tool's recovery class. A call
that may have happened and cannot be looked up or safely repeated stays unknown, and a person is told.
"""

from __future__ import annotations

from circumspect.ports import Clock, Ids, Store, Tools
from circumspect.running import recover, unknown
from circumspect.values import Execution, TenantId

LEASE_SECONDS = 75.0


async def sweep(
    tenant: TenantId, tools: Tools, store: Store, clock: Clock, ids: Ids, *, limit: int = 20
) -> tuple[Execution, ...]:
    """The calls this sweep settled, with this tenant's own tools. A call whose tool is gone stays unknown."""
    token = ids.new("sweep")
    specs = tools.specs()
    settled = []
    for started in await store.claim_expired(token, clock.now(), LEASE_SECONDS, limit, tenant):
        spec = specs.get(started.call.tool)
        if spec is None or not spec.configured:
            ended = unknown(started, clock)
        else:
            ended = await recover(started, tools, clock, min(spec.timeout, LEASE_SECONDS / 2))
        if await store.finish_call(ended):
            settled.append(ended)
    return tuple(settled)
