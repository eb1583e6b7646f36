"""What somebody wanted and was not allowed, for the operators' log: an error in, a row with `refused` out.

Only who is known is written down; strangers are counted elsewhere. A program that repeats what it may not would fill
the log, so the same refusal of the same person is written once a minute by each worker.
"""

from __future__ import annotations

import logging

from fastapi import Request

from circumspect.errors import ApproverRefused, CircumspectError, StoreError
from circumspect.server.access import NotFresh, SecondFactorRequired, read_acting, services_of
from circumspect.stores import action_log

ACTION = "request.refused"
AGAIN_SECONDS = 60.0
_MANY = 10_000
_ELSEWHERE = (NotFresh, SecondFactorRequired, ApproverRefused)
"""The first two ask for one thing more and then let the person on; the last is logged by the turn that refused."""

log = logging.getLogger(__name__)


async def note_refusal(request: Request, error: CircumspectError) -> None:
    """Whatever an operator was refused, and what a key wanted to change."""
    acting = read_acting(request)
    if acting is None or isinstance(error, _ELSEWHERE) or (not acting.is_operator and request.method == "GET"):
        return
    services, route = services_of(request), getattr(request.scope.get("route"), "path", "")
    now, state = services.clock.now(), request.app.state
    if not hasattr(state, "refusals"):
        state.refusals = {}
    seen: dict[tuple[str, ...], float] = state.refusals
    what = acting.name, request.method, route, error.code
    if now.timestamp() - seen.get(what, 0.0) < AGAIN_SECONDS:
        return
    if len(seen) >= _MANY:
        seen.clear()
    seen[what] = now.timestamp()
    asked = next(iter(request.path_params.values()), "")
    try:
        await services.store.tx(
            action_log.log_action,
            id=services.ids.new("act"),
            at=now,
            operator=acting.name,
            action=ACTION,
            tenant=acting.tenant,
            subject=str(asked)[:200],
            detail={"method": request.method, "route": route, "code": error.code},
            result="refused",
        )
    except StoreError as problem:
        log.warning("a refusal could not be logged", extra={"problem": problem.code})
