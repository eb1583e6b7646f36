"""What an administrator does with an experiment or a shadow: start it, change its share, switch back, decide.

Each is the API's own function, log line included. A form carries the fingerprint of what its author saw, which the API
compares under the lock that it changes the experiment with: if somebody, or a guard, was quicker, nothing is done and
the page says so with what holds now.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from fastapi import Form, Request
from starlette.responses import Response

from circumspect.server.access import Principal, services_of
from circumspect.server.console import page_routes
from circumspect.server.console.pages import experiments as pages
from circumspect.server.console.pages import shadows as shadow_pages
from circumspect.server.console.visitors import AdminVisitor, Visitor
from circumspect.server.problems import HttpProblem, require_found
from circumspect.server.responses import IdPath
from circumspect.server.routes import experiments as api
from circumspect.server.schemas.experiments import FinishGiven, ShareGiven, StopGiven
from circumspect.stores import experiments

B = TypeVar("B")
router = page_routes.router()
SeenFingerprint = Annotated[str, Form(max_length=64, pattern="^[0-9A-Za-z]+$")]
"""The fingerprint of what the person saw."""
ShareField = Annotated[float, Form(ge=0, le=1)]
Why = Annotated[str, Form(max_length=1_000, pattern=r"^[^\x00\r\n]*$")]
WinnerName = Annotated[str, Form(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


@router.post("/experiments/{experiment_id}/start")
async def start(
    request: Request, who: AdminVisitor, experiment_id: IdPath, seen: SeenFingerprint, share: ShareField
) -> Response:
    return await _run_action(request, who, experiment_id, "start", api.start_experiment, ShareGiven(share=share), seen)


@router.post("/experiments/{experiment_id}/share")
async def set_share(
    request: Request, who: AdminVisitor, experiment_id: IdPath, seen: SeenFingerprint, share: ShareField
) -> Response:
    return await _run_action(request, who, experiment_id, "share", api.set_share, ShareGiven(share=share), seen)


@router.post("/experiments/{experiment_id}/stop")
async def stop(
    request: Request, who: AdminVisitor, experiment_id: IdPath, seen: SeenFingerprint, why: Why = ""
) -> Response:
    return await _run_action(request, who, experiment_id, "stop", api.stop_experiment, StopGiven(why=why.strip()), seen)


@router.post("/experiments/{experiment_id}/finish")
async def finish(
    request: Request,
    who: AdminVisitor,
    experiment_id: IdPath,
    seen: SeenFingerprint,
    winner: WinnerName,
    roll_out: Annotated[bool, Form()] = False,
) -> Response:
    given = FinishGiven(winner=winner, roll_out=roll_out)
    return await _run_action(request, who, experiment_id, "finish", api.finish_experiment, given, seen)


async def _run_action(
    request: Request,
    who: Visitor,
    id_: str,
    done: str,
    act: Callable[[Request, Principal, str, B, str], Awaitable[Response]],
    given: B,
    seen: str,
) -> Response:
    row = require_found(
        await services_of(request).store.tx(experiments.get, who.principal.tenant_filter, id_), "experiment"
    )
    place, shown = (
        ("shadows", shadow_pages.render_shadow) if row.kind == "shadow" else ("experiments", pages.render_experiment)
    )
    try:
        await act(request, who.principal, id_, given, seen)
    except HttpProblem as problem:
        if problem.status not in (409, 412):
            raise
        why = "" if problem.status == 412 else f"{problem.problem} {problem.fix}"
        return await shown(request, who, id_, status=409, quicker=why)
    return page_routes.redirect_to(f"/{place}/{id_}?done={done}")
