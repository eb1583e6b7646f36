"""Two servers behind a proxy are restarted one after the other, and no request fails."""

from __future__ import annotations

import signal
import subprocess
import threading
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from tests.load_balancer import balancing, count_ready, find_program, free_port
from tests.patience import PATIENCE, wait_until
from tests.server.house import House
from tests.server.test_serve import serving

DELAY = "8"
"""Seconds in which the proxy, which asks five times a second, has to notice; on a machine with more to do than this."""

pytestmark = pytest.mark.skipif(find_program() is None, reason="NO PROXY: run `make services` to test with HAProxy")


def talk(url: str, key: str, number: int, stop: threading.Event, heard: list[str]) -> None:
    """One message after the other, each sent once."""
    with httpx.Client(
        base_url=url, headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=PATIENCE
    ) as client:
        for turn in range(1_000_000):
            if stop.is_set():
                return
            try:
                made = client.post("/v1/conversations", json={"id": f"t{number}-{turn}"})
                said = client.post(f"/v1/conversations/t{number}-{turn}/messages", json={"content": "hello"})
                heard.append("ok" if (made.status_code, said.status_code) == (201, 200) else f"{made} {said.text}")
            except httpx.HTTPError as problem:
                heard.append(repr(problem))


def test_no_request_fails_while_two_servers_are_restarted(tmp_path: Path) -> None:
    with House(f"sqlite:///{tmp_path}/c.db") as house:
        key = house.token()
    ports, stop, heard = [free_port(), free_port()], threading.Event(), list[str]()
    started = {
        "CIRCUMSPECT_STOP_DELAY_SECONDS": DELAY,
        "CIRCUMSPECT_RATE_PER_MINUTE": "1000000",
        "CIRCUMSPECT_LOG_LEVEL": "error",  # nobody reads what they print, and a full pipe would stop them
    }

    def start(port: int) -> tuple[ExitStack, subprocess.Popen[str]]:
        stack = ExitStack()
        process, _, _ = stack.enter_context(serving(tmp_path, "--database", "c.db", "--port", str(port), **started))
        return stack, process

    with ExitStack() as all_of_them:
        running = {port: start(port) for port in ports}
        for stack, _ in running.values():
            all_of_them.callback(stack.close)
        url = all_of_them.enter_context(balancing(tmp_path, [f"127.0.0.1:{port}" for port in ports]))
        wait_until(lambda: count_ready(url) == 2)
        clients = [threading.Thread(target=talk, args=(url, key, n, stop, heard), daemon=True) for n in range(2)]
        for client in clients:
            client.start()
        for port in ports:
            stack, process = running[port]
            before = len(heard)
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: count_ready(url) == 1)
            assert process.poll() is None, "it listens until the proxy has noticed"
            _, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err
            stack.close()
            running[port] = start(port)
            all_of_them.callback(running[port][0].close)
            wait_until(lambda: count_ready(url) == 2)
            assert len(heard) > before
        stop.set()
        for client in clients:
            client.join(PATIENCE)
    assert [one for one in heard if one != "ok"] == []
