"""Ray nodes on this machine, each with one processor and killed with everything it started. The cluster has a token."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SECONDS = 120
MEMORY = 100_000_000
"""Of each node's object store: chunks are small."""


@dataclass(frozen=True)
class Cluster:
    address: str
    client: str
    """The address for whoever is no node."""
    environment: dict[str, str]
    """With the token in it: for whoever shall be let in."""
    nodes: list[subprocess.Popen[bytes]]

    def kill(self, number: int) -> None:
        """As if its machine had lost its power."""
        node = self.nodes[number]
        if node.poll() is None:
            os.killpg(node.pid, signal.SIGKILL)
        node.wait()


@contextmanager
def cluster(nodes: int = 2) -> Iterator[Cluster]:
    """A head node and others, which have joined when this returns."""
    # Ray makes sockets below this folder, and their paths must be short.
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        token = Path(folder) / "token"
        token.write_text(secrets.token_hex(32))
        token.chmod(0o600)
        environment = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
        port, door = _free_port(), _free_port()
        ports = f"--port={port}", f"--ray-client-server-port={door}"
        head = ("--head", *ports, "--include-dashboard=false", f"--temp-dir={folder}/head")
        started = Cluster(f"127.0.0.1:{port}", f"ray://127.0.0.1:{door}", environment, [])
        try:
            # One after the other: two that start at the same moment choose the same ports.
            for number in range(nodes):
                options = (f"--address={started.address}",) if number else head
                started.nodes.append(_started(options, environment))
                _wait_for(started, number + 1)
            yield started
        finally:
            for number in reversed(range(len(started.nodes))):
                started.kill(number)


def _started(options: tuple[str, ...], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    ray = Path(sys.executable).parent / "ray"
    common = ("--num-cpus=1", "--num-gpus=0", "--disable-usage-stats", f"--object-store-memory={MEMORY}", "--block")
    address = ("--node-ip-address=127.0.0.1",)
    return subprocess.Popen(
        [ray, "start", *options, *address, *common],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _wait_for(started: Cluster, nodes: int) -> None:
    """Asked in a process of its own: Ray joins one cluster a process, and this one may want another later."""
    asks = (
        "import logging, sys, ray\n"
        "ray.init(address=sys.argv[1], log_to_driver=False, logging_level=logging.CRITICAL)\n"
        "sys.exit(0 if sum(one['Alive'] for one in ray.nodes()) >= int(sys.argv[2]) else 1)\n"
    )
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if any(node.poll() is not None for node in started.nodes):
            break
        command = [sys.executable, "-c", asks, started.address, str(nodes)]
        if not subprocess.run(command, env=started.environment, capture_output=True, check=False).returncode:
            return
        time.sleep(0.2)
    raise RuntimeError(f"{nodes} Ray nodes did not come up within {SECONDS} seconds")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port
