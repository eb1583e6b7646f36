"""Shadows: what a second configuration would have done beside the live turns, and one turn both ways.

What is quoted here is what was said in a conversation, so whoever may read the conversation may read it, and nobody
else.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Path, Request
from starlette.responses import Response

from circumspect.lab.trials.experiments import Experiment, of_row
from circumspect.server.access import services_of
from circumspect.server.console import page_routes
from circumspect.server.console.pages.experiments import (
    DONE,
    ROWS,
    UNREADABLE,
    AfterAsked,
    Done,
    Looking,
    TenantAsked,
    about,
    kept,
)
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer, page
from circumspect.server.console.visitors import Visitor, tenants_of
from circumspect.server.problems import not_found
from circumspect.server.responses import IdPath, page_after, paged, visible
from circumspect.server.schemas.bodies import ID
from circumspect.stores import experiments, shadows
from circumspect.stores.action_log import LogRow
from circumspect.stores.codec import moment as moment_of
from circumspect.stores.experiments import ExperimentRow, Tenants
from circumspect.stores.shadows import ShadowRow, Summary
from circumspect.stores.tables import messages

router = page_routes.router()
TurnPath = Annotated[str, Path(min_length=1, max_length=128, pattern=ID)]
TURNS = 40
NEWEST_IN_LIST = 500


@dataclass(frozen=True, slots=True)
class Listed:
    row: ExperimentRow
    experiment: Experiment | None
    summary: Summary


@router.get("/shadows")
async def listing(request: Request, who: Looking, tenant: TenantAsked = "", after: AfterAsked = None) -> Response:
    services = services_of(request)
    rows = await read(services, _listed, visible(who.principal, tenant or None), page_after(after))
    found = paged(rows, ROWS, lambda one: one, lambda one: (one.row.created_at, one.row.id))  # type: ignore[arg-type,return-value]
    names = await tenants_of(request, who)
    return answer(
        request,
        who,
        "shadows/page.html",
        "shadows/_fragment.html",
        rows=found["items"],
        following=found["next"],
        tenant=tenant,
        example=tenant or next(iter(names), "shop"),
        tenants=names,
        at=moment_of,
    )


def _listed(connection: sa.Connection, seen: Tenants, after: Any) -> list[Listed]:
    return [
        Listed(row, _readable(row), shadows.summary(connection, row.tenant, row.id, NEWEST_IN_LIST))
        for row in experiments.listed(connection, seen, after, ROWS + 1, "shadow")
    ]


def _readable(row: ExperimentRow) -> Experiment | None:
    try:
        return of_row(row)
    except UNREADABLE:
        return None


@router.get("/shadows/{experiment_id}")
async def detail(
    request: Request,
    who: Looking,
    experiment_id: IdPath,
    every: bool = False,
    after: AfterAsked = None,
    done: Done = "",
) -> Response:
    return await shown(request, who, experiment_id, every=every, after=after, done=done if done in DONE else "")


async def shown(
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
    seen = visible(who.principal, None)
    found = await read(services_of(request), _looked_up, seen, id_, every, page_after(after))
    if found is None:
        raise not_found("shadow")
    experiment, summary, rows, log, there = found
    if experiment.kind != "shadow":
        return page_routes.back(f"/experiments/{experiment.id}")
    turns = paged(rows, TURNS, lambda row: row, lambda row: (row.at, row.turn))  # type: ignore[arg-type,return-value]
    return page(
        request,
        who,
        "shadows/detail.html",
        status,
        summary=summary,
        rows=turns["items"],
        following=turns["next"],
        every=every,
        done=done,
        quicker=quicker,
        **about(experiment, log, there, who),
        tenants=await tenants_of(request, who),
    )


def _looked_up(
    connection: sa.Connection, seen: Tenants, id_: str, every: bool, after: Any
) -> tuple[Experiment, Summary, Sequence[ShadowRow], Sequence[LogRow], Collection[str]] | None:
    row = experiments.get(connection, seen, id_)
    if row is None:
        return None
    experiment, mine = of_row(row), frozenset({row.tenant})
    summary = shadows.summary(connection, row.tenant, row.id)
    rows = shadows.listed(connection, mine, after, TURNS + 1, experiment=row.id, different=not every)
    return experiment, summary, rows, *kept(connection, experiment)


@router.get("/shadows/{experiment_id}/{turn_id}")
async def turn(request: Request, who: Looking, experiment_id: IdPath, turn_id: TurnPath) -> Response:
    """One turn, both ways."""
    seen = visible(who.principal, None)
    found = await read(services_of(request), _both_ways, seen, experiment_id, turn_id)
    if found is None:
        raise not_found("shadow")
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
    connection: sa.Connection, seen: Tenants, experiment: str, turn: str
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
