"""A job: work that falls into chunks, each of which can be done by anyone, anywhere, and more than once.

    Task(name, identity, order, begin)             what a worker has to know
    Job(name, identity, order, begin, chunks)      a task whose chunks are listed once, where it is started

`begin(order)` opens what a worker needs, once for each worker; what it gives is called with one chunk after the other
and returns the chunk's rows. `chunks(order)` lists the work. Both are functions at the top of a module, and the order
can be pickled: a task goes to other processes and other machines as it is.

What may surprise: rows are lines of JSON, and the same chunk must always give the same ones. That is what makes results
the same whoever does the work, in whatever order, however often somebody is killed.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from circumspect.errors import CircumspectError

log = logging.getLogger(__name__)

OrderType = TypeVar("OrderType")


@dataclass(frozen=True, slots=True)
class Chunk:
    number: int
    label: str
    """What it is called when a person has to be told."""
    size: int
    """How much there is in it, in whatever the job counts."""
    detail: Any
    """What the work needs to know. Can be pickled; JSON where a ledger keeps it."""


ChunkFunction = Callable[[Chunk], Sequence[bytes]]


@dataclass(frozen=True)
class BatchTask(Generic[OrderType]):
    name: str
    identity: str
    """A digest of everything that the rows depend on: the same for a run that goes on, another for any other."""
    order: OrderType
    begin: Callable[[OrderType], AbstractContextManager[ChunkFunction]]


@dataclass(frozen=True)
class BatchJob(BatchTask[OrderType]):
    chunks: Callable[[OrderType], Sequence[Chunk]]


@dataclass(frozen=True, slots=True)
class ChunkDone:
    chunk: Chunk
    rows: bytes
    """Packed: they are, where they were made, and stay so until somebody reads them."""


@dataclass(frozen=True, slots=True)
class ChunkFailed:
    """A chunk that nobody could do."""

    chunk: Chunk
    problem: str


ChunkResult = ChunkDone | ChunkFailed
Engine = Callable[[BatchTask[Any], Iterable[Chunk]], Iterator[ChunkResult]]
"""Does all of the chunks, in any order. A `CircumspectError` that it raises ends the run, which can be resumed."""


class Incomplete(CircumspectError):
    """Some chunks could not be done. The others are, and their rows have come out."""

    code = "incomplete"

    def __init__(self, failed: Sequence[ChunkFailed], fix: str = "") -> None:
        many = "A part" if len(failed) == 1 else f"{len(failed):,} parts"
        super().__init__(
            f"{many} of the work could not be done, and the result is without {'it' if len(failed) == 1 else 'them'}.",
            fix=fix or "The same command tries only what is missing again, if it is given --run FILE.",
        )
        self.findings = tuple(f"{one.chunk.label}: {one.problem}" for one in failed[:20])


ATTEMPTS = 3
"""How often a chunk is begun before it is given up."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a chunk gave no rows. As a value, since not every exception survives the way to another process."""

    problem: str
    fix: str = ""
    stops: bool = False
    """It is not about the chunk: a setting or the database is wrong, and every other chunk would say the same."""
    final: bool = False
    """It was tried again already."""

    def check(self) -> None:
        if self.stops:
            raise CircumspectError(self.problem, fix=self.fix)


class Worker:
    """One that does chunk after chunk. What it needs is opened with the first one."""

    def __init__(self, task: BatchTask[Any]) -> None:
        self.task = task
        self._opened = ExitStack()
        self._work: ChunkFunction | None = None

    def __call__(self, chunk: Chunk) -> bytes | Trouble:
        try:
            if self._work is None:
                self._work = self._opened.enter_context(self.task.begin(self.task.order))
            return pack_rows(self._work(chunk))
        except CircumspectError as problem:
            return Trouble(problem.problem, problem.fix, stops=True)
        except Exception as problem:
            log.warning("%s failed", chunk.label, exc_info=True)
            return Trouble(f"{type(problem).__name__}: {problem}")

    def close(self) -> None:
        self._opened.close()


_at_work: dict[str, Worker] = {}


def worker_of(identity: str, task: Callable[[], BatchTask[Any]]) -> Worker:
    """This process's worker for the task. What the one before needed is closed when another begins."""
    if identity not in _at_work:
        close_worker()
        _at_work[identity] = Worker(task())
    return _at_work[identity]


def close_worker() -> None:
    while _at_work:
        _at_work.popitem()[1].close()


def pack_rows(rows: Sequence[bytes]) -> bytes:
    # A row with a line break in it would be two when it is read again.
    if any(b"\n" in row for row in rows):
        raise ValueError("a row is one line")
    return zlib.compress(b"\n".join(rows), 1) if rows else b""


def unpack_rows(rows: bytes) -> Sequence[bytes]:
    return zlib.decompress(rows).split(b"\n") if rows else ()
