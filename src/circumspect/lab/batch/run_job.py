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

from circumspect.lab.batch.job import Done, Engine, Failed, Incomplete, Job, Outcome, unpacked
from circumspect.lab.batch.job_ledger import Kept, Memory


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, in chunks and in what the job counts. `kept` was there before."""

    chunks: int
    size: int
    kept: int
    kept_size: int
    made: int = 0
    made_size: int = 0


def run(
    job: Job[Any], engine: Engine, ledger: Kept | None = None, watch: Callable[[Progress], None] | None = None
) -> Generator[bytes, None, None]:
    """All rows; `Incomplete` after the last one if some are missing."""
    kept = ledger or Memory()
    chunks, left = kept.begin(job), kept.left()
    missing = sum(one.size for one in left)
    size = sum(one.size for one in chunks)
    progress = Progress(len(chunks), size, len(chunks) - len(left), size - missing)
    failed: dict[int, Failed] = {}
    following = 0
    if watch:
        watch(progress)
    # With nothing left nobody is asked: a cluster need not even be there.
    outcomes: Any = engine(job, left) if left else _nothing()
    with closing(outcomes):
        for outcome in _committed(outcomes, kept):
            if isinstance(outcome, Failed):
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
                yield from unpacked(rows)
                following += 1
    for chunk in chunks[following:]:
        yield from unpacked(kept.rows(chunk) or b"")
    if failed:
        raise Incomplete([failed[number] for number in sorted(failed)])


def _nothing() -> Iterator[Outcome]:
    yield from ()


def _committed(outcomes: Iterator[Outcome], kept: Kept) -> Iterator[Outcome]:
    for outcome in outcomes:
        if isinstance(outcome, Done):
            kept.commit(outcome.chunk, outcome.rows)
        yield outcome
