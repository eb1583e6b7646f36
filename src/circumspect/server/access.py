"""Who is asking: the `Authorization` header or the session cookie in; a `Caller`, an `Operator` or a refusal out.

Routes say what they need and get who it is:

    @router.post("/v1/conversations")
    async def create(caller: Annotated[Caller, Depends(caller("chat"))]) -> ...
    @router.get("/v1/escalations")
    async def listing(who: Annotated[Principal, Depends(either(scope="manage", roles=("operator",)))]) -> ...

Scopes do not contain one another: a key that configures may not talk unless it says so. The role `admin` may do
everything. Each of these is a `Door`, which is asked before the request's body is read: only those who may come in can
make us read. The one choice that may surprise: a key that was verified is remembered for three seconds, so a revoked
one works that much longer; its end date is looked at every time.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar
from urllib.parse import urlsplit

from fastapi import Depends, Request

from circumspect.errors import CircumspectError, StoreError
from circumspect.server import credentials
from circumspect.server.end_users import (
    END_USER_TOKEN,
    EndUser,
    is_signing_required,
    refuse_other_person,
    refuse_unsigned,
    verify_end_user,
)
from circumspect.server.session_cookies import read_session_cookie
from circumspect.server.stores import access
from circumspect.server.stores.access import USED_SECONDS, KeyScope, KnownKey, OperatorRole, OperatorRow
from circumspect.server.stores.sessions import SEEN_SECONDS, SessionRow, touch_session
from circumspect.stores import SqlStore
from circumspect.values import TenantId

if TYPE_CHECKING:
    from circumspect.server.services import Services

logger = logging.getLogger("circumspect.server")
T = TypeVar("T")

REMEMBERED_SECONDS = 3.0
_MANY = 10_000
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_LET_IN = "circumspect.let_in"
_ACTING = "circumspect.acting"


class NotSignedIn(CircumspectError):
    code = "not_signed_in"
    status = 401
    headers: Mapping[str, str] = {"WWW-Authenticate": "Bearer"}


class NotPermitted(CircumspectError):
    code = "not_permitted"
    status = 403


class NoRole(NotPermitted):
    """Signed in, and nobody has given them a role. They may leave."""


class SecondFactorRequired(CircumspectError):
    """Signed in with a password, where the role needs more."""

    code = "second_factor_required"
    status = 403


class NotFresh(CircumspectError):
    """It is too long ago that they proved who they are."""

    code = "prove_again"
    status = 403


@dataclass(frozen=True, slots=True)
class Caller:
    """A tenant's program. `key` is the key's id."""

    tenant: TenantId
    key: str
    scopes: frozenset[KeyScope]
    end_user: EndUser | None = None
    """Who a signed token in the request says that it speaks for."""
    signed_only: bool = False
    """The tenant takes nobody's word for who they are."""
    expires_at: float | None = None
    """When the key ends; None is never."""

    @property
    def name(self) -> str:
        return f"key:{self.key}"

    def identify(self, person: str | None) -> EndUser:
        """The end user that a request speaks for; `person` is who its body names."""
        if self.end_user is None:
            return EndUser(person) if not self.signed_only else refuse_unsigned()
        return self.end_user if person is None or person == self.end_user.person else refuse_other_person()


@dataclass(frozen=True, slots=True)
class Operator:
    """A person who signed in. `tenants` are those they may see; None is everyone."""

    id: str
    name: str
    role: OperatorRole
    tenants: frozenset[TenantId] | None = None
    proved_at: float = 0.0
    """When they last proved who they are (seconds since the epoch)."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Either of the two, for routes that serve both."""

    name: str
    """For the log."""
    tenant_filter: frozenset[TenantId] | None
    """Whose rows may be seen; None is everyone's."""
    caller: Caller | None = None
    operator: Operator | None = None

    def may_see(self, tenant: str) -> bool:
        return self.tenant_filter is None or tenant in self.tenant_filter


@dataclass(frozen=True, slots=True)
class ActingName:
    """Who a request is known to come from, whether or not it may do what it wants."""

    name: str
    tenant: TenantId | None
    is_operator: bool


def read_acting(request: Request) -> ActingName | None:
    found: ActingName | None = request.scope.get(_ACTING)
    return found


