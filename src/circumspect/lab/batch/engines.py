"""Engines: who does the chunks of a job. Here: this process, or others of this machine. A cluster: `ray_engine.py`.

Each takes a job and the chunks that are left, and yields what came of them as it comes. None of them writes anything:
whoever started the run commits. A chunk that fails, or takes its worker with it, is begun `ATTEMPTS` times and then
named; the others go on.

What may surprise: when a worker dies, everything that was under way is done again one chunk at a time, since nobody
knows which of them it was. One that dies alone is guilty.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from typing import Any

from circumspect.lab.batch.job import ATTEMPTS, Chunk, Done, Failed, Job, Outcome, Trouble, Worker


def serial(job: Job[Any], chunks: Iterable[Chunk]) -> Iterator[Outcome]:
    """In this process, one after the other."""
    worker = Worker(job)
    try:
        for chunk in chunks:
            yield _tried(worker, chunk)
    finally:
        worker.close()


def _tried(worker: Worker, chunk: Chunk) -> Outcome:
    problem = ""
    for _ in range(ATTEMPTS):
        answer = worker(chunk)
        if not isinstance(answer, Trouble):
            return Done(chunk, answer)
        answer.check()
        problem = answer.problem
    return Failed(chunk, problem)


# --- processes ------------------------------------------------------------------------------------------------------


def processes(job: Job[Any], chunks: Iterable[Chunk], count: int | None = None) -> Iterator[Outcome]:
    """In so many other processes; as many as there are processors unless told."""
    count = count or os.cpu_count() or 1
    ahead, suspects, deaths = iter(chunks), deque[Chunk](), Counter[int]()
    while True:
        with _pool(job, 1 if suspects else count) as pool:
            if not suspects:
                # One more each than they can do, so that none waits for this process to write something down.
                suspects.extend((yield from _through(pool, ahead, 2 * count)))
            else:
                for guilty in (yield from _through(pool, _taken(suspects), 1)):
                    deaths[guilty.number] += 1
                    if deaths[guilty.number] < ATTEMPTS:
                        suspects.appendleft(guilty)
                    else:
                        yield Failed(guilty, "the process that worked on it was killed, or died, each time")
        if not suspects:
            first = next(ahead, None)
            if first is None:
                return
            ahead = _with(first, ahead)


def _with(first: Chunk, rest: Iterator[Chunk]) -> Iterator[Chunk]:
    yield first
    yield from rest


def _taken(chunks: deque[Chunk]) -> Iterator[Chunk]:
    while chunks:
        yield chunks.popleft()


def _through(
    pool: ProcessPoolExecutor, chunks: Iterator[Chunk], width: int
) -> Generator[Outcome, None, Sequence[Chunk]]:
    """What comes of the chunks, at most so many under way. Returns those that were when a worker died."""
    running: dict[Future[bytes | Trouble], Chunk] = {}
    lost: list[Chunk] = []
    failed: Counter[int] = Counter()

    def submit(chunk: Chunk) -> None:
        try:
            running[pool.submit(_work, chunk)] = chunk
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
                lost.append(chunk)
                continue
            if isinstance(answer, Trouble):
                answer.check()
                failed[chunk.number] += 1
                if failed[chunk.number] < ATTEMPTS:
                    submit(chunk)
                    continue
                yield Failed(chunk, answer.problem)
            else:
                yield Done(chunk, answer)
            if not lost:
                for following in islice(chunks, 1):
                    submit(following)
    return lost


@contextmanager
def _pool(job: Job[Any], count: int) -> Iterator[ProcessPoolExecutor]:
    """Started anew rather than forked: a fork would take threads' locks and open connections along."""
    alive, held = Pipe(duplex=False)
    pool = ProcessPoolExecutor(count, get_context("spawn"), initializer=_start, initargs=(job, alive))
    finished = False
    try:
        yield pool
        finished = True
    finally:
        if not finished:
            # Stopped halfway: nobody waits for what is under way, and it will be done again.
            held.close()
        pool.shutdown(wait=True, cancel_futures=True)
        held.close()
        alive.close()


_worker: list[Worker] = []


def _start(job: Job[Any], alive: Connection) -> None:
    # Ctrl-C reaches everyone in the terminal; it is the first process that decides what becomes of the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
    _worker[:] = [Worker(job)]
    atexit.register(_worker[0].close)


def _end_with(alive: Connection) -> None:
    """The other end is closed by whoever started this process, or by that one's death."""
    alive.poll(None)
    os._exit(1)


def _work(chunk: Chunk) -> bytes | Trouble:
    return _worker[0](chunk)
