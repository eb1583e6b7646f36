"""Who comes with a widget's key: a request in, the tenant and the visitor out, or a refusal.

The key stands in web pages, so everybody has it. It therefore opens conversations that the widget itself began, each to
its own visitor, and nothing else; a key that may do anything more is refused, however it came into a page. A visitor is
who a token says: one that the site's own sign-in signed, or one of ours, which says no more than that it is the same
visitor. How
much one address may do is bounded apart from the tenant's rate, so that a visitor who floods the widget shuts out
themselves and not the tenant's own programs.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass

from fastapi import Request

from circumspect.errors import CircumspectError, ConfigError
from circumspect.server.access import Caller, Door, NotPermitted, Principal, address_of, require_key, services_of
from circumspect.server.end_users import (
    END_USER_TOKEN,
    EndUser,
    is_signing_required,
    refuse_unsigned,
    verify_end_user,
)
from circumspect.server.problems import not_found
from circumspect.server.request_log import add_log_context
from circumspect.server.services import Services
from circumspect.server.stores.access import KnownKey
from circumspect.server.tenants.tenant_file import WidgetSection
from circumspect.values import VISITOR, ConversationId, TenantId

MESSAGES_PER_MINUTE = 60
READS_PER_MINUTE = 240
"""For each address."""
PREFIX = "vis_"
VISITOR_SECONDS = 30 * 24 * 3600
_CONVERSATION = re.compile(r"web_[A-Za-z0-9_-]{32}")
_ELSEWHERE = ("cross-site", "same-site")


@dataclass(frozen=True, slots=True)
class Visit:
    tenant: TenantId
    key: str
    """The key's id."""
    end_user: EndUser
    """Nobody before the first conversation: then there is nothing to be read."""

    @property
    def principal(self) -> Principal:
        """As the routes of the API know a key's holder."""
        caller = Caller(self.tenant, self.key, frozenset({"widget"}), self.end_user)
        return Principal(caller.name, frozenset({self.tenant}), caller=caller)


def visit(*, says: bool) -> Door[Visit]:
    """A visitor who reads, or who says something, which costs the tenant money and counts against its rate."""

    async def look(request: Request) -> Visit:
        if request.headers.get("sec-fetch-site") in _ELSEWHERE:
            raise NotPermitted("This is for the widget's own frame.", fix="Use the API with a key of scope chat.")
        services, address = services_of(request), address_of(request)
        name, rate = ("says", MESSAGES_PER_MINUTE) if says else ("reads", READS_PER_MINUTE)
        await services.limiter.check(f"widget-{name}:{address}", rate)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        known = await publishable(request, token.strip() if scheme.lower() == "bearer" else "")
        if says:
            rate_of_tenant = (await services.directory.settings(known.row.tenant)).rate_per_minute
            await services.limiter.check(f"tenant:{known.row.tenant}", rate_of_tenant)
        add_log_context(tenant=known.row.tenant)
        return Visit(known.row.tenant, known.row.id, await _find_visitor(request, known))

    return Door(look)


async def _find_visitor(request: Request, known: KnownKey) -> EndUser:
    services, tokens = services_of(request), request.headers.getlist(END_USER_TOKEN)
    if is_signing_required(known.settings) and not any(tokens):
        refuse_unsigned()
    if len(tokens) == 1 and tokens[0].startswith(PREFIX):
        return _read_visitor(services, known.row.tenant, tokens[0]) or refuse_unsigned()
    return await verify_end_user(services, known, tokens) or EndUser()


def new_visitor(services: Services, tenant: TenantId) -> tuple[EndUser, str]:
    """Somebody whom nobody knows, and the token by which they are known again; any worker can read it, nobody can make
    one."""
    person, until = f"{VISITOR}{secrets.token_hex(16)}", services.clock.now().timestamp() + VISITOR_SECONDS
    said = {"for": PREFIX, "tenant": tenant, "person": person, "until": until}
    return EndUser(person), PREFIX + services.vault.seal(json.dumps(said))


def _read_visitor(services: Services, tenant: TenantId, token: str) -> EndUser | None:
    try:
        said = json.loads(services.vault.unseal(token.removeprefix(PREFIX)))
    except (ConfigError, ValueError):
        return None
    if not isinstance(said, dict) or (said.get("for"), said.get("tenant")) != (PREFIX, tenant):
        return None
    return EndUser(said["person"]) if services.clock.now().timestamp() < said["until"] else None


async def publishable(request: Request, token: str) -> KnownKey:
    """A key that may stand in a web page."""
    known = await require_key(request, token)
    if set(known.row.scopes) != {"widget"}:
        raise NotPermitted(
            "This key may do more than a key in a web page should.",
            fix="Revoke it, and make one for the page: circumspect keys create --tenant NAME --scope widget.",
        )
    return known


def new_conversation() -> ConversationId:
    """192 random bits, whatever makes the other ids."""
    return ConversationId(f"web_{secrets.token_urlsafe(24)}")


def parse_conversation_id(conversation_id: str) -> ConversationId:
    """An id that a widget was given. What a tenant's own programs have begun may have ids that can be guessed."""
    if not _CONVERSATION.fullmatch(conversation_id):
        raise not_found("conversation")
    return ConversationId(conversation_id)


async def find_brand(request: Request, tenant: TenantId) -> WidgetSection:
    """How this tenant's chat looks, and which sites may show it; none while its settings cannot be read."""
    try:
        return (await services_of(request).directory.settings(tenant)).widget
    except CircumspectError:
        return WidgetSection()
