"""Experiments in both databases: one of a kind is live, turns are added up by conversation, and all of it goes with the
conversation."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from tests.stores.words import CONVERSATION, TENANT, whole_turn

from circumspect.errors import StoreError, UnknownTenant
from circumspect.prompts import load_default_prompt
from circumspect.server.stores import privacy
from circumspect.stores import experiments, prompts, shadows
from circumspect.stores.arm_sums import sum_arms
from circumspect.stores.experiment_tables import exposures, labels
from circumspect.stores.experiments import ExperimentRow, ExperimentState, ExposureRow
from circumspect.stores.people import ListCursor
from circumspect.stores.shadows import ShadowRow
from circumspect.values import Business, Tenant, TenantId

NOON = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
ROW = ExperimentRow(
    tenant=TENANT, id="e1", name="n", kind="ab", unit="conversation", state="draft", live=False,
    arms=[{"name": "new", "overlay": {}}], shares=[], plan={"metric": "wrong"}, winner=None, note="", dropped=0,
    created_by="me", created_at=1.0, started_at=None, ended_at=None,
)  # fmt: skip
RUNNING = replace(ROW, state="running", live=True, shares=[{"at": 1.0, "share": 0.5}], started_at=1.0)


@pytest.fixture
async def kept(store):
    await store.put_tenant(Tenant(TENANT, Business("Shop")))
    return store


async def test_an_experiment_comes_back_as_it_was(kept):
    await kept.tx(experiments.put, ROW)
    assert await kept.tx(experiments.get, None, "e1") == ROW
    assert await kept.tx(experiments.get, frozenset({TenantId("other")}), "e1") is None
    assert await kept.tx(experiments.live) == []
    await kept.tx(experiments.change, RUNNING)
    assert await kept.tx(experiments.live) == [RUNNING]
    with pytest.raises(ExperimentState):
        await kept.tx(experiments.put, ROW)
    with pytest.raises(UnknownTenant):
        await kept.tx(experiments.put, replace(ROW, tenant=TenantId("nobody")))


async def test_only_one_of_a_kind_is_live(kept):
    await kept.tx(experiments.put, RUNNING)
    await kept.tx(experiments.put, replace(ROW, id="e2"))
    with pytest.raises(ExperimentState, match="e1"):
        await kept.tx(experiments.change, replace(RUNNING, id="e2"))
    with pytest.raises(StoreError):  # whoever comes past the look is held by the database
        await kept.tx(experiments.put, replace(RUNNING, id="e3"))
    await kept.tx(experiments.put, replace(RUNNING, id="e4", kind="shadow"))
    await kept.tx(experiments.change, replace(RUNNING, state="stopped", live=False))
    await kept.tx(experiments.change, replace(RUNNING, id="e2"))
    assert {row.id for row in await kept.tx(experiments.live)} == {"e2", "e4"}


async def test_lists_go_on_where_they_ended(kept):
    for number in range(5):
        await kept.tx(experiments.put, replace(ROW, id=f"e{number}", created_at=float(number // 2)))
    first = await kept.tx(experiments.list_experiments, frozenset({TENANT}), None, 3)
    rest = await kept.tx(
        experiments.list_experiments, frozenset({TENANT}), ListCursor(first[-1].created_at, first[-1].id), 3
    )
    assert [row.id for row in (*first, *rest)] == ["e4", "e3", "e2", "e1", "e0"]
    assert await kept.tx(experiments.list_experiments, frozenset(), None, 3) == []


async def test_dropped_shadows_are_added_up_and_no_change_undoes_that(kept):
    await kept.tx(experiments.put, ROW)
    await kept.tx(experiments.drop, TENANT, "e1", 3)
    await kept.tx(experiments.change, replace(ROW, note="x"))
    await kept.tx(experiments.drop, TENANT, "e1", 4)
    assert (await kept.tx(experiments.get, None, "e1")).dropped == 7


def exposed(turn: str, unit: str, arm: str = "new", **fields) -> ExposureRow:
    return ExposureRow(
        TENANT, "e1", turn, arm, **{"period": 0, "outcome": "answered", "at": 5.0} | fields, case_id=unit
    )


async def test_turns_are_added_up_by_unit_before_anything_else(kept):
    """Two turns of one conversation that failed are one conversation in which something failed."""
    rows = [
        exposed("t1", "a", outcome="failed", cost_usd=1.0, tokens=10, seconds=1.0, calls=1, consistency=0.5),
        exposed("t2", "a", outcome="failed", cost_usd=2.0, tokens=20, seconds=3.0, calls=2),
        exposed("t3", "b", fell_back=True, denied=True, at=9.0),
        exposed("t4", "c", period=1, corrected=True),
        exposed("t5", "d", arm="control", outcome="acted"),
    ]
    assert await kept.tx(experiments.expose, rows) == 5
    assert await kept.tx(experiments.expose, rows) == 0, "a turn counts once"
    sums = {(one.arm, one.period): one for one in await kept.tx(sum_arms, TENANT, "e1")}
    new = sums["new", 0]
    assert (new.units, new.turns) == (2, 3)
    assert new.totals["failed"] == (2, 2.0, 2.0)
    assert new.totals["denied"] == new.totals["wrong"] == (2, 1.0, 1.0)
    assert new.totals["cost"] == (2, 3.0, 9.0)
    assert new.totals["tokens"] == (2, 30.0, 900.0)
    assert new.totals["seconds"] == (2, 2.0, 4.0)
    assert sums["new", 1].totals["corrected"] == (1, 1.0, 1.0)
    assert sums["control", 0].totals["acted"] == (1, 1.0, 1.0)
    assert new.totals["consistency"] == (1, 0.5, 0.25), "of those in which something was planned"
    assert new.totals["similarity"] == (0, 0.0, 0.0)
    quiet = await kept.tx(sum_arms, TENANT, "e1", quiet_since=6.0)
    assert {(one.arm, one.period): one.units for one in quiet} == {("new", 0): 1, ("new", 1): 1, ("control", 0): 1}


async def test_everything_goes_with_the_conversation_and_nothing_comes_after_it(kept):
    await whole_turn(kept)
    began = await kept.tx(experiments.get_conversation_start, TENANT, CONVERSATION)
    assert began is not None
    row = ExposureRow(TENANT, "e1", "t1", "new", 0, "answered", 5.0, conversation=CONVERSATION, prompts=("a@1",))
    both = ShadowRow(TENANT, "s1", "t1", CONVERSATION, False, ["outcome"], {"outcome": "asked"}, {"outcome": "acted"}, "", 0.5, 7, 0.1, 5.0)  # fmt: skip
    said = {"tenant": TENANT, "id": "l1", "conversation": CONVERSATION, "kind": "deny", "split": "held", "by": "x"}
    assert await kept.tx(experiments.expose, [row]) == 1
    assert await kept.tx(shadows.put, both)
    assert not await kept.tx(shadows.put, both)
    await kept.tx(lambda connection: connection.execute(sa.insert(labels).values(**said, at=5.0)))
    assert await kept.tx(shadows.get, frozenset({TENANT}), "s1", "t1") == both
    assert await kept.tx(shadows.get, frozenset(), "s1", "t1") is None
    assert await kept.tx(shadows.sum_cost, TENANT, "s1") == (0.5, 7)
    summary = await kept.tx(shadows.summary, TENANT, "s1")
    assert (summary.differences, summary.outcomes) == ({"outcome": 1}, {"asked -> acted": 1})
    query = sa.select(exposures.c.experiment, exposures.c.arm, exposures.c.turn)
    assert await kept.tx(lambda connection: connection.execute(query).all()) == [("e1", "new", "t1")]
    await kept.tx(privacy.forget, TENANT, CONVERSATION)
    for table in (exposures, shadows.shadows, labels):
        query = sa.select(sa.func.count()).select_from(table)
        assert await kept.tx(lambda connection, query=query: connection.execute(query).scalar_one()) == 0
    assert await kept.tx(experiments.expose, [replace(row, turn="t2")]) == 0
    assert not await kept.tx(shadows.put, replace(both, turn="t2"))


async def test_prompts_are_kept_once_and_found_by_use(kept):
    made = await kept.tx(prompts.put, TENANT, "phrase@1", "phrase", "Say it.", at=NOON, note="n", created_by="me")
    again = await kept.tx(prompts.put, TENANT, "phrase@1", "phrase", "Say it.", at=NOON, note="other")
    assert made == again
    await kept.tx(
        prompts.put, TENANT, "critique@1", "critique", "Judge.", at=NOON, parent=load_default_prompt("critique").id
    )
    assert [row.id for row in await kept.tx(prompts.list_prompts, TENANT, "phrase")] == ["phrase@1"]
    assert len(await kept.tx(prompts.list_prompts, TENANT)) == 2
    assert await kept.tx(prompts.get, TenantId("other"), "phrase@1") is None
    await whole_turn(kept)

    def named(connection: sa.Connection) -> None:
        values = {"tenant": TENANT, "conversation": CONVERSATION, "role": "internal", "kind": "model", "content": ""}
        turn = connection.execute(sa.text("SELECT id FROM turns")).scalar()
        table = prompts.messages
        meta = {"prompt": "decide_x@2+phrase@1"}
        connection.execute(sa.insert(table).values(**values, seq=99, turn=turn, meta=meta, at=1.0))

    await kept.tx(named)
    assert len(await kept.tx(prompts.uses, TENANT, "phrase@1")) == 1
    assert len(await kept.tx(prompts.uses, TENANT, "decide_x@2")) == 1
    assert await kept.tx(prompts.uses, TENANT, "decideux@2") == []
    assert await kept.tx(prompts.uses, TENANT, "phrase@") == []
    assert await kept.tx(prompts.uses, TENANT, "critique@1") == []
