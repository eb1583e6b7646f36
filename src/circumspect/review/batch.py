"""run_batch: cases × criteria -> results in a database, on one machine. Stop it any way you like and run it again.

A result's row is its own done marker, so results and markers cannot disagree; rows are committed in groups, and a
resume evaluates what has no row. The same documents, criteria, controller, model and prompt make the same batch; a case
whose text changed is evaluated anew. Work that waits for a model runs as tasks, work that computes in processes.

The one choice that may surprise: the budget counts everything that was ever spent on this batch, so that running it
again does not spend it again. Criteria in flight when it ends are finished: it is exceeded by those at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import connection as pipes
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

from circumspect.errors import StoreError
from circumspect.knowledge.tree import Document
from circumspect.review.outline import Summaries
from circumspect.review.reading import Criteria
from circumspect.review.reviewing import Reviewing, by_heuristic, prepare, review
from circumspect.review.shelf import Shelf
from circumspect.review.words import Case, Criterion, Result
from circumspect.stores import reviews
from circumspect.stores.engine import Database, connect
from circumspect.stores.reviews import ResultRow
from circumspect.turn import ModelUsage, digest

TENANT = "local"
_POOL_FROM = 400
"""Fewer evaluations than this are done before processes have started."""
_GROUP = 200
_GROUP_SECONDS = 0.5
_TASKS = 8

Job = tuple[Case, tuple[tuple[int, Criterion, str | None], ...]]
"""A case with the criteria that it has no result for: position, criterion, and the document it is about."""


@dataclass(frozen=True, slots=True)
class Budget:
    tokens: int | None = None
    usd: float | None = None

    def exceeded(self, tokens: int, usd: float) -> str:
        """Why to stop; empty while there is something left."""
        if self.tokens is not None and tokens >= self.tokens:
            return f"{tokens:,} tokens are spent and {self.tokens:,} are allowed"
        if self.usd is not None and usd >= self.usd:
            return f"${usd:.4f} are spent and ${self.usd:.4f} are allowed"
        return ""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a batch is. `kept` were there before, `made` came in this run."""

    id: str
    total: int
    kept: int
    made: int
    seconds: float
    tokens: int
    cost_usd: float
    statuses: Mapping[str, int] = field(default_factory=dict)
    why: str = ""

    @property
    def done(self) -> int:
        return self.kept + self.made

    @property
    def complete(self) -> bool:
        return self.done >= self.total

    @property
    def rate(self) -> float:
        return self.made / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        return (self.total - self.done) / self.rate if self.rate else None

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "total": self.total,
            "done": self.done,
            "made": self.made,
            "seconds": round(self.seconds, 3),
            "rate": round(self.rate, 2),
            "tokens": self.tokens,
            "cost_usd": round(self.cost_usd, 6),
            **self.statuses,
            "complete": self.complete,
            "stopped": self.why or None,
        }


