"""HAProxy in front of servers, as an operator would set it up: it asks each whether it is ready, and sends a request to
another only where the connection was refused."""

from __future__ import annotations

import csv
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
from tests.patience import PATIENCE, wait_until

CONFIG = """
defaults
    mode http
    timeout connect 5s
    timeout client {patience:.0f}s
    timeout server {patience:.0f}s
    timeout check {patience:.0f}s
    retries 3
    retry-on conn-failure
    option redispatch

listen circumspect
    bind 127.0.0.1:{port}
    balance roundrobin
    stats enable
    stats uri /_proxy
    option httpchk
    http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host 127.0.0.1
    http-check expect status 200
    default-server check inter 200ms fall 1 rise 1
{servers}
"""


def find_program() -> str | None:
    """Debian keeps it off the PATH of whoever is not root."""
    return shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def balancing(folder: Path, servers: Sequence[str]) -> Iterator[str]:
    """Its address. The servers listen, or will, on these addresses and ports."""
    program, port, config = find_program(), free_port(), folder / "haproxy.cfg"
    assert program, "HAProxy is not installed; run `make services`"
    listed = "\n".join(f"    server s{number} {one}" for number, one in enumerate(servers))
    config.write_text(CONFIG.format(port=port, servers=listed, patience=PATIENCE))
    process = subprocess.Popen([program, "-db", "-q", "-f", str(config)])
    try:
        wait_until(lambda: _listens(port) or process.poll() is not None)
        assert process.poll() is None, "HAProxy did not start"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(PATIENCE)


def count_ready(url: str) -> int:
    """How many servers the proxy sends requests to."""
    rows = csv.DictReader(httpx.get(f"{url}/_proxy;csv", trust_env=False, timeout=PATIENCE).text.splitlines())
    return sum(row["svname"].startswith("s") and row["status"].startswith("UP") for row in rows)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
