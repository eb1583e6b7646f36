"""The process that reads: requests on standard input, one answer each on standard output, until the input ends.

It takes its limits on before it sees a byte of what it reads. Memory is limited for good, computing anew for each
request. It offers to be replaced once it has grown, because an allocator gives little of that back.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
import time
from typing import Any, BinaryIO

import orjson

from circumspect.confined import LENGTH, OUT_OF_MEMORY
from circumspect.confined.seal import seal_process
from circumspect.errors import ConfigError
from circumspect.extras import explain_missing

if sys.platform != "win32":
    import resource

GROWTH = 128_000_000
REQUESTS = 500
_OPEN_FILES = 32


def serve() -> None:
    seconds, megabytes = float(sys.argv[1]), int(sys.argv[2])
    # What a library prints must not get among the answers.
    given, said = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    limit_process(megabytes)
    seal_process()
    said.write(b"+")
    said.flush()
    before = _resident()
    for number in range(1, REQUESTS + 1):
        limit_computing(seconds)
        head, data = _receive(given), _receive(given)
        if head is None or data is None:
            return
        try:
            answer = _answer(json.loads(head), data)
            if number == REQUESTS or _resident() - before > GROWTH:
                answer["last"] = True
            text = orjson.dumps(answer)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        said.write(LENGTH.pack(len(text)))
        said.write(text)
        said.flush()


def limit_process(megabytes: int) -> None:
    """As far as the system knows how."""
    if sys.platform == "win32":
        return
    most = _mapped() + megabytes * 1_000_000
    for which, limit in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_AS, most),
    ):
        _, hard = resource.getrlimit(which)
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        try:
            resource.setrlimit(which, (limit, limit))
        except (OSError, ValueError):
            continue


def limit_computing(seconds: float) -> None:
    """From now on; the system counts whole seconds of the process's life."""
    if sys.platform == "win32":
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _answer(request: dict[str, Any], data: bytes) -> dict[str, Any]:
    module, _, name = request["task"].partition(":")
    try:
        return {"value": getattr(importlib.import_module(module), name)(data, request["facts"])}
    except Exception as error:
        if _is_from_memory(error):
            raise MemoryError from None
        told = explain_missing(error) if isinstance(error, ModuleNotFoundError) else error
        if isinstance(told, ConfigError):
            return {"refused": {"problem": told.problem, "fix": told.fix}}
        return {"failed": type(error).__name__, "last": True}


def _is_from_memory(error: BaseException | None) -> bool:
    """Libraries that meet a failed allocation raise whatever they raise for a damaged file, and carry the cause."""
    seen: list[BaseException] = []
    left = [error]
    while left:
        one = left.pop()
        if isinstance(one, MemoryError):
            return True
        if one is not None and one not in seen:
            seen.append(one)
            left += [one.__cause__, one.__context__, *(each for each in one.args if isinstance(each, BaseException))]
    return False


def _receive(stream: BinaryIO) -> bytes | None:
    length = stream.read(LENGTH.size)
    return stream.read(LENGTH.unpack(length)[0]) if len(length) == LENGTH.size else None


def _mapped() -> int:
    return _pages(0)


def _resident() -> int:
    return _pages(1)


def _pages(column: int) -> int:
    """Bytes by the system's own account; 0 where it keeps none that can be read."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[column]) * resource.getpagesize()
    except (OSError, ValueError, NameError):
        return 0
