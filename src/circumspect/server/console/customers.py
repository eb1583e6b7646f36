"""Who looks at a customer's pages: a tenant's own people, or an operator who looks at what they see.

A tenant's people come with one of its API keys of scope `read`, once: a form of ours exchanges it for a cookie that
lasts an hour. The cookie holds no key. It is sealed with the server's secret key and names the API key's
id, so any worker can read it, nobody can make one, and revoking the key ends it. No address ever carries a key or a
token: addresses end up in histories and logs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from circumspect.errors import ConfigError
from circumspect.server.access import (
    NotPermitted,
    NotSignedIn,
    address_of,
    from_here,
    require_key,
    require_sign_in,
    services_of,
)
from circumspect.server.console.i18n import Translator
from circumspect.server.console.visitors import words_of
from circumspect.server.problems import not_found, require_found
from circumspect.server.session_cookies import is_secure
from circumspect.server.stores import access, tenants
from circumspect.values import TenantId

COOKIE = "circumspect_customer"
PATH = "/customer"
SECONDS = 3600
SCOPE = "read"
ATTEMPTS_PER_MINUTE = 20
_PURPOSE = "customer pages"


@dataclass(frozen=True, slots=True)
class CustomerVisitor:
    tenant: TenantId
    name: str
    """Of the business."""
    words: Translator
    operator: str = ""
    """Who looks, when it is one of ours."""

    @property
    def query(self) -> Mapping[str, str]:
        """What addresses have to say so that an operator stays with the tenant."""
        return {"tenant": self.tenant} if self.operator else {}


async def customer(request: Request, tenant: Annotated[str, Query(max_length=64)] = "") -> CustomerVisitor:
    """An operator names the tenant, and sees what they may; a tenant's people have their own and no other."""
    if tenant:
        try:
            person, _ = await require_sign_in(request)
        except NotSignedIn:
            pass
        else:
            if person.tenants is not None and tenant not in person.tenants:
                raise not_found("tenant")
            return await _of(request, TenantId(tenant), person.name)
    own = await _read_cookie_tenant(request)
    if tenant and tenant != own:
        raise not_found("tenant")
    return await _of(request, own)


async def admit(request: Request, response: Response, key: str) -> None:
    """The cookie for a key, or a refusal."""
    if not from_here(request):
        raise NotPermitted("Signing in has to come from a page of this server.", fix="Open its own sign-in page.")
    services = services_of(request)
    await services.limiter.check(f"customer:{address_of(request)}", ATTEMPTS_PER_MINUTE)
    known = await require_key(request, key.strip())
    if SCOPE not in known.row.scopes:
        raise NotSignedIn("This key may not read.", fix="Make one: circumspect keys create --tenant NAME --scope read.")
    until = services.clock.now().timestamp() + SECONDS
    sealed = services.vault.seal(json.dumps({"for": _PURPOSE, "key": known.row.id, "until": until}))
    response.set_cookie(
        COOKIE, sealed, max_age=SECONDS, path=PATH, secure=is_secure(request), httponly=True, samesite="lax"
    )


def dismiss(request: Request, response: Response) -> None:
    response.delete_cookie(COOKIE, path=PATH, secure=is_secure(request), httponly=True, samesite="lax")


async def _read_cookie_tenant(request: Request) -> TenantId:
    services, now = services_of(request), services_of(request).clock.now().timestamp()
    missing = NotSignedIn("You are not signed in.", fix="Sign in with an API key of scope read.")
    try:
        said = json.loads(services.vault.unseal(request.cookies.get(COOKIE, "")))
    except (ConfigError, ValueError):
        raise missing from None
    if not isinstance(said, dict) or said.get("for") != _PURPOSE or not now < float(said.get("until", 0)):
        raise missing
    known = await services.store.tx(access.key_by_id, str(said.get("key")))
    if known is None or not known.row.valid(now) or SCOPE not in known.row.scopes:
        raise missing
    return known.row.tenant


async def _of(request: Request, tenant: TenantId, operator: str = "") -> CustomerVisitor:
    row = require_found(await services_of(request).store.tx(tenants.get, tenant), "tenant")
    return CustomerVisitor(tenant, row.tenant.business.name, words_of(request), operator)
