"""Approvals: calls that wait for a colleague. See exactly what will run; approve, deny, or change the arguments.

A changed call is ruled on again before anybody can approve it. Decisions are made by the routes of the API. What cannot
be done any more, or cannot be read, comes back on the page of the approval, as it stands and with what was written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated

import orjson
import sqlalchemy as sa
from fastapi import Form, Query, Request
from starlette.responses import Response

from circumspect.approvers import find_hand
from circumspect.errors import ApproverRefused
from circumspect.policy.validators import find_validator
from circumspect.reasons import ReasonCode
from circumspect.server.access import require_fresh, services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.argument_fields import PREFIX, ArgumentField, list_fields, read_fields
from circumspect.server.console.call_words import Specs, find_specs
from circumspect.server.console.conversation_story import StoryView, read_story
from circumspect.server.console.figures import category
from circumspect.server.console.pages.conversations import build_story_context
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer, link, page, pretty
from circumspect.server.console.visitors import OperatorVisitor, ReviewerVisitor, Visitor, tenants_of
from circumspect.server.console.work_panel import build_panel
from circumspect.server.problems import HttpProblem
from circumspect.server.responses import IdPath, find_visible_tenants, page_after, split_page
from circumspect.server.routes import approvals as api
from circumspect.server.schemas.approvals import ApprovalShown, DecisionGiven, Edit
from circumspect.server.stores import approvals
from circumspect.server.stores.approvals import Approval
from circumspect.stores import admin, codec, people
from circumspect.stores.codec import epoch
from circumspect.stores.people import StoredConversation
from circumspect.stores.tables import intents
from circumspect.values import Intent, JsonObject, ToolSpec

navigation.add(
    navigation.MenuEntry(
        "nav-approvals", "/approvals", 40, ("operator", "reviewer"), count="approvals", icon="user-check"
    )
)
router = page_routes.router()
SeenHash = Annotated[str, Form(alias="hash", max_length=128)]
"""The hash of what the person saw; if it is not what is stored, nothing happens."""
ROWS = 40


@router.get("/approvals")
async def inbox(
    request: Request,
    who: ReviewerVisitor,
    state: Annotated[str, Query(max_length=10)] = "waiting",
    tenant: Annotated[str, Query(max_length=64)] = "",
    after: Annotated[str | None, Query(max_length=400)] = None,
) -> Response:
    """Those that wait, the oldest first; or all, the newest first."""
    services = services_of(request)
    now, waiting = services.clock.now(), state != "all"
    seen = find_visible_tenants(who.principal, tenant or None)

    def look_up(connection: sa.Connection) -> tuple[Sequence[Approval], Specs]:
        found = approvals.list_approvals(
            connection, seen, page_after(after), ROWS + 1, waiting=waiting, now=now, oldest=waiting
        )
        return found, find_specs(connection, [(row.intent.tenant, row.intent.call.tool) for row in found])

    rows, specs = await read(services, look_up)
    kept, following = split_page(rows, ROWS, lambda row: (row.intent.created_at, row.intent.id))
    return answer(
        request,
        who,
        "approvals/page.html",
        "approvals/_fragment.html",
        rows=[ApprovalShown.at(row, now) for row in kept],
        specs=specs,
        following=following,
        whole=following is None and after is None,
        state=state,
        tenant=tenant,
        tenants=await tenants_of(request, who),
        now=now,
    )


@router.get("/approvals/{approval_id}")
async def detail(
    request: Request,
    who: ReviewerVisitor,
    approval_id: IdPath,
    outcome: Annotated[str, Query(max_length=20)] = "",
    why: Annotated[str, Query(max_length=60)] = "",
) -> Response:
    why = why if why in ReasonCode.__members__ else ""
    outcome = outcome if outcome in ("acted", "answered", "asked", "escalated", "blocked", "failed") else ""
    return await _detail(request, who, approval_id, outcome=outcome, why=why)


async def _detail(
    request: Request,
    who: Visitor,
    id_: str,
    *,
    status: int = 200,
    outcome: str = "",
    why: str = "",
    refused: HttpProblem | None = None,
    sent: Mapping[str, str] | None = None,
) -> Response:
    """`refused`: why nothing was done, and `sent` the arguments that somebody had wanted."""
    services = services_of(request)
    seen = find_visible_tenants(who.principal, None)

    def read_approval(
        connection: sa.Connection,
    ) -> tuple[Approval, StoredConversation, StoryView, ToolSpec | None, list[ArgumentField]]:
        row = approvals.get_approval(connection, seen, id_)
        intent = row.intent
        found = people.get_conversation(connection, frozenset({intent.tenant}), intent.conversation)
        spec = admin.get_tools(connection, intent.tenant).get(intent.call.tool)
        fields = list_fields(spec, intent.call.arguments, _find_former(connection, intent))
        return row, found, read_story(connection, found, debug=True), spec, fields

    row, found, story, spec, fields = await read(services, read_approval)
    shown = ApprovalShown.at(row, services.clock.now())
    return page(
        request,
        who,
        "approvals/detail.html",
        status=status,
        live=f"conversation:{found.tenant}/{found.id}",
        row=shown,
        own=bool(find_hand(row.intent, who.operator.name)),
        spec=spec,
        fields=fields,
        sent=sent or {},
        prefix=PREFIX,
        refused=refused,
        unsent=pretty(sent) if sent else "",
        conversation=found,
        tenants=await tenants_of(request, who),
        now=services.clock.now(),
        outcome=outcome,
        decided=_pick_sentence(outcome, shown),
        why=why,
        **await build_panel(request, who, "approval", id_),
        **{
            **await build_story_context(story, debug=True, path=f"/conversations/{found.tenant}/{found.id}"),
            "category": category,
        },
    )


def _pick_sentence(outcome: str, row: ApprovalShown) -> str:
    """The name of the words for what somebody has just decided; empty where what is stored says otherwise, since an
    address is anybody's to write."""
    match outcome, row.state:
        case "acted", "consumed" | "collected":
            return "decided-acted"
        case "answered", "denied":
            return "decided-denied"
        case "answered", "consumed" | "collected":
            return "decided-answered"
        case "asked", "pending":
            return "decided-asked" if row.edited_by else "decided-anew"
        case "blocked", "pending":
            return "decided-blocked"
        case "escalated" | "failed", _:
            return f"decided-{outcome}"
    return ""


