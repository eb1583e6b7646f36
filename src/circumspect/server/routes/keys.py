"""`/v1/admin/keys`: a tenant's API keys. A key is shown once, when it is made; what is stored cannot be turned back."""

from __future__ import annotations

from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Depends, Path, Request
from starlette.responses import Response

from circumspect.server import credentials
from circumspect.server.access import Principal, either, services_of
from circumspect.server.problems import HttpProblem, not_found
from circumspect.server.responses import TenantQuery, action, answer, described, one_tenant, resource, visible, when
from circumspect.server.schemas.keys import KeyMade, KeyShown, NewKey, Rotation
from circumspect.server.stores import access, tenants
from circumspect.server.stores.access import KeyRow

router = resource("keys")
Administering = Annotated[Principal, Depends(either("admin", ("admin",)))]
KeyPath = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]
_SECRET = {"Cache-Control": "no-store"}


@router.get("/v1/admin/keys", **described(list[KeyShown], 404))
async def list_keys(request: Request, who: Administering, tenant: TenantQuery = None) -> Response:
    """The newest first, revoked and expired ones included."""
    rows = await services_of(request).store.tx(access.list_keys, visible(who, tenant))
    return answer([shown(row) for row in rows])


@router.post("/v1/admin/keys", **described(KeyMade, 400, 404, status=201))
async def create_key(request: Request, who: Administering, given: NewKey) -> Response:
    """Make a key. It is in the answer, this once."""
    services = services_of(request)
    tenant, now = one_tenant(who, given.tenant), services.clock.now().timestamp()
    id_, key = credentials.new_key()
    ends = None if given.expires_in_days is None else now + given.expires_in_days * 86_400
    row = KeyRow(id_, tenant, given.name, credentials.checked_scopes(given.scopes), now, ends)
    change = action(services, who.name, "create_key")

    def body(connection: sa.Connection) -> None:
        if tenants.get(connection, tenant) is None:
            raise not_found("tenant")
        access.add_key(connection, row, credentials.hashed(key))
        change.log(connection, tenant, id_, {"scopes": list(row.scopes)})

    await services.store.tx(body)
    return answer({**shown(row), "key": key}, 201, _SECRET)


@router.post("/v1/admin/keys/{key_id}/rotate", **described(KeyMade, 400, 404, 409, status=201))
async def rotate_key(request: Request, who: Administering, key_id: KeyPath, given: Rotation) -> Response:
    """A new key that may do the same; the old one goes on working for a while."""
    services = services_of(request)
    now = services.clock.now().timestamp()
    id_, key = credentials.new_key()
    change = action(services, who.name, "rotate_key")

    def body(connection: sa.Connection) -> KeyRow:
        seen = visible(who, None)
        known = access.key_by_id(connection, key_id)
        if known is None or not who.may_see(known.row.tenant):
            raise not_found("key")
        if not known.row.valid(now):
            raise HttpProblem(409, "settled", "This key is revoked or has expired.", fix="Make a new one.")
        rotated = access.rotate_key(
            connection,
            key_id,
            new_id=id_,
            new_hash=credentials.hashed(key),
            at=now,
            overlap=given.overlap_hours * 3_600,
            allowed=seen,
        )
        if rotated is None:
            raise not_found("key")
        change.log(connection, rotated[1].tenant, key_id, {"new": id_})
        return rotated[1]

    return answer({**shown(await services.store.tx(body)), "key": key}, 201, _SECRET)


@router.delete("/v1/admin/keys/{key_id}", **described(KeyShown, 404))
async def revoke_key(request: Request, who: Administering, key_id: KeyPath) -> Response:
    """The key stops working within seconds. Revoking it twice does no harm."""
    services = services_of(request)
    now = services.clock.now().timestamp()
    change = action(services, who.name, "revoke_key")

    def body(connection: sa.Connection) -> KeyRow:
        row = access.revoke_key(connection, key_id, now, visible(who, None))
        if row is None:
            raise not_found("key")
        change.log(connection, row.tenant, key_id)
        return row

    return answer(shown(await services.store.tx(body)))


def shown(row: KeyRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "tenant": row.tenant,
        "name": row.name,
        "scopes": list(row.scopes),
        "created_at": when(row.created_at),
        "expires_at": when(row.expires_at),
        "revoked_at": when(row.revoked_at),
        "used_at": when(row.used_at),
    }
