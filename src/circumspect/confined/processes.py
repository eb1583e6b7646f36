"""run_confined: the name of a function and a stranger's bytes in, what the function returned out, as JSON.

    run_confined("circumspect.knowledge.read_document:parse", data, {"name": "terms.pdf"}, what="terms.pdf")

A parser that a file leads astray takes memory until none is left, computes for ever, hangs, or dies; in a thread nobody
could stop it. So it runs in a process with limits of its own, which the operating system holds and a timer backs. A
process that went astray is killed and the next reading gets a new one; one that did its work is kept, so that reading
costs about a millisecond more than it would here. What comes back is JSON of bounded length and never an object: the
process has read hostile input, and nothing it says may run.

The process knows none of our secrets: it has no environment, and on Linux no network and nothing it could write to.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from circumspect.confined import LENGTH, OUT_OF_MEMORY
from circumspect.errors import ConfigError

log = logging.getLogger(__name__)

KEPT = 2
"""Processes that wait for the next reading, for each kind of limits."""
MOST_ANSWER = 64_000_000
START_SECONDS = 60.0
_HANDED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
_START = "import sys; sys.path[:] = sys.argv[3:]; from circumspect.confined.child import serve; serve()"
_FAILED = "makes its reader fail"


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What reading one thing may take. It may wait twice as long as it may compute, for the sake of busy machines."""

    seconds: float = 60
    megabytes: int = 512


def run_confined(
    task: str,
    data: bytes,
    facts: Mapping[str, Any],
    *,
    what: str,
    limits: ReadingLimits | None = None,
    refusal: type[ConfigError] = ConfigError,
    fix: str = "Check the file, split it into parts, or save it as plain text.",
) -> Any:
    """What `task(data, facts)` returns in a process of its own. Raises `refusal` when it refuses, fails or takes too
    much; `what` is the thing's name in that message, and `fix` what to do about it."""
    limits = limits or ReadingLimits()
    child = _take(limits)
    try:
        answer = child.ask(json.dumps({"task": task, "facts": facts}).encode(), data)
    except _Broken as broken:
        reason = child.explain() or str(broken)
        log.warning("a reading was broken off", extra={"problem": reason})
        raise refusal(f"{what} {reason}.", fix=fix) from None
    except BaseException:
        child.end()
        raise
    if answer.get("last"):
        child.end()
    else:
        _give_back(child)
    if failed := answer.get("failed"):
        log.error("a reader failed", extra={"problem": f"{task}: {failed}"})
        raise refusal(f"{what} {_FAILED}.", fix=fix)
    if (said := answer.get("refused")) is not None:
        raise refusal(str(said["problem"]), fix=str(said["fix"]))
    return answer.get("value")


class _Broken(Exception):
    """The process gave no answer, or none that is taken."""


class _Child:
    def __init__(self, limits: ReadingLimits) -> None:
        self.limits = limits
        self._overdue = False
        path = [os.path.abspath(one) for one in sys.path]
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own module
            [sys.executable, "-I", "-B", "-X", "utf8", "-c", _START, str(limits.seconds), str(limits.megabytes), *path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=os.sep,
            env={name: os.environ[name] for name in _HANDED_ON if name in os.environ},
            process_group=0 if os.name == "posix" else None,
        )
        _living.add(self)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def start(self) -> None:
        """Until the process is there; what it has to import is not the reading's time."""
        with self._until(START_SECONDS):
            ready = self._read(1)
        if ready != b"+":
            self.end()
            raise ConfigError("The process that reads what is sent does not start.", fix="Look at memory and limits.")

    def ask(self, head: bytes, data: bytes) -> dict[str, Any]:
        with self._until(2 * self.limits.seconds):
            stdin = self._process.stdin
            assert stdin is not None
            try:
                for part in (head, data):
                    stdin.write(LENGTH.pack(len(part)))
                    stdin.write(part)
                stdin.flush()
            except OSError:
                raise _Broken(_FAILED) from None
            (length,) = LENGTH.unpack(self._read(LENGTH.size))
            if length > MOST_ANSWER:
                raise _Broken("comes to more than can be taken in")
            said = self._read(length)
        if self._overdue:  # the answer came with the last breath
            raise _Broken(self._describe_time())
        try:
            answer = orjson.loads(said)
        except orjson.JSONDecodeError:
            answer = None
        if not isinstance(answer, dict):
            raise _Broken(_FAILED)
        return answer

    def explain(self) -> str:
        """Why it gave no answer, by how it ended; empty where that says nothing. Killed, if it had not ended."""
        # An answer that breaks off means that the process is about to be gone.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        code = self._process.poll()
        self.end()
        if self._overdue or code == -getattr(signal, "SIGXCPU", 24):
            return self._describe_time()
        if code in (
            OUT_OF_MEMORY,
            -getattr(signal, "SIGKILL", 9),
        ):  # the system kills when there is no memory left anywhere
            return f"needs more than {self.limits.megabytes} MB of memory to be read"
        return ""

    def end(self) -> None:
        _living.discard(self)
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was not sent yet has nobody to go to
                pipe.close()  # type: ignore[union-attr]
        self._process.wait()

    def _describe_time(self) -> str:
        return f"needs more than {self.limits.seconds:g} s to be read"

    def _read(self, length: int) -> bytes:
        assert self._process.stdout is not None
        found = self._process.stdout.read(length)
        if len(found) < length:
            raise _Broken(_FAILED)
        return found

    def _until(self, seconds: float) -> _Deadline:
        return _Deadline(self, seconds)

    def kill_overdue(self) -> None:
        self._overdue = True
        self._process.kill()


class _Deadline:
    """Around talk with a process: reading from one that was killed ends at once."""

    def __init__(self, child: _Child, seconds: float) -> None:
        self._timer = threading.Timer(seconds, child.kill_overdue)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()


_lock = threading.Lock()
_idle: dict[ReadingLimits, list[_Child]] = {}
_living: set[_Child] = set()


def _take(limits: ReadingLimits) -> _Child:
    while True:
        with _lock:
            waiting = _idle.get(limits)
            child = waiting.pop() if waiting else None
        if child is None:
            child = _Child(limits)
            child.start()
            return child
        if child.is_alive:
            return child
        child.end()


def _give_back(child: _Child) -> None:
    with _lock:
        waiting = _idle.setdefault(child.limits, [])
        if kept := len(waiting) < KEPT:
            waiting.append(child)
    if not kept:
        child.end()


def _forget() -> None:
    """After a fork: the processes are the parent's, and two that talk to one would mix up their answers."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()
    _living.clear()


@atexit.register
def _end_all() -> None:
    for child in list(_living):
        child.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
