"""Evaluations that a server runs with a model: written as they come, given back when broken off, gone when deleted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.patience import PATIENCE
from tests.review.conftest import CASE, IN_TIME, POLICY, finish, reply

from circumspect.clock import RandomIds, SystemClock
from circumspect.models import ScriptedModel
from circumspect.review.service import EvaluationRunner
from circumspect.stores import SqlStore, reviews, shadows
from circumspect.stores.evaluation_usage import list_evaluation_usage
from circumspect.stores.experiment_tables import exposures
from circumspect.values import Business, JsonObject, ModelReply, ModelRequest, ModelUsage, Plan, Tenant, TenantId

REQUEST: JsonObject = {
    "case": CASE,
    "criteria": [IN_TIME.to_json(), {"id": "K-2", "text": "The claim is for a trip.", "facts": ["claim"]}],
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


async def sent(store: SqlStore, id_: str = "e1", request: JsonObject = REQUEST) -> None:
    await store.tx(
        reviews.create, tenant="t", id=id_, case_id="C-1", controller="react", total=2, request=request, at=time.time()
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


async def test_where_the_model_is_gone_the_evaluation_fails_and_code_answers_nothing_in_its_place(
    store: SqlStore,
) -> None:
    await sent(store)
    await running(store).run("t", "e1", None)
    await state(store, "failed")
    found = await store.tx(reviews.get, frozenset({"t"}), "e1")
    assert found is not None
    assert "no language model" in (found.error or "")
    assert await store.tx(reviews.results_of, "t", "e1") == []


async def test_how_often_the_model_was_asked_and_how_many_quotes_stand_is_counted_for_the_arm(store: SqlStore) -> None:
    """Of a model that makes quotes up, also where it was told so and did better."""
    made_up = {"document": "handbook.md", "quote": "Claims may be made at any time by anybody."}

    def inventing(request: ModelRequest) -> ModelReply:
        if request.purpose == "summarise":
            return answered(request)
        honest = finish()
        invented = finish(citations=[*honest.arguments["citations"], made_up])  # type: ignore[misc]
        return reply(honest if any("is in no document" in one.text for one in request.messages) else invented)

    for id_, model in (("e1", answered), ("e2", inventing)):
        under = {"id": "x1", "arm": id_, "period": 0, "prompts": {}}
        await sent(store, id_, {**REQUEST, "experiment": under})
        await running(store).run("t", id_, ScriptedModel(model))
    rows = await store.tx(lambda connection: list(connection.execute(sa.select(exposures).order_by("arm"))))
    assert [(row.arm, row.case_id, row.citations) for row in rows] == [("e1", "C-1", 1.0), ("e2", "C-1", 0.5)]
    assert [row.calls for row in rows] == [2, 4], "two criteria, each asked about again where a quote was made up"


async def test_what_a_model_costs_is_added_up_and_billed_by_the_plan(store: SqlStore) -> None:
    await store.put_tenant(Tenant(TenantId("t"), Business("T"), Plan("dear", multiplier=3.0)))
    await sent(store)
    await running(store).run("t", "e1", ScriptedModel(answered))
    (used,) = await store.tx(list_evaluation_usage, frozenset({"t"}))
    assert (used.controller, used.model, used.verdicts, used.met) == ("react", "scripted", 2, 2)
    assert used.model_calls >= 2
    assert used.input_tokens >= 200
    assert used.cost == pytest.approx(0.001 * used.model_calls)
    assert used.billed == pytest.approx(3 * used.cost)


async def test_a_second_controller_says_what_it_would_have_and_nobody_hears_it(store: SqlStore) -> None:
    await store.put_tenant(Tenant(TenantId("t"), Business("T")))
    beside = {"id": "s1", "controller": "react", "prompts": {}, "budget_usd": 0.003}

    async def review_beside(id_: str, model: ScriptedModel) -> None:
        request = {**REQUEST, "shadow": beside}
        sent_ = {"tenant": "t", "id": id_, "case_id": "C-1", "controller": "heuristic", "total": 2, "request": request}
        await store.tx(lambda connection: reviews.create(connection, **sent_, at=time.time()))
        await running(store).run("t", id_, model)

    await review_beside("e1", ScriptedModel(answered))
    live = [row for _, row in await store.tx(reviews.results_of, "t", "e1")]
    assert {row["controller"] for row in live} == {"heuristic"}, "the old one answers"
    (row,) = await store.tx(shadows.list_shadows, frozenset({"t"}), None, 10)
    assert (row.experiment, row.turn, row.case_id, row.conversation, row.error) == ("s1", "e1", "C-1", None, "")
    assert {name: one["status"] for name, one in row.shadow["verdicts"].items()} == {"K-1": "MET", "K-2": "MET"}
    assert row.shadow["otherwise"] == [one["criterion"] for one in live if one["status"] != "MET"] != []
    assert (row.same, row.differences) == (False, ["verdicts"])
    assert row.cost_usd > 0
    (used,) = await store.tx(list_evaluation_usage, frozenset({"t"}))
    assert used.controller == "heuristic", "what nobody asked for is on nobody's bill"

    def broken(request: ModelRequest) -> ModelReply:
        raise RuntimeError("no")

    beside["budget_usd"] = 1.0
    await review_beside("e2", ScriptedModel(broken))
    await state(store, "done", "e2")
    assert len(await store.tx(shadows.list_shadows, frozenset({"t"}), None, 10)) == 2
    beside["budget_usd"] = row.cost_usd
    await review_beside("e3", ScriptedModel(answered))
    assert len(await store.tx(shadows.list_shadows, frozenset({"t"}), None, 10)) == 2, "its budget is spent"
    await store.tx(reviews.forget_case, "t", "C-1")
    assert await store.tx(shadows.list_shadows, frozenset({"t"}), None, 10) == []
