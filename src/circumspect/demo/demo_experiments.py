"""A demo experiment, a demo shadow and a version of a prompt: the demo's conversations are really played under them.

Who gets which arm is drawn, arms are built, exposures and shadows are written by the code that a server runs. All of it
carries the mark `demo-`, by which it is found and taken away.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from time import perf_counter

import sqlalchemy as sa

from circumspect.clock import RandomIds, SystemClock
from circumspect.lab.trials import conducting
from circumspect.lab.trials import experiments as words
from circumspect.lab.trials.experiments import Experiment
from circumspect.pipeline import run_turn
from circumspect.prompts import load_default_prompt, make_prompt_version
from circumspect.server.experiment_resources import StoredResources
from circumspect.server.experiment_turns import Experimenting
from circumspect.server.shadow_turns import Shadowing
from circumspect.setup import TurnSetup
from circumspect.stores import SqlStore, prompts
from circumspect.stores.experiment_tables import experiments, exposures, prompt_versions, shadows
from circumspect.values import Incoming, JsonObject, TenantId

TENANT = TenantId("shop")
PROMPT = "critique"
ADDED = "When you are in doubt, say what is missing before you say what is wrong."
PLAN: JsonObject = {
    "metric": "calls",
    "minimum": 10,
    "horizon": 100,
    "guards": [{"metric": "failed", "worse_by": 0.2}, {"metric": "wrong", "worse_by": 0.2}],
}
"""So that a few dozen conversations say something."""
FIRST, THEN = 0.1, 0.5
AFTER = timedelta(days=6)
"""When the share was raised."""


@dataclass(frozen=True)
class Trials:
    """What is tried, around each turn, as a server does it."""

    store: SqlStore
    resources: StoredResources
    experimenting: Experimenting
    shadowing: Shadowing

    async def run(self, incoming: Incoming, setup: TurnSetup) -> None:
        trial = await self.experimenting.begin(incoming, setup)
        if trial is None:
            await run_turn(incoming, setup)
            return
        began = perf_counter()
        result = await trial.run(run_turn, None)
        trial.note_result(result, perf_counter() - began)
        await self.shadowing.idle()

    async def close(self, mark: str, by: str, now: datetime) -> None:
        """From now on nobody's conversation is part of either: a demo should answer everybody alike, cost nothing that
        nobody asked for, and be in the way of nobody's first experiment. Whoever wants to see it go on starts it."""
        await self.shadowing.close()
        await self.experimenting.close()
        await self.resources.close()
        for name in ("careful", "beside"):
            await _stop(self.store, f"{mark}{name}", by, now)


async def begin(store: SqlStore, mark: str, by: str, at: datetime) -> Trials:
    """An experiment and a shadow that were made and started at that time, and run since. Their ids are always the same,
    so that the same conversations get the same arms in every demo."""
    ids, clock = RandomIds(), SystemClock()
    text = f"{load_default_prompt(PROMPT).text}\n\n{ADDED}"
    made = make_prompt_version(PROMPT, text)
    await store.tx(
        prompts.put, TENANT, made.id, PROMPT, made.text, at=at,
        parent=load_default_prompt(PROMPT).id, note="say what is missing", created_by=by,
    )  # fmt: skip
    overlay = {"thresholds": {"critique_below": 0.95}, "prompts": {PROMPT: made.id}}
    careful = conducting.draft(
        TENANT,
        f"{mark}careful",
        name="second opinion more often",
        arms=[{"name": "careful", "overlay": overlay}],
        plan=PLAN,
        note="Does it prevent enough to be worth its calls?",
        by=by,
        at=at.timestamp(),
    )
    await _create_and_start(store, ids, careful, by, at, FIRST)
    await _set_share(store, careful.id, THEN, by, at + AFTER)
    beside = conducting.draft(
        TENANT,
        f"{mark}beside",
        name="standard mode, beside",
        kind="shadow",
        arms=[{"name": "standard", "overlay": {"profile": "standard"}}],
        by=by,
        at=at.timestamp(),
    )
    await _create_and_start(store, ids, beside, by, at, 1.0)
    resources = StoredResources(store)
    experimenting = Experimenting(store, resources, clock)
    return Trials(store, resources, experimenting, Shadowing(store, experimenting, clock, ids))


async def _create_and_start(
    store: SqlStore, ids: RandomIds, made: Experiment, by: str, at: datetime, share: float
) -> None:
    log = conducting.make_log_writer("create_experiment", by, ids.new("act"), at, {"name": made.name})
    await store.tx(conducting.create, made, log)
    started = conducting.make_log_writer(
        "start_experiment", by, ids.new("act"), at + timedelta(minutes=4), {"share": share}
    )
    await store.tx(
        conducting.change, frozenset({TENANT}), made.id, lambda one: words.start(one, share, at.timestamp()), started
    )


async def _set_share(store: SqlStore, id_: str, share: float, by: str, at: datetime) -> None:
    log = conducting.make_log_writer("set_share", by, RandomIds().new("act"), at, {"share": share})
    await store.tx(
        conducting.change, frozenset({TENANT}), id_, lambda one: words.set_share(one, share, at.timestamp()), log
    )


async def _stop(store: SqlStore, id_: str, by: str, at: datetime) -> None:
    why = "The conversations of the demo are over."
    log = conducting.make_log_writer("stop_experiment", by, RandomIds().new("act"), at, {"why": why})
    await store.tx(conducting.change, frozenset({TENANT}), id_, lambda one: words.stop(one, why, at.timestamp()), log)


async def remove(store: SqlStore, mark: str) -> None:
    await store.tx(_forget, mark)


def _forget(connection: sa.Connection, mark: str) -> None:
    """Both marks are asked for: nobody's own experiment is taken away because of its name. What the log says of them
    stays, as all that it says."""
    marked = sa.select(experiments.c.id).where(
        experiments.c.tenant == TENANT,
        experiments.c.id.startswith(mark, autoescape=True),
        experiments.c.created_by.startswith(mark, autoescape=True),
    )
    ids = list(connection.execute(marked).scalars())
    for table, column in (
        (exposures, exposures.c.experiment),
        (shadows, shadows.c.experiment),
        (experiments, experiments.c.id),
    ):
        connection.execute(sa.delete(table).where(table.c.tenant == TENANT, column.in_(ids)))
    mine = (prompt_versions.c.tenant == TENANT, prompt_versions.c.created_by.startswith(mark, autoescape=True))
    connection.execute(sa.delete(prompt_versions).where(*mine))
