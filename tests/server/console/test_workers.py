"""Two worker processes behind one address: nothing of a page lives in a process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.patience import PATIENCE, wait_until
from tests.server.console.building import Browsing, ConsoleHouse, eventually
from tests.server.house import SECRET, say

ROOT = Path(__file__).parents[3]


class Workers(ConsoleHouse):
    """The same house, served by two processes."""

    def __enter__(self) -> Workers:
        self.stored(self._furnish)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        given = {"CIRCUMSPECT_DATABASE": self.settings.database, "CIRCUMSPECT_SECRET_KEY": SECRET}
        command = [
            sys.executable,
            "-m",
            "uvicorn",
            "circumspect.server.console.worker_app:worker_app",
            "--factory",
            "--workers",
            "2",
        ]
        options = ["--port", str(self.port), "--log-level", "warning", "--timeout-graceful-shutdown", "3"]
        self.process = subprocess.Popen([*command, *options], cwd=ROOT, env={**os.environ, **given})
        try:
            wait_until(self._is_ready, pause=0.2)
        except AssertionError:
            self.__exit__()
            raise
        return self

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, "the workers did not start"
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/readyz", trust_env=False, timeout=PATIENCE).status_code == 200
        return False

    def __exit__(self, *error: object) -> None:
        for client in self.clients.values():
            client.close()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) is not None  # although a page is open

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.mark.slow
def test_pages_and_live_updates_do_not_care_which_worker_answers(browser: Any, tmp_path: Path) -> None:
    with Workers(f"sqlite:///{tmp_path}/workers.db") as workers:
        key = workers.key("shop")
        conversation = workers.conversation(key)
        say(key, conversation, "What are your opening hours?")
        for _ in range(20):
            with workers.visitor("noa") as visitor:
                assert visitor.get(f"/conversations/shop/{conversation}").status_code == 200
        with Browsing(browser, workers).as_("noa") as page:
            page.goto(f"/conversations/shop/{conversation}")
            page.wait_for_timeout(800)
            for number in range(1, 6):
                say(key, conversation, "What are your opening hours?")
                eventually(page, lambda number=number: page.locator(".bubble").count() == 2 + 2 * number)
