"""Experiments: which run, what each says now, and one of them with its arms, metrics, guards and history.

Looking is for operators and reviewers; what an administrator may do with one is in `experiment_actions`, and making one
in `new_experiment`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Query, Request
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.lab.trials.conducting import UnknownExperiment, load_experiment, make_report, next_steps
from circumspect.lab.trials.experiments import Experiment, from_row
from circumspect.lab.trials.measures import compare_planned, read_plan
from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.experiment_comparison import (
    LADDER,
    ExperimentNotice,
    build_metrics,
    build_notices,
    changes,
    guarding,
    history,
    prompts_named,
)
from circumspect.server.console.lab_sentences import translate_lab_sentence
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer, page
from circumspect.server.console.visitors import ReviewerVisitor, Visitor, tenants_of
from circumspect.server.if_match import fingerprint
from circumspect.server.problems import not_found
from circumspect.server.responses import IdPath, find_visible_tenants, page_after, split_page
from circumspect.server.routes import prompts as prompts_api
from circumspect.stores import action_log, experiments, prompts
from circumspect.stores.action_log import LogRow
from circumspect.stores.arm_sums import ArmSums, sum_arms
from circumspect.stores.codec import moment as moment_of
from circumspect.stores.experiments import ExperimentRow
from circumspect.stores.people import VisibleTenants
from circumspect.values import TenantId

navigation.add(
    navigation.MenuEntry(
        "nav-experiments",
        "/experiments",
        56,
        ("operator", "reviewer"),
        also=("/shadows", "/prompt-versions"),
        icon="flask-conical",
    )
)
router = page_routes.router()
TenantAsked = Annotated[str, Query(max_length=64)]
AfterAsked = Annotated[str | None, Query(max_length=400)]
DoneQuery = Annotated[str, Query(max_length=10)]
DONE = ("made", "start", "share", "stop", "finish")
ROWS = 20
HISTORY = 100
UNREADABLE = (CircumspectError, ValueError, TypeError, KeyError)
"""What a stored experiment may do that another release has written."""


@dataclass(frozen=True, slots=True)
class ExperimentListing:
    row: ExperimentRow
    experiment: Experiment | None
    """None when what is stored cannot be read: then it is not served either."""
    says: Sequence[ExperimentNotice]


@router.get("/experiments")
async def listing(
    request: Request, who: ReviewerVisitor, tenant: TenantAsked = "", after: AfterAsked = None
) -> Response:
    services = services_of(request)
    seen, now = find_visible_tenants(who.principal, tenant or None), services.clock.now().timestamp()
    rows = await read(services, _read_rows, seen, page_after(after), now)
    rows, following = split_page(rows, ROWS, lambda one: (one.row.created_at, one.row.id))
    names = await tenants_of(request, who)
    return answer(
        request,
        who,
        "experiments/page.html",
        "experiments/_fragment.html",
        rows=rows,
        following=following,
        told=lambda sentence: translate_lab_sentence(sentence, who.words),
        tenant=tenant,
        example=tenant or next(iter(names), "shop"),
        tenants=names,
        at=moment_of,
    )


def _read_rows(connection: sa.Connection, seen: VisibleTenants, after: Any, now: float) -> list[ExperimentListing]:
    return [
        _summarise_row(connection, row, now)
        for row in experiments.list_experiments(connection, seen, after, ROWS + 1, "ab")
    ]


def _summarise_row(connection: sa.Connection, row: ExperimentRow, now: float) -> ExperimentListing:
    """Only what runs is added up, and only the metric that decides: this is one of many rows."""
    try:
        experiment = from_row(row)
        measuring = read_plan(experiment.plan)
    except UNREADABLE:
        return ExperimentListing(row, None, ())
    if experiment.state != "running":
        return ExperimentListing(row, experiment, build_notices(experiment, {}))
    quiet = now - measuring.quiet_seconds if experiment.unit == "conversation" else None
    only = {measuring.metric.name}
    sums = sum_arms(connection, experiment.tenant, experiment.id, quiet_since=quiet, only=only)
    return ExperimentListing(row, experiment, build_notices(experiment, compare_planned(experiment, measuring, sums)))


@router.get("/experiments/{experiment_id}")
async def detail(request: Request, who: ReviewerVisitor, experiment_id: IdPath, done: DoneQuery = "") -> Response:
    return await render_experiment(request, who, experiment_id, done=done if done in DONE else "")


async def render_experiment(
    request: Request, who: Visitor, id_: str, *, done: str = "", status: int = 200, quicker: str | None = None
) -> Response:
    """One experiment. `quicker`: somebody changed it before what was asked for could be done, and why it was not."""
    services, now = services_of(request), services_of(request).clock.now().timestamp()
    try:
        experiment, sums, every, log, there = await read(
            services, _read_experiment, find_visible_tenants(who.principal, None), id_, now
        )
    except UnknownExperiment:
        raise not_found("experiment") from None
    if experiment.kind == "shadow":
        return page_routes.redirect_to(f"/shadows/{experiment.id}")
    measuring = read_plan(experiment.plan)

    def compute_values() -> dict[str, Any]:
        report = make_report(experiment, sums)
        assert report is not None
        comparisons = {arm: said[0] for arm, said in report.comparisons.items()}
        return {
            "says": build_notices(experiment, comparisons),
            "metrics": build_metrics(experiment, measuring, report, who.words),
            "steps": next_steps(experiment, sums, now),
            "guards": guarding(experiment, measuring, every, who.words),
            "units": sum(one.units for one in sums),
        }

    values = await services.lanes.reports.compute(experiment.tenant, compute_values)
    return page(
        request,
        who,
        "experiments/detail.html",
        status,
        measuring=measuring,
        done=done,
        quicker=quicker,
        **build_shared_context(experiment, log, there, who),
        **values,
        tenants=await tenants_of(request, who),
    )


def _read_experiment(
    connection: sa.Connection, seen: VisibleTenants, id_: str, now: float
) -> tuple[Experiment, tuple[ArmSums, ...], Sequence[ArmSums], Sequence[LogRow], Collection[str]]:
    experiment, sums = load_experiment(connection, seen, id_, now)
    every: Sequence[ArmSums] = ()
    if experiment.kind == "ab":
        watched = {guard.metric.name for guard in read_plan(experiment.plan).guards}
        every = sum_arms(connection, experiment.tenant, experiment.id, only=watched)
    return experiment, sums, every, *read_log_and_prompts(connection, experiment)


def read_log_and_prompts(connection: sa.Connection, experiment: Experiment) -> tuple[Sequence[LogRow], Collection[str]]:
    """What was done with it, and which of the versions of prompts that its arms name are there."""
    log = action_log.list_actions(connection, allowed={experiment.tenant}, subject=experiment.id, limit=HISTORY)
    there = {id_ for id_ in prompts_named(experiment) if _is_there(connection, experiment.tenant, id_)}
    return log, there


def _is_there(connection: sa.Connection, tenant: TenantId, id_: str) -> bool:
    return prompts_api.find_shipped(id_) is not None or prompts.get(connection, tenant, id_) is not None


def build_shared_context(
    experiment: Experiment, log: Sequence[LogRow], there: Collection[str], who: Visitor
) -> dict[str, Any]:
    """What the pages of an experiment and of a shadow have in common."""
    return {
        "experiment": experiment,
        "seen": fingerprint(experiment),
        "ladder": [share for share in LADDER if share != experiment.share],
        "changes": changes,
        "told": lambda sentence: translate_lab_sentence(sentence, who.words),
        "there": there,
        "history": history(log, who.words),
        "at": moment_of,
    }
