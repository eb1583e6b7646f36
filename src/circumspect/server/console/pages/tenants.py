"""Plans and tenants: what each tenant has, in which mode it runs and what that costs, and its keys. For admins.

Changes go through the API's own functions. What runs code on the server or is secret is shown, never edited: it comes
from the tenant's file. A key is in the answer that makes it, this once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
import sqlalchemy as sa
from fastapi import Form, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response

from circumspect.errors import ConfigError
from circumspect.policy.explain import explain
from circumspect.policy.keys.tool_policy import ToolPolicy, cap_of, effect_of
from circumspect.policy.policy_file import Policy
from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.affected import read_affected
from circumspect.server.console.first_steps import read_first_steps
from circumspect.server.console.held_forms import LONGEST_UNDO, HeldForm, offer_undo, read_undo
from circumspect.server.console.rendering import link, page
from circumspect.server.console.typed_names import LONGEST_TYPED, ask_for_name
from circumspect.server.console.visitors import AdminVisitor, Visitor, tenants_of
from circumspect.server.credentials import MixedScopes
from circumspect.server.problems import HttpProblem, not_found, require_found
from circumspect.server.responses import KeyPath, TenantPath, one_tenant
from circumspect.server.routes import admin as api
from circumspect.server.routes import keys as keys_api
from circumspect.server.schemas.admin import PlanGiven, TenantChange
from circumspect.server.schemas.keys import NewKey, Rotation
from circumspect.server.stores import access
from circumspect.server.stores import tenants as store
from circumspect.server.stores.access import KeyRow, KeyScope
from circumspect.server.stores.tenants import TenantRow
from circumspect.stores import action_log, admin, knowledge
from circumspect.stores.admin import UsageRow
from circumspect.stores.codec import moment
from circumspect.values import LANGUAGES, Effect, Json, JsonObject, Language, Mode, Plan, TenantId, ToolSpec

navigation.add(navigation.MenuEntry("nav-tenants", "/tenants", 60, ("admin",), icon="building-2"))
router = page_routes.router()
PlanName = Annotated[str, Form(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
UndoQuery = Annotated[str, Query(max_length=LONGEST_UNDO)]
MODES: tuple[Mode, ...] = ("adaptive", "standard")
ACTIONS = 20
MANY = 100
"""Messages in each mode from which on a comparison says more than a first impression."""
DONE = ("changed", "plan", "made", "document", "removed", "choose")


# --- what is shown --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModeUsage:
    """What turns in one mode came to, from what is stored about usage."""

    mode: Mode
    messages: int
    tokens: int
    cost: float
    calls: int
    critiques: int
    fetches: int
    escalations: int

    def each(self, total: float) -> float:
        return total / self.messages if self.messages else 0.0


@dataclass(frozen=True, slots=True)
class ModeComparison:
    adaptive: ModeUsage
    standard: ModeUsage

    @property
    def in_tokens(self) -> bool:
        """Where no model has a price, tokens say it."""
        return not (self.adaptive.cost or self.standard.cost)

    def per_message(self, one: ModeUsage) -> float:
        return one.each(one.tokens if self.in_tokens else one.cost)

    @property
    def few(self) -> bool:
        return min(self.adaptive.messages, self.standard.messages) < MANY

    @property
    def difference(self) -> float | None:
        """What adaptive costs against standard, as a share; None until both were measured."""
        before = self.per_message(self.standard)
        if not self.adaptive.messages or not before:
            return None
        return self.per_message(self.adaptive) / before - 1


def compare_modes(rows: Sequence[UsageRow]) -> ModeComparison:
    found = {}
    for mode in MODES:
        sums: Counter[str] = Counter()
        cost = 0.0
        for row in rows:
            if row.mode == mode:
                sums.update(
                    messages=row.messages,
                    tokens=row.input_tokens + row.output_tokens,
                    calls=row.model_calls,
                    critiques=row.critiques,
                    fetches=row.context_fetches,
                    escalations=row.escalations,
                )
                cost += row.cost
        names = ("messages", "tokens", "calls", "critiques", "fetches", "escalations")
        found[mode] = ModeUsage(mode=mode, cost=cost, **{name: sums[name] for name in names})
    return ModeComparison(found["adaptive"], found["standard"])


@dataclass(frozen=True, slots=True)
class ToolRow:
    spec: ToolSpec
    effect: Effect | None
    cap: float | None
    confirm: str
    """never, when_implied, always or four_eyes, as it will be: a destructive call is always confirmed."""
    enabled: bool
    denied: str
    told: Sequence[str]


def tool_row(spec: ToolSpec, policy: Policy, tenant: TenantId, enabled: frozenset[str] | None) -> ToolRow:
    section = policy.of(spec.name, tenant)
    effect = effect_of(spec, section)
    return ToolRow(
        spec,
        effect,
        None if effect is None else cap_of(effect, section),
        _confirmation(section, effect),
        enabled is None or spec.name in enabled,
        (section.deny or "") if section else "",
        [line.removeprefix("- ") for line in explain(policy, spec.name, spec, tenant).splitlines()[1:]],
    )


def _confirmation(section: ToolPolicy | None, effect: Effect | None) -> str:
    said = section.confirm if section else None
    if said == "four_eyes":
        return said
    return "always" if effect == "destructive" else said or "never"


CHOICES = (
    "model", "understanding", "confirm_seconds", "escalate_failures", "hand_over_apologies", "temperatures", "prompts",
    "review", "browser",
)  # fmt: skip
"""Keys of the tenant's file that say how its turns are run and its cases reviewed."""


