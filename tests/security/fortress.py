"""The real command in a process of its own, its log in a file, and two ways in: a key and an operator.

with Fortress(folder) as fortress:
    fortress.key.get("/v1/conversations")
    fortress.raw(b"GET /healthz HTTP/1.1\r\n…")
    fortress.log()
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
from tests.patience import PATIENCE, wait_until

from circumspect.demo.samples.apply_samples import apply_samples
from circumspect.server import credentials
from circumspect.server.config import Settings
from circumspect.server.stores import access
from circumspect.server.stores.access import KeyRow, KeyScope, OperatorRow
from circumspect.stores import SqlStore
from circumspect.values import TenantId

ROOT = Path(__file__).parents[2]
PASSWORD = "correct horse battery"
SECRET = "a secret key for tests only which is long enough"
METRICS = "a token for scraping"
_LISTENS = re.compile(r"listens on (http://\S+)")


class Fortress:
    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.database = f"sqlite:///{folder}/fortress.db"
        self.environment = {
            **os.environ,
            "CIRCUMSPECT_DATABASE": self.database,
            "CIRCUMSPECT_SECRET_KEY": SECRET,
            "CIRCUMSPECT_METRICS_TOKEN": METRICS,
            "CIRCUMSPECT_RATE_PER_MINUTE": "1000000",
            "CIRCUMSPECT_LOG_LEVEL": "debug",
            "CIRCUMSPECT_DRAIN_SECONDS": "2",
            "CIRCUMSPECT_DOCUMENT_MEGABYTES": "128",
            "LOOP_TIMES": str(folder / "loop.times"),
            **environment,
        }

    def __enter__(self) -> Self:
        asyncio.run(self._furnish())
        self._log = (self.folder / "stderr.log").open("wb")
        self._out = (self.folder / "stdout.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.security.timed_serve", "serve", "--port", "0"],
            cwd=self.folder, env={**self.environment, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}, stdout=self._out, stderr=self._log,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        found = wait_until(self._listens, problem=self.log)
        assert found
        self.url = found[1]
        self.address = (urlsplit(self.url).hostname or "", urlsplit(self.url).port or 0)
        self.anyone = self.client()
        self.anyone.get("/login")  # templates are read for the first page
        self.key = self.client(self.token)
        signed = self.anyone.post("/v1/session", json={"name": "root", "password": PASSWORD})
        assert signed.status_code == 201, signed.text
        self.session = signed.json()["token"]
        self.operator = self.client(self.session)
        return self

    def __exit__(self, *error: object) -> None:
        for client in (self.anyone, self.key, self.operator):
            client.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()
        self._out.close()

    def _listens(self) -> re.Match[str] | None:
        assert self.process.poll() is None, self.log()
        return _LISTENS.search(self.said())

    async def _furnish(self) -> None:
        """The sample shops, an operator and a key: what `serve --demo` makes, without hundreds of conversations."""
        store = await SqlStore.open(self.database)
        settings: dict[str, Any] = {"database": self.database, "secret_key": SECRET}
        await apply_samples(store, Settings(**settings))
        row = OperatorRow("op-root", "root", "admin", None, time.time())
        await store.tx(access.add_operator, row, credentials.hash_password(PASSWORD))
        self.token, self.widget_token = [
            await self._add_key(store, scopes) for scopes in (("chat", "read", "manage", "admin"), ("widget",))
        ]
        await store.close()

    async def _add_key(self, store: SqlStore, scopes: tuple[KeyScope, ...]) -> str:
        id_, key = credentials.new_key()
        made = KeyRow(id_, TenantId("shop"), "-".join(scopes), scopes, time.time())
        await store.tx(access.add_key, made, credentials.hash_token(key))
        return key

    def client(self, token: str = "", **headers: str) -> httpx.Client:
        told = ({"Authorization": f"Bearer {token}"} if token else {}) | headers
        return httpx.Client(base_url=self.url, headers=told, timeout=PATIENCE, trust_env=False)

    def said(self) -> str:
        return (self.folder / "stdout.log").read_text("utf-8", "replace")

    def log(self) -> str:
        return (self.folder / "stderr.log").read_text("utf-8", "replace")

    def lines(self) -> list[dict[str, Any]]:
        """The log as what it claims to be: one JSON object a line."""
        return [json.loads(line) for line in self.log().splitlines()]

    def find_held_longest(self, since: float) -> tuple[float, float]:
        """How long the event loop was kept from everybody since then (`time.monotonic`), in seconds of computing, and on
        the wall in that moment."""
        file = self.folder / "loop.times"
        lines = [tuple(map(float, line.split())) for line in file.read_text().splitlines()] if file.exists() else []
        return max(((computed, wall) for at, computed, wall in lines if at >= since), default=(0.0, 0.0))

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=PATIENCE)

    def raw(self, request: bytes) -> bytes:
        """Everything that comes back until the server closes, or, having answered, says nothing more for a while."""
        with self.connect() as connection:
            answer = b""
            try:
                connection.sendall(request)
                while piece := connection.recv(65536):
                    answer += piece
                    connection.settimeout(4)
            except (TimeoutError, ConnectionError):
                pass
            return answer
