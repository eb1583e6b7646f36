"""Policies: read and change a tenant's policy with open eyes.

Whoever may sign in as operator or reviewer reads; an admin changes. While one types, the text is checked, what it
changes is said in words, and what will happen to a tool's calls in plain language. Before it is put in force it can be
tried on stored conversations. It is put by the API's own function, on top of the version that its author saw: if
somebody was quicker, nothing is overwritten and the author's text stays in the editor.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
import sqlalchemy as sa
from fastapi import Form, Query, Request
from starlette.responses import Response, StreamingResponse

from circumspect.errors import CircumspectError, PolicyError
from circumspect.lab.replay.flips import BacktestSummary
from circumspect.policy.diff import changes
from circumspect.policy.explain import explain
from circumspect.policy.keys.findings import FileFinding
from circumspect.policy.keys.meaning import PolicyDifference
from circumspect.policy.load import check, load
from circumspect.policy.policy_file import Policy
from circumspect.server.access import require_fresh, services_of
from circumspect.server.checked_policies import check_policy_text
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.editor_words import list_words, translate_phrases
from circumspect.server.console.figures import category
from circumspect.server.console.held_by_rule import (
    DAYS,
    HeldCounts,
    LineMark,
    count_held,
    mark_lines,
    order_fates,
)
from circumspect.server.console.held_forms import LONGEST_UNDO, HeldForm, offer_undo, read_undo
from circumspect.server.console.policy_trial import TrialProgress, trial
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import link, page, render_template
from circumspect.server.console.text_diff import text_diff
from circumspect.server.console.typed_names import LONGEST_TYPED, ask_for_name
from circumspect.server.console.visitors import (
    AdminVisitor,
    OperatorVisitor,
    ReviewerVisitor,
    Visitor,
    tenants_of,
)
from circumspect.server.known_tools import KnownTools, find_known_tools
from circumspect.server.problems import not_found, require_found
from circumspect.server.responses import TenantPath, one_tenant
from circumspect.server.routes import policies as api
from circumspect.server.schemas.bodies import ID, NO_NUL
from circumspect.server.schemas.policies import DraftWritten, PolicyPut, RollBack
from circumspect.server.stores import policies as store
from circumspect.server.stores import policy_drafts, tenants
from circumspect.server.stores.policies import PolicyChanged, PolicyVersion
from circumspect.server.stores.policy_drafts import PolicyDraft
from circumspect.values import TenantId, ToolSpec

navigation.add(
    navigation.MenuEntry(
        "nav-policies", "/policies", 50, ("operator", "reviewer"), also=("/drafts",), icon="shield-check"
    )
)
router = page_routes.router()
PolicyTextField = Annotated[str, Form(max_length=500_000, pattern=NO_NUL)]
ToolNameField = Annotated[str, Form(max_length=200)]
SeenVersion = Annotated[int, Form(ge=0, le=2**31 - 1)]
"""The version that the author had before them."""
Typed = Annotated[str, Form(max_length=LONGEST_TYPED)]
Note = Annotated[str, Form(max_length=1_000, pattern=r"^[^\x00\r\n]*$")]
VERSIONS = 50
BOUNDS = (50, 200, 1000)
DONE = ("saved", "same", "back")


@dataclass(frozen=True, slots=True)
class EditorCheck:
    """A text as it was read: a policy only when it can be put in force."""

    policy: Policy | None
    findings: Sequence[FileFinding]
    changes: Sequence[PolicyDifference] = ()
    marks: Sequence[LineMark] = ()
    """What its lines held in the last month."""

    @property
    def loosened(self) -> Sequence[PolicyDifference]:
        """Of a tool that is switched off, nothing is."""
        found = [one for one in self.changes if one.direction == "loosened" and self.policy]
        return [one for one in found if not self._is_off(one.where.split(" ")[0])]

    def _is_off(self, tool: str) -> bool:
        section = self.policy.general(tool) if self.policy else None
        return bool(section and section.deny)

    @property
    def sound(self) -> bool:
        return self.policy is not None


@router.get("/policies")
async def listing(request: Request, who: ReviewerVisitor) -> Response:
    services, names = services_of(request), await tenants_of(request, who)
    rows = [(id_, name, await services.store.tx(store.current, id_)) for id_, name in names.items()]
    return page(request, who, "policies/page.html", rows=rows)


@router.get("/policies/{tenant}")
async def editor(
    request: Request,
    who: ReviewerVisitor,
    tenant: TenantPath,
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    tool: Annotated[str, Query(max_length=200)] = "",
    draft: Annotated[str | None, Query(min_length=1, max_length=128, pattern=ID)] = None,
    done: Annotated[str, Query(max_length=10)] = "",
    undo: Annotated[str, Query(max_length=LONGEST_UNDO)] = "",
) -> Response:
    """The text in force; with `version` that one's, with `draft` that one's, to begin a change from."""
    services, name = services_of(request), one_tenant(who.principal, tenant)
    current = await services.store.tx(store.current, name)
    begun: PolicyVersion | PolicyDraft | None = current
    if version is not None:
        begun = await api._version(services, name, version)
    if draft is not None:
        begun = require_found(await services.store.tx(policy_drafts.find_draft, frozenset({name}), draft), "draft")
    return await render_editor(
        request,
        who,
        name,
        current,
        text=begun.text if begun else "",
        note=begun.note if draft and begun else "",
        tool=tool,
        done=done if done in DONE else "",
        begun=version,
        undo=read_undo(request, who.operator, undo),
    )


@router.get("/policies/{tenant}/words")
async def completions(request: Request, who: OperatorVisitor, tenant: TenantPath) -> Response:
    """What the editor completes with."""
    known = await find_known_tools(services_of(request), one_tenant(who.principal, tenant))
    return Response(orjson.dumps(list_words(known.specs, who.words)), media_type="application/json")


@router.post("/policies/{tenant}/check")
async def check_text(
    request: Request, who: OperatorVisitor, tenant: TenantPath, text: PolicyTextField = "", tool: ToolNameField = ""
) -> Response:
    """As one types: is it sound, what does it change, what will happen to a call."""
    name = one_tenant(who.principal, tenant)
    current = await services_of(request).store.tx(store.current, name)
    checked, specs = await check_in_thread(request, name, text, current)
    return page(request, who, "policies/_checked.html", **_describe_check(checked, specs, name, tool))


@router.post("/policies/{tenant}/trial")
async def try_text(
    request: Request,
    who: OperatorVisitor,
    tenant: TenantPath,
    text: PolicyTextField = "",
    most: Annotated[int, Form(ge=1, le=max(BOUNDS))] = BOUNDS[1],
) -> Response:
    """A line of JSON for each conversation, `{done, of}`, and at last `{html}` with what came of it."""
    services, name = services_of(request), one_tenant(who.principal, tenant)
    current = await services.store.tx(store.current, name)
    checked, specs = await check_in_thread(request, name, text, current)
    if checked.policy is None:
        return page(request, who, "policies/_unsound.html", 422)
    enabled = await services.store.get_tenant(name)
    allowed = enabled.tools if enabled else None
    found = trial(
        services.store,
        checked.policy,
        tenant=name,
        specs={one: spec for one, spec in specs.items() if allowed is None or one in allowed},
        limit=most,
        against=read_policy(current),
    )
    lines = _lines(request, who, name, found, current.version if current else 0)
    return StreamingResponse(lines, media_type="application/x-ndjson", headers={"X-Accel-Buffering": "no"})


@router.post("/policies/{tenant}")
async def save(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    if_version: SeenVersion,
    text: PolicyTextField = "",
    note: Note = "",
    typed: Typed = "",
) -> Response:
    """Into force, or back to the editor with what is in the way. What loosens asks for the tenant's name."""
    services, name = services_of(request), one_tenant(who.principal, tenant)
    text = lines_of(text)
    current = await services.store.tx(store.current, name)
    if current and current.version == if_version:
        require_fresh(request, who.principal)
        checked, _ = await check_in_thread(request, name, text, current)
        if unsure := await ask_if_loosened(request, who, name, checked, typed):
            return unsure
    try:
        answered = await api.put_policy(
            request, who.principal, PolicyPut(text=text, if_version=if_version, note=note), tenant=name
        )
    except (PolicyError, PolicyChanged) as problem:
        current = await services.store.tx(store.current, name)
        quicker = await _since(request, name, if_version, current) if isinstance(problem, PolicyChanged) else None
        status = 422 if quicker is None else 409
        return await render_editor(
            request, who, name, current, text=text, note=note, status=status, seen=if_version, quicker=quicker
        )
    same = orjson.loads(answered.body)["version"] == if_version
    undo = "" if same or not if_version else offer_way_back(request, who, name, if_version, if_version + 1)
    return page_routes.redirect_to(link(f"/policies/{name}", done="same" if same else "saved", undo=undo))


