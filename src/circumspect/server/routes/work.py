"""`/v1/work`: everything that waits for a person, the oldest first. Give it to somebody, put it off, note something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Annotated

import sqlalchemy as sa
from fastapi import Path, Query, Request
from starlette.responses import Response

from circumspect.server.access import OperatorPrincipal, Principal, ReviewerPrincipal, services_of
from circumspect.server.problems import HttpProblem, not_found
from circumspect.server.responses import (
    After,
    PageLimit,
    TenantFilter,
    action,
    describe_route,
    find_visible_tenants,
    make_page,
    page_after,
    resource,
    to_response,
)
from circumspect.server.schemas.bodies import NO_NUL, AnswerPage
from circumspect.server.schemas.work import Assignment, NoteShown, NoteWritten, Snoozing, WorkShown
from circumspect.server.stores import access, work_items, work_queue
from circumspect.server.stores.access import OperatorRow
from circumspect.server.stores.work_items import WorkNote
from circumspect.server.stores.work_queue import WORK_KINDS, WorkFilter, WorkItem, WorkKind, WorkPlace, WorkSubject
from circumspect.stores.people import TakenByAnother, VisibleTenants
from circumspect.values import JsonObject

router = resource("work")
WorkPath = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9+@_][A-Za-z0-9._:@+=~-]*$")]
SubjectPath = Annotated[WorkSubject, Path(description="What the item is.")]
LONGEST_SNOOZE = timedelta(days=31)
BEFORE_EXPIRY = timedelta(minutes=30)
"""An approval comes back while there is still time to decide on it."""
MOST_NOTES = 200


def is_administrator(who: Principal) -> bool:
    if who.operator is not None:
        return who.operator.role == "admin"
    return who.caller is not None and "admin" in who.caller.scopes


def find_kinds(who: Principal) -> tuple[WorkKind, ...]:
    """What waits for this person or key. What could not be delivered is for administrators; a draft of a policy may be
    looked at and noted on by all who read policies."""
    return tuple(one for one in WORK_KINDS if one != "delivery" or is_administrator(who))


@router.get("/v1/work", **describe_route(AnswerPage[WorkShown], 404))
async def list_work(
    request: Request,
    who: ReviewerPrincipal,
    tenant: TenantFilter = None,
    kind: Annotated[WorkKind | None, Query(description="Only items of this kind.")] = None,
    holder: Annotated[
        str | None, Query(max_length=200, pattern=NO_NUL, description="Only what this operator has; empty: nobody.")
    ] = None,
    snoozed: Annotated[bool, Query(description="Those that are put off, instead of the others.")] = False,
    after: After = None,
    limit: PageLimit = 50,
) -> Response:
    """The oldest first."""
    services = services_of(request)
    kinds = [one for one in find_kinds(who) if kind in (None, one)]
    seen, wanted = find_visible_tenants(who, tenant), WorkFilter(holder, snoozed)
    rows = await services.store.tx(
        work_queue.list_work, seen, kinds, wanted, services.clock.now(), page_after(after), limit + 1
    )
    return to_response(make_page(rows, limit, WorkShown.of, lambda row: (row.waits_since, row.id)))


@router.post("/v1/work/{subject}/{item_id}/assign", **describe_route(WorkShown, 404, 409))
async def assign_work(
    request: Request, who: OperatorPrincipal, subject: SubjectPath, item_id: WorkPath, given: Assignment
) -> Response:
    """Give it to somebody who may see to it. Who has taken a conversation over keeps it."""

    def assign(connection: sa.Connection, item: WorkItem) -> None:
        if item.taken_by not in (None, given.to):
            raise TakenByAnother(f"{item.taken_by} has this escalation.", fix="Ask them to hand it back first.")
        if given.to is not None and given.to not in list_colleagues(connection, item.place):
            raise HttpProblem(
                422,
                "not_a_colleague",
                f"There is nobody called '{given.to}' who may see to this.",
                fix="Name an operator who may see the tenant: circumspect operators list.",
            )
        work_items.assign(connection, item.place, given.to)

    return await _change(request, who, subject, item_id, "assign", assign, {"to": given.to})


@router.post("/v1/work/{subject}/{item_id}/snooze", **describe_route(WorkShown, 404, 409))
async def snooze_work(
    request: Request, who: OperatorPrincipal, subject: SubjectPath, item_id: WorkPath, given: Snoozing
) -> Response:
    """Put it off, for everybody. What expires cannot be put off beyond that."""
    now, until = services_of(request).clock.now(), given.until

    def snooze(connection: sa.Connection, item: WorkItem) -> None:
        if until is not None and not now < until <= now + LONGEST_SNOOZE:
            raise HttpProblem(
                422, "invalid", "That is in the past, or too far ahead.", fix="Choose a time within a month."
            )
        if until is not None and item.expires_at is not None and until > item.expires_at - BEFORE_EXPIRY:
            raise HttpProblem(
                409,
                "expires_sooner",
                f"It waits until {item.expires_at.isoformat()} only.",
                fix="Decide on it, or put it off for less.",
            )
        work_items.snooze(connection, item.place, until)

    detail: JsonObject = {"until": None if until is None else until.isoformat()}
    return await _change(request, who, subject, item_id, "snooze", snooze, detail)


@router.get("/v1/work/{subject}/{item_id}/notes", **describe_route(AnswerPage[NoteShown], 404))
async def list_notes(request: Request, who: ReviewerPrincipal, subject: SubjectPath, item_id: WorkPath) -> Response:
    """What colleagues noted, the newest of it, in the order of time. No user sees it."""

    def body(connection: sa.Connection) -> Sequence[WorkNote]:
        return work_items.list_notes(connection, require_place(connection, who, subject, item_id), MOST_NOTES)

    notes = await services_of(request).store.tx(body)
    return to_response(AnswerPage[NoteShown](items=[NoteShown.of(one) for one in notes], next=None))


@router.post("/v1/work/{subject}/{item_id}/notes", **describe_route(NoteShown, 404, status=201))
async def add_note(
    request: Request, who: OperatorPrincipal, subject: SubjectPath, item_id: WorkPath, given: NoteWritten
) -> Response:
    """For colleagues. It is exported and forgotten with its conversation."""
    services = services_of(request)
    note = WorkNote(services.ids.new("note"), who.name, services.clock.now(), given.content)
    log = action(services, who.name, "note")

    def body(connection: sa.Connection) -> WorkNote:
        place = require_place(connection, who, subject, item_id)
        kept = work_items.add_note(connection, place, note)
        if kept is note:
            log.log(connection, place.tenant or None, place.id, {"note": note.id})
        return kept

    return to_response(NoteShown.of(await services.store.tx(body)), 201)


def require_place(connection: sa.Connection, who: Principal, subject: WorkSubject, id_: str) -> WorkPlace:
    place = None
    if subject != "delivery" or is_administrator(who):
        place = work_queue.find_place(connection, find_visible_tenants(who, None), subject, id_)
    if place is None:
        raise not_found("item")
    return place


def list_colleagues(connection: sa.Connection, place: WorkPlace) -> list[str]:
    """Names of those who may see to it."""
    roles = ("admin",) if place.subject in ("delivery", "draft") else ("operator", "admin")
    return [one.name for one in access.list_operators(connection) if one.role in roles and _may_see(one, place)]


def _may_see(one: OperatorRow, place: WorkPlace) -> bool:
    return one.disabled_at is None and (one.tenants is None or place.tenant in one.tenants)


async def _change(
    request: Request,
    who: Principal,
    subject: WorkSubject,
    id_: str,
    did: str,
    change: Callable[[sa.Connection, WorkItem], None],
    detail: JsonObject,
) -> Response:
    """Do it and write down who did, in one transaction."""
    services, seen = services_of(request), find_visible_tenants(who, None)
    now, log = services.clock.now(), action(services, who.name, did)

    def body(connection: sa.Connection) -> WorkItem:
        require_place(connection, who, subject, id_)
        change(connection, _require_waiting(connection, seen, subject, id_, now))
        changed = _require_waiting(connection, seen, subject, id_, now)
        log.log(connection, changed.tenant or None, id_, detail)
        return changed

    return to_response(WorkShown.of(await services.store.tx(body)))


def _require_waiting(
    connection: sa.Connection, seen: VisibleTenants, subject: WorkSubject, id_: str, now: datetime
) -> WorkItem:
    found = work_queue.find_work(connection, seen, subject, id_, now)
    if found is None:
        raise HttpProblem(409, "not_waiting", "It does not wait any more.", fix="Look at how it stands now.")
    return found
