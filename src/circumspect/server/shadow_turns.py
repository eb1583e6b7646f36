"""Shadowing: turns that were answered wait here for their shadow, one at a time, out of everybody's way.

The queue is short. A turn that finds it full has no shadow, and is counted. A shadow that has used up its budget is
stopped, for all workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from dataclasses import dataclass
from typing import Any

from circumspect.errors import CircumspectError
from circumspect.lab.trials.conducting import stop_by_itself
from circumspect.lab.trials.experiments import Experiment
from circumspect.lab.trials.shadow import AnsweredTurn, ShadowResult, shadow
from circumspect.ports import Clock, Ids
from circumspect.server.experiment_turns import Experimenting
from circumspect.setup import TurnSetup
from circumspect.stores import SqlStore, experiments, shadows
from circumspect.stores.shadows import ShadowRow
from circumspect.values import TenantId

log = logging.getLogger(__name__)

MOST_WAITING = 100
_BUDGET = {"usd": "budget_usd", "tokens": "budget_tokens"}


@dataclass(frozen=True)
class _Job:
    experiment: Experiment
    answered: AnsweredTurn
    setup: TurnSetup


class Shadowing:
    def __init__(
        self, store: SqlStore, experimenting: Experimenting, clock: Clock, ids: Ids, most: int = MOST_WAITING
    ) -> None:
        self._store, self._experimenting, self._clock, self._ids, self._most = store, experimenting, clock, ids, most
        self._jobs: asyncio.Queue[_Job] = asyncio.Queue()
        self._dropped: Counter[tuple[TenantId, str]] = Counter()
        self._task: asyncio.Task[None] | None = None
        experimenting.on_shadow = self.offer

    def offer(self, experiment: Experiment, answered: AnsweredTurn, setup: TurnSetup) -> None:
        if self._jobs.qsize() >= self._most:
            self._dropped[experiment.tenant, experiment.id] += 1
            return
        self._jobs.put_nowait(_Job(experiment, answered, setup))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())

    async def idle(self) -> None:
        """Until all that waits has been done."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})

    async def close(self) -> None:
        """What waits is dropped: nobody's answer hangs on it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        while not self._jobs.empty():
            job = self._jobs.get_nowait()
            self._dropped[job.experiment.tenant, job.experiment.id] += 1
        with contextlib.suppress(CircumspectError):
            await self.count()

    async def count(self) -> None:
        """Write down how many were dropped."""
        for (tenant, id_), number in list(self._dropped.items()):
            await self._store.tx(experiments.drop, tenant, id_, number)
            self._dropped[tenant, id_] -= number
        self._dropped += Counter()

    async def _work(self) -> None:
        while not self._jobs.empty():
            job = self._jobs.get_nowait()
            try:
                await self._do(job)
            except CircumspectError as problem:
                log.warning(
                    "a shadow was left out", extra={"turn": job.answered.incoming.turn, "problem": str(problem)}
                )
            except Exception:
                log.exception("a shadow was left out", extra={"turn": job.answered.incoming.turn})

    async def _do(self, job: _Job) -> None:
        experiment, incoming = job.experiment, job.answered.incoming
        current = [one for one in await self._experimenting.live(experiment.tenant) if one.id == experiment.id]
        if not current:
            return  # it was switched off while the turn waited
        if why := await self._overspent(experiment):
            await stop_by_itself(self._store, experiment, why, self._clock, self._ids)
            self._experimenting.look_again()
            return
        variant = await self._experimenting.variant(job.setup, experiment, experiment.arms[0])
        if variant is None:
            made = ShadowResult({}, {}, (), "The second configuration cannot be built.")
        else:
            reads: Any = experiment.plan.get("reads", "recorded")
            made = await shadow(job.answered, variant, reads, self._clock)
        row = ShadowRow(
            tenant=incoming.tenant,
            experiment=experiment.id,
            turn=incoming.turn,
            conversation=incoming.conversation,
            same=made.same,
            differences=list(made.differences),
            live=dict(made.live),
            shadow=dict(made.shadow),
            error=made.error,
            cost_usd=made.cost_usd,
            tokens=made.tokens,
            seconds=made.seconds,
            at=incoming.at.timestamp(),
        )
        await self._store.tx(shadows.put, row)

    async def _overspent(self, experiment: Experiment) -> str:
        limits = {name: experiment.plan.get(key) for name, key in _BUDGET.items()}
        if not any(isinstance(one, int | float) for one in limits.values()):
            return ""
        cost, tokens = await self._store.tx(shadows.sum_cost, experiment.tenant, experiment.id)
        for name, used in (("usd", cost), ("tokens", tokens)):
            limit = limits[name]
            if isinstance(limit, int | float) and used >= limit:
                return f"Its budget of {limit:g} {name} is used up."
        return ""