@router.post("/policies/{tenant}/draft")
async def save_draft(
    request: Request,
    who: OperatorVisitor,
    tenant: TenantPath,
    if_version: SeenVersion,
    text: PolicyTextField = "",
    note: Note = "",
) -> Response:
    """For a colleague to look at, try and put in force. Nothing changes until then."""
    name = one_tenant(who.principal, tenant)
    given = DraftWritten(text=lines_of(text), base=if_version, note=note)
    try:
        kept = orjson.loads((await api.add_policy_draft(request, who.principal, given, tenant=name)).body)
    except PolicyError:
        current = await services_of(request).store.tx(store.current, name)
        return await render_editor(request, who, name, current, text=text, note=note, status=422, seen=if_version)
    return page_routes.redirect_to(f"/drafts/{kept['id']}?done=saved")


@router.post("/policies/{tenant}/rollback")
async def roll_back(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    version: Annotated[int, Form(ge=1, le=2**31 - 1)],
    if_version: SeenVersion,
) -> Response:
    """One click: the text was in force before, and it can be taken back as quickly."""
    name = one_tenant(who.principal, tenant)
    await api.roll_back_policy(request, who.principal, RollBack(version=version, if_version=if_version), tenant=name)
    undo = offer_way_back(request, who, name, if_version, if_version + 1)
    return page_routes.redirect_to(link(f"/policies/{name}", done="back", undo=undo))


