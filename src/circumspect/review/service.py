"""Evaluations that a server runs: a stored request in, results in the store out, whoever asks and whoever dies.

An evaluation belongs to one worker at a time by a lease. Each result is written with the lease renewed, in one
transaction; a worker that lost its lease, or whose evaluation was deleted, writes nothing more. One that nobody holds
any longer is taken up again by the next worker that is asked about it, from the results that are there.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from circumspect.confined.processes import ReadingLimits
from circumspect.errors import CircumspectError, ConfigError
from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.tree import KnowledgeDocument
from circumspect.lanes import Lane
from circumspect.ports import Clock, Ids, Model
from circumspect.prompts import use_prompts
from circumspect.review.case_files import Criteria, criteria_of, read_case
from circumspect.review.case_shadows import is_overspent, put_shadow
from circumspect.review.controller import ReviewLimits
from circumspect.review.experiment_arms import finish_evaluation, load_prompts
from circumspect.review.reviewing import Prepared, Reviewing, by_heuristic, prepare, require_model, review
from circumspect.review.shelf import Shelf
from circumspect.review.stored_evaluations import StoredSummaries, row_of
from circumspect.review.values import Criterion, CriterionResult, ReviewCase
from circumspect.stores import knowledge, reviews
from circumspect.stores.engine import Transactions
from circumspect.stores.reviews import Evaluation

log = logging.getLogger(__name__)

LEASE_SECONDS = 300.0
CONCURRENT = 4
UNDER_WAY, UNDER_WAY_PER_TENANT = 16, 4
"""Evaluations that a worker has in memory, of all tenants and of one; the others wait in the store."""


class EvaluationInput:
    """What an evaluation is about, read from its request. Raises `ConfigError` that names the field."""

    def __init__(self, case: ReviewCase, criteria: Criteria, documents: Sequence[KnowledgeDocument]) -> None:
        self.case, self.criteria, self.shelf = case, criteria, Shelf(documents)
        self.items: tuple[Criterion, ...] = criteria.of(case, self.shelf.names)
        if not self.items:
            raise ConfigError("No criterion is about this case.", fix="Compare 'policy' in the case and the criteria.")


def read_request(
    request: Mapping[str, Any], stored: Mapping[str, KnowledgeDocument], limits: ReadingLimits | None = None
) -> EvaluationInput:
    """Work of seconds where there are PDFs: not for the event loop. `limits` hold for each document."""
    case = read_case(request["case"], "case")
    criteria = criteria_of(request["criteria"], "criteria")
    documents: list[KnowledgeDocument] = []
    for index, one in enumerate(request["documents"]):
        where = f"documents[{index}]"
        if one.get("stored"):
            documents.append(stored[one["stored"]])
        else:
            data = bytes_of(one, where)
            documents.append(read_document(data, one["name"], media_type=one.get("media_type"), limits=limits))
    names = [document.id for document in documents]
    if len(set(names)) < len(names):
        raise ConfigError("Two documents have the same name.", fix="Give each its own name: results name them.")
    return EvaluationInput(case, criteria, documents)


def bytes_of(one: Mapping[str, Any], where: str) -> bytes:
    """A document as it was sent."""
    if one.get("text") is not None:
        return str(one["text"]).encode()
    try:
        return base64.b64decode(one.get("data") or "", validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(
            f"{where}.data is not base64.", fix="Send text in 'text', files in 'data' as base64."
        ) from None


async def load_stored_documents(
    store: Transactions, tenant: str, request: Mapping[str, Any]
) -> Mapping[str, KnowledgeDocument]:
    """The tenant's own documents that a request names."""
    found: dict[str, KnowledgeDocument] = {}
    for one in request["documents"]:
        if name := one.get("stored"):
            document = await store.tx(knowledge.get, tenant, name)
            if document is None:
                raise ConfigError(f"There is no stored document '{name}'.", fix="Put it there first, or send its text.")
            found[name] = document
    return found


class EvaluationWatch(Protocol):
    """Hears what evaluations come to, for metrics. It must not raise."""

    def verdict(self, tenant: str, result: CriterionResult) -> None: ...

    def evaluation(self, tenant: str, state: str) -> None: ...


