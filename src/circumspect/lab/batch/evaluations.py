"""run_batch: cases × criteria -> results in a database, by whoever does the work. Stop it and run it again.

A result's row is its own done marker, so results and markers cannot disagree; rows are committed in groups, and a
resume evaluates what has no row. The same documents, criteria, controller, model and prompt make the same batch; a case
whose text changed is evaluated anew. Unless told otherwise, work that waits for a model runs as tasks of this process,
and much work that computes in processes of this machine. It may be begun by one engine and ended by another.

The one choice that may surprise: the budget counts everything that was ever spent on this batch, so that running it
again does not spend it again. Criteria in flight when it ends are finished: it is exceeded by those at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from circumspect.hashing import digest
from circumspect.lab.batch import engines
from circumspect.lab.batch.job import ChunkFailed, Incomplete
from circumspect.lab.batch.process_lock import alone
from circumspect.lab.batch.reviews import COMPUTED, PendingReview, ReviewWorkers, run_reviews
from circumspect.models import close_model
from circumspect.review.case_files import Criteria
from circumspect.review.reviewing import Prepared, Reviewing, prepare, review
from circumspect.review.shelf import Shelf
from circumspect.review.stored_evaluations import StoredSummaries, row_of
from circumspect.review.values import ReviewCase
from circumspect.stores import reviews
from circumspect.stores.engine import Database, connect
from circumspect.stores.reviews import ResultRow

T = TypeVar("T")
TENANT = "local"
_POOL_FROM = 400
"""Fewer evaluations than this are done before processes have started."""
_GROUP = 200
_GROUP_SECONDS = 0.5
_TASKS = 8


@dataclass(frozen=True, slots=True)
class Budget:
    tokens: int | None = None
    usd: float | None = None

    def describe_excess(self, tokens: int, usd: float) -> str:
        """Why to stop; empty while there is something left."""
        if self.tokens is not None and tokens >= self.tokens:
            return f"{tokens:,} tokens are spent and {self.tokens:,} are allowed"
        if self.usd is not None and usd >= self.usd:
            return f"${usd:.4f} are spent and ${self.usd:.4f} are allowed"
        return ""


@dataclass(frozen=True, slots=True)
class BatchProgress:
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
    def done_count(self) -> int:
        return self.kept + self.made

    @property
    def complete(self) -> bool:
        return self.done_count >= self.total

    @property
    def rate(self) -> float:
        return self.made / self.seconds if self.seconds > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "total": self.total,
            "done": self.done_count,
            "made": self.made,
            "seconds": round(self.seconds, 3),
            "rate": round(self.rate, 2),
            "tokens": self.tokens,
            "cost_usd": round(self.cost_usd, 6),
            **self.statuses,
            "complete": self.complete,
            "stopped": self.why or None,
        }


def run_batch(
    cases: Sequence[ReviewCase],
    criteria: Criteria,
    shelf: Shelf,
    reviewing: Reviewing,
    out: str,
    *,
    budget: Budget | None = None,
    concurrency: int | None = None,
    elsewhere: ReviewWorkers | None = None,
    watch: Callable[[BatchProgress], None] | None = None,
) -> BatchProgress:
    """`out` is a file or a database URL. Interrupting it keeps what is finished. The model is closed afterwards.

    Raises `Incomplete` after everything else is done, when a part could not be done by anyone.
    """
    with _alone(out):
        database = connect(out)
        try:
            run = _Run(cases, criteria, shelf, reviewing, database, budget or Budget(), concurrency, elsewhere, watch)
            return run.go()
        finally:
            database.close()


class _Run:
    def __init__(
        self,
        cases: Sequence[ReviewCase],
        criteria: Criteria,
        shelf: Shelf,
        reviewing: Reviewing,
        database: Database,
        budget: Budget,
        concurrency: int | None,
        elsewhere: ReviewWorkers | None,
        watch: Callable[[BatchProgress], None] | None,
    ) -> None:
        self.cases, self.criteria, self.shelf, self.reviewing = cases, criteria, shelf, reviewing
        self.database, self.budget, self.concurrency, self.watch = database, budget, concurrency, watch
        self.elsewhere = elsewhere
        self.id = digest([criteria.hash, shelf.hash, reviewing.hash])[:24]
        self.waiting: list[ResultRow] = []
        self.committed = self.began = time.monotonic()
        total = sum(len(criteria.of(case, shelf.names)) for case in cases)
        self.now = BatchProgress(self.id, total, 0, 0, 0.0, 0, 0.0)

    def go(self) -> BatchProgress:
        self._tx(reviews.create_tables)
        left = self._begin()
        self.began = time.monotonic()
        try:
            self._work(left)
        finally:
            self._commit()
        self._tx(reviews.end_batch, TENANT, self.id, complete=self.now.complete, at=time.time())
        statuses, _, _ = self._tx(reviews.count_results, TENANT, self.id)
        self.now = replace(self.now, statuses=statuses)
        self._tell()
        return self.now

    def _tx(self, body: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.database.transaction(body, *args, **kwargs)

    # --- what there is to do ----------------------------------------------------------------------------------------

    def _begin(self) -> list[PendingReview]:
        documents = {name: document.hash for name, document in self.shelf.documents.items()}
        request = {"criteria": [one.to_json() for one in self.criteria.items], "documents": documents}
        done = self._tx(
            reviews.begin_batch, TENANT, self.id, self.reviewing.controller, self.now.total, request, time.time()
        )
        left: list[PendingReview] = []
        for case in self.cases:
            known: frozenset[str] = frozenset()
            if done.get((case.id, case.hash)):
                known = self._tx(reviews.criteria_done, TENANT, self.id, case.id, case.hash)
            left += [
                PendingReview(case, position, one, self.criteria.document_of(one, self.shelf.names))
                for position, one in enumerate(self.criteria.of(case, self.shelf.names))
                if one.id not in known
            ]
        _, tokens, cost = self._tx(reviews.count_results, TENANT, self.id)
        self.now = replace(self.now, kept=self.now.total - len(left), tokens=tokens, cost_usd=cost)
        return left

    def _work(self, left: Sequence[PendingReview]) -> None:
        if not left or self._stop():
            return
        if self.reviewing.model is not None and self.elsewhere is None:
            asyncio.run(self._closing(self._ask(left)))
            return
        elsewhere = self.elsewhere or ReviewWorkers(engines.serial if len(left) < _POOL_FROM else engines.processes)
        self._hand_out(left, asyncio.run(self._closing(self._prepare_documents(left))), elsewhere)

    async def _closing(self, work: Coroutine[Any, Any, T]) -> T:
        """A connection belongs to the loop that it was made in, and ends with it."""
        try:
            return await work
        finally:
            await close_model(self.reviewing.model)

    async def _prepare_documents(self, left: Sequence[PendingReview]) -> Prepared:
        async def tx(body: Callable[..., Any], *args: Any) -> Any:
            return self._tx(body, *args)

        about = {one.document for one in left}
        prepared = await prepare(self.shelf, self.reviewing, StoredSummaries(tx, TENANT), about=about)
        self._spend((call.input_tokens + call.output_tokens, call.cost_usd) for call in prepared.calls)
        return prepared

    # --- as tasks of this process -----------------------------------------------------------------------------------

    async def _ask(self, left: Sequence[PendingReview]) -> None:
        prepared, waiting = await self._prepare_documents(left), iter(left)

        async def worker() -> None:
            for one in waiting:
                if self._stop():
                    return
                result = await review(one.case, one.criterion, prepared, self.reviewing, document=one.document)
                self._keep([row_of(result, one.case, one.position)])

        async with asyncio.TaskGroup() as group:
            for _ in range(self.concurrency or _TASKS):
                group.create_task(worker())

    # --- by others --------------------------------------------------------------------------------------------------

    def _hand_out(self, left: Sequence[PendingReview], prepared: Prepared, elsewhere: ReviewWorkers) -> None:
        failed: list[ChunkFailed] = []
        parts = self._limit_to_budget(_parts(left, (self.concurrency or _TASKS) if self.reviewing.model else COMPUTED))
        with contextlib.closing(run_reviews(parts, prepared, self.reviewing, elsewhere)) as made:
            for rows in made:
                if isinstance(rows, ChunkFailed):
                    failed.append(rows)
                else:
                    self._keep(rows)
        if failed:
            raise Incomplete(failed, fix="The same command tries only what is missing again.")

    def _limit_to_budget(self, parts: Iterable[Sequence[PendingReview]]) -> Iterator[Sequence[PendingReview]]:
        """As long as there is something left of the budget."""
        for part in parts:
            if self._stop():
                return
            yield part

    def _spend(self, spent: Iterable[tuple[int, float]]) -> None:
        for tokens, cost in spent:
            self.now = replace(self.now, tokens=self.now.tokens + tokens, cost_usd=self.now.cost_usd + cost)

    def _stop(self) -> bool:
        why = self.budget.describe_excess(self.now.tokens, self.now.cost_usd)
        if why:
            self.now = replace(self.now, why=why)
        return bool(why)

    # --- keeping ----------------------------------------------------------------------------------------------------

    def _keep(self, rows: Sequence[ResultRow]) -> None:
        self._spend((row.input_tokens + row.output_tokens, row.cost_usd) for row in rows)
        self.waiting.extend(rows)
        full = len(self.waiting) >= _GROUP or time.monotonic() - self.committed >= _GROUP_SECONDS
        # What a model was paid for is not left in memory.
        if full or self.reviewing.model is not None:
            self._commit()

    def _commit(self) -> None:
        rows, self.waiting = self.waiting, []
        if rows:
            self._tx(reviews.commit_results, TENANT, self.id, rows, time.time())
        self.committed = time.monotonic()
        self.now = replace(self.now, made=self.now.made + len(rows), seconds=self.committed - self.began)
        self._tell()

    def _tell(self) -> None:
        if self.watch:
            self.watch(self.now)


def _parts(left: Sequence[PendingReview], size: int) -> Iterator[Sequence[PendingReview]]:
    for first in range(0, len(left), size):
        yield left[first : first + size]


def _alone(out: str) -> contextlib.AbstractContextManager[None]:
    """A database that is no file takes care of that itself: what two write is there once."""
    if "://" in out:
        return contextlib.nullcontext()
    fix = "Wait for it to end, or name another file with --out."
    return alone(Path(f"{out}.lock"), f"Another process is writing to {out}.", fix)
