"""Evaluations that a server runs with a model: written as they come, given back when broken off, gone when deleted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.review.conftest import CASE, IN_TIME, POLICY, finish, reply

from circumspect.clock import RandomIds, SystemClock
from circumspect.models import ScriptedModel
from circumspect.review.service import EvaluationRunner
from circumspect.stores import SqlStore, reviews
from circumspect.values import ModelReply, ModelRequest, ModelUsage

REQUEST = {
    "case": CASE,
    "criteria": [IN_TIME.to_json(), {"id": "K-2", "text": "The claim is for a trip."}],
    "documents": [{"name": "handbook.md", "text": POLICY}],
    "limits": {"tokens": 9_000, "budget": "hard"},
}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(f"sqlite:///{tmp_path}/s.db")
    await opened.tx(reviews.create_tables)
    yield opened
    await opened.close()


def running(store: SqlStore) -> EvaluationRunner:
    return EvaluationRunner(store, SystemClock(), RandomIds())


async def sent(store: SqlStore, id_: str = "e1") -> None:
    await store.tx(
        reviews.create, tenant="t", id=id_, case_id="C-1", controller="react", total=2, request=REQUEST, at=time.time()
    )


async def state(store: SqlStore, wanted: str | None, id_: str = "e1") -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await store.tx(reviews.get, frozenset({"t"}), id_)
            if (found.state if found else None) == wanted:
                return
            await asyncio.sleep(0.01)


def answered(request: ModelRequest) -> ModelReply:
    if request.purpose == "summarise":
        return ModelReply('{"summaries": []}', ModelUsage("scripted", 5, 5))
    return reply(finish())


async def test_a_model_reviews_every_criterion_and_its_trace_is_kept_whole(store: SqlStore) -> None:
    await sent(store)
    work = running(store)
    work.start("t", "e1", ScriptedModel(answered))
    work.start("t", "e1", ScriptedModel())
    await state(store, "done")
    rows = [row for _, row in await store.tx(reviews.results_of, "t", "e1")]
    assert [(row["criterion"], row["status"], row["controller"]) for row in rows] == [
        ("K-1", "MET", "react"), ("K-2", "MET", "react"),
    ]  # fmt: skip
    assert rows[0]["trace"]
    assert rows[0]["usage"]["input_tokens"] == 100


async def test_what_is_broken_off_is_given_back_and_taken_up_from_where_it_was(store: SqlStore) -> None:
    await sent(store)
    reached, asked = asyncio.Event(), 0

    class Stalling(ScriptedModel):
        async def complete(self, request: ModelRequest) -> ModelReply:
            nonlocal asked
            if request.purpose == "evaluate":
                asked += 1
                if asked > 1:
                    reached.set()
                    await asyncio.Event().wait()
            return answered(request)

    first = running(store)
    first.start("t", "e1", Stalling())
    await reached.wait()
    async with asyncio.timeout(PATIENCE):
        while not await store.tx(reviews.get_decided_criteria, "t", "e1"):
            await asyncio.sleep(0.01)
    await first.close()
    await state(store, "queued")
    model = ScriptedModel(answered)
    second = running(store)
    found = await store.tx(reviews.get, None, "e1")
    assert found is not None
    assert second.needs(found)
    second.start("t", "e1", model)
    await state(store, "done")
    assert sum(request.purpose == "evaluate" for request in model.requests) == 1
    assert len(await store.tx(reviews.results_of, "t", "e1")) == 2


async def test_an_evaluation_that_is_deleted_while_it_runs_writes_nothing_more(store: SqlStore) -> None:
    await sent(store)
    inside, go_on = asyncio.Event(), asyncio.Event()

    class Waiting(ScriptedModel):
        async def complete(self, request: ModelRequest) -> ModelReply:
            if request.purpose == "evaluate":
                inside.set()
                await go_on.wait()
            return answered(request)

    work = running(store)
    work.start("t", "e1", Waiting())
    await inside.wait()
    assert await store.tx(reviews.forget_case, "t", "C-1") == 1
    go_on.set()
    await asyncio.sleep(0.2)
    await state(store, None)
    assert await store.tx(reviews.results_of, "t", "e1") == []


async def test_a_request_that_cannot_be_read_any_more_fails_and_says_why(store: SqlStore) -> None:
    broken = {**REQUEST, "documents": [{"stored": "gone.md"}]}
    await store.tx(
        reviews.create, tenant="t", id="e1", case_id="C-1", controller="react", total=1, request=broken, at=time.time()
    )
    running(store).start("t", "e1", ScriptedModel(answered))
    await state(store, "failed")
    found = await store.tx(reviews.get, None, "e1")
    assert found is not None
    assert "gone.md" in (found.error or "")
