"""Threads for plain functions: work in, a future out, and at most so much of one owner's at a time.

A thread that hangs cannot be ended. So every tenant has threads of its own, and one whose tools hang waits for itself
alone; work that finds none free can be taken back for as long as it has not begun; and all of them are daemons, which
keep no process from ending. `use_threads` says whose they are from here on, which also goes for what a tool hands to
threads itself (`asyncio.to_thread`, names that are looked up) where `LoopThreads` serves the event loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from threading import Lock, Thread
from typing import Any, ParamSpec, TypeVar

MOST = 16
"""Calls at a time, of each tenant in each process."""
MOST_OF_OURS = 32
"""What the server itself may have in threads at a time."""

P = ParamSpec("P")
T = TypeVar("T")
SubmittedWork = tuple["Future[Any]", Callable[[], Any]]


class DaemonThreads:
    """A thread is started for work and ends when none waits, so that a thousand idle tenants have none."""

    def __init__(self, most: int = MOST) -> None:
        self._most, self._busy, self._lock = most, 0, Lock()
        self._waiting: deque[SubmittedWork] = deque()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """The future can be cancelled until the work begins; where a thread is free it has begun when this returns."""
        future: Future[T] = Future()
        with self._lock:
            if self._busy >= self._most:
                # What was taken back meanwhile would otherwise be kept for as long as the threads hang.
                self._waiting = deque(one for one in self._waiting if not one[0].cancelled())
                self._waiting.append((future, work))
                return future
            self._busy += 1
        future.set_running_or_notify_cancel()
        try:
            Thread(target=self._run, args=((future, work),), name="circumspect-call", daemon=True).start()
        except BaseException:
            with self._lock:
                self._busy -= 1
            raise
        return future

    def _run(self, job: SubmittedWork | None) -> None:
        while job is not None:
            future, work = job
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
            job = self._take_next()

    def _take_next(self) -> SubmittedWork | None:
        with self._lock:
            while self._waiting:
                job = self._waiting.popleft()
                if job[0].set_running_or_notify_cancel():
                    return job
            self._busy -= 1
            return None


def carry_out(function: Callable[[], T]) -> T:
    """A StopIteration cannot be carried out of a thread by a future, and would leave its caller waiting for ever."""
    try:
        return function()
    except StopIteration as error:
        raise RuntimeError("StopIteration") from error


_in_use: ContextVar[DaemonThreads | None] = ContextVar("threads_in_use", default=None)
_anybodys = DaemonThreads()


def find_threads() -> DaemonThreads:
    """Those in use here; where nobody said whose, those of this process."""
    return _in_use.get() or _anybodys


@contextmanager
def use_threads(threads: DaemonThreads) -> Iterator[None]:
    """Inside, functions of tools run in these; tasks that are started inside use them too."""
    token = _in_use.set(threads)
    try:
        yield
    finally:
        _in_use.reset(token)


class LoopThreads(ThreadPoolExecutor):
    """What an event loop runs in threads: the work of a tenant's tools in the tenant's threads, all else in ours.

    A pool only in name, because an event loop takes nothing else for its default.
    """

    def __init__(self) -> None:
        super().__init__(1)
        self._ours = DaemonThreads(MOST_OF_OURS)

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return (_in_use.get() or self._ours).submit(partial(work, *args, **kwargs))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits for nobody: whoever needs a result has waited for it."""
