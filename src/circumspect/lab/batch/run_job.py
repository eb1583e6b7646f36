"""run: a job, an engine and a ledger -> the job's rows, in the order of its chunks.

    for row in run(job, partial(processes, count=4), ledger): ...

A chunk's rows come as soon as every chunk before it is done; those that a ledger has from an earlier run come from
there. So what comes out is the same whoever did the work, and however often it was stopped in between.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from circumspect.lab.batch.job import BatchJob, ChunkDone, ChunkFailed, ChunkResult, Engine, Incomplete, unpack_rows
from circumspect.lab.batch.job_ledger import BatchLedger, MemoryLedger


@dataclass(frozen=True, slots=True)
class ChunkProgress:
    """How far a run is, in chunks and in what the job counts. `kept` was there before."""

    chunks: int
    size: int
    kept: int
    kept_size: int
    made: int = 0
    made_size: int = 0


def run(
    job: BatchJob[Any],
    engine: Engine,
    ledger: BatchLedger | None = None,
    watch: Callable[[ChunkProgress], None] | None = None,
) -> Generator[bytes, None, None]:
    """All rows; `Incomplete` after the last one if some are missing."""
    kept = ledger or MemoryLedger()
    chunks, left = kept.begin(job), kept.list_remaining()
    missing = sum(one.size for one in left)
    size = sum(one.size for one in chunks)
    progress = ChunkProgress(len(chunks), size, len(chunks) - len(left), size - missing)
    failed: dict[int, ChunkFailed] = {}
    following = 0
    if watch:
        watch(progress)
    # With nothing left nobody is asked: a cluster need not even be there.
    outcomes: Any = engine(job, left) if left else _nothing()
    with closing(outcomes):
        for outcome in _commit_each(outcomes, kept):
            if isinstance(outcome, ChunkFailed):
                failed[outcome.chunk.number] = outcome
            made, made_size = progress.made + 1, progress.made_size + outcome.chunk.size
            progress = replace(progress, made=made, made_size=made_size)
            if watch:
                watch(progress)
            while following < len(chunks):
                chunk = chunks[following]
                rows = b"" if chunk.number in failed else kept.rows(chunk)
                if rows is None:
                    break
                yield from unpack_rows(rows)
                following += 1
    for chunk in chunks[following:]:
        yield from unpack_rows(kept.rows(chunk) or b"")
    if failed:
        raise Incomplete([failed[number] for number in sorted(failed)])


def _nothing() -> Iterator[ChunkResult]:
    yield from ()


def _commit_each(outcomes: Iterator[ChunkResult], kept: BatchLedger) -> Iterator[ChunkResult]:
    for outcome in outcomes:
        if isinstance(outcome, ChunkDone):
            kept.commit(outcome.chunk, outcome.rows)
        yield outcome
