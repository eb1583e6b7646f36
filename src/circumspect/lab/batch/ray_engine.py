"""Chunks as tasks of a Ray cluster that is there already. `ray` is an extra, and imported only here.

The task goes to the nodes with its order, and our code with it; what our code imports must be installed there. Ray
retries a task whose worker or node died; the results come back to this process, which writes them down.

Who may use the cluster is Ray's business: the token is taken from where Ray looks for it (`RAY_AUTH_TOKEN`,
`RAY_AUTH_TOKEN_PATH`, `~/.ray/auth_token`), and nothing here changes that.
"""

from __future__ import annotations

import logging
import os
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePath
from types import ModuleType
from typing import Any

import circumspect
from circumspect.errors import ConfigError
from circumspect.lab.batch.job import (
    ATTEMPTS,
    BatchTask,
    Chunk,
    ChunkDone,
    ChunkFailed,
    ChunkResult,
    Trouble,
    worker_of,
)

CONNECT_SECONDS = 15
_NOT_NEEDED = ("console", "server", "__pycache__")
"""Folders of ours that no job imports."""


def on_ray(
    task: BatchTask[Any], chunks: Iterable[Chunk], address: str | None = None, most: int | None = None
) -> Iterator[ChunkResult]:
    """On the cluster at this address (without one, at RAY_ADDRESS or on this machine), at most so many at a time."""
    with join_cluster(address) as ray:
        remote = ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(_work)
        everything, ahead = ray.put(task), iter(chunks)
        running: dict[Any, Chunk] = {}
        failed: Counter[int] = Counter()

        def submit(chunk: Chunk) -> None:
            running[remote.options(name=f"{task.name}: {chunk.label}").remote(everything, chunk)] = chunk

        while True:
            for chunk in islice(ahead, max(0, (most or _places(ray)) - len(running))):
                submit(chunk)
            if not running:
                return
            [ready], _ = ray.wait(list(running), num_returns=1, timeout=None)
            chunk = running.pop(ready)
            answer = _answer(ray, ready)
            if not isinstance(answer, Trouble):
                yield ChunkDone(chunk, answer)
                continue
            answer.check()
            failed[chunk.number] += 1
            if answer.final or failed[chunk.number] >= ATTEMPTS:
                yield ChunkFailed(chunk, answer.problem)
            else:
                submit(chunk)


def _answer(ray: ModuleType, result: Any) -> bytes | Trouble:
    """What a task says. What Ray says in its place is final: it has tried again itself."""
    try:
        answer: bytes | Trouble = ray.get(result)
    except ray.exceptions.RayTaskError as problem:
        return Trouble(str(problem).strip().splitlines()[-1], final=True)
    except ray.exceptions.RuntimeEnvSetupError as problem:
        raise ConfigError(
            "The nodes cannot get ready for our code.", fix=(str(problem).strip().splitlines() or [""])[-1]
        ) from problem
    except ray.exceptions.RayError as problem:
        return Trouble(f"it took its worker with it each time ({type(problem).__name__})", final=True)
    return answer


def _places(ray: ModuleType) -> int:
    """Twice what the cluster can do at once, as it is now: nodes come and go."""
    return max(2, 2 * int(ray.cluster_resources().get("CPU", 1)))


def _work(task: BatchTask[Any], chunk: Chunk) -> bytes | Trouble:
    return worker_of(task.identity, lambda: task)(chunk)


# --- the cluster ----------------------------------------------------------------------------------------------------


def _import_ray() -> ModuleType:
    try:
        import ray
    except ModuleNotFoundError as problem:
        raise ConfigError("Ray is not installed.", fix="pip install 'circumspect[ray]'") from problem
    module: ModuleType = ray
    return module


@contextmanager
def join_cluster(address: str | None = None) -> Iterator[ModuleType]:
    """This process as a member of the cluster; as it is, if it is one already."""
    ray = _import_ray()
    if ray.is_initialized():
        yield ray
        return
    _reach(address)
    with _silent(ray):
        _join(ray, address)
        try:
            yield ray
        finally:
            ray.shutdown()


def _join(ray: ModuleType, address: str | None) -> None:
    here = Path(circumspect.__file__).parent
    try:
        ray.init(
            address=address or "auto",
            runtime_env={"py_modules": [str(here)], "excludes": list(_NOT_NEEDED)},
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError) as problem:
        # A token that does not fit is only one of the names that Ray has for this.
        first = (str(problem).strip().splitlines() or ["no reason given"])[0].rstrip(".")
        raise ConfigError(f"The Ray cluster cannot be joined: {first}.", fix=_JOIN) from problem


@contextmanager
def _silent(ray: ModuleType) -> Iterator[None]:
    """Ray prints its word about every worker that died to standard output, where results go, whatever `log_to_driver`
    says. Its own debugger has this switch for it; there is no public one."""
    told = ray._private.worker
    before, told._worker_logs_enabled = told._worker_logs_enabled, False
    try:
        yield
    finally:
        told._worker_logs_enabled = before


_JOIN = (
    "Check that a head node of the same version of Ray is at --address, and that this process has the cluster's token: "
    "in RAY_AUTH_TOKEN, in the file that RAY_AUTH_TOKEN_PATH names, or in ~/.ray/auth_token."
)


_NO_NODE = (
    "Run the command on one of its nodes, make this machine one (`ray start --address=HOST:PORT`), or use the door "
    "that a head node opens to others with `--ray-client-server-port=10001`: --address ray://HOST:10001."
)


def _reach(address: str | None) -> None:
    """Ray itself tries for minutes, and says so at length; and where it cannot work at all, it ends the process."""
    given = address or os.environ.get("RAY_ADDRESS", "")
    host, _, port = given.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except OSError as problem:
        raise ConfigError(
            f"Nothing answers at {host}:{port}: {problem.strerror or problem}.",
            fix="Check --address: the head node's host and port, as `ray start --head` shows them.",
        ) from None
    if not given.startswith("ray://") and not is_a_node():
        raise ConfigError(f"This machine is no node of the Ray cluster at {host}:{port}.", fix=_NO_NODE)


def is_a_node(processes: Path = Path("/proc")) -> bool:
    """Whether a node of some cluster runs on this machine; yes, where one cannot look."""
    commands = [_command(path) for path in processes.glob("[0-9]*/cmdline")]
    return not commands or any(PurePath(one).name == "raylet" for one in commands)


def _command(path: Path) -> str:
    try:
        return path.read_bytes().split(b"\0", 1)[0].decode("utf-8", "replace")
    except OSError:
        return ""  # it has ended, or is none of our business