@dataclass(frozen=True, eq=False)
class Door(Generic[T]):
    """Who may come in, as a route depends on it. It is opened once a request, however often it is asked: the route asks
    before it reads the body, the framework once more when it calls the route."""

    look: Callable[[Request], Awaitable[T]]
    roles: tuple[OperatorRole, ...] | None = None
    """Of operators, who may come in; () is all of them, None is none of them. An admin may wherever anybody may."""
    scopes: tuple[KeyScope, ...] | None = None
    """Of keys, which may come in; () is all of them, None is none of them."""
    all_scopes: bool = True
    """A key needs all of the scopes, or one of them."""

    async def __call__(self, request: Request) -> T:
        let_in: dict[Door[T], T] = request.scope.setdefault(_LET_IN, {})
        if self not in let_in:
            let_in[self] = await self.look(request)
        return let_in[self]


def caller(*scopes: KeyScope) -> Door[Caller]:
    """A tenant's key that has all these scopes; any key, when none is named. Counts against the tenant's rate."""

    async def look(request: Request) -> Caller:
        found = await _caller(request, _read_key(request))
        _require_scopes(found, scopes)
        return found

    return Door(look, scopes=scopes)


def operator(*roles: OperatorRole) -> Door[Operator]:
    """A signed-in operator with one of these roles, or an admin; any operator, when none is named."""

    async def look(request: Request) -> Operator:
        found = await _operator(request)
        _require_role(found, roles)
        return found

    return Door(look, roles=roles)


def either(
    scope: KeyScope | None = None, roles: tuple[OperatorRole, ...] = (), *, one_of: tuple[KeyScope, ...] = ()
) -> Door[Principal]:
    """A key with the scope or with one of several (any key, when none is named), or an operator with one of the roles,
    or an admin."""

    async def look(request: Request) -> Principal:
        token = _read_key(request)
        if token and token.startswith("csk_"):
            key = await _caller(request, token)
            _require_scopes(key, () if scope is None else (scope,))
            who = Principal(key.name, frozenset({key.tenant}), caller=key)
            require_one_of(who, *one_of)
            return who
        person = await _operator(request)
        _require_role(person, roles)
        return Principal(person.name, person.tenants, operator=person)

    return Door(look, roles, one_of or (() if scope is None else (scope,)), all_scopes=not one_of)


def account_owner() -> Door[Operator]:
    """Whoever signed in, also before they have the second factor that their role needs: here they set it up."""

    async def look(request: Request) -> Operator:
        return (await require_sign_in(request))[0]

    return Door(look, roles=())


def require_fresh(request: Request, who: Principal | Operator) -> None:
    """For approvals and dangerous changes: an operator has proved who they are a short while ago. A browser that was
    left open, or a stolen sign-in, does not get here. Keys are not asked."""
    services, person = services_of(request), who if isinstance(who, Operator) else who.operator
    if person is None:
        return
    if services.clock.now().timestamp() - person.proved_at > services.settings.prove_again_minutes * 60:
        raise NotFresh(
            "It is too long ago that you proved who you are.",
            fix="Do it again with POST /v1/session/proof, then repeat this.",
        )


# --- keys -----------------------------------------------------------------------------------------------------------


