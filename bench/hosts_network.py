"""Two hosts on one machine: a network namespace each, and a bridge that stands for the wire between them and the rest.

Needs root and iproute2. A host can only reach the bridge.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

NETWORK, WIRE = "10.213.77.0/24", "10.213.77.1"
"""All of it, and the end that PostgreSQL, Redis, the proxy and the provider listen on."""
BRIDGE = "csbench"
HOSTS = {"csbench-a": "10.213.77.11", "csbench-b": "10.213.77.12"}


def run(command: str, check: bool = True) -> None:
    subprocess.run(command.split(), check=check, capture_output=True)


@contextmanager
def wired() -> Iterator[None]:
    try:
        run(f"ip link add {BRIDGE} type bridge")
        run(f"ip addr add {WIRE}/24 dev {BRIDGE}")
        run(f"ip link set {BRIDGE} up")
        for name, address in HOSTS.items():
            run(f"ip netns add {name}")
            run(f"ip link add {name} type veth peer name eth0 netns {name}")
            run(f"ip link set {name} master {BRIDGE} up")
            run(f"ip -n {name} addr add {address}/24 dev eth0")
            run(f"ip -n {name} link set eth0 up")
            run(f"ip -n {name} link set lo up")
        yield
    finally:
        for name in HOSTS:
            run(f"ip netns del {name}", check=False)
        run(f"ip link del {BRIDGE}", check=False)
