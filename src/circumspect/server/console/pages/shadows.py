"""Shadows: what a second configuration would have done beside the live turns, and one turn both ways.

What is quoted here is what was said in a conversation, so whoever may read the conversation may read it, and nobody
else.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from fastapi import Request
from starlette.responses import Response

from circumspect.lab.trials.experiments import Experiment, from_row
from circumspect.server.access import services_of
from circumspect.server.console import page_routes
from circumspect.server.console.pages.experiments import (
    DONE,
    ROWS,
    UNREADABLE,
    AfterAsked,
    DoneQuery,
    TenantAsked,
    build_shared_context,
    read_log_and_prompts,
)
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer, page
from circumspect.server.console.visitors import ReviewerVisitor, Visitor, tenants_of
from circumspect.server.problems import require_found
from circumspect.server.responses import IdPath, find_visible_tenants, page_after, split_page
from circumspect.stores import experiments, shadows
from circumspect.stores.action_log import LogRow
from circumspect.stores.codec import moment as moment_of
from circumspect.stores.experiments import ExperimentRow
from circumspect.stores.people import VisibleTenants
from circumspect.stores.shadows import ShadowRow, ShadowSummary
from circumspect.stores.tables import messages

router = page_routes.router()
TURNS = 40
NEWEST_IN_LIST = 500


@dataclass(frozen=True, slots=True)
class ShadowListing:
    row: ExperimentRow
    experiment: Experiment | None
    summary: ShadowSummary


@router.get("/shadows")
async def listing(
    request: Request, who: ReviewerVisitor, tenant: TenantAsked = "", after: AfterAsked = None
) -> Response:
    services = services_of(request)
    rows = await read(services, _read_rows, find_visible_tenants(who.principal, tenant or None), page_after(after))
    rows, following = split_page(rows, ROWS, lambda one: (one.row.created_at, one.row.id))
    names = await tenants_of(request, who)
    return answer(
        request,
        who,
        "shadows/page.html",
        "shadows/_fragment.html",
        rows=rows,
        following=following,
        tenant=tenant,
        example=tenant or next(iter(names), "shop"),
        tenants=names,
        at=moment_of,
    )


def _read_rows(connection: sa.Connection, seen: VisibleTenants, after: Any) -> list[ShadowListing]:
    return [
        ShadowListing(row, _readable(row), shadows.summary(connection, row.tenant, row.id, NEWEST_IN_LIST))
        for row in experiments.list_experiments(connection, seen, after, ROWS + 1, "shadow")
    ]


def _readable(row: ExperimentRow) -> Experiment | None:
    try:
        return from_row(row)
    except UNREADABLE:
        return None


@router.get("/shadows/{experiment_id}")
async def detail(
    request: Request,
    who: ReviewerVisitor,
    experiment_id: IdPath,
    every: bool = False,
    after: AfterAsked = None,
    done: DoneQuery = "",
) -> Response:
    return await render_shadow(request, who, experiment_id, every=every, after=after, done=done if done in DONE else "")


async def render_shadow(
    request: Request,
    who: Visitor,
    id_: str,
    *,
    every: bool = False,
    after: str | None = None,
    done: str = "",
    status: int = 200,
    quicker: str | None = None,
) -> Response:
    """One shadow with the turns in which it would have done something else; with `every`, all turns."""
    seen = find_visible_tenants(who.principal, None)
    found = require_found(await read(services_of(request), _read_shadow, seen, id_, every, page_after(after)), "shadow")
    experiment, summary, rows, log, there = found
    if experiment.kind != "shadow":
        return page_routes.redirect_to(f"/experiments/{experiment.id}")
    rows, following = split_page(rows, TURNS, lambda row: (row.at, row.turn))
    return page(
        request,
        who,
        "shadows/detail.html",
        status,
        summary=summary,
        rows=rows,
        following=following,
        every=every,
        done=done,
        quicker=quicker,
        **build_shared_context(experiment, log, there, who),
        tenants=await tenants_of(request, who),
    )


def _read_shadow(
    connection: sa.Connection, seen: VisibleTenants, id_: str, every: bool, after: Any
) -> tuple[Experiment, ShadowSummary, Sequence[ShadowRow], Sequence[LogRow], Collection[str]] | None:
    row = experiments.get(connection, seen, id_)
    if row is None:
        return None
    experiment, mine = from_row(row), frozenset({row.tenant})
    summary = shadows.summary(connection, row.tenant, row.id)
    rows = shadows.list_shadows(connection, mine, after, TURNS + 1, experiment=row.id, different=not every)
    return experiment, summary, rows, *read_log_and_prompts(connection, experiment)


@router.get("/shadows/{experiment_id}/{turn_id}")
async def turn(request: Request, who: ReviewerVisitor, experiment_id: IdPath, turn_id: IdPath) -> Response:
    """One turn, both ways."""
    seen = find_visible_tenants(who.principal, None)
    found = require_found(await read(services_of(request), _both_ways, seen, experiment_id, turn_id), "shadow")
    row, name, said = found
    return page(
        request,
        who,
        "shadows/turn.html",
        row=row,
        name=name,
        said=said,
        sides=(("live", row.live), ("shadow", row.shadow)),
        tenants=await tenants_of(request, who),
        at=moment_of,
    )


def _both_ways(
    connection: sa.Connection, seen: VisibleTenants, experiment: str, turn: str
) -> tuple[ShadowRow, str, Any] | None:
    """With the shadow's name, and the user's words with their place in the conversation."""
    row = shadows.get(connection, seen, experiment, turn)
    if row is None:
        return None
    made = experiments.get(connection, frozenset({row.tenant}), experiment)
    said = sa.select(messages.c.seq, messages.c.content).where(
        messages.c.tenant == row.tenant,
        messages.c.conversation == row.conversation,
        messages.c.turn == row.turn,
        messages.c.role == "user",
    )
    return row, made.name if made else experiment, connection.execute(said.order_by(messages.c.seq)).first()
