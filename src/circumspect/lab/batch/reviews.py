"""Reviews as a task: some cases with their criteria to a chunk -> their results, as rows of the database.

    for outcome in reviewed(wanted, prepared, reviewing, elsewhere): ...

Whoever wants the results keeps them: a batch of evaluations in its database, an optimisation in its folder. A worker
opens the model itself, by name and with the keys of the machine that it runs on; no key goes anywhere. What a chunk
holds is reviewed at the same time where a model is asked, and one after the other where nobody is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import orjson

from circumspect import prompts
from circumspect.hashing import digest
from circumspect.knowledge.tree import KnowledgeDocument
from circumspect.lab.batch.job import BatchTask, Chunk, ChunkDone, ChunkFailed, ChunkFunction, Engine, unpack_rows
from circumspect.models import close_model, open_model
from circumspect.prompts import Prompt
from circumspect.review.controller import ReviewLimits
from circumspect.review.outline import Summaries
from circumspect.review.reviewing import Prepared, Reviewing, review
from circumspect.review.shelf import Shelf
from circumspect.review.stored_evaluations import row_of
from circumspect.review.values import Criterion, ReviewCase
from circumspect.stores.reviews import ResultRow

COMPUTED = 40
"""Reviews in a chunk, where no model is asked: some milliseconds each."""


@dataclass(frozen=True, slots=True)
class PendingReview:
    """One review that is to be done."""

    case: ReviewCase
    position: int
    criterion: Criterion
    document: str | None
    """The one that the criterion is about; None is all of them."""


@dataclass(frozen=True, slots=True)
class ReviewWorkers:
    """Who does the work, and what each of them opens: a connection to a model cannot be sent, its name can."""

    engine: Engine
    model: str | None = None


@dataclass(frozen=True)
class ReviewOrder:
    documents: tuple[KnowledgeDocument, ...]
    summaries: Mapping[str, Summaries]
    model: str | None
    limits: ReviewLimits
    fallback: bool
    prompt: Prompt | None
    words: Mapping[str, Prompt] = field(default_factory=dict)
    """Prompts that take the place of ours."""


ReviewedChunks = Generator[Sequence[ResultRow] | ChunkFailed, None, None]


def run_reviews(
    wanted: Iterable[Sequence[PendingReview]],
    prepared: Prepared,
    reviewing: Reviewing,
    elsewhere: ReviewWorkers,
    words: Mapping[str, Prompt] | None = None,
) -> ReviewedChunks:
    """What comes of each chunk, as it comes. Chunks are taken only when somebody can begin with them soon."""
    order = ReviewOrder(
        tuple(prepared.shelf.documents.values()), prepared.summaries, elsewhere.model, reviewing.limits,
        reviewing.fallback, reviewing.prompt, dict(words or {}),
    )  # fmt: skip
    versions = sorted(one.id for one in order.words.values())
    identity = digest([prepared.shelf.hash, sorted(prepared.summaries), reviewing.hash, elsewhere.model, versions])
    chunks = (Chunk(number, _label(some), len(some), tuple(some)) for number, some in enumerate(wanted))
    outcomes = elsewhere.engine(BatchTask("reviews", identity, order, begin), chunks)
    with closing(outcomes):  # type: ignore[type-var]
        for outcome in outcomes:
            if isinstance(outcome, ChunkDone):
                yield [ResultRow(**orjson.loads(row)) for row in unpack_rows(outcome.rows)]
            else:
                yield outcome


def _label(some: Sequence[PendingReview]) -> str:
    first, last = some[0], some[-1]
    cases = first.case.id if first.case.id == last.case.id else f"{first.case.id} to {last.case.id}"
    return f"{len(some)} reviews of {cases}"


@contextmanager
def begin(order: ReviewOrder) -> Iterator[ChunkFunction]:
    model = open_model(order.model) if order.model else None
    reviewing = Reviewing(model, order.limits, order.fallback, order.prompt)
    prepared = Prepared(Shelf(order.documents), order.summaries)
    with asyncio.Runner() as runner:
        try:
            yield lambda chunk: runner.run(_review_chunk(chunk.detail, prepared, reviewing, order.words))
        finally:
            runner.run(close_model(model))


async def _review_chunk(
    wanted: Sequence[PendingReview], prepared: Prepared, reviewing: Reviewing, words: Mapping[str, Prompt]
) -> Sequence[bytes]:
    async def one(each: PendingReview) -> bytes:
        result = await review(each.case, each.criterion, prepared, reviewing, document=each.document)
        return orjson.dumps(row_of(result, each.case, each.position))

    with prompts.use_prompts(words):
        return await asyncio.gather(*(one(each) for each in wanted))