async def ask_if_loosened(
    request: Request, who: Visitor, tenant: TenantId, checked: EditorCheck, typed: str
) -> Response | None:
    """What is loosened, and what the last month had of the calls that it reaches."""
    if not checked.loosened:
        return None
    tools = {one.where.split(" ")[0] for one in checked.loosened}
    services = services_of(request)
    counts = await read(services, count_held, tenant, services.clock.now())
    reached = sum(fates.total() for (tool, _), fates in counts.items() if tool in tools)
    t = who.words.t
    said = [
        t("loosens-tenant", tenant=tenant, days=DAYS, count=reached),
        *(f"{one.where}: {one.what}" for one in checked.loosened),
    ]
    return await ask_for_name(request, who, tenant, typed, effects=said)


def offer_way_back(request: Request, who: Visitor, tenant: TenantId, version: int, in_force: int) -> str:
    fields = [("version", str(version)), ("if_version", str(in_force))]
    return offer_undo(request, who.operator, f"/policies/{tenant}/rollback", fields)


@router.get("/policies/{tenant}/diff")
async def compare(
    request: Request,
    who: ReviewerVisitor,
    tenant: TenantPath,
    old: Annotated[int, Query(alias="from", ge=0, le=2**31 - 1)],
    new: Annotated[int, Query(alias="to", ge=1, le=2**31 - 1)],
) -> Response:
    """Two versions, in words and line by line. Version 0 is no policy at all."""
    services, name = services_of(request), one_tenant(who.principal, tenant)
    before = None if old == 0 else await api._version(services, name, old)
    after = await api._version(services, name, new)
    current = await services.store.tx(store.current, name)
    return page(
        request,
        who,
        "policies/diff.html",
        tenant=name,
        tenants=await tenants_of(request, who),
        old=old,
        new=after,
        current=current,
        changes=await compare_versions(request, name, before, after),
        lines=await services.lanes.policies.compute(name, text_diff, before.text if before else "", after.text),
    )


# --- what pages are made of -----------------------------------------------------------------------------------------


async def render_editor(
    request: Request,
    who: Visitor,
    tenant: TenantId,
    current: PolicyVersion | None,
    *,
    text: str,
    tool: str = "",
    note: str = "",
    status: int = 200,
    done: str = "",
    begun: int | None = None,
    seen: int | None = None,
    quicker: Sequence[PolicyDifference] | None = None,
    made_from: str = "",
    undo: HeldForm | None = None,
) -> Response:
    """`made_from`: the held call that the text is about; the trial then begins by itself."""
    services, names = services_of(request), await tenants_of(request, who)
    checked, specs = await check_in_thread(request, tenant, text, current)

    def look_up(
        connection: sa.Connection,
    ) -> tuple[Sequence[PolicyVersion], Mapping[int, str], Sequence[PolicyDraft], bool]:
        found = store.versions(connection, tenant, limit=VERSIONS)
        authors = policy_drafts.list_authors(connection, tenant, [one.version for one in found])
        needs_two = api.needs_two(tenants.get(connection, tenant))
        return found, authors, policy_drafts.list_drafts(connection, tenant), needs_two

    rows, authors, drafts, needs_two = await read(services, look_up)
    return page(
        request,
        who,
        "policies/editor.html",
        status,
        tenants=names,
        current=current,
        versions=rows,
        authors=authors,
        drafts=drafts,
        needs_two=needs_two,
        text=text,
        note=note,
        done=done,
        begun=begun,
        seen=(current.version if current else 0) if seen is None else seen,
        quicker=quicker,
        bounds=BOUNDS,
        most=BOUNDS[1],
        phrases=translate_phrases(who.words),
        made_from=made_from,
        undo=undo,
        **_describe_check(checked, specs, tenant, tool),
    )


