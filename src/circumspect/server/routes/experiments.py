"""`/v1/admin/experiments` and `/v1/admin/shadows`: make an experiment, start it, look at it, change its share, stop it.

What is changed here holds on this worker at once and on the others a second later. Whoever sends the `ETag` of what
they saw as `If-Match` changes that and nothing newer. Model and profile are what a tenant pays for, so an arm with
another one can be made by operators only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.lab.trials import experiments as words
from circumspect.lab.trials.conducting import (
    UnknownExperiment,
    change,
    create,
    draft,
    load_experiment,
    make_log_writer,
    make_report,
    next_steps,
)
from circumspect.lab.trials.experiments import Experiment, from_row
from circumspect.server.access import (
    AdminPrincipal,
    InternalsReader,
    NotPermitted,
    Principal,
    SettingsReader,
    require_fresh,
    services_of,
)
from circumspect.server.if_match import CHANGED, ETAG, IfMatch, make_etag_header, require_unchanged
from circumspect.server.problems import HttpProblem, not_found, require_found
from circumspect.server.responses import (
    After,
    IdPath,
    PageLimit,
    TenantFilter,
    describe_route,
    find_visible_tenants,
    make_page,
    one_tenant,
    page_after,
    resource,
    to_response,
)
from circumspect.server.schemas.bodies import ID, AnswerPage, ProblemBody, RequestBody
from circumspect.server.schemas.experiments import (
    ExperimentGiven,
    ExperimentShown,
    ExperimentWhole,
    FinishGiven,
    ResultsShown,
    ShadowShown,
    ShareGiven,
    StopGiven,
    SummaryShown,
)
from circumspect.server.services import Services
from circumspect.stores import experiments, shadows
from circumspect.stores.experiments import ExperimentState

router = resource("experiments")
KindQuery = Annotated[str | None, Query(pattern="^(ab|shadow)$", description="Only of this kind.")]


def _describe_tagged_route(model: Any, *statuses: int, status: int = 200, changes: bool = False) -> dict[str, Any]:
    """As `described`, of an answer that has a tag."""
    responses: dict[int, dict[str, Any]] = {status: {"model": model, "description": "Done.", "headers": ETAG}}
    if changes:
        responses[412] = {"model": ProblemBody, "description": CHANGED, "headers": ETAG}
    return describe_route(model, *statuses, status=status, responses=responses)


_CHANGE = _describe_tagged_route(ExperimentShown, 400, 404, 409, changes=True)


@router.get("/v1/admin/experiments", **describe_route(AnswerPage[ExperimentShown], 404))
async def list_experiments(
    request: Request,
    who: SettingsReader,
    tenant: TenantFilter = None,
    kind: KindQuery = None,
    after: After = None,
    limit: PageLimit = 50,
) -> Response:
    """The newest first."""
    rows = await services_of(request).store.tx(
        experiments.list_experiments, find_visible_tenants(who, tenant), page_after(after), limit + 1, kind
    )
    return to_response(
        make_page(rows, limit, lambda row: ExperimentShown.of(from_row(row)), lambda row: (row.created_at, row.id))
    )


@router.post("/v1/admin/experiments", **_describe_tagged_route(ExperimentShown, 400, 404, 409, status=201))
async def create_experiment(
    request: Request, who: AdminPrincipal, given: ExperimentGiven, tenant: TenantFilter = None
) -> Response:
    """Make an experiment or a shadow. Nothing is tried before it is started."""
    services, name = services_of(request), one_tenant(who, tenant)
    said = given.model_dump(exclude_none=True)
    for arm in given.arms:
        if who.operator is None and (arm.overlay.model or arm.overlay.profile):
            raise NotPermitted("A tenant does not choose its model or profile.", fix="Ask an operator.")
    made = draft(
        name, services.ids.new("exp"), name=given.name, kind=given.kind, unit=given.unit, arms=said["arms"],
        plan=said["plan"], note=given.note, by=who.name, at=services.clock.now().timestamp(),
    )  # fmt: skip
    await _check(services, made)
    written = make_log_writer(
        "create_experiment", who.name, services.ids.new("act"), services.clock.now(), {"name": given.name}
    )
    return to_response(ExperimentShown.of(await services.store.tx(create, made, written)), 201, make_etag_header(made))


@router.get("/v1/admin/experiments/{experiment_id}", **_describe_tagged_route(ExperimentWhole, 404))
async def get_experiment(request: Request, who: SettingsReader, experiment_id: IdPath) -> Response:
    """One, with what its arms came to so far; of a shadow, how often it would have done the same."""
    services = services_of(request)
    now = services.clock.now().timestamp()
    try:
        experiment, sums = await services.store.tx(load_experiment, who.tenant_filter, experiment_id, now)
    except UnknownExperiment:
        raise not_found("experiment") from None
    summary = results = None
    report = make_report(experiment, sums)
    if report is None:
        summary = SummaryShown.of(await services.store.tx(shadows.summary, experiment.tenant, experiment.id))
    else:
        results = ResultsShown.model_validate({**report.to_json(), "next": next_steps(experiment, sums, now)})
    whole = ExperimentWhole.of(experiment, results=results, summary=summary)
    return to_response(whole, headers=make_etag_header(experiment))


@router.post(
    "/v1/admin/experiments/{experiment_id}/start",
    **_CHANGE,
)
async def start_experiment(
    request: Request, who: AdminPrincipal, experiment_id: IdPath, given: ShareGiven, if_match: IfMatch = None
) -> Response:
    """Start it with this share; after it was stopped, again. Every arm is built first, so that none is broken."""
    require_fresh(request, who)
    services = services_of(request)
    row = require_found(await services.store.tx(experiments.get, who.tenant_filter, experiment_id), "experiment")
    await _check(services, require_unchanged(from_row(row), if_match))
    return await _change_experiment(request, who, experiment_id, if_match, "start_experiment", given, words.start)


@router.post(
    "/v1/admin/experiments/{experiment_id}/share",
    **_CHANGE,
)
async def set_share(
    request: Request, who: AdminPrincipal, experiment_id: IdPath, given: ShareGiven, if_match: IfMatch = None
) -> Response:
    """For conversations that begin from now on. Those under way keep their arm."""
    require_fresh(request, who)
    return await _change_experiment(request, who, experiment_id, if_match, "set_share", given, words.set_share)


@router.post("/v1/admin/experiments/{experiment_id}/stop", **_CHANGE)
async def stop_experiment(
    request: Request, who: AdminPrincipal, experiment_id: IdPath, given: StopGiven, if_match: IfMatch = None
) -> Response:
    """Switch back: everybody has what the tenant has, within seconds, on all workers."""
    return await _change_experiment(request, who, experiment_id, if_match, "stop_experiment", given, words.stop)


@router.post(
    "/v1/admin/experiments/{experiment_id}/finish",
    **_CHANGE,
)
async def finish_experiment(
    request: Request, who: AdminPrincipal, experiment_id: IdPath, given: FinishGiven, if_match: IfMatch = None
) -> Response:
    """Decide, or decide again. With `roll_out`, every conversation that begins from now on gets the winner, until it is
    stopped."""
    require_fresh(request, who)
    return await _change_experiment(request, who, experiment_id, if_match, "finish_experiment", given, words.finish)


# --- shadows --------------------------------------------------------------------------------------------------------


@router.get("/v1/admin/shadows", **describe_route(AnswerPage[ShadowShown], 404))
async def list_shadows(
    request: Request,
    who: InternalsReader,
    tenant: TenantFilter = None,
    experiment: Annotated[str | None, Query(max_length=128, pattern=ID, description="Only of this one.")] = None,
    different: Annotated[bool, Query(description="Only where it would have done something else.")] = False,
    after: After = None,
    limit: PageLimit = 50,
) -> Response:
    """What a second configuration would have done, beside what was done; the newest first."""
    rows = await services_of(request).store.tx(
        shadows.list_shadows,
        find_visible_tenants(who, tenant),
        page_after(after),
        limit + 1,
        experiment=experiment,
        different=different,
    )
    return to_response(make_page(rows, limit, ShadowShown.of, lambda row: (row.at, row.turn)))


@router.get("/v1/admin/shadows/{experiment_id}/{turn_id}", **describe_route(ShadowShown, 404))
async def get_shadow(request: Request, who: InternalsReader, experiment_id: IdPath, turn_id: IdPath) -> Response:
    """One turn, both ways."""
    row = require_found(
        await services_of(request).store.tx(shadows.get, who.tenant_filter, experiment_id, turn_id), "shadow"
    )
    return to_response(ShadowShown.of(row))


# ---------------------------------------------------------------------------------------------------------------------


async def _check(services: Services, experiment: Experiment) -> None:
    """Every arm can be built now. Raises what is wrong with one."""
    setup = await services.directory.setup(experiment.tenant)
    for arm in experiment.arms:
        try:
            await services.experimenting.check(setup, arm)
        except CircumspectError as problem:
            raise HttpProblem(422, "arm", f"The arm '{arm.name}': {problem.problem}", fix=problem.fix) from None


async def _change_experiment(
    request: Request,
    who: Principal,
    id_: str,
    if_match: str | None,
    name: str,
    given: RequestBody,
    step: Callable[..., Experiment],
) -> Response:
    """What is given is what the step takes, between the experiment and the time."""
    services, detail = services_of(request), given.model_dump()
    now = services.clock.now()
    written = make_log_writer(name, who.name, services.ids.new("act"), now, detail)

    def apply_step(one: Experiment) -> Experiment:
        return step(require_unchanged(one, if_match), *detail.values(), now.timestamp())

    try:
        after = await services.store.tx(change, who.tenant_filter, id_, apply_step, written)
    except UnknownExperiment:
        raise not_found("experiment") from None
    except ExperimentState as problem:
        raise HttpProblem(409, problem.code, problem.problem, fix=problem.fix) from None
    services.experimenting.look_again()
    return to_response(ExperimentShown.of(after), headers=make_etag_header(after))
