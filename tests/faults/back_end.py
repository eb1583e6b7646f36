"""The other side of a tool: a shop's own system, which outlives every worker and remembers what it really did.

`POST /<tenant>/orders/<order>/cancel` does the work, once for each `Idempotency-Key` where the tenant's tool is keyed, and
`GET /<tenant>/calls/<key>` says whether it did. `troubles` names orders for which something goes wrong on the way; except
for a refusal, the work is done all the same.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.patience import PATIENCE

REFUSED = "refuses"
"""The one trouble after which nothing has happened."""
IN_PROGRESS = "resets, then says that it is in progress"
TROUBLES = (
    REFUSED,
    "resets",
    "hangs up",
    "truncates",
    "answers too late",
    "fails",
    IN_PROGRESS,
)


@dataclass(frozen=True)
class Effect:
    """Something that really happened. `at` is on the clock that the clients of a test use as well."""

    tenant: str
    order: str
    key: str
    at: float


class BackEnd:
    def __init__(self) -> None:
        self.effects: list[Effect] = []
        self.troubles: dict[str, str] = {}
        self.keyed: set[str] = set()
        """Tenants whose keys are honoured."""
        self.held: set[str] = set()
        """Tenants whose calls get no answer for as long as they are in here."""
        self.waiting = 0
        """How many calls wait for that."""
        self._lock, self._open = threading.Lock(), True
        self._tried: set[str] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"back_end": self}))
        self._server.daemon_threads, self._server.block_on_close = True, False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._open = False
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE)

    def try_key(self, key: str) -> bool:
        """Was it tried before?"""
        with self._lock:
            before = key in self._tried
            self._tried.add(key)
            return before

    def do(self, tenant: str, order: str, key: str) -> None:
        with self._lock:
            if tenant not in self.keyed or not self.find(tenant, key):
                self.effects.append(Effect(tenant, order, key, time.monotonic()))

    def find(self, tenant: str, key: str) -> Effect | None:
        return next((one for one in self.effects if (one.tenant, one.key) == (tenant, key)), None)

    def hold(self, tenant: str) -> None:
        """Until the tenant is let go, or everything ends."""
        if tenant not in self.held:
            return
        with self._lock:
            self.waiting += 1
        while tenant in self.held and self._open:
            time.sleep(0.02)
        with self._lock:
            self.waiting -= 1

    def linger(self, connection: socket.socket) -> None:
        """Until the caller gives up."""
        connection.settimeout(0.1)
        end = time.monotonic() + PATIENCE
        while self._open and time.monotonic() < end:
            with suppress(TimeoutError):
                if not connection.recv(1):
                    return


class _Handler(BaseHTTPRequestHandler):
    back_end: BackEnd
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def handle(self) -> None:
        with suppress(OSError):
            super().handle()

    def do_GET(self) -> None:
        tenant, _, key = self.path.strip("/").split("/")
        found = self.back_end.find(tenant, key)
        self._answer(200 if found else 404, {"status": "cancelled" if found else "unknown"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        tenant, _, order, _ = self.path.strip("/").split("/")
        key, end = self.headers.get("Idempotency-Key", ""), self.back_end
        trouble, again = end.troubles.get(order, ""), end.try_key(key)
        end.hold(tenant)
        if trouble == REFUSED:
            self._answer(422, {"message": "This order cannot be cancelled."})
            return
        if trouble == IN_PROGRESS and again:
            self._answer(409, {"message": "A request with this key is in progress."})
            return
        end.do(tenant, order, key)
        if trouble and not again:
            self._spoil(trouble)
            return
        self._answer(200, {"order_id": order, "status": "cancelled"})

    def _spoil(self, trouble: str) -> None:
        """The answer that a first try gets, after the work was done."""
        self.close_connection = True
        match trouble:
            case "hangs up":
                self.connection.shutdown(socket.SHUT_RDWR)
            case "truncates":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n{")
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
            case "answers too late":
                self.back_end.linger(self.connection)
            case "fails":
                self._answer(500, {"message": "Something is wrong here."})
            case _:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()

    def _answer(self, status: int, body: dict[str, str]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
