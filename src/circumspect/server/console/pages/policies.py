"""Policies: read and change a tenant's policy with open eyes.

Whoever may sign in as operator or reviewer reads; an admin changes. While one types, the text is checked, what it
changes is said in words, and what will happen to a tool's calls in plain language. Before it is put in force it can be
tried on stored conversations. It is put by the API's own function, on top of the version that its author saw: if
somebody was quicker, nothing is overwritten and the author's text stays in the editor.
"""

from __future__ import annotations

import difflib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
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
from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.figures import category
from circumspect.server.console.policy_trial import TrialProgress, trial
from circumspect.server.console.rendering import page, render_template
from circumspect.server.console.visitors import AdminVisitor, ReviewerVisitor, Visitor, tenants_of
from circumspect.server.known_tools import KnownTools, find_known_tools
from circumspect.server.problems import not_found
from circumspect.server.responses import TenantPath, one_tenant
from circumspect.server.routes import policies as api
from circumspect.server.schemas.bodies import NO_NUL
from circumspect.server.schemas.policies import PolicyPut, RollBack
from circumspect.server.stores import policies as store
from circumspect.server.stores.policies import PolicyChanged, PolicyVersion
from circumspect.values import TenantId, ToolSpec

navigation.add(navigation.MenuEntry("nav-policies", "/policies", 50, ("operator", "reviewer")))
router = page_routes.router()
PolicyTextField = Annotated[str, Form(max_length=500_000, pattern=NO_NUL)]
ToolNameField = Annotated[str, Form(max_length=200)]
SeenVersion = Annotated[int, Form(ge=0, le=2**31 - 1)]
"""The version that the author had before them."""
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
    done: Annotated[str, Query(max_length=10)] = "",
) -> Response:
    """The text in force; with `version`, that one's, to begin a change from."""
    services, name = services_of(request), one_tenant(who.principal, tenant)
    current = await services.store.tx(store.current, name)
    begun = current if version is None else await api._version(services, name, version)
    return await _editor(
        request,
        who,
        name,
        current,
        text=begun.text if begun else "",
        tool=tool,
        done=done if done in DONE else "",
        begun=version,
    )


@router.post("/policies/{tenant}/check")
async def check_text(
    request: Request, who: AdminVisitor, tenant: TenantPath, text: PolicyTextField = "", tool: ToolNameField = ""
) -> Response:
    """As one types: is it sound, what does it change, what will happen to a call."""
    name = one_tenant(who.principal, tenant)
    current = await services_of(request).store.tx(store.current, name)
    checked, specs = await _check_in_thread(request, name, text, current)
    return page(request, who, "policies/_checked.html", **_describe_check(checked, specs, name, tool))


@router.post("/policies/{tenant}/trial")
async def try_text(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    text: PolicyTextField = "",
    most: Annotated[int, Form(ge=1, le=max(BOUNDS))] = BOUNDS[1],
) -> Response:
    """A line of JSON for each conversation, `{done, of}`, and at last `{html}` with what came of it."""
    services, name = services_of(request), one_tenant(who.principal, tenant)
    current = await services.store.tx(store.current, name)
    checked, specs = await _check_in_thread(request, name, text, current)
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
        verify=_read(current),
    )
    lines = _lines(request, who, name, found)
    return StreamingResponse(lines, media_type="application/x-ndjson", headers={"X-Accel-Buffering": "no"})


@router.post("/policies/{tenant}")
async def save(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    if_version: SeenVersion,
    text: PolicyTextField = "",
    note: Note = "",
) -> Response:
    """Into force, or back to the editor with what is in the way."""
    services, name = services_of(request), one_tenant(who.principal, tenant)
    text = _lines_of(text)
    try:
        answered = await api.put_policy(
            request, who.principal, PolicyPut(text=text, if_version=if_version, note=note), tenant=name
        )
    except (PolicyError, PolicyChanged) as problem:
        current = await services.store.tx(store.current, name)
        quicker = await _since(request, name, if_version, current) if isinstance(problem, PolicyChanged) else None
        status = 422 if quicker is None else 409
        return await _editor(
            request, who, name, current, text=text, note=note, status=status, seen=if_version, quicker=quicker
        )
    same = orjson.loads(answered.body)["version"] == if_version
    return page_routes.redirect_to(f"/policies/{name}?done={'same' if same else 'saved'}")