@router.post("/approvals/{approval_id}/approve")
async def approve(request: Request, who: OperatorVisitor, approval_id: IdPath, seen: SeenHash) -> Response:
    async def act() -> Response:
        return await api.approve(request, who.principal, approval_id, DecisionGiven(hash=seen))

    return await _run_decision(request, who, approval_id, act)


@router.post("/approvals/{approval_id}/deny")
async def deny(request: Request, who: OperatorVisitor, approval_id: IdPath, seen: SeenHash) -> Response:
    async def act() -> Response:
        return await api.deny(request, who.principal, approval_id, DecisionGiven(hash=seen))

    return await _run_decision(request, who, approval_id, act)


@router.post("/approvals/{approval_id}/edit")
async def edit(
    request: Request,
    who: OperatorVisitor,
    approval_id: IdPath,
    seen: SeenHash,
) -> Response:
    """Each argument is a field of the form; what is not sent stays as it was."""
    require_fresh(request, who.principal)
    services, form = services_of(request), await request.form()

    def look_up(connection: sa.Connection) -> tuple[ToolSpec | None, list[ArgumentField]]:
        intent = approvals.get_approval(connection, find_visible_tenants(who.principal, None), approval_id).intent
        spec = admin.get_tools(connection, intent.tenant).get(intent.call.tool)
        return spec, list_fields(spec, intent.call.arguments)

    spec, fields = await read(services, look_up)
    sent = {name.removeprefix(PREFIX): str(value) for name, value in form.items() if name.startswith(PREFIX)}

    async def act() -> Response:
        given = read_fields(fields, form)
        if given == read_fields(fields, {}):
            raise HttpProblem(422, "invalid", who.words.t("edit-nothing"), fix=who.words.t("edit-nothing-fix"))
        require_fitting(spec, given, who)
        return await api.edit(request, who.principal, approval_id, Edit(hash=seen, arguments=given))

    return await _run_decision(request, who, approval_id, act, sent)


def require_fitting(spec: ToolSpec | None, given: JsonObject, who: Visitor) -> None:
    """What the tool itself would not take is refused before it is ruled on: the approval waits on as it was."""
    wrong = next(iter(find_validator(spec).iter_errors(dict(given))), None) if spec else None
    if spec is None or wrong is None:
        return
    name = str(wrong.instance_path[0]) if wrong.instance_path else ""
    about = spec.properties.get(name)
    hint = str(about.get("description", "")) if isinstance(about, Mapping) else ""
    said = who.words.t("edit-wrong", name=name) if name else who.words.t("edit-wrong-call")
    raise HttpProblem(422, "invalid", said, fix=hint or str(wrong.message)[:200])


def _find_former(connection: sa.Connection, intent: Intent) -> JsonObject | None:
    """What the call was before a colleague changed it; None where nobody has."""
    if not intent.edited_by:
        return None
    query = (
        sa.select(intents)
        .where(
            intents.c.tenant == intent.tenant,
            intents.c.conversation == intent.conversation,
            intents.c.created_at < epoch(intent.created_at),
            intents.c.kind == "approval",
        )
        .order_by(intents.c.created_at.desc())
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    before = codec.intent(row).call if row is not None else None
    return before.arguments if before and before.tool == intent.call.tool else None


async def _run_decision(
    request: Request,
    who: Visitor,
    id_: str,
    act: Callable[[], Awaitable[Response]],
    sent: Mapping[str, str] | None = None,
) -> Response:
    try:
        return _redirect_to_result(id_, await act())
    except HttpProblem as problem:
        if problem.status not in (400, 409, 422):
            raise
        refused = problem
    except ApproverRefused as problem:
        refused = HttpProblem(403, problem.code, problem.problem, fix=problem.fix)
    return await _detail(request, who, id_, status=refused.status, refused=refused, sent=sent)


def _redirect_to_result(approval_id: str, answered: Response) -> Response:
    """To what came of it: an edited call waits anew, under an id of its own."""
    body = orjson.loads(answered.body)
    if answered.status_code != 200:
        raise HttpProblem(answered.status_code, body["code"], body["problem"], fix=body["fix"])
    turn = body["turn"]
    waits = (turn.get("pending") or {}).get("intent_id")
    outcome = "asked" if waits else turn["outcome"]
    why = next(iter(turn["reason_codes"]), "") if outcome == "blocked" else ""
    return page_routes.redirect_to(link(f"/approvals/{waits or approval_id}", outcome=outcome, why=why))
