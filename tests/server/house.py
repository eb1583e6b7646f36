"""A whole server on loopback: real sockets, a real database, two tenants that must never meet.

with House(f"sqlite:///{tmp_path}/house.db") as house:
    house.key("shop").post("/v1/conversations", json={})
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, Self, TypeVar

import httpx
import uvicorn
from fastapi import FastAPI
from tests.patience import PATIENCE, wait_until

from circumspect.demo.samples.apply_samples import apply_samples
from circumspect.server import credentials
from circumspect.server.app import create_app
from circumspect.server.config import Settings
from circumspect.server.stores import access
from circumspect.server.stores.access import SCOPES, KeyRow, OperatorRow
from circumspect.stores import SqlStore
from circumspect.values import TenantId

T = TypeVar("T")
PASSWORD = "correct horse battery"
SECRET = "a secret key for tests only which is long enough"
METRICS = "a token for scraping"
OURS, THEIRS = "shop", "shop-ru"


class Running:
    """uvicorn in a thread of its own, as `circumspect serve` runs it in a process."""

    def __init__(self, app: Any, drain: float = 30, **options: Any) -> None:
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.url = "http://{}:{}".format(*self.socket.getsockname())
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=drain, ws="none", **options
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        wait_until(lambda: self.server.started or not self.thread.is_alive(), pause=0.01)
        assert self.server.started, "the server did not start"
        return self

    def stop(self) -> None:
        self.server.should_exit = True

    def __exit__(self, *error: object) -> None:
        self.stop()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "the server did not stop"


class House:
    def __init__(self, database: str, **settings: Any) -> None:
        self.settings = Settings(
            **{
                "database": database,
                "secret_key": SECRET,
                "metrics_token": METRICS,
                "rate_per_minute": 1_000_000,
                "drain_seconds": 5,
                **settings,
            }
        )
        self.keys: dict[tuple[str, tuple[str, ...]], str] = {}
        self.sessions: dict[str, str] = {}
        self.clients: dict[str, httpx.Client] = {}
        self.lent: list[Any] = []

    def __enter__(self) -> Self:
        self.stored(self._furnish)
        self.app: FastAPI = create_app(self.settings)
        self.running = Running(self.app, drain=self.settings.drain_seconds).__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        for client in (*self.clients.values(), *self.lent):
            client.close()
        self.running.__exit__()

    @property
    def url(self) -> str:
        return self.running.url

    def stored(self, body: Callable[[SqlStore], Awaitable[T]]) -> T:
        """Look into, or change, the database behind the server's back."""

        async def run() -> T:
            store = await SqlStore.open(self.settings.database)
            try:
                return await body(store)
            finally:
                await store.close()

        return asyncio.run(run())

    async def _furnish(self, store: SqlStore) -> None:
        await apply_samples(store, self.settings)
        for name, role, tenants in (
            ("root", "admin", None),
            ("noa", "operator", None),
            ("rita", "reviewer", None),
            ("theirs", "operator", (TenantId(THEIRS),)),
            ("their-admin", "admin", (TenantId(THEIRS),)),
        ):
            if await store.tx(access.operator_named, name) is None:
                row = OperatorRow(f"op-{name}", name, role, tenants, time.time())
                await store.tx(access.add_operator, row, credentials.hash_password(PASSWORD))

    # --- who knocks -------------------------------------------------------------------------------------------------

    def client(self, token: str = "") -> httpx.Client:
        """One for each token: making them costs more than most tests."""
        if token not in self.clients:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            limits = httpx.Limits(max_connections=200)
            self.clients[token] = httpx.Client(
                base_url=self.url, headers=headers, timeout=PATIENCE, trust_env=False, verify=False, limits=limits
            )
        return self.clients[token]

    def lend(self, client: T) -> T:
        """A client of another maker, with connections of its own: closed with the house."""
        self.lent.append(client)
        return client

    def token(self, tenant: str = OURS, *scopes: str) -> str:
        wanted = scopes or tuple(SCOPES)
        if (tenant, wanted) not in self.keys:
            id_, key = credentials.new_key()
            row = KeyRow(id_, TenantId(tenant), "test", wanted, time.time())

            async def add(store: SqlStore) -> None:
                await store.tx(access.add_key, row, credentials.hash_token(key))

            self.stored(add)
            self.keys[tenant, wanted] = key
        return self.keys[tenant, wanted]

    def key(self, tenant: str = OURS, *scopes: str) -> httpx.Client:
        """A client with a key of this tenant; of all scopes when none is named."""
        return self.client(self.token(tenant, *scopes))

    def operator(self, name: str) -> httpx.Client:
        if name not in self.sessions:
            said = {"name": name, "password": PASSWORD}
            answer = self.client().post("/v1/session", json=said)
            assert answer.status_code == 201, answer.text
            self.sessions[name] = answer.json()["token"]
        return self.client(self.sessions[name])

    def read_metrics(self) -> str:
        answer = self.client(METRICS).get("/metrics")
        assert answer.status_code == 200, answer.text
        return answer.text

    def conversation(self, client: httpx.Client, **fields: Any) -> str:
        made = client.post("/v1/conversations", json=fields)
        assert made.status_code == 201, made.text
        return str(made.json()["id"])


def say(client: httpx.Client, conversation: str, content: str, *, person: str | None = None, **headers: str) -> Any:
    body = {"content": content} if person is None else {"content": content, "person": person}
    answer = client.post(f"/v1/conversations/{conversation}/messages", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def is_a_problem(answer: httpx.Response, status: int, code: str | None = None) -> dict[str, Any]:
    assert answer.status_code == status, (answer.status_code, answer.text)
    body = answer.json()
    if answer.headers["content-type"] == "application/scim+json":
        assert body.keys() - {"scimType"} == {"schemas", "status", "detail"}, body
        body = {**body, "code": code, "problem": body["detail"], "fix": body["detail"]}
    assert {"code", "problem", "fix"} <= body.keys(), body
    assert body["problem"], body
    assert "Traceback" not in answer.text
    assert code is None or body["code"] == code, body
    return dict(body)