class Keyring:
    """Verified keys, remembered for a moment. One for each worker."""

    def __init__(
        self, store: SqlStore, *, seconds: float = REMEMBERED_SECONDS, tick: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._seconds, self._tick = store, seconds, tick
        self._known: dict[str, tuple[float, KnownKey]] = {}

    async def verify(self, token: str, now: float) -> KnownKey | None:
        """The key, if it is one of ours and good at this time. Only what was right is remembered, so that guessing
        fills no memory."""
        id_ = credentials.key_id(token)
        if id_ is None:
            return None
        hash_ = credentials.hash_token(token)
        at, known = self._known.get(hash_, (0.0, None))
        if known is None or self._tick() - at > self._seconds:
            self._known.pop(hash_, None)
            known = await self._store.tx(access.key_by_id, id_)
            if not credentials.same(hash_, known.hash if known else "") or known is None:
                return None
            if len(self._known) >= _MANY:
                self._known.clear()
            self._known[hash_] = self._tick(), known
        if not known.row.valid(now):
            return None
        if known.row.used_at is None or now - known.row.used_at >= USED_SECONDS:
            await self._mark_used(hash_, known, now)
        return known

    async def _mark_used(self, hash_: str, known: KnownKey, now: float) -> None:
        at, _ = self._known.get(hash_, (self._tick(), known))
        # Before the write, so that requests that come meanwhile do not write too.
        self._known[hash_] = at, replace(known, row=replace(known.row, used_at=now))
        try:
            await self._store.tx(access.touch_key, known.row.id, now)
        except StoreError as error:
            logger.warning("when a key was last used could not be written", extra={"problem": error.problem})


async def _caller(request: Request, token: str | None) -> Caller:
    known = await require_key(request, token)
    tenant = known.row.tenant
    request.scope[_ACTING] = ActingName(f"key:{known.row.id}", tenant, is_operator=False)
    await services_of(request).limiter.check(f"tenant:{tenant}", _rate(known.settings))
    return Caller(
        tenant,
        known.row.id,
        frozenset(known.row.scopes),
        await verify_end_user(services_of(request), known, request.headers.getlist(END_USER_TOKEN)),
        is_signing_required(known.settings),
        known.row.expires_at,
    )


async def require_key(request: Request, token: str | None) -> KnownKey:
    """A key that is one of ours and good now. It counts against no rate: that is for who asks to see to."""
    if not token:
        raise NotSignedIn("There is no API key in the request.", fix="Send it as `Authorization: Bearer csk_…`.")
    known = await _keyring(request).verify(token, services_of(request).clock.now().timestamp())
    if known is None:
        raise NotSignedIn(
            "The API key is not valid.",
            fix="Check that it is whole, and that it was not revoked and has not expired (`circumspect keys list`).",
        )
    return known


def _rate(settings: Mapping[str, object]) -> int | None:
    """What the tenant has instead of the server's rate."""
    rate = settings.get("rate_per_minute")
    return rate if isinstance(rate, int) and rate > 0 else None


def _require_scopes(found: Caller, scopes: tuple[KeyScope, ...]) -> None:
    missing = [scope for scope in scopes if scope not in found.scopes]
    if missing:
        raise NotPermitted(
            f"This API key may not do this: it lacks the scope {' and '.join(missing)}.",
            fix="Make a key with it: circumspect keys create --tenant NAME --scope SCOPE.",
        )


def find_reader(who: Principal, person: str | None) -> str | None:
    """The end user for whom a request reads: who signed it, else whom it names. None reads for the tenant itself."""
    signed = who.caller is not None and who.caller.end_user is not None
    return who.caller.identify(person).person if who.caller and signed else person


def require_one_of(who: Principal, *scopes: KeyScope) -> None:
    """A key has to have one of these, where any are named; operators are judged by their role."""
    if scopes and who.caller is not None and not who.caller.scopes & set(scopes):
        raise NotPermitted(
            f"This API key may not do this: it needs the scope {' or '.join(scopes)}.",
            fix="Make a key with it: circumspect keys create --tenant NAME --scope SCOPE.",
        )


# --- operators ------------------------------------------------------------------------------------------------------


async def _operator(request: Request) -> Operator:
    found, session = await require_sign_in(request)
    if session.method == "password" and found.role in services_of(request).settings.second_factor_roles:
        raise SecondFactorRequired(
            f"The role '{found.role}' needs more than a password.",
            fix="Set up a code app or a passkey on the page /account, then sign in with it.",
        )
    return found


async def require_sign_in(request: Request) -> tuple[Operator, SessionRow]:
    """The operator, and their sign-in."""
    row, session = await find_sign_in(request)
    services, now = services_of(request), services_of(request).clock.now().timestamp()
    if row.role == "none":
        raise NoRole("You have no role here.", fix="Ask an administrator to give you one, then sign in again.")
    if now - session.seen_at >= SEEN_SECONDS:
        await _mark_seen(services.store, session, now)
    tenants = None if row.tenants is None else frozenset(row.tenants)
    return Operator(row.id, row.name, row.role, tenants, session.authenticated_at), session


async def find_sign_in(request: Request) -> tuple[OperatorRow, SessionRow]:
    """Whoever signed in, with a role or without one."""
    services = services_of(request)
    token = session_token(request)
    if not token or not credentials.is_session(token):
        raise NotSignedIn("You are not signed in.", fix="Sign in with POST /v1/session.")
    now = services.clock.now().timestamp()
    idle = services.settings.session_idle_minutes * 60
    found = await services.store.tx(access.operator_of, credentials.hash_token(token), now, idle)
    if found is None:
        raise NotSignedIn("You are not signed in any more.", fix="Sign in again with POST /v1/session.")
    row, session = found
    only = row.tenants[0] if row.tenants is not None and len(row.tenants) == 1 else None
    request.scope[_ACTING] = ActingName(row.name, only, is_operator=True)
    return row, session


async def _mark_seen(store: SqlStore, session: SessionRow, now: float) -> None:
    try:
        await store.tx(touch_session, session.id, now)
    except StoreError as error:
        logger.warning("when a sign-in was last used could not be written", extra={"problem": error.problem})


def session_token(request: Request) -> str | None:
    """Of the header, else of the cookie; a cookie counts for a change only when the page it came from is ours."""
    token = _bearer(request)
    if token:
        return token
    token = read_session_cookie(request)
    if token and request.method not in _SAFE and not from_here(request):
        raise NotPermitted(
            "A change with a session cookie has to come from a page of this server.",
            fix="Send `Authorization: Bearer ses_…` instead of the cookie.",
        )
    return token


def from_here(request: Request) -> bool:
    """Did the browser send this from our own pages? It says so itself over HTTPS and on localhost; over plain HTTP only
    the origin tells."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    if origin is None:
        return False
    public = services_of(request).settings.public_url
    ours = {f"{request.url.scheme}://{request.headers.get('host', '')}"}
    if public:
        parts = urlsplit(public)
        ours.add(f"{parts.scheme}://{parts.netloc}")
    return origin in ours


def _require_role(found: Operator, roles: tuple[OperatorRole, ...]) -> None:
    if roles and found.role != "admin" and found.role not in roles:
        raise NotPermitted(
            f"The role '{found.role}' may not do this.", fix=f"Ask an operator with the role {' or '.join(roles)}."
        )


# --- the request ----------------------------------------------------------------------------------------------------


def _read_key(request: Request) -> str | None:
    """Where Anthropic's clients put a key it is taken too; the usual place counts first."""
    given = request.headers.getlist("x-api-key")
    return _bearer(request) or (given[0] if len(given) == 1 else None)


def _bearer(request: Request) -> str | None:
    headers = request.headers.getlist("authorization")
    if not headers:
        return None
    scheme, _, token = headers[0].partition(" ")
    if len(headers) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise NotSignedIn(
            "The Authorization header cannot be read.", fix="Send one, as `Authorization: Bearer KEY-OR-TOKEN`."
        )
    return token.strip()


def address_of(request: Request) -> str:
    """The caller's address; of IPv6 the network, since whoever has one address there has all of it."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    return host if address.version == 4 else str(ipaddress.ip_network((host, 64), strict=False))


def services_of(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


def _keyring(request: Request) -> Keyring:
    state = request.app.state
    if not hasattr(state, "keyring"):
        state.keyring = Keyring(services_of(request).store)
    ring: Keyring = state.keyring
    return ring


ChatCaller = Annotated[Caller, Depends(caller("chat"))]
ReviewerPrincipal = Annotated[Principal, Depends(either("manage", ("operator", "reviewer")))]
OperatorPrincipal = Annotated[Principal, Depends(either("manage", ("operator",)))]
ReaderPrincipal = Annotated[Principal, Depends(either(None, ("operator", "reviewer")))]
"""What the route shows decides which scope a key needs: see `require_one_of`."""
ConversationReader = Annotated[Principal, Depends(either(None, ("operator", "reviewer"), one_of=("chat", "read")))]
InternalsReader = Annotated[Principal, Depends(either(None, ("operator", "reviewer"), one_of=("read",)))]
SettingsReader = Annotated[Principal, Depends(either(None, ("operator", "reviewer"), one_of=("read", "admin")))]
AdminPrincipal = Annotated[Principal, Depends(either("admin", ("admin",)))]
