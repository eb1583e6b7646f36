"""Webhooks of a running server reach the public internet and what was listed, by no detour anything else."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.patience import wait_until
from tests.security.fortress import ROOT, Fortress

from circumspect.reasons import ReasonCode
from circumspect.stores import SqlStore, people
from circumspect.stores.ledger import escalate
from circumspect.values import ConversationId, Escalation, TenantId, TurnId


class Receiver:
    """Another end on an address of loopback. Remembers who came; may send them elsewhere."""

    def __init__(self, address: str) -> None:
        self.came: list[str] = []
        self.elsewhere = ""
        receiver = self

        class Answers(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                receiver.came.append(self.path)
                self.send_response(307 if receiver.elsewhere else 200)
                if receiver.elsewhere:
                    self.send_header("Location", receiver.elsewhere)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer((address, 0), Answers)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def ends() -> Iterator[tuple[Receiver, Receiver]]:
    """One on an address that is allowed, and one on an address that is not."""
    both = Receiver("127.0.0.2"), Receiver("127.0.0.3")
    yield both
    for one in both:
        one.close()


async def _escalated(database: str, tenants: set[str]) -> None:
    """Something that every one of them wants to tell somebody."""
    store, now = await SqlStore.open(database), datetime.now(UTC)
    for name in tenants:
        where = TenantId(name), ConversationId("c")
        await store.tx(people.create_conversation, *where, "adaptive", now)
        await store.tx(escalate, *where, TurnId(f"t-{name}"), Escalation(ReasonCode.ESCALATED_TO_HUMAN, "help"), now)
    await store.close()


def test_private_addresses_are_never_called_however_they_are_spelled_or_redirected_to(
    tmp_path: Path, ends: tuple[Receiver, Receiver]
) -> None:
    allowed, forbidden = ends
    allowed.elsewhere = f"http://127.0.0.3:{forbidden.port}/by-redirect"
    port = forbidden.port
    urls = {
        "allowed": f"http://127.0.0.2:{allowed.port}/hook",
        "plain": f"http://127.0.0.3:{port}/plain",
        "decimal": f"http://2130706435:{port}/decimal",
        "octal": f"http://0177.0.0.3:{port}/octal",
        "mapped": f"http://[::ffff:127.0.0.3]:{port}/mapped",
        "user": f"http://127.0.0.2@127.0.0.3:{port}/user",
        "metadata": "http://169.254.169.254/latest/meta-data",
        "own": "http://127.0.0.1:1/own",
    }
    with Fortress(tmp_path, CIRCUMSPECT_ALLOW_ADDRESSES="127.0.0.2") as fortress:
        for name, url in urls.items():
            file = {
                "version": 1,
                "id": name,
                "business": {"name": name},
                "secrets": {"hook": {"env": "HOOK"}},
                "notify": {"webhooks": [{"url": url, "secret": "hook"}]},
            }
            (tmp_path / f"{name}.yaml").write_text(json.dumps(file), "utf-8")
        # Together: a file that is refused does not keep the others out.
        done = subprocess.run(
            [sys.executable, "-m", "circumspect", "apply", "--json", *(str(tmp_path / f"{name}.yaml") for name in urls)],
            env={**fortress.environment, "HOOK": "shared with the receiver", "PYTHONPATH": str(ROOT)}, cwd=tmp_path,
            capture_output=True, text=True,
        )  # fmt: skip
        applied = {json.loads(line)["tenant"] for line in done.stdout.splitlines() if line.startswith("{")}
        assert {"allowed", "plain"} <= applied, done.stderr
        asyncio.run(_escalated(fortress.database, applied))
        wait_until(lambda: allowed.came, pause=0.05, problem=lambda: fortress.log()[-2000:])
        time.sleep(3)  # two rounds of the courier: everything that was going to be called has been
        assert forbidden.came == []
        assert set(allowed.came) == {"/hook"}
        print(f"{len(applied)} of {len(urls)} spellings could be configured, none was called")
