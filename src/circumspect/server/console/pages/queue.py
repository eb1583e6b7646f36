"""The work queue, the first page of the console: whatever waits for a person, the oldest first.

What an item needs is done on its own page (`/escalations/…`, `/approvals/…`, `/notifications/…`); what every item has,
who sees to it, until when it is put off, notes and the way to the next, is the panel that those pages include. The
filter of the list last looked at is kept in a cookie, so that the next item is the next of that list.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Annotated, Any, Literal, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode

import sqlalchemy as sa
from fastapi import Depends, Form, Query, Request
from pydantic import StringConstraints
from starlette.responses import Response

from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.call_words import Specs, find_specs
from circumspect.server.console.escalation_subjects import EscalationSubject, find_subjects
from circumspect.server.console.first_steps import FirstSteps, read_first_steps
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer, link, page
from circumspect.server.console.visitors import AnyVisitor, OperatorVisitor, ReviewerVisitor, Visitor, tenants_of
from circumspect.server.console.work_panel import SNOOZES, item_path
from circumspect.server.problems import HttpProblem, not_found
from circumspect.server.responses import find_visible_tenants, page_after, split_page
from circumspect.server.routes import work as api
from circumspect.server.routes.escalations import resolve_escalation
from circumspect.server.routes.work import SubjectPath, WorkPath
from circumspect.server.schemas.bodies import NO_NUL
from circumspect.server.schemas.work import LONGEST_NOTE, Assignment, NoteWritten, Snoozing
from circumspect.server.session_cookies import is_secure
from circumspect.server.stores import access, work_queue
from circumspect.server.stores.work_queue import WorkFilter, WorkItem, WorkKind, WorkSubject
from circumspect.stores.people import ListCursor, NotThere, OutcomeNeeded, TakenByAnother
from circumspect.values import TenantId

navigation.add(navigation.MenuEntry("nav-queue", "/", 10, count="queue", icon="inbox"))
router = page_routes.router()
ROWS = 40
BESIDE = 5
"""Of the list, before and after an item."""
COOKIE = "circumspect_queue"
MarkedItem = Annotated[
    str, StringConstraints(pattern=r"^(escalation|approval|draft|delivery):[A-Za-z0-9._:@+=~-]{1,200}$")
]
MINE, NOBODY = "@me", "@nobody"
"""In place of a name. No operator is called that: names of colleagues are compared whole."""


@dataclass(frozen=True, slots=True)
class QueueView:
    """Which part of the queue is looked at; empty says nothing."""

    kind: str = ""
    tenant: str = ""
    assignee: str = ""
    snoozed: str = ""

    def kinds(self, who: Visitor) -> list[WorkKind]:
        return [one for one in api.find_kinds(who.principal) if self.kind in ("", one)]

    def wanted(self, who: Visitor) -> WorkFilter:
        holder = {"": None, MINE: who.operator.name, NOBODY: ""}.get(self.assignee, self.assignee)
        return WorkFilter(holder, bool(self.snoozed))

    def query(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}


def parse_view(
    kind: Annotated[str, Query(max_length=20)] = "",
    tenant: Annotated[str, Query(max_length=64)] = "",
    assignee: Annotated[str, Query(max_length=200, pattern=NO_NUL)] = "",
    snoozed: Annotated[str, Query(max_length=1)] = "",
) -> QueueView:
    return QueueView(kind, tenant, assignee, snoozed)


@router.get("/")
async def queue(
    request: Request,
    who: AnyVisitor,
    view: Annotated[QueueView, Depends(parse_view)],
    after: Annotated[str | None, Query(max_length=400)] = None,
    empty: bool = False,
    did: Annotated[str, Query(max_length=10)] = "",
    done: Annotated[int, Query(ge=0, le=ROWS)] = 0,
    left: Annotated[int, Query(ge=0, le=ROWS)] = 0,
) -> Response:
    """`did`, `done`, `left`: what was done with how many marked items, and how many are as they were."""
    services = services_of(request)
    seen, now = find_visible_tenants(who.principal, view.tenant or None), services.clock.now()
    kinds, wanted = view.kinds(who), view.wanted(who)

    def look_up(
        connection: sa.Connection,
    ) -> tuple[list[WorkItem], dict[str, EscalationSubject], Specs, dict[WorkKind, int], list[str]]:
        rows = list(work_queue.list_work(connection, seen, kinds, wanted, now, page_after(after), ROWS + 1))
        abouts = find_subjects(connection, [row for row in rows if row.subject == "escalation"])
        counts = work_queue.count_work(connection, seen, api.find_kinds(who.principal), wanted, now)
        specs = find_specs(connection, [(row.tenant, row.tool) for row in rows if row.tool])
        return rows, abouts, specs, dict(counts), _list_colleagues(connection, who)

    found, abouts, specs, counts, colleagues = await read(services, look_up)
    rows, following = split_page(found, ROWS, lambda row: (row.waits_since, row.id))
    first = await _read_first_steps(request, who)
    shown = answer(
        request,
        who,
        "queue/page.html",
        "queue/_fragment.html",
        rows=rows,
        abouts=abouts,
        specs=specs,
        counts=counts,
        total=sum(counts.values()),
        colleagues=colleagues,
        following=following,
        whole=following is None and after is None,
        view=view,
        query=view.query(),
        mine=MINE,
        nobody=NOBODY,
        empty=empty,
        did=did if did in ("assign", "snooze", "resolve") else "",
        done=done,
        left=left,
        snoozes=SNOOZES,
        item_path=item_path,
        tenants=await tenants_of(request, who),
        now=now,
        first_steps=first,
        refetch=True,
        live="conversations" if first else "",
    )
    remember = quote(urlencode(view.query()))
    shown.set_cookie(COOKIE, remember, httponly=True, samesite="lax", secure=is_secure(request))
    return shown


@router.get("/first-steps")
async def first_steps(request: Request, who: AnyVisitor) -> Response:
    """The checklist by itself: it ticks itself off while somebody writes to the chat."""
    found = await _read_first_steps(request, who)
    return page(request, who, "queue/_first_steps.html", first_steps=found, refetch=True)


async def _read_first_steps(request: Request, who: Visitor) -> FirstSteps | None:
    """For who may do all of them."""
    if who.operator.role != "admin" or who.operator.tenants is not None:
        return None
    return await read(services_of(request), read_first_steps)


def _list_colleagues(connection: sa.Connection, who: Visitor) -> list[str]:
    """Those with whom this visitor shares a tenant, and who may see to anything."""
    own = who.operator.tenants
    return [
        one.name
        for one in access.list_operators(connection)
        if one.disabled_at is None
        and one.role in ("operator", "admin")
        and (own is None or one.tenants is None or own & set(one.tenants))
    ]


@router.post("/queue/bulk")
async def act_on_many(
    request: Request,
    who: OperatorVisitor,
    did: Annotated[Literal["assign", "snooze", "resolve"], Form()],
    item: Annotated[list[MarkedItem] | None, Form(max_length=ROWS)] = None,
    to: Annotated[str, Form(max_length=200, pattern=NO_NUL)] = "",
    hours: Annotated[int, Form(ge=0, le=744)] = 0,
) -> Response:
    """The same for each item that is marked, one after the other; what cannot be done leaves its item as it is. What
    only one page can ask about (a decision, an outcome) is not done here."""
    done = left = 0
    for subject, _, id_ in (one.partition(":") for one in item or ()):
        try:
            await _act_on(request, who, did, cast("WorkSubject", subject), id_, to, hours)
            done += 1
        except (HttpProblem, TakenByAnother, OutcomeNeeded, NotThere):
            left += 1
    return page_routes.redirect_to(link("/", _read_view(request).query(), did=did, done=done, left=left))


async def _act_on(
    request: Request, who: Visitor, did: str, subject: WorkSubject, id_: str, to: str, hours: int
) -> None:
    if did == "assign":
        await api.assign_work(request, who.principal, subject, id_, Assignment(to=to or None))
    elif did == "snooze":
        until = services_of(request).clock.now() + timedelta(hours=hours) if hours else None
        await api.snooze_work(request, who.principal, subject, id_, Snoozing(until=until))
    elif subject == "escalation":
        await resolve_escalation(request, who.principal, id_)
    else:
        raise not_found("escalation")


@router.get("/queue/{subject}/{item_id}/around")
async def around(request: Request, who: ReviewerVisitor, subject: SubjectPath, item_id: WorkPath) -> Response:
    """The neighbours of an item, in the part of the queue that was looked at last: the list beside it."""
    services, view = services_of(request), _read_view(request)
    seen, now = find_visible_tenants(who.principal, None), services.clock.now()
    within = frozenset({TenantId(view.tenant)}) if view.tenant and who.principal.may_see(view.tenant) else seen

    def look_up(connection: sa.Connection) -> tuple[list[WorkItem], dict[str, EscalationSubject], Specs]:
        place = work_queue.find_place(connection, seen, subject, item_id)
        if place is None:
            raise not_found("item")
        at, wanted, kinds = ListCursor(place.since, place.id), view.wanted(who), view.kinds(who)
        before = work_queue.list_work(connection, within, kinds, wanted, now, at, BESIDE, backwards=True)
        own = work_queue.find_work(connection, seen, subject, item_id, now)
        after = work_queue.list_work(connection, within, kinds, wanted, now, at, BESIDE)
        rows = [*before[::-1], *([own] if own else ()), *after]
        abouts = find_subjects(connection, [row for row in rows if row.subject == "escalation"])
        return rows, abouts, find_specs(connection, [(row.tenant, row.tool) for row in rows if row.tool])

    rows, abouts, specs = await read(services, look_up)
    return page(
        request, who, "queue/_around.html", rows=rows, abouts=abouts, specs=specs, item_path=item_path,
        current=(subject, item_id), tenants=await tenants_of(request, who),
    )  # fmt: skip


@router.get("/queue/{subject}/{item_id}/{way}")
async def go_on(
    request: Request, who: ReviewerVisitor, subject: SubjectPath, item_id: WorkPath, way: Literal["next", "previous"]
) -> Response:
    """To the neighbour of an item, in the part of the queue that was looked at last; from the end to the beginning."""
    services, view = services_of(request), _read_view(request)
    seen, now, back = find_visible_tenants(who.principal, None), services.clock.now(), way == "previous"
    within = frozenset({view.tenant}) if view.tenant and who.principal.may_see(view.tenant) else seen

    def find(connection: sa.Connection) -> WorkItem | None:
        place = work_queue.find_place(connection, seen, subject, item_id)
        if place is None:
            raise not_found("item")
        for start in (ListCursor(place.since, place.id), None):
            found = work_queue.list_work(
                connection, within, view.kinds(who), view.wanted(who), now, start, 2, backwards=back
            )
            if others := [one for one in found if (one.subject, one.id) != (subject, item_id)]:
                return others[0]
        return None

    item = await read(services, find)
    return page_routes.redirect_to(item_path(item) if item else link("/", view.query(), empty=1))


def _read_view(request: Request) -> QueueView:
    """As the cookie has it; whatever it says, only what this visitor may see is shown."""
    try:
        said = dict(parse_qsl(unquote(request.cookies.get(COOKIE, ""))[:600], max_num_fields=8))
    except ValueError:
        said = {}
    known = {name: value[:200].replace("\0", "") for name, value in said.items() if name in QueueView.__slots__}
    return QueueView(**known)


@router.post("/queue/{subject}/{item_id}/assign")
async def assign(
    request: Request,
    who: OperatorVisitor,
    subject: SubjectPath,
    item_id: WorkPath,
    to: Annotated[str, Form(max_length=200, pattern=NO_NUL)] = "",
) -> Response:
    """Without a name it is nobody's again."""
    await api.assign_work(request, who.principal, subject, item_id, Assignment(to=to or None))
    return page_routes.redirect_to(item_path(subject, item_id))


@router.post("/queue/{subject}/{item_id}/snooze")
async def snooze(
    request: Request,
    who: OperatorVisitor,
    subject: SubjectPath,
    item_id: WorkPath,
    hours: Annotated[int, Form(ge=0, le=744)] = 0,
) -> Response:
    """For none, it is back at once."""
    until = services_of(request).clock.now() + timedelta(hours=hours) if hours else None
    await api.snooze_work(request, who.principal, subject, item_id, Snoozing(until=until))
    return page_routes.redirect_to(item_path(subject, item_id))


@router.post("/queue/{subject}/{item_id}/notes")
async def add_note(
    request: Request,
    who: OperatorVisitor,
    subject: SubjectPath,
    item_id: WorkPath,
    note: Annotated[str, Form(min_length=1, max_length=LONGEST_NOTE, pattern=NO_NUL)],
) -> Response:
    await api.add_note(request, who.principal, subject, item_id, NoteWritten(content=note))
    return page_routes.redirect_to(f"{item_path(subject, item_id)}#notes")