async def run_batch(
    cases: Sequence[Case],
    criteria: Criteria,
    shelf: Shelf,
    reviewing: Reviewing,
    out: str,
    *,
    budget: Budget | None = None,
    concurrency: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Progress:
    """`out` is a file or a database URL. Cancelling it keeps what is finished."""
    with _alone(out):
        database = connect(out)
        try:
            run = _Run(cases, criteria, shelf, reviewing, database, budget or Budget(), concurrency, watch)
            return await run.go()
        finally:
            await asyncio.to_thread(database.close)


class _Run:
    def __init__(
        self,
        cases: Sequence[Case],
        criteria: Criteria,
        shelf: Shelf,
        reviewing: Reviewing,
        database: Database,
        budget: Budget,
        concurrency: int | None,
        watch: Callable[[Progress], None] | None,
    ) -> None:
        self.cases, self.criteria, self.shelf, self.reviewing = cases, criteria, shelf, reviewing
        self.database, self.budget, self.concurrency, self.watch = database, budget, concurrency, watch
        self.id = digest([criteria.hash, shelf.hash, reviewing.hash])[:24]
        self.waiting: list[ResultRow] = []
        self.committed = self.began = time.monotonic()
        total = sum(len(criteria.of(case, shelf.names)) for case in cases)
        self.now = Progress(self.id, total, 0, 0, 0.0, 0, 0.0)

    async def go(self) -> Progress:
        await self._tx(reviews.create_tables)
        jobs = await self._begin()
        self.began = time.monotonic()
        try:
            await self._work(jobs)
        finally:
            await asyncio.shield(self._commit())
        await self._tx(reviews.end_batch, TENANT, self.id, complete=self.now.complete, at=time.time())
        statuses, _, _ = await self._tx(reviews.counted, TENANT, self.id)
        self.now = replace(self.now, statuses=statuses)
        self._tell()
        return self.now

    async def _tx(self, body: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await self.database.threads.run(partial(self.database.transaction, body, *args, **kwargs))

    # --- what there is to do ----------------------------------------------------------------------------------------

    async def _begin(self) -> list[Job]:
        documents = {name: document.hash for name, document in self.shelf.documents.items()}
        request = {"criteria": [one.to_json() for one in self.criteria.items], "documents": documents}
        done = await self._tx(
            reviews.begin_batch, TENANT, self.id, self.reviewing.controller, self.now.total, request, time.time()
        )
        jobs: list[Job] = []
        kept = 0
        for case in self.cases:
            wanted = self.criteria.of(case, self.shelf.names)
            there = done.get((case.id, case.hash), 0)
            known: frozenset[str] = frozenset()
            if there:
                known = await self._tx(reviews.criteria_done, TENANT, self.id, case.id, case.hash)
            left = tuple(
                (position, one, self.criteria.document_of(one, self.shelf.names))
                for position, one in enumerate(wanted)
                if one.id not in known
            )
            kept += len(wanted) - len(left)
            if left:
                jobs.append((case, left))
        _, tokens, cost = await self._tx(reviews.counted, TENANT, self.id)
        self.now = replace(self.now, kept=kept, tokens=tokens, cost_usd=cost)
        return jobs

    async def _work(self, jobs: list[Job]) -> None:
        if not jobs or self._stop():
            return
        if self.reviewing.model is not None:
            await self._ask(jobs)
        elif sum(len(left) for _, left in jobs) < _POOL_FROM or self.concurrency == 1:
            for job in jobs:
                await self._keep(computed(job, self.shelf, self.reviewing.limits.floor))
        else:
            async for rows in _in_processes(jobs, self.shelf, self.reviewing.limits.floor, self.concurrency):
                await self._keep(rows)

    # --- with a model -----------------------------------------------------------------------------------------------

    async def _ask(self, jobs: list[Job]) -> None:
        prepared = await prepare(self.shelf, self.reviewing, StoredSummaries(self._tx, TENANT))
        self._spend(prepared.calls)
        waiting = iter([(case, one) for case, left in jobs for one in left])

        async def worker() -> None:
            for case, (position, criterion, document) in waiting:
                if self._stop():
                    return
                result = await review(case, criterion, prepared, self.reviewing, document=document)
                self._spend(result.calls)
                await self._keep([row_of(result, case, position)])

        async with asyncio.TaskGroup() as group:
            for _ in range(self.concurrency or _TASKS):
                group.create_task(worker())

    def _spend(self, calls: Sequence[ModelUsage]) -> None:
        tokens = sum(call.input_tokens + call.output_tokens for call in calls)
        cost = sum(call.cost_usd for call in calls)
        self.now = replace(self.now, tokens=self.now.tokens + tokens, cost_usd=self.now.cost_usd + cost)

    def _stop(self) -> bool:
        why = self.budget.exceeded(self.now.tokens, self.now.cost_usd)
        if why:
            self.now = replace(self.now, why=why)
        return bool(why)

    # --- keeping ----------------------------------------------------------------------------------------------------

    async def _keep(self, rows: Sequence[ResultRow]) -> None:
        self.waiting.extend(rows)
        if len(self.waiting) >= _GROUP or time.monotonic() - self.committed >= _GROUP_SECONDS:
            await self._commit()
        elif self.reviewing.model is not None:
            # What a model was paid for is not left in memory.
            await self._commit()
        else:
            await asyncio.sleep(0)

    async def _commit(self) -> None:
        rows, self.waiting = self.waiting, []
        if rows:
            await self._tx(reviews.commit_results, TENANT, self.id, rows, time.time())
        self.committed = time.monotonic()
        self.now = replace(self.now, made=self.now.made + len(rows), seconds=self.committed - self.began)
        self._tell()

    def _tell(self) -> None:
        if self.watch:
            self.watch(self.now)


class StoredSummaries:
    """Outlines in the database, next to the results."""

    def __init__(self, tx: Callable[..., Any], tenant: str) -> None:
        self._tx, self._tenant = tx, tenant

    async def get(self, key: str) -> Summaries | None:
        found: Summaries | None = await self._tx(reviews.get_summaries, self._tenant, key)
        return found

    async def put(self, key: str, summaries: Summaries) -> None:
        await self._tx(reviews.put_summaries, self._tenant, key, summaries)


def row_of(result: Result, case: Case, position: int) -> ResultRow:
    return ResultRow(
        result.case, case.hash, result.criterion, position, result.status, result.confidence,
        str(result.reason_code) if result.reason_code else None, result.controller, result.prompt_id,
        sum(call.input_tokens for call in result.calls), sum(call.output_tokens for call in result.calls),
        result.cost_usd, result.to_json(whole=True),
    )  # fmt: skip


# --- in processes ---------------------------------------------------------------------------------------------------


def computed(job: Job, shelf: Shelf, floor: float) -> list[ResultRow]:
    case, left = job
    return [
        row_of(by_heuristic(case, criterion, shelf.only(document), floor), case, position)
        for position, criterion, document in left
    ]


_worker: dict[str, Any] = {}


def _start(documents: Sequence[Document], floor: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker.update(shelf=Shelf(documents), floor=floor)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        pipes.wait([parent.sentinel])
        os._exit(1)


def _compute(jobs: Sequence[Job]) -> list[ResultRow]:
    return [row for job in jobs for row in computed(job, _worker["shelf"], _worker["floor"])]


async def _in_processes(
    jobs: list[Job], shelf: Shelf, floor: float, concurrency: int | None
) -> AsyncIterator[list[ResultRow]]:
    """Results as they come. No more is handed out than the processes can do soon: what waits is memory."""
    processes = concurrency or os.cpu_count() or 1
    documents = tuple(shelf.documents.values())
    pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=_start, initargs=(documents, floor))
    loop, groups = asyncio.get_running_loop(), _groups(jobs)
    try:
        running = {loop.run_in_executor(pool, _compute, group) for group in _first(groups, 3 * processes)}
        while running:
            ended, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            running |= {loop.run_in_executor(pool, _compute, group) for group in _first(groups, len(ended))}
            for one in ended:
                yield one.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _groups(jobs: list[Job], most: int = 8) -> Iterator[list[Job]]:
    for first in range(0, len(jobs), most):
        yield jobs[first : first + most]


def _first(groups: Iterator[list[Job]], count: int) -> Iterator[list[Job]]:
    for _, group in zip(range(count), groups, strict=False):
        yield group


# --- one at a time --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _alone(out: str) -> Iterator[None]:
    """Two runs into one file would do the same work twice. The lock dies with the process that holds it."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    if "://" in out:
        yield
        return
    path = Path(f"{out}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreError(
                f"Another process is writing to {out}.", fix="Wait for it to end, or name another file with --out."
            ) from None
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
