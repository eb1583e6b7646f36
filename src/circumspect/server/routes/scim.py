"""`/scim/v2/…`: an identity provider makes, changes and deactivates the operators of a tenant.

A key with the scope `provision` sees the operators who may see its tenant and no other. Whoever it makes has no role,
and so no rights, until a group gives them one; who is to be an administrator, or is one, needs a key that has `admin`
as well. Nobody gets a password here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Depends, Path, Query, Request
from starlette.responses import Response

from circumspect.server import scim_format
from circumspect.server.access import Caller, Principal, caller, services_of
from circumspect.server.client_routes import route_that_says
from circumspect.server.granting import require_own_scopes
from circumspect.server.responses import KEY, IdPath, LoggedAction, action, describe_route, encode_json, resource
from circumspect.server.schemas.scim import ScimPatch, ScimResource
from circumspect.server.scim_format import (
    list_members,
    matches,
    patch_user,
    pick,
    read_members,
    read_role,
    read_user,
    refuse,
    show_group,
    show_page,
    show_user,
)
from circumspect.server.stores import provisioning
from circumspect.server.stores.access import NO_ROLE, ROLES, HeldRole, KeyScope, OperatorRole
from circumspect.server.stores.provisioning import ProvisionedOperator
from circumspect.values import Json

SCIM = "application/scim+json"
router = resource("provisioning", route_that_says(scim_format.with_scim_error, SCIM))
Provisioner = Annotated[Caller, Depends(caller("provision"))]
Filter = Annotated[str | None, Query(alias="filter", max_length=500, description='Such as `userName eq "dana"`.')]
StartIndex = Annotated[int, Query(alias="startIndex", ge=-(10**9), le=10**9)]
Count = Annotated[int, Query(ge=-(10**9), le=10**9)]
LeftOut = Annotated[str, Query(alias="excludedAttributes", max_length=400)]
Wanted = Annotated[str, Query(alias="attributes", max_length=400)]
GroupPath = Annotated[str, Path(pattern=r"^[a-z]{1,20}$")]
DescribedName = Annotated[str, Path(max_length=200)]
_ANSWER: dict[str, Any] = {
    "description": "In SCIM's form.",
    "content": {SCIM: {"schema": {"type": "object"}}},
}


def _describe(*statuses: int, status: int = 200) -> dict[str, Any]:
    responses = {} if status == 204 else {status: _ANSWER}
    return describe_route(None, *statuses, status=status, security=KEY, responses=responses)


def _answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode_json(value), status, headers, media_type=SCIM)


def _answer_list(
    every: Iterable[dict[str, Any]], filter_: str | None, start: int, count: int, wanted: str, left_out: str
) -> Response:
    """A page of those that the filter lets through, each with the attributes that are asked for."""
    found = [pick(one, wanted, left_out) for one in every if matches(filter_, one)]
    return _answer(show_page(found, start, min(count, 200)))


# --- users ----------------------------------------------------------------------------------------------------------


@router.get("/scim/v2/Users", **_describe(400))
async def list_provisioned_users(
    request: Request,
    who: Provisioner,
    filter_: Filter = None,
    start: StartIndex = 1,
    count: Count = 100,
    wanted: Wanted = "",
    left_out: LeftOut = "",
) -> Response:
    """The tenant's operators, by name."""
    found = await services_of(request).store.tx(provisioning.list_provisioned, who.tenant)
    return _answer_list(map(show_user, found), filter_, start, count, wanted, left_out)


@router.post("/scim/v2/Users", **_describe(400, 409, status=201))
async def create_provisioned_user(request: Request, who: Provisioner, given: ScimResource) -> Response:
    """Make an operator. They sign in by the identity provider: a password is not taken."""
    services = services_of(request)
    now = services.clock.now().timestamp()
    blank = ProvisionedOperator(services.ids.new("opr"), "", NO_ROLE, now, active=True, profile={})
    wanted = read_user({"userName": "", **given.model_dump()}, blank)
    change = action(services, who.name, "operator.added")

    def body(connection: sa.Connection) -> ProvisionedOperator:
        _require_right(connection, who, wanted.role, now)
        made = provisioning.add_provisioned(connection, who.tenant, wanted)
        if made is None:
            raise refuse(409, "uniqueness", "There is an operator of that name.", "Choose another name.")
        change.log(connection, who.tenant, made.id, {"name": made.name, "role": made.role, "active": made.active})
        return made

    shown = show_user(await services.store.tx(body))
    return _answer(shown, 201, {"Location": shown["meta"]["location"]})


