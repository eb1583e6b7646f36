"""What a file may make of its reader. Each runs in the other process, by its name."""

from __future__ import annotations

import ctypes
import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HERE = "tests.confined.bad_readers"


def echo(data: bytes, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"length": len(data), "facts": dict(facts), "process": os.getpid()}


def spell(data: bytes, facts: Mapping[str, Any]) -> str:
    return ascii(dict(facts))


def allocate(data: bytes, facts: Mapping[str, Any]) -> None:
    kept = []
    while True:
        kept.append(bytearray(10_000_000))


def swallow(data: bytes, facts: Mapping[str, Any]) -> None:
    """As libraries do: a failed allocation is taken for a damaged file."""
    try:
        allocate(data, facts)
    except Exception as error:
        raise ValueError("damaged") from error


def grow(data: bytes, facts: Mapping[str, Any]) -> dict[str, Any]:
    _kept.append(bytearray(b"x") * facts["bytes"])
    return {"process": os.getpid()}


_kept: list[bytearray] = []


def spin(data: bytes, facts: Mapping[str, Any]) -> None:
    while True:
        pass


def hang(data: bytes, facts: Mapping[str, Any]) -> None:
    time.sleep(1_000_000)


def crash(data: bytes, facts: Mapping[str, Any]) -> None:
    ctypes.string_at(0)


def fail(data: bytes, facts: Mapping[str, Any]) -> None:
    raise KeyError("a secret of the file")


def flood(data: bytes, facts: Mapping[str, Any]) -> None:
    """Straight into whatever is open, past every check of ours."""
    while True:
        for number in range(3, 16):
            try:
                os.write(number, b"\xff" * 65_536)
            except OSError:
                continue


def chatter(data: bytes, facts: Mapping[str, Any]) -> str:
    print("not an answer", flush=True)
    os.write(1, b"nor this")
    return "an answer"


def stop_short(data: bytes, facts: Mapping[str, Any]) -> None:
    os._exit(0)


def trespass(data: bytes, facts: Mapping[str, Any]) -> dict[str, str]:
    """What came of each thing that a reader has no need of."""

    def connect() -> None:
        socket.create_connection(("127.0.0.1", facts["port"]), timeout=1)

    tries: dict[str, Callable[[], object]] = {
        "connect": connect,
        "start": lambda: os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {}),
        "fork": os.fork,
        "signal": lambda: os.kill(os.getppid(), 0),
        "write": lambda: Path(facts["file"]).write_bytes(b"x"),
        "remove": lambda: os.remove(facts["file"]),
        "rename": lambda: os.rename(facts["file"], facts["file"] + "2"),
        "read": lambda: Path(facts["file"]).read_bytes(),
    }
    came: dict[str, str] = {"environment": ",".join(sorted(os.environ))}
    for name, attempt in tries.items():
        try:
            attempt()
        except OSError as error:
            came[name] = type(error).__name__
        else:
            came[name] = "done"
    return came


def sleep(data: bytes, facts: Mapping[str, Any]) -> None:
    time.sleep(facts["seconds"])


def burn(data: bytes, facts: Mapping[str, Any]) -> tuple[int, int]:
    """Until when of its life the process may compute, and which it is."""
    until = time.process_time() + facts["seconds"]
    while time.process_time() < until:
        pass
    return resource.getrlimit(resource.RLIMIT_CPU)[0], os.getpid()