def _describe_check(checked: EditorCheck, specs: Mapping[str, ToolSpec], tenant: TenantId, tool: str) -> dict[str, Any]:
    """What is said beside a text."""
    policy = checked.policy
    tools = sorted({*specs, *(policy.tools if policy else ())})
    chosen = tool if tool in tools else _first(tools, specs, policy)
    told = explain(policy, chosen, specs.get(chosen), tenant).splitlines()[1:] if policy and chosen else []
    return {
        "checked": checked,
        "tools": tools,
        "tool": chosen,
        "told": [line.removeprefix("- ") for line in told],
        "tenant": tenant,
        "days": DAYS,
        "order_fates": order_fates,
    }


def _first(tools: Sequence[str], specs: Mapping[str, ToolSpec], policy: Policy | None) -> str:
    """One that does something, where there is one: that is what policies are about."""
    acting = [name for name in tools if name in specs and specs[name].effect == "destructive"]
    named = [name for name in tools if policy and name in policy.tools and policy.tools[name].effect == "destructive"]
    return next(iter((*named, *acting, *tools)), "")


async def check_in_thread(
    request: Request, tenant: TenantId, text: str, current: PolicyVersion | None
) -> tuple[EditorCheck, Mapping[str, ToolSpec]]:
    services = services_of(request)
    known = await find_known_tools(services, tenant)
    sound = await check_policy_text(services, tenant, lines_of(text), known)
    if sound.hash is None:
        return EditorCheck(None, sound.findings), known.specs
    counts = await read(services, count_held, tenant, services.clock.now())
    checked = await services.lanes.policies.compute(tenant, _check, lines_of(text), known, current, tenant, counts)
    return checked, known.specs


def _check(
    text: str, known: KnownTools, current: PolicyVersion | None, tenant: TenantId, counts: HeldCounts
) -> EditorCheck:
    policy, findings = check(text, specs=known.specs, seen=known.seen)
    assert policy is not None, "it was found sound a moment ago"
    before = read_policy(current)
    differs = changes(before or Policy(), policy) if before or not current else ()
    return EditorCheck(policy, findings, differs, mark_lines(text, policy, tenant, counts))


async def _since(
    request: Request, tenant: TenantId, seen: int, current: PolicyVersion | None
) -> Sequence[PolicyDifference]:
    """What somebody else changed meanwhile, in words."""
    before = await services_of(request).store.tx(store.version, tenant, seen) if seen else None
    if current is None:
        raise not_found("policy")
    return await compare_versions(request, tenant, before, current)


async def compare_versions(
    request: Request, tenant: TenantId, before: PolicyVersion | None, after: PolicyVersion
) -> Sequence[PolicyDifference]:
    def words() -> Sequence[PolicyDifference]:
        old, new = read_policy(before), read_policy(after)
        return () if new is None else changes(old or Policy(), new)

    return await services_of(request).lanes.policies.compute(tenant, words)


def read_policy(row: PolicyVersion | None) -> Policy | None:
    """As it reads now. One that an earlier release let in and this one does not is not compared with."""
    try:
        return None if row is None else load(lines_of(row.text))
    except PolicyError:
        return None


def lines_of(text: str) -> str:
    """Browsers send line ends of their own; the loader wants one at the end."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if text.endswith("\n") else f"{text}\n"


async def _lines(
    request: Request,
    who: Visitor,
    tenant: TenantId,
    found: AsyncGenerator[TrialProgress | BacktestSummary, None],
    version: int,
) -> AsyncIterator[bytes]:
    def line(**said: Any) -> bytes:
        return orjson.dumps(said) + b"\n"

    of = 0
    try:
        async with services_of(request).lanes.trials.hold(tenant), aclosing(found):
            async for step in found:
                if isinstance(step, TrialProgress):
                    of = step.of
                    yield line(done=step.done, of=step.of)
                else:
                    values = {"summary": step, "tenant": tenant, "of": of, "category": category, "version": version}
                    yield line(html=render_template(request, who, "policies/_trial.html", **values))
    except CircumspectError as error:
        said = render_template(request, who, "problem/_fragment.html", problem=error.problem, fix=error.fix)
        yield line(html=said)