@router.get("/scim/v2/Users/{user_id}", **_describe(404))
async def get_provisioned_user(
    request: Request, who: Provisioner, user_id: IdPath, wanted: Wanted = "", left_out: LeftOut = ""
) -> Response:
    """One operator."""
    found = await services_of(request).store.tx(provisioning.find_provisioned, who.tenant, user_id)
    return _answer(pick(show_user(_require(found)), wanted, left_out))


@router.put("/scim/v2/Users/{user_id}", **_describe(400, 404, 409))
async def replace_provisioned_user(
    request: Request, who: Provisioner, user_id: IdPath, given: ScimResource
) -> Response:
    """Put another description in place of the old one."""
    return await _change(request, who, user_id, lambda now: read_user(given.model_dump(), now))


@router.patch("/scim/v2/Users/{user_id}", **_describe(400, 404, 409))
async def change_provisioned_user(request: Request, who: Provisioner, user_id: IdPath, given: ScimPatch) -> Response:
    """Change some of it. Who is not active any more is signed out at once."""
    return await _change(request, who, user_id, lambda now: patch_user(given.list_operations(), now))


@router.delete("/scim/v2/Users/{user_id}", **_describe(404, status=204))
async def delete_provisioned_user(request: Request, who: Provisioner, user_id: IdPath) -> Response:
    """They are signed out, let in no more, and not shown any more. The log keeps what they did."""
    services = services_of(request)
    change, at = action(services, who.name, "operator.disabled"), services.clock.now().timestamp()

    def body(connection: sa.Connection) -> None:
        before = _require(provisioning.find_provisioned(connection, who.tenant, user_id))
        _require_right(connection, who, before.role, at)
        provisioning.delete_provisioned(connection, before.id, at)
        change.log(connection, who.tenant, before.id, {"name": before.name, "deleted": True})

    await services.store.tx(body)
    return Response(status_code=204)


async def _change(
    request: Request, who: Caller, user: str, change: Callable[[ProvisionedOperator], ProvisionedOperator]
) -> Response:
    services = services_of(request)
    logged, at = action(services, who.name, "operator.changed"), services.clock.now().timestamp()

    def body(connection: sa.Connection) -> ProvisionedOperator:
        before = _require(provisioning.find_provisioned(connection, who.tenant, user))
        return _write(connection, who, before, change(before), logged, at)

    return _answer(show_user(await services.store.tx(body)))


def _write(
    connection: sa.Connection, who: Caller, before: ProvisionedOperator, wanted: ProvisionedOperator,
    logged: LoggedAction, at: float,
) -> ProvisionedOperator:  # fmt: skip
    if wanted == before:
        return before
    for role in (before.role, wanted.role):
        _require_right(connection, who, role, at)
    changed = provisioning.change_provisioned(connection, before.id, wanted, at)
    if changed is None:
        raise refuse(409, "uniqueness", "There is an operator of that name.", "Choose another name.")
    detail: dict[str, Json] = {"name": changed.name, "role": changed.role, "active": changed.active}
    logged.log(connection, who.tenant, changed.id, detail)
    return changed


def _require(found: ProvisionedOperator | None) -> ProvisionedOperator:
    if found is None:
        raise refuse(404, "not_found", "There is no such user.", "List them with GET /scim/v2/Users.")
    return found


def _require_right(connection: sa.Connection, who: Caller, role: HeldRole, at: float) -> None:
    needed: tuple[KeyScope, ...] = ("provision", "admin") if role == "admin" else ("provision",)
    require_own_scopes(connection, Principal(who.name, frozenset({who.tenant}), caller=who), needed, at)


# --- groups, which are the roles ------------------------------------------------------------------------------------


@router.get("/scim/v2/Groups", **_describe(400))
async def list_role_groups(
    request: Request,
    who: Provisioner,
    filter_: Filter = None,
    start: StartIndex = 1,
    count: Count = 100,
    wanted: Wanted = "",
    left_out: LeftOut = "",
) -> Response:
    """The roles, with who has them."""
    found = await services_of(request).store.tx(provisioning.list_provisioned, who.tenant)
    return _answer_list((show_group(role, found) for role in ROLES), filter_, start, count, wanted, left_out)


