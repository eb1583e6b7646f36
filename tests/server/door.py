"""A small application with a door of each kind, and what it takes to knock: keys, operators, a client."""

from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

import httpx
import pytest
from argon2 import PasswordHasher
from fastapi import Depends, FastAPI

from circumspect.clock import FixedClock, RandomIds
from circumspect.server import credentials, problems, signin
from circumspect.server.access import Caller, Operator, Principal, caller, either, operator
from circumspect.server.config import Settings
from circumspect.server.request_limits import Limiter
from circumspect.server.routes import session, sessions
from circumspect.server.stores import access
from circumspect.server.stores.access import ROLES, SCOPES, KeyRow, OperatorRow
from circumspect.server.vault import Vault
from circumspect.stores import SqlStore, action_log
from circumspect.values import Business, Tenant

PASSWORD = "correct horse battery"
SITE = "http://server.test"


@dataclass(frozen=True)
class Inside:
    """What the dependencies read of a worker's services."""

    settings: Settings
    store: SqlStore
    limiter: Limiter
    clock: FixedClock
    ids: RandomIds
    vault: Vault


def application(inside: Inside) -> FastAPI:
    app = FastAPI()
    app.state.services = inside
    problems.install(app)
    for one in (session, sessions):
        app.include_router(one.router)

    def keyed(path: str, *scopes: Any) -> None:
        async def route(who: Annotated[Caller, Depends(caller(*scopes))]) -> dict[str, Any]:
            return {"tenant": who.tenant, "key": who.key}

        app.get(path)(route)

    def signed(path: str, *roles: Any) -> None:
        async def route(who: Annotated[Operator, Depends(operator(*roles))]) -> dict[str, Any]:
            return {"name": who.name, "role": who.role}

        app.api_route(path, methods=["GET", "POST"])(route)

    def both(path: str, scope: Any, roles: Any) -> None:
        async def route(who: Annotated[Principal, Depends(either(scope=scope, roles=roles))]) -> dict[str, Any]:
            seen = None if who.tenant_filter is None else sorted(who.tenant_filter)
            return {"name": who.name, "seen": seen, "other": who.may_see("other")}

        app.get(path)(route)

    for scope in SCOPES:
        keyed(f"/key/{scope}", scope)
    keyed("/key/any")
    keyed("/key/chat-and-read", "chat", "read")
    for role in ROLES:
        signed(f"/role/{role}", role)
    signed("/role/any")
    signed("/role/operator-or-reviewer", "operator", "reviewer")
    both("/either", "manage", ("operator",))
    return app


@dataclass(frozen=True)
class Door:
    inside: Inside
    app: FastAPI
    client: httpx.AsyncClient

    @property
    def store(self) -> SqlStore:
        return self.inside.store

    @property
    def clock(self) -> FixedClock:
        return self.inside.clock

    async def key(self, *scopes: Any, tenant: str = "shop", **lasts: float) -> str:
        """A new key; `minutes=5` makes it end then."""
        id_, key = credentials.new_key()
        now = self.clock.now()
        ends = (now + timedelta(**lasts)).timestamp() if lasts else None
        row = KeyRow(id_, tenant, "", scopes or ("chat",), now.timestamp(), ends)  # type: ignore[arg-type]
        await self.store.tx(access.add_key, row, credentials.hash_token(key))
        return key

    async def operator(self, name: str = "dana", role: Any = "operator", tenants: Any = None) -> OperatorRow:
        row = OperatorRow(self.inside.ids.new("opr"), name, role, tenants, self.clock.now().timestamp())
        await self.store.tx(access.add_operator, row, credentials.hash_password(PASSWORD))
        return row

    async def signed_in(self, name: str = "dana", **options: Any) -> str:
        """A new operator's token."""
        await self.operator(name, **options)
        return (await self.sign_in(name)).json()["token"]

    async def sign_in(self, name: str = "dana", password: str = PASSWORD, **options: Any) -> httpx.Response:
        headers = options.pop("headers", {})
        return await self.client.post(
            "/v1/session", json={"name": name, "password": password, **options}, headers=headers
        )

    async def get(self, path: str, token: str | None = None, **options: Any) -> httpx.Response:
        headers = options.pop("headers", {})
        if token is not None:
            headers = {**headers, "Authorization": f"Bearer {token}"}
        return await self.client.get(path, headers=headers, **options)

    async def log(self) -> list[str]:
        return sorted(row.action for row in await self.store.tx(action_log.list_actions))


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Argon2 with little work, and no waiting before a refusal: here both would only cost time."""
    monkeypatch.setattr(credentials, "_hasher", PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1))
    monkeypatch.setattr(signin, "REFUSAL_SECONDS", 0.0)
    credentials._nobodys.cache_clear()


@asynccontextmanager
async def door(tmp_path: Any, clock: FixedClock, rate: int = 600, **settings: Any):
    store = await SqlStore.open(f"sqlite:///{tmp_path}/store.db")
    try:
        for name in ("shop", "other"):
            await store.put_tenant(Tenant(name, Business(name)))
        # Buckets that never refill of themselves: what is counted here is requests, not time.
        limiter = Limiter(rate, now=lambda: clock.now().timestamp())
        inside = Inside(Settings(**settings), store, limiter, clock, RandomIds(), Vault("k" * 32))
        app = application(inside)
        transport = httpx.ASGITransport(app, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url=SITE) as client:
            yield Door(inside, app, client)
    finally:
        await store.close()
