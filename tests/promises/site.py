"""One server in this process, without sockets: the whole application with its pages, a standard and an adaptive tenant,
operators, keys; and an agent of the library on a database of its own. Time is ours."""

from __future__ import annotations

import asyncio
import itertools
import logging
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import yaml
from tests.database_clock import database_follows
from tests.promises import shop
from tests.promises.shop import POLICY, BackEnd, Faults, HostileModel

from circumspect import Agent
from circumspect.clock import FixedClock
from circumspect.policy.load import load
from circumspect.server import console, credentials
from circumspect.server.app import create_app
from circumspect.server.apply_tenant import apply_file
from circumspect.server.config import Settings
from circumspect.server.console.widget import visits
from circumspect.server.routes import session
from circumspect.server.services import Services, open_services
from circumspect.server.stores import access
from circumspect.server.stores.access import KeyRow, OperatorRow
from circumspect.values import Mode, TenantId

SIGNING = "what the adaptive tenant signs its end users' tokens with"
PASSWORD = "correct horse battery"
MODES: tuple[Mode, ...] = ("standard", "adaptive")
STAFF = {"noa": "operator", "omar": "operator", "rita": "reviewer"}
NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)
URL = "http://server.test"


@dataclass
class Site:
    folder: Path
    clock: FixedClock = field(default_factory=lambda: FixedClock(NOON))
    faults: Faults = field(default_factory=Faults)
    model: HostileModel = field(default_factory=HostileModel)
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    async def open(self) -> None:
        self.backend = BackEnd(self.faults)
        shop.open_shops[str(self.folder)] = self.backend
        self.opened = AsyncExitStack()
        self.opened.enter_context(database_follows(self.clock))
        # The server's own log of what breaks here on purpose would be all there is to read.
        logger = logging.getLogger("circumspect")
        self.opened.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL)
        settings = Settings(
            database=f"sqlite:///{self.folder}/site.db",
            secret_key="a secret key for tests only which is long enough",
            rate_per_minute=10**9,
        )
        self.services: Services = await self.opened.enter_async_context(open_services(settings, clock=self.clock))
        self.app = create_app(settings, clock=self.clock)
        console.install(self.app)
        self.app.state.services = self.services
        self.opened.enter_context(mock.patch.object(visits, "MESSAGES_PER_MINUTE", 10**9))
        self.opened.enter_context(mock.patch.object(session, "ATTEMPTS_PER_MINUTE", 10**9))
        # A lease that a dead worker left ends when the clock is moved, which nobody does while somebody waits.
        self.opened.enter_context(mock.patch.object(sys.modules["circumspect.steps.claim"], "PATIENCE_SECONDS", 0.05))
        transport = httpx.ASGITransport(self.app)
        client = httpx.AsyncClient(transport=transport, base_url=URL, timeout=None)
        self.http = await self.opened.enter_async_context(client)
        directory: Any = self.services.directory
        directory._models["openai:hostile"] = self.model
        directory._check_seconds = float("inf")
        self.keys: dict[tuple[str, str], str] = {}
        for mode in MODES:
            await self._add_tenant(mode, settings)
        self.sessions = {name: await self._add_operator(name, role) for name, role in STAFF.items()}
        self.agents = {mode: await self._make_agent(mode) for mode in MODES}
        stores: list[Any] = [self.services.store, *[(await one.open()).ports.store for one in self.agents.values()]]
        for store in stores:
            store.tx = self.faults.wrap(store.tx)

    async def close(self) -> None:
        self.faults.disarm()
        for agent in self.agents.values():
            await agent.close()
        await self.opened.aclose()

    async def restart(self) -> None:
        """Whoever died is gone with everything it held, and what it had leased has run out."""
        while len(self.services.turns):
            await asyncio.sleep(0)
        self.faults.disarm()
        self.clock.advance(minutes=3)

    async def _add_tenant(self, mode: Mode, settings: Settings) -> None:
        tenant: dict[str, Any] = {
            "version": 1,
            "id": mode,
            "business": {"name": "Shop"},
            "plan": {"name": mode, "mode": mode},
            "model": "openai:hostile",
            "language": "en",
            "tools": [{"python": "tests.promises.shop:make_tools", "options": {"shop": str(self.folder)}}],
            "policy": yaml.safe_load(POLICY),
            "widget": {"origins": ["https://shop.example"]},
        }
        if mode == "adaptive":
            (self.folder / "signing.txt").write_text(SIGNING)
            tenant["secrets"] = {"signing": {"file": "signing.txt"}}
            tenant["end_users"] = {"keys": [{"kid": "a", "algorithm": "HS256", "secret": "signing"}]}
        path = self.folder / f"{mode}.yaml"
        path.write_text(yaml.safe_dump(tenant))
        await apply_file(path, self.services.store, settings, clock=self.clock)
        for scopes in (("chat",), ("widget",), ("chat", "manage")):
            id_, key = credentials.new_key()
            row = KeyRow(id_, TenantId(mode), "", scopes, self.clock.now().timestamp())  # type: ignore[arg-type]
            await self.services.store.tx(access.add_key, row, credentials.hash_token(key))
            self.keys[mode, scopes[-1]] = key

    async def _add_operator(self, name: str, role: Any) -> str:
        row = OperatorRow(f"op-{name}", name, role, None, self.clock.now().timestamp())
        await self.services.store.tx(access.add_operator, row, credentials.hash_password(PASSWORD))
        signed_in = await self.http.post("/v1/session", json={"name": name, "password": PASSWORD})
        return str(signed_in.json()["token"])

    async def _make_agent(self, mode: Mode) -> Agent:
        agent = Agent(
            f"library-{mode}",
            tools=self.backend.tools(),
            policy=load(POLICY),
            model=self.model,
            mode=mode,
            language="en",
            database=f"sqlite:///{self.folder}/library-{mode}.db",
            clock=self.clock,
        )
        await agent.open()
        return agent