@router.post("/scim/v2/Groups", **_describe(400, 409, status=201))
async def create_role_group(request: Request, who: Provisioner, given: ScimResource) -> Response:
    """Refused: the groups are the roles, and they are there."""
    read_role(given.model_dump().get("displayName"))
    raise refuse(409, "uniqueness", "The groups are the roles, and this one is there.", "Link to it by its name.")


@router.get("/scim/v2/Groups/{group_id}", **_describe(404))
async def get_role_group(
    request: Request, who: Provisioner, group_id: GroupPath, wanted: Wanted = "", left_out: LeftOut = ""
) -> Response:
    """One role."""
    role = _find_role(group_id)
    found = await services_of(request).store.tx(provisioning.list_provisioned, who.tenant)
    return _answer(pick(show_group(role, found), wanted, left_out))


@router.patch("/scim/v2/Groups/{group_id}", **_describe(400, 404))
async def change_role_group(request: Request, who: Provisioner, group_id: GroupPath, given: ScimPatch) -> Response:
    """Give the role, or take it away: who has it no more has none then."""
    return await _assign(request, who, group_id, lambda now: read_members(given.list_operations(), now))


@router.put("/scim/v2/Groups/{group_id}", **_describe(400, 404))
async def replace_role_group(request: Request, who: Provisioner, group_id: GroupPath, given: ScimResource) -> Response:
    """Say who has the role."""
    members = list_members(given.model_dump().get("members") or [])
    return await _assign(request, who, group_id, lambda _: members)


async def _assign(
    request: Request, who: Caller, group: str, change: Callable[[frozenset[str]], frozenset[str]]
) -> Response:
    services, role = services_of(request), _find_role(group)
    at = services.clock.now().timestamp()

    def body(connection: sa.Connection) -> dict[str, Any]:
        known = {one.id: one for one in provisioning.list_provisioned(connection, who.tenant)}
        before = frozenset(one.id for one in known.values() if one.role == role)
        after = change(before)
        if after - known.keys():
            raise refuse(400, "invalidValue", "There is no such user.", "Make the user first.")
        moved: list[tuple[ProvisionedOperator, HeldRole]] = [(known[id_], role) for id_ in sorted(after - before)]
        moved += [(known[id_], NO_ROLE) for id_ in sorted(before - after)]
        for one, to in moved:
            logged = action(services, who.name, "operator.changed")
            _write(connection, who, one, replace(one, role=to), logged, at)
        return show_group(role, provisioning.list_provisioned(connection, who.tenant))

    return _answer(await services.store.tx(body))


def _find_role(group: str) -> OperatorRole:
    for role in ROLES:
        if role == group:
            return role
    raise refuse(404, "not_found", "There is no such group.", f"Groups are {', '.join(ROLES)}.")


# --- what we are ----------------------------------------------------------------------------------------------------


@router.get("/scim/v2/ServiceProviderConfig", **_describe())
async def get_provider_config(who: Provisioner) -> Response:
    """What of SCIM is supported."""
    return _answer(scim_format.CONFIG)


@router.get("/scim/v2/ResourceTypes", **_describe())
async def list_resource_types(who: Provisioner) -> Response:
    """Users and groups."""
    return _answer(show_page(scim_format.RESOURCE_TYPES, 1, 10))


@router.get("/scim/v2/Schemas", **_describe())
async def list_resource_schemas(who: Provisioner) -> Response:
    """What is known of a user and of a group."""
    return _answer(show_page(scim_format.SCHEMAS, 1, 10))


@router.get("/scim/v2/ResourceTypes/{type_id}", **_describe(404))
async def get_resource_type(who: Provisioner, type_id: DescribedName) -> Response:
    """Users, or groups."""
    return _answer(_find_described(scim_format.RESOURCE_TYPES, type_id))


@router.get("/scim/v2/Schemas/{schema_id}", **_describe(404))
async def get_resource_schema(who: Provisioner, schema_id: DescribedName) -> Response:
    """What is known of a user, or of a group."""
    return _answer(_find_described(scim_format.SCHEMAS, schema_id))


def _find_described(known: Sequence[Mapping[str, Any]], id_: str) -> Mapping[str, Any]:
    for one in known:
        if one["id"] == id_:
            return one
    raise refuse(404, "not_found", "There is no such description.", "List them without an id.")