def list_choices(settings: JsonObject) -> Iterator[tuple[str, str]]:
    """What the file says about it, key by key, as it is written there."""
    for key in CHOICES:
        yield from _flatten(key, settings.get(key))


def _flatten(key: str, value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flatten(f"{key}.{name}", inner)
    elif isinstance(value, list) and all(isinstance(one, str) for one in value):
        yield key, ", ".join(map(str, value))
    elif isinstance(value, list):
        for number, inner in enumerate(value, 1):
            yield from _flatten(f"{key}.{number}", inner)
    elif value is not None:
        yield key, str(value).lower() if isinstance(value, bool) else str(value)


async def _tools(request: Request, tenant: TenantId) -> tuple[Sequence[ToolRow], str]:
    """And why the tenant cannot be served now, if so: then as they were last known."""
    services, problem = services_of(request), ""
    enabled: frozenset[str] | None = None
    policy = Policy()
    specs: Mapping[str, ToolSpec]
    try:
        setup = await services.directory.setup(tenant)
        specs, policy, enabled = {**setup.clients, **setup.ports.tools.specs()}, setup.policy, setup.tenant.tools
    except ConfigError as error:
        specs, problem = await services.store.tool_specs(tenant), error.problem
    return [tool_row(spec, policy, tenant, enabled) for _, spec in sorted(specs.items())], problem


# --- tenants --------------------------------------------------------------------------------------------------------


@router.get("/tenants")
async def listing(
    request: Request, who: AdminVisitor, done: Annotated[str, Query(max_length=10)] = "", undo: UndoQuery = ""
) -> Response:
    services = services_of(request)
    rows = [row for row in await services.store.tx(store.get_all) if who.principal.may_see(row.tenant.id)]
    usage = await services.store.tx(api.list_usage, who.operator.tenants, None)
    return page(
        request,
        who,
        "tenants/page.html",
        rows=rows,
        plans=await services.store.plans(),
        having=Counter(row.tenant.plan.name for row in rows),
        modes=MODES,
        measured=compare_modes(usage),
        may_plan=who.operator.tenants is None,
        done=done if done in DONE else "",
        undo=read_undo(request, who.operator, undo),
    )


@router.post("/plans")
async def put_plan(
    request: Request,
    who: AdminVisitor,
    name: PlanName,
    mode: Annotated[Mode, Form()],
    multiplier: Annotated[float, Form(ge=0, le=1_000, allow_inf_nan=False)] = 1.0,
    quota: Annotated[str, Form(pattern=r"^[0-9]{0,9}$")] = "",
    price: Annotated[float, Form(ge=0, le=1_000, allow_inf_nan=False)] = 0.0,
    typed: Annotated[str, Form(max_length=LONGEST_TYPED)] = "",
) -> Response:
    """An empty quota is none. What takes care or messages away from tenants asks for the plan's name."""
    limit = int(quota) if quota else None
    services = services_of(request)
    before = next((one for one in await services.store.plans() if one.name == name), None)
    having = [row.tenant.id for row in await services.store.tx(store.get_all) if row.tenant.plan.name == name]
    if before is not None and having and who.operator.tenants is None and _takes_away(before, mode, limit):
        said = await _describe_affected(request, who, having, before.mode, mode)
        if unsure := await ask_for_name(request, who, name, typed, effects=said):
            return unsure
    given = PlanGiven(mode=mode, multiplier=multiplier, quota=limit, message_price_usd=price)
    await api.put_plan(request, who.operator, name, given)
    undo = "" if before is None else offer_undo(request, who.operator, "/plans", _plan_fields(before))
    return page_routes.redirect_to(link("/tenants", done="plan", undo=undo))


def _takes_away(before: Plan, mode: Mode, quota: int | None) -> bool:
    less = quota is not None and (before.quota is None or quota < before.quota)
    return less or (before.mode, mode) == ("adaptive", "standard")


def _plan_fields(plan: Plan) -> list[tuple[str, str]]:
    """The form that makes the plan what it was. Its name is typed: who may change it once may change it back."""
    quota = "" if plan.quota is None else str(plan.quota)
    said = {"name": plan.name, "mode": plan.mode, "multiplier": str(plan.multiplier), "quota": quota}
    return [*said.items(), ("price", str(plan.message_price)), ("typed", plan.name)]


async def _describe_affected(
    request: Request, who: Visitor, tenants: Sequence[TenantId], old: Mode, new: Mode
) -> list[str]:
    services = services_of(request)
    found = await services.store.tx(read_affected, tenants, services.clock.now())
    ends = [who.words.t("affects-standard")] if (old, new) == ("adaptive", "standard") else []
    return [*found.describe(who.words), *ends]


@router.get("/tenants/{tenant}")
async def detail(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    done: Annotated[str, Query(max_length=10)] = "",
    undo: UndoQuery = "",
) -> Response:
    services, name = services_of(request), one_tenant(who.principal, tenant)
    now, back = services.clock.now().timestamp(), read_undo(request, who.operator, undo)
    return await _detail(request, who, await _row(request, name), now, done=done, undo=back)


@router.post("/tenants/{tenant}")
async def change(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    plan: PlanName,
    language: Annotated[Language, Form()],
    share: Annotated[int | None, Form(ge=0, le=100)] = None,
    typed: Annotated[str, Form(max_length=LONGEST_TYPED)] = "",
) -> Response:
    """Plan, language and the share of conversations that are adaptive, in percent; without it, it stays. What
    takes care or messages away asks for the tenant's name."""
    name, services = one_tenant(who.principal, tenant), services_of(request)
    before = (await _row(request, name)).tenant
    wanted = next((one for one in await services.store.plans() if one.name == plan), before.plan)
    ends = share == 0 and before.adaptive_share > 0 and before.plan.mode == "adaptive"
    if ends or _takes_away(before.plan, wanted.mode, wanted.quota):
        mode: Mode = "standard" if ends else wanted.mode
        said = await _describe_affected(request, who, [name], before.plan.mode, mode)
        if unsure := await ask_for_name(request, who, name, typed, effects=said):
            return unsure
    given = TenantChange(plan=plan, language=language, adaptive_share=None if share is None else share / 100)
    await api.change_tenant(request, who.principal, name, given)
    back = {"plan": before.plan.name, "language": before.language, "share": str(round(before.adaptive_share * 100))}
    undo = offer_undo(request, who.operator, f"/tenants/{name}", [*back.items(), ("typed", name)])
    return page_routes.redirect_to(link(f"/tenants/{name}", done="changed", undo=undo))


async def _row(request: Request, tenant: TenantId) -> TenantRow:
    return require_found(await services_of(request).store.tx(store.get, tenant), "tenant")


async def _detail(
    request: Request,
    who: Visitor,
    row: TenantRow,
    now: float,
    *,
    done: str = "",
    made: Mapping[str, Any] | None = None,
    undo: HeldForm | None = None,
) -> Response:
    services, tenant = services_of(request), row.tenant
    tools, problem = await _tools(request, tenant.id)

    def read(connection: sa.Connection) -> dict[str, Any]:
        mine = frozenset({tenant.id})
        return {
            "usage": admin.get_usage(connection, tenant.id, None),
            "documents": knowledge.list_documents(connection, tenant.id),
            "plans": admin.get_plans(connection),
            "actions": action_log.list_actions(connection, allowed=mine, limit=ACTIONS),
            "secrets": sorted(access.get_sealed_secrets(connection, tenant.id)),
            "first_steps": read_first_steps(connection, tenant.id) if who.operator.tenants is None else None,
        }

    found = await services.store.tx(read)
    return page(
        request,
        who,
        "tenants/detail.html",
        row=row,
        tenant=tenant,
        tools=tools,
        problem=problem,
        measured=compare_modes(found.pop("usage")),
        modes=MODES,
        spoken=LANGUAGES,
        chosen=list(list_choices(row.settings or {})),
        percent_now=round(tenant.adaptive_share * 100),
        done=done if done in DONE else "",
        undo=undo,
        refetch=False,
        **found,
        **await _keys(request, tenant.id, now, made),
    )


# --- keys -----------------------------------------------------------------------------------------------------------


async def _keys(request: Request, tenant: TenantId, now: float, made: Mapping[str, Any] | None) -> dict[str, Any]:
    rows: Sequence[KeyRow] = await services_of(request).store.tx(access.list_keys, frozenset({tenant}))
    return {
        "keys": [(one, one.valid(now)) for one in rows],
        "made": made,
        "scopes": access.SCOPES,
        "key_tenant": tenant,
        "at": moment,
    }


async def _with_keys(request: Request, who: Visitor, tenant: TenantId, made: Mapping[str, Any] | None) -> Response:
    """The list of keys alone when the page asks for it, else the whole page."""
    now = services_of(request).clock.now().timestamp()
    if request.headers.get("hx-request") == "true":
        return page(request, who, "tenants/_keys.html", **await _keys(request, tenant, now, made))
    return await _detail(request, who, await _row(request, tenant), now, made=made)


@router.post("/tenants/{tenant}/keys")
async def create_key(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    name: Annotated[str, Form(min_length=1, max_length=200, pattern=r"^[^\x00\r\n]*$")],
    scopes: Annotated[list[KeyScope], Form(min_length=1, max_length=len(access.SCOPES))],
    days: Annotated[str, Form(pattern=r"^[0-9]{0,4}$")] = "",
) -> Response:
    """The key is in this answer and nowhere else."""
    about = one_tenant(who.principal, tenant)
    ends = int(days) if days else None
    if ends is not None and not 1 <= ends <= 3_650:
        raise HttpProblem(422, "invalid", who.words.t("key-days-wrong"), fix=who.words.t("key-days-fix"))
    try:
        given = NewKey(name=name, scopes=scopes, expires_in_days=ends, tenant=about)
        answered = await keys_api.create_key(request, who.principal, given)
    except ValidationError as problem:
        raise RequestValidationError(problem.errors()) from None
    except MixedScopes as problem:
        raise HttpProblem(422, problem.code, who.words.t("key-mixed"), fix=who.words.t("key-mixed-fix")) from None
    return await _with_keys(request, who, about, orjson.loads(answered.body))


@router.post("/tenants/{tenant}/keys/{key_id}/rotate")
async def rotate_key(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    key_id: KeyPath,
    hours: Annotated[float, Form(ge=0, le=720, allow_inf_nan=False)] = 24,
) -> Response:
    about = await _own(request, who, tenant, key_id)
    answered = await keys_api.rotate_key(request, who.principal, key_id, Rotation(overlap_hours=hours))
    return await _with_keys(request, who, about, orjson.loads(answered.body))


@router.post("/tenants/{tenant}/keys/{key_id}/revoke")
async def revoke_key(request: Request, who: AdminVisitor, tenant: TenantPath, key_id: KeyPath) -> Response:
    about = await _own(request, who, tenant, key_id)
    await keys_api.revoke_key(request, who.principal, key_id)
    return await _with_keys(request, who, about, None)


async def _own(request: Request, who: Visitor, tenant: str, key_id: str) -> TenantId:
    """The tenant, if the key is one of its own."""
    about = one_tenant(who.principal, tenant)
    known = await services_of(request).store.tx(access.key_by_id, key_id)
    if known is None or known.row.tenant != about:
        raise not_found("key")
    return about


# --- documents ------------------------------------------------------------------------------------------------------


@router.get("/tenants/{tenant}/document")
async def document(
    request: Request, who: AdminVisitor, tenant: TenantPath, id_: Annotated[str, Query(alias="id", max_length=1_000)]
) -> Response:
    """One document: the tree of its sections, and each section's own text."""
    name = one_tenant(who.principal, tenant)
    found = require_found(await services_of(request).store.tx(knowledge.get, name, id_), "document")
    return page(
        request, who, "tenants/document.html", tenant=name, tenants=await tenants_of(request, who), document=found
    )