class EvaluationRunner:
    """The evaluations that this worker has under way."""

    def __init__(
        self,
        store: Transactions,
        clock: Clock,
        ids: Ids,
        *,
        reading: Lane | None = None,
        computing: Lane | None = None,
        limits: ReadingLimits | None = None,
        watch: EvaluationWatch | None = None,
    ) -> None:
        """Documents are read within `limits`, in a place of the lane `reading`; heuristics compute in the other."""
        self._store, self._clock, self._ids, self._limits, self._watch = store, clock, ids, limits, watch
        self._reading, self._computing = reading or Lane("documents"), computing or Lane("reviews")
        self._under_way = Lane("evaluations", at_once=UNDER_WAY, per_tenant=UNDER_WAY_PER_TENANT)
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}

    def start(self, tenant: str, id_: str, model: Model | None) -> None:
        """Take it up unless it is under way here. Another worker's lease is respected."""
        if (tenant, id_) in self._tasks:
            return
        task = asyncio.create_task(self._run(tenant, id_, model), name=id_)
        self._tasks[tenant, id_] = task
        task.add_done_callback(lambda _: self._tasks.pop((tenant, id_), None))

    async def run(self, tenant: str, id_: str, model: Model | None = None) -> None:
        """Take it up and see it through. What fails is written down with it."""
        await self._run(tenant, id_, model)

    def needs(self, evaluation: Evaluation) -> bool:
        """Whether nobody seems to work on it. Whoever takes it up hears from the database whether that is so."""
        held = evaluation.lease_until is not None and evaluation.lease_until > self._clock.now().timestamp()
        return evaluation.state in ("queued", "running") and not held

    async def close(self) -> None:
        """Break off what is under way and give it back."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, tenant: str, id_: str, model: Model | None) -> None:
        token = self._ids.new("lease")
        try:
            async with self._under_way.hold(tenant, patiently=True):
                if await self._store.tx(reviews.claim, tenant, id_, token, LEASE_SECONDS):
                    await self._evaluate(tenant, id_, token, model)
        except asyncio.CancelledError:
            with contextlib.suppress(CircumspectError):
                await asyncio.shield(self._store.tx(reviews.release, tenant, id_, token))
            raise
        except CircumspectError as problem:
            await self._record_failure(tenant, id_, token, f"{problem.problem} {problem.fix}".strip())
        except Exception:
            log.exception("evaluation failed", extra={"evaluation": id_})
            await self._record_failure(tenant, id_, token, "Something of ours failed.")

    async def _record_failure(self, tenant: str, id_: str, token: str, problem: str) -> None:
        now = self._clock.now().timestamp()
        with contextlib.suppress(CircumspectError):
            if await self._store.tx(finish_evaluation, tenant, id_, token, "failed", now, problem) and self._watch:
                self._watch.evaluation(tenant, "failed")

    async def _evaluate(self, tenant: str, id_: str, token: str, model: Model | None) -> None:
        evaluation = await self._store.tx(reviews.get, frozenset({tenant}), id_)
        if evaluation is None:
            return
        with use_prompts(await load_prompts(self._store, tenant, evaluation.request)):
            await self._decide(evaluation, token, model)

    async def _decide(self, evaluation: Evaluation, token: str, model: Model | None) -> None:
        tenant, id_ = evaluation.tenant, evaluation.id
        request: Mapping[str, Any] = evaluation.request
        stored = await load_stored_documents(self._store, tenant, request)
        work = await self._reading.compute_later(tenant, read_request, request, stored, self._limits)
        reviewing = _reviewing(request, evaluation.controller, model)
        about = {work.criteria.document_of(one, work.shelf.names) for one in work.items}
        prepared = await prepare(work.shelf, reviewing, StoredSummaries(self._store.tx, tenant), about=about)
        known = await self._store.tx(reviews.get_decided_criteria, tenant, id_)
        waiting = iter([pair for pair in enumerate(work.items) if pair[1].id not in known])
        lost = asyncio.Event()

        async def worker() -> None:
            for position, criterion in waiting:
                if lost.is_set():
                    return
                found = await self._review_criterion(tenant, work, criterion, prepared, reviewing)
                row = row_of(found, work.case, position)
                now = self._clock.now().timestamp()
                kept = await self._store.tx(reviews.write_result, tenant, id_, token, row, now, LEASE_SECONDS)
                if not kept:
                    lost.set()
                elif self._watch:
                    self._watch.verdict(tenant, found)

        async with asyncio.TaskGroup() as group:
            for _ in range(CONCURRENT if reviewing.model else 1):
                group.create_task(worker())
        if not lost.is_set():
            now = self._clock.now().timestamp()
            finished = await self._store.tx(finish_evaluation, tenant, id_, token, "done", now)
            if finished and self._watch:
                self._watch.evaluation(tenant, "done")
            if finished and request.get("shadow"):
                await self._run_shadow(evaluation, work, prepared, model)

    async def _run_shadow(
        self, evaluation: Evaluation, work: EvaluationInput, prepared: Prepared, model: Model | None
    ) -> None:
        """The same case by the second configuration. Never raises for what that one does: the case is decided."""
        tenant, under = evaluation.tenant, cast(Mapping[str, Any], evaluation.request["shadow"])
        made: list[CriterionResult] = []
        error = ""
        try:
            if await self._store.tx(is_overspent, tenant, under):
                return
            wanted = under.get("controller") or evaluation.controller
            reviewing = _reviewing(evaluation.request, wanted, model)
            with use_prompts(await load_prompts(self._store, tenant, {"prompts": under.get("prompts")})):
                for criterion in work.items:
                    made.append(await self._review_criterion(tenant, work, criterion, prepared, reviewing))
        except ConfigError as problem:
            error = f"{problem.problem} {problem.fix}".strip()
        except Exception as problem:
            log.warning("a shadow failed", extra={"evaluation": evaluation.id, "problem": type(problem).__name__})
            error = f"{type(problem).__name__} in the second configuration."
        now = self._clock.now().timestamp()
        with contextlib.suppress(CircumspectError):
            await self._store.tx(put_shadow, evaluation, made, error, now)

    async def _review_criterion(
        self, tenant: str, work: EvaluationInput, criterion: Criterion, prepared: Prepared, reviewing: Reviewing
    ) -> CriterionResult:
        document = work.criteria.document_of(criterion, work.shelf.names)
        if reviewing.model is not None:
            return await review(work.case, criterion, prepared, reviewing, document=document)
        shelf = prepared.shelf.only(document)
        return await self._computing.compute_later(
            tenant, by_heuristic, work.case, criterion, shelf, reviewing.limits.floor
        )


def _reviewing(request: Mapping[str, Any], controller: object, model: Model | None) -> Reviewing:
    require_model(controller, model)
    given: Mapping[str, Any] = request.get("limits") or {}
    plain = ReviewLimits()
    limits = ReviewLimits(tokens=given.get("tokens") or plain.tokens, budget=given.get("budget") or plain.budget)
    return Reviewing(model if controller == "react" else None, limits, fallback=bool(request.get("fallback", True)))