@router.post("/policies/{tenant}/rollback")
async def roll_back(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    version: Annotated[int, Form(ge=1, le=2**31 - 1)],
    if_version: SeenVersion,
) -> Response:
    name = one_tenant(who.principal, tenant)
    await api.roll_back_policy(request, who.principal, RollBack(version=version, if_version=if_version), tenant=name)
    return page_routes.redirect_to(f"/policies/{name}?done=back")


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
        changes=await _compare_versions(request, name, before, after),
        lines=text_diff(before.text if before else "", after.text),
    )


# --- what pages are made of -----------------------------------------------------------------------------------------


async def _editor(
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
) -> Response:
    services, names = services_of(request), await tenants_of(request, who)
    checked, specs = await _check_in_thread(request, tenant, text, current)
    rows = await services.store.tx(store.versions, tenant, limit=VERSIONS)
    return page(
        request,
        who,
        "policies/editor.html",
        status,
        tenant=tenant,
        tenants=names,
        current=current,
        versions=rows,
        text=text,
        note=note,
        done=done,
        begun=begun,
        seen=(current.version if current else 0) if seen is None else seen,
        quicker=quicker,
        bounds=BOUNDS,
        most=BOUNDS[1],
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
    }


def _first(tools: Sequence[str], specs: Mapping[str, ToolSpec], policy: Policy | None) -> str:
    """One that does something, where there is one: that is what policies are about."""
    acting = [name for name in tools if name in specs and specs[name].effect == "destructive"]
    named = [name for name in tools if policy and name in policy.tools and policy.tools[name].effect == "destructive"]
    return next(iter((*named, *acting, *tools)), "")


async def _check_in_thread(
    request: Request, tenant: TenantId, text: str, current: PolicyVersion | None
) -> tuple[EditorCheck, Mapping[str, ToolSpec]]:
    services = services_of(request)
    known = await find_known_tools(services, tenant)
    checked = await services.lanes.policies.compute(tenant, _check, _lines_of(text), known, current)
    return checked, known.specs


def _check(text: str, known: KnownTools, current: PolicyVersion | None) -> EditorCheck:
    policy, findings = check(text, specs=known.specs, seen=known.seen)
    if policy is None or any(one.level == "error" for one in findings):
        return EditorCheck(None, findings)
    before = _read(current)
    return EditorCheck(policy, findings, changes(before or Policy(), policy) if before or not current else ())


async def _since(
    request: Request, tenant: TenantId, seen: int, current: PolicyVersion | None
) -> Sequence[PolicyDifference]:
    """What somebody else changed meanwhile, in words."""
    before = await services_of(request).store.tx(store.version, tenant, seen) if seen else None
    if current is None:
        raise not_found("policy")
    return await _compare_versions(request, tenant, before, current)


async def _compare_versions(
    request: Request, tenant: TenantId, before: PolicyVersion | None, after: PolicyVersion
) -> Sequence[PolicyDifference]:
    def words() -> Sequence[PolicyDifference]:
        old, new = _read(before), _read(after)
        return () if new is None else changes(old or Policy(), new)

    return await services_of(request).lanes.policies.compute(tenant, words)


def _read(row: PolicyVersion | None) -> Policy | None:
    """As it reads now. One that an earlier release let in and this one does not is not compared with."""
    try:
        return None if row is None else load(_lines_of(row.text))
    except PolicyError:
        return None


def _lines_of(text: str) -> str:
    """Browsers send line ends of their own; the loader wants one at the end."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if text.endswith("\n") else f"{text}\n"


def text_diff(old: str, new: str) -> list[tuple[str, str]]:
    """Lines with what became of each: same, added, removed, or the place in the text."""
    found = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3)
    kinds = {"+": "added", "-": "removed", "@": "place"}
    return [(kinds.get(line[:1], "same"), line) for line in list(found)[2:]]


async def _lines(
    request: Request, who: Visitor, tenant: TenantId, found: AsyncGenerator[TrialProgress | BacktestSummary, None]
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
                    values = {"summary": step, "tenant": tenant, "of": of, "category": category}
                    yield line(html=render_template(request, who, "policies/_trial.html", **values))
    except CircumspectError as error:
        said = render_template(request, who, "problem/_fragment.html", problem=error.problem, fix=error.fix)
        yield line(html=said)
