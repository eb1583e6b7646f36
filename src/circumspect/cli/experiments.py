"""`circumspect experiments`: make an experiment or a shadow, start it, look at it, change its share, stop it.

Written straight into the database; servers on it see a change within a second or two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from circumspect.cli.options import read_json_object
from circumspect.cli.store_options import StoreTarget, add_store_options, login, need_packages, table

if TYPE_CHECKING:
    from circumspect.lab.trials.experiments import Experiment
    from circumspect.server.services import Services
    from circumspect.stores import SqlStore
    from circumspect.stores.shadows import ShadowRow, ShadowSummary

_EXAMPLE = '{"profile": "standard"}'
_SHOWN = ("loss", "wrong", "acted", "asked", "escalated", "failed", "cost", "tokens", "seconds")


@click.group()
def experiments() -> None:
    """Try another configuration on a share of the conversations, or in their shadow.

    \b
    circumspect experiments create careful --tenant shop --arm 'careful={"thresholds": {"critique_below": 0.9}}'
    circumspect experiments start careful --share 0.1
    circumspect experiments show careful
    circumspect experiments share careful 0.5
    circumspect experiments stop careful        everybody has what the tenant has, within seconds
    """
    need_packages()


@experiments.command("list")
@click.option("--tenant", help="Only this tenant's.")
@add_store_options
def list_(tenant: str | None, target: StoreTarget) -> None:
    """All of them, the newest first.

    \b
    circumspect experiments list --tenant shop
    """
    from circumspect.lab.trials.experiments import from_row
    from circumspect.server.schemas.experiments import ExperimentShown
    from circumspect.stores import experiments as rows
    from circumspect.values import TenantId

    seen = None if tenant is None else frozenset({TenantId(tenant)})
    found = [from_row(row) for row in target.tx(rows.list_experiments, seen, None, 200)]
    lines = [(one.id, one.tenant, one.name, one.kind, one.state, _show_share(one)) for one in found]
    text = table(lines, ("id", "tenant", "name", "kind", "state", "share")) if found else "There are no experiments."
    target.say([ExperimentShown.of(one) for one in found], text)


@experiments.command()
@click.argument("name")
@click.option("--tenant", required=True, help="Whose conversations.")
@click.option(
    "--arm", "arms", multiple=True, required=True, metavar="NAME={JSON}",
    help="An arm and what is different in it: model, prompts, policy, thresholds, profile, synthetic, controller.",
)  # fmt: skip
@click.option("--shadow", is_flag=True, help="Nobody gets it: run it beside the live turns and keep the differences.")
@click.option("--unit", type=click.Choice(["conversation", "case"]), default="conversation", help="What is drawn.")
@click.option("--plan", metavar="{JSON}", default="{}", help="What is compared: metric, method, horizon, guards, …")
@click.option("--note", default="", help="For those who look at it later.")
@add_store_options
def create(
    name: str,
    tenant: str,
    arms: tuple[str, ...],
    shadow: bool,
    unit: str,
    plan: str,
    note: str,
    target: StoreTarget,
) -> None:
    """Make one. Every arm is built once, so that none is broken; nothing is tried before it is started."""
    from circumspect.lab.trials import conducting
    from circumspect.server.schemas.experiments import ExperimentShown
    from circumspect.values import TenantId

    async def body(services: Services) -> Experiment:
        now = services.clock.now()
        made = conducting.draft(
            TenantId(tenant), services.ids.new("exp"), name=name, arms=[_arm(one) for one in arms],
            kind="shadow" if shadow else "ab", unit=unit, plan=read_json_object(plan, "--plan is", _EXAMPLE), note=note,
            by=login(), at=now.timestamp(),
        )  # fmt: skip
        await _check(services, made)
        written = conducting.make_log_writer("create_experiment", login(), services.ids.new("act"), now, {"name": name})
        return await services.store.tx(conducting.create, made, written)

    made = target.with_services(body)
    after = f"{made.id} is made. Start it: circumspect experiments start {made.id} --share 0.1"
    target.say(ExperimentShown.of(made), after)


@experiments.command()
@click.argument("experiment")
@click.option("--share", type=click.FloatRange(0, 1), default=0.1, show_default=True, help="Of new conversations.")
@add_store_options
def start(experiment: str, share: float, target: StoreTarget) -> None:
    """Start it, or start it again after it was stopped.

    \b
    circumspect experiments start careful --share 0.1
    """
    from circumspect.lab.trials import experiments as trials

    def step(one: Experiment, now: float) -> Experiment:
        return trials.start(one, share, now)

    _change("start_experiment", experiment, step, {"share": share}, target, check=True)


@experiments.command()
@click.argument("experiment")
@click.argument("share", type=click.FloatRange(0, 1))
@add_store_options
def share(experiment: str, share: float, target: StoreTarget) -> None:
    """Give it this share of the conversations that begin from now on."""
    from circumspect.lab.trials import experiments as trials

    _change("set_share", experiment, lambda one, now: trials.set_share(one, share, now), {"share": share}, target)


@experiments.command()
@click.argument("experiment")
@click.option("--why", default="", help="For those who look at it later.")
@add_store_options
def stop(experiment: str, why: str, target: StoreTarget) -> None:
    """Switch back: everybody has what the tenant has, at once."""
    from circumspect.lab.trials import experiments as trials

    _change("stop_experiment", experiment, lambda one, now: trials.stop(one, why, now), {"why": why}, target)


@experiments.command()
@click.argument("experiment")
@click.option("--winner", required=True, help="The arm that is better.")
@click.option("--roll-out", is_flag=True, help="Every conversation that begins from now on gets it.")
@add_store_options
def finish(experiment: str, winner: str, roll_out: bool, target: StoreTarget) -> None:
    """Decide it. What is decided is not started again, but another winner can be named, and it can be rolled out later.

    Without --roll-out everybody has what the tenant has, whichever arm won. With it every conversation (or case) that
    begins from now on gets the winner, until the experiment is stopped: put the winner into the tenant's file by then.

    \b
    circumspect experiments finish careful --winner careful --roll-out
    circumspect experiments finish careful --winner control
    """
    from circumspect.lab.trials import experiments as trials

    def step(one: Experiment, now: float) -> Experiment:
        return trials.finish(one, winner, roll_out, now)

    def warn(one: Experiment) -> str:
        if not one.has_unserved_winner:
            return ""
        return (
            f" Nobody gets '{winner}': it was not rolled out. Put what is different in it into the tenant's file, or"
            " finish it again with --roll-out."
        )

    _change("finish_experiment", experiment, step, {"winner": winner, "roll_out": roll_out}, target, more=warn)


@experiments.command()
@click.argument("experiment")
@add_store_options
def show(experiment: str, target: StoreTarget) -> None:
    """What its arms came to so far; of a shadow, how often it would have done the same."""
    from circumspect.clock import SystemClock
    from circumspect.lab.trials import conducting
    from circumspect.server.schemas.experiments import ExperimentWhole, ResultsShown
    from circumspect.stores import shadows

    now = SystemClock().now().timestamp()

    async def body(store: SqlStore) -> tuple[Any, Any, ShadowSummary | None, list[ShadowRow]]:
        id_ = await store.tx(conducting.find_experiment_id, None, experiment)
        one, sums = await store.tx(conducting.load_experiment, None, id_, now)
        if one.kind == "ab":
            return one, sums, None, []
        rows = await store.tx(shadows.list_shadows, None, None, 20, experiment=id_, different=True)
        return one, sums, await store.tx(shadows.summary, one.tenant, id_), list(rows)

    one, sums, summary, rows = target.with_store(body)
    head = f"{one.name} ({one.id}) of {one.tenant} is {_state(one)}."
    stopped = [f"stopped: {arm.name}: {arm.stopped}" for arm in one.arms if arm.stopped]
    if summary is not None:
        lines = [f"{row.turn}  {row.live.get('outcome')} -> {row.shadow.get('outcome')}  {_all(row)}" for row in rows]  # type: ignore[union-attr]
        told = f"{summary.turns} turns, {summary.same} the same, {summary.failed} failed, {one.dropped} left out"
        whole = ExperimentWhole.of(one, results=None, summary=summary)
        target.say(whole, "\n".join((head, told, *lines)))
        return
    report = conducting.make_report(one, sums)
    assert report is not None
    steps = conducting.next_steps(one, sums, now)
    results = ResultsShown.model_validate({**report.to_json(), "next": steps})
    text = [head, *stopped, "", _table(report.arms), ""]
    for name, said in report.comparisons.items():
        first = said[0]
        text.append(
            f"{name}: {first.metric.name} {_format_difference(first.difference)} against control, {first.decision}"
        )
        text.append(f"  next: {steps[name].move}. {steps[name].why}")
    target.say(ExperimentWhole.of(one, results=results, summary=None), "\n".join(text))


# ---------------------------------------------------------------------------------------------------------------------


def _change(
    name: str,
    experiment: str,
    step: Callable[[Experiment, float], Experiment],
    detail: dict[str, Any],
    target: StoreTarget,
    check: bool = False,
    more: Callable[[Experiment], str] = lambda _: "",
) -> None:
    from circumspect.lab.trials import conducting
    from circumspect.server.schemas.experiments import ExperimentShown

    async def body(services: Services) -> Experiment:
        store, now = services.store, services.clock.now()
        id_ = await store.tx(conducting.find_experiment_id, None, experiment)
        if check:
            await _check(services, (await store.tx(conducting.load_experiment, None, id_, now.timestamp()))[0])
        written = conducting.make_log_writer(name, login(), services.ids.new("act"), now, detail)
        return await store.tx(conducting.change, None, id_, lambda one: step(one, now.timestamp()), written)

    after = target.with_services(body)
    target.say(ExperimentShown.of(after), f"{after.name} is {_state(after)}.{more(after)}")


async def _check(services: Services, experiment: Experiment) -> None:
    setup = await services.directory.setup(experiment.tenant)
    for arm in experiment.arms:
        await services.experimenting.check(setup, arm)


def _arm(text: str) -> dict[str, Any]:
    name, given, overlay = text.partition("=")
    return {"name": name, "overlay": read_json_object(overlay, f"--arm {name} is", _EXAMPLE) if given else {}}


def _table(arms: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [
        (name, str(arm["units"]), *(_limits(arm["metrics"][metric]) for metric in _SHOWN)) for name, arm in arms.items()
    ]
    return table(rows, ("arm", "units", *_SHOWN))


def _limits(interval: Mapping[str, Any]) -> str:
    low, high = (("?" if interval[side] is None else f"{interval[side]:.3g}") for side in ("low", "high"))
    return f"{interval['mean']:.3g} ({low}..{high})" if interval["n"] else "-"


def _state(one: Experiment) -> str:
    if one.state == "rolled_out":
        return f"rolled out: every new {one.unit} gets {one.winner}"
    what = f"new {one.unit}s" if one.kind == "ab" else "cases" if one.unit == "case" else "turns"
    return f"running, on {_percent(one.share)} of {what}" if one.live else one.state


def _show_share(one: Experiment) -> str:
    """Of what begins now; after a decision there is none to speak of."""
    if one.state == "rolled_out":
        return "100 %"
    return "-" if one.state == "finished" else _percent(one.share)


def _format_difference(value: float) -> str:
    return f"{value:+.3g}"


def _percent(share: float) -> str:
    return f"{share * 100:g} %"


def _all(row: ShadowRow) -> str:
    differences = row.differences if isinstance(row.differences, list) else []
    return ", ".join(str(one) for one in differences) or row.error
