"""Engines: who does the chunks of a task. Here: this process, or others of this machine. A cluster: `ray_engine.py`.

Each takes a task and the chunks that are left, and yields what came of them as it comes. None of them writes anything:
whoever started the run commits. A chunk that fails, or takes its worker with it, is begun `ATTEMPTS` times and then
named; the others go on.

What may surprise: when a worker dies, everything that was under way is done again one chunk at a time, since nobody
knows which of them it was. One that dies alone is guilty.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import threading
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from typing import Any

from circumspect.lab.batch.job import (
    ATTEMPTS,
    BatchTask,
    Chunk,
    ChunkDone,
    ChunkFailed,
    ChunkResult,
    Trouble,
    Worker,
    close_worker,
    worker_of,
)


def serial(task: BatchTask[Any], chunks: Iterable[Chunk]) -> Iterator[ChunkResult]:
    """In this process, one after the other."""
    worker = Worker(task)
    try:
        for chunk in chunks:
            yield _try_chunk(worker, chunk)
    finally:
        worker.close()


def _try_chunk(worker: Worker, chunk: Chunk) -> ChunkResult:
    problem = ""
    for _ in range(ATTEMPTS):
        answer = worker(chunk)
        if not isinstance(answer, Trouble):
            return ChunkDone(chunk, answer)
        answer.check()
        problem = answer.problem
    return ChunkFailed(chunk, problem)


# --- processes ------------------------------------------------------------------------------------------------------


def processes(task: BatchTask[Any], chunks: Iterable[Chunk], count: int | None = None) -> Iterator[ChunkResult]:
    """In so many other processes; as many as there are processors unless told."""
    with closing(Processes(count)) as engine:
        yield from engine(task, chunks)


class Processes:
    """An engine whose processes stay for the next task."""

    def __init__(self, count: int | None = None) -> None:
        self._count = count or os.cpu_count() or 1
        self._pool: _Pool | None = None

    def __call__(self, task: BatchTask[Any], chunks: Iterable[Chunk]) -> Iterator[ChunkResult]:
        ended = False
        try:
            yield from self._all(_Sent(task.identity, pickle.dumps(task)), iter(chunks))
            ended = True
        finally:
            if not ended:
                # Stopped halfway: nobody waits for what is under way, and it will be done again.
                self._leave(abandon=True)

    def close(self) -> None:
        self._leave()

    def _all(self, task: _Sent, ahead: Iterator[Chunk]) -> Iterator[ChunkResult]:
        suspects, deaths = deque[Chunk](), Counter[int]()
        while True:
            if not suspects:
                pool = self._of(self._count)
                # One more each than they can do, so that none waits for this process to write something down.
                suspects.extend((yield from _run_chunks(pool, task, ahead, 2 * self._count)))
            else:
                for guilty in (yield from _run_chunks(self._of(1), task, _drain(suspects), 1)):
                    deaths[guilty.number] += 1
                    if deaths[guilty.number] < ATTEMPTS:
                        suspects.appendleft(guilty)
                    else:
                        yield ChunkFailed(guilty, "the process that worked on it was killed, or died, each time")
            if not suspects:
                first = next(ahead, None)
                if first is None:
                    return
                ahead = _with(first, ahead)

    def _of(self, width: int) -> _Pool:
        if self._pool is None or self._pool.width != width or self._pool.broken:
            self._leave()
            self._pool = _Pool(width)
        return self._pool

    def _leave(self, *, abandon: bool = False) -> None:
        if self._pool is not None:
            self._pool.close(abandon=abandon)
            self._pool = None


@dataclass(frozen=True, slots=True)
class _Sent:
    """A task on its way to processes: read there once, by those that do not know it yet."""

    identity: str
    packed: bytes


def _with(first: Chunk, rest: Iterator[Chunk]) -> Iterator[Chunk]:
    yield first
    yield from rest


def _drain(chunks: deque[Chunk]) -> Iterator[Chunk]:
    while chunks:
        yield chunks.popleft()


def _run_chunks(
    pool: _Pool, task: _Sent, chunks: Iterator[Chunk], width: int
) -> Generator[ChunkResult, None, Sequence[Chunk]]:
    """What comes of the chunks, at most so many under way. Returns those that were when a worker died."""
    running: dict[Future[bytes | Trouble], Chunk] = {}
    lost: list[Chunk] = []
    failed: Counter[int] = Counter()

    def submit(chunk: Chunk) -> None:
        try:
            running[pool.submit(task, chunk)] = chunk
        except BrokenProcessPool:
            lost.append(chunk)

    for chunk in islice(chunks, width):
        submit(chunk)
    while running:
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            chunk = running.pop(future)
            try:
                answer = future.result()
            except BrokenProcessPool:
                pool.broken = True
                lost.append(chunk)
                continue
            if isinstance(answer, Trouble):
                answer.check()
                failed[chunk.number] += 1
                if failed[chunk.number] < ATTEMPTS:
                    submit(chunk)
                    continue
                yield ChunkFailed(chunk, answer.problem)
            else:
                yield ChunkDone(chunk, answer)
            if not lost:
                for following in islice(chunks, 1):
                    submit(following)
    return lost


_PATIENCE = 10.0
"""So many seconds processes with nothing to do are waited for."""


class _Pool:
    """Started anew rather than forked: a fork would take threads' locks and open connections along."""

    def __init__(self, width: int) -> None:
        self.width, self.broken = width, False
        self._alive, self._held = Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(width, get_context("spawn"), initializer=_start, initargs=(self._alive,))

    def submit(self, task: _Sent, chunk: Chunk) -> Future[bytes | Trouble]:
        try:
            return self._pool.submit(_work, task, chunk)
        except BrokenProcessPool:
            self.broken = True
            raise

    def close(self, *, abandon: bool = False) -> None:
        """One that was killed while it waited for work keeps the others from ever hearing that there is no more."""
        patience = threading.Timer(0.0 if abandon else _PATIENCE, self._held.close)
        patience.start()
        try:
            self._pool.shutdown(wait=True, cancel_futures=True)
        finally:
            patience.cancel()
            patience.join()
            self._held.close()
            self._alive.close()


def _start(alive: Connection) -> None:
    # Ctrl-C reaches everyone in the terminal; it is the first process that decides what becomes of the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
    atexit.register(close_worker)


def _end_with(alive: Connection) -> None:
    """The other end is closed by whoever started this process, or by that one's death."""
    alive.poll(None)
    os._exit(1)


def _work(task: _Sent, chunk: Chunk) -> bytes | Trouble:
    return worker_of(task.identity, lambda: pickle.loads(task.packed))(chunk)  # noqa: S301
