"""`/v1/admin/keys`: a tenant's API keys. A key is shown once, when it is made; what is stored cannot be turned back."""

from __future__ import annotations

import sqlalchemy as sa
from fastapi import Request
from starlette.responses import Response

from circumspect.server import credentials
from circumspect.server.access import (
    AdminPrincipal,
    require_fresh,
    services_of,
)
from circumspect.server.granting import is_own, limit_end, require_own_scopes
from circumspect.server.problems import HttpProblem, not_found, require_found
from circumspect.server.responses import (
    KeyPath,
    TenantFilter,
    action,
    describe_route,
    find_visible_tenants,
    one_tenant,
    resource,
    to_response,
)
from circumspect.server.schemas.keys import KeyMade, KeyShown, NewKey, Rotation
from circumspect.server.stores import access, tenants
from circumspect.server.stores.access import KeyRow

router = resource("keys")
_SECRET = {"Cache-Control": "no-store"}


@router.get("/v1/admin/keys", **describe_route(list[KeyShown], 404))
async def list_keys(request: Request, who: AdminPrincipal, tenant: TenantFilter = None) -> Response:
    """The newest first, revoked and expired ones included."""
    rows = await services_of(request).store.tx(access.list_keys, find_visible_tenants(who, tenant))
    return to_response([KeyShown.of(row) for row in rows])


@router.post("/v1/admin/keys", **describe_route(KeyMade, 400, 404, status=201))
async def create_key(request: Request, who: AdminPrincipal, given: NewKey) -> Response:
    """Make a key. It is in the answer, this once. A key makes none with scopes that it lacks, or that outlasts it."""
    require_fresh(request, who)
    services = services_of(request)
    tenant, now = one_tenant(who, given.tenant), services.clock.now().timestamp()
    id_, key = credentials.new_key()
    ends = None if given.expires_in_days is None else now + given.expires_in_days * 86_400
    scopes = credentials.validate_scopes(given.scopes)
    row = KeyRow(id_, tenant, given.name, scopes, now, limit_end(who, ends))
    change = action(services, who.name, "create_key")

    def body(connection: sa.Connection) -> None:
        if tenants.get(connection, tenant) is None:
            raise not_found("tenant")
        require_own_scopes(connection, who, row.scopes, now)
        access.add_key(connection, row, credentials.hash_token(key))
        change.log(connection, tenant, id_, {"scopes": list(row.scopes)})

    await services.store.tx(body)
    return to_response(KeyMade.of(row, key=key), 201, _SECRET)


@router.post("/v1/admin/keys/{key_id}/rotate", **describe_route(KeyMade, 400, 404, 409, status=201))
async def rotate_key(request: Request, who: AdminPrincipal, key_id: KeyPath, given: Rotation) -> Response:
    """A new key that may do the same; the old one goes on working for a while. A key rotates itself, and others that
    may do no more than it."""
    require_fresh(request, who)
    services = services_of(request)
    now = services.clock.now().timestamp()
    id_, key = credentials.new_key()
    change = action(services, who.name, "rotate_key")

    def body(connection: sa.Connection) -> KeyRow:
        seen = find_visible_tenants(who, None)
        known = access.key_by_id(connection, key_id)
        if known is None or not who.may_see(known.row.tenant):
            raise not_found("key")
        require_own_scopes(connection, who, known.row.scopes, now)
        if not known.row.valid(now):
            raise HttpProblem(409, "settled", "This key is revoked or has expired.", fix="Make a new one.")
        rotated = access.rotate_key(
            connection,
            key_id,
            new_id=id_,
            new_hash=credentials.hash_token(key),
            at=now,
            overlap=given.overlap_hours * 3_600,
            allowed=seen,
            latest=None if is_own(who, known.row) else limit_end(who, None),
        )
        if rotated is None:
            raise not_found("key")
        change.log(connection, rotated[1].tenant, key_id, {"new": id_})
        return rotated[1]

    return to_response(KeyMade.of(await services.store.tx(body), key=key), 201, _SECRET)


@router.delete("/v1/admin/keys/{key_id}", **describe_route(KeyShown, 404))
async def revoke_key(request: Request, who: AdminPrincipal, key_id: KeyPath) -> Response:
    """The key stops working within seconds. Revoking it twice does no harm."""
    require_fresh(request, who)
    services = services_of(request)
    now = services.clock.now().timestamp()
    change = action(services, who.name, "revoke_key")

    def body(connection: sa.Connection) -> KeyRow:
        row = require_found(access.revoke_key(connection, key_id, now, find_visible_tenants(who, None)), "key")
        change.log(connection, row.tenant, key_id)
        return row

    return to_response(KeyShown.of(await services.store.tx(body)))
