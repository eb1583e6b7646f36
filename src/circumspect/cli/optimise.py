"""`circumspect optimise`: better prompts from labelled cases, as candidates for an experiment. Never live by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from circumspect.cli.batch_options import Division, add_division_options, hold_engine, show_bar
from circumspect.cli.input_files import read_from, read_text
from circumspect.cli.optimise_forget import forget
from circumspect.cli.options import FILE, FOLDER, NEW_FOLDER, need_model, since_option
from circumspect.cli.store_options import StoreTarget, add_store_options, login, unknown_tenant
from circumspect.errors import ConfigError

if TYPE_CHECKING:
    import sqlalchemy as sa

    from circumspect.lab.batch.reviews import ReviewWorkers
    from circumspect.lab.optimise.dataset import Dataset
    from circumspect.lab.optimise.from_store import JudgedVerdicts
    from circumspect.lab.optimise.optimise_report import OptimisationReport
    from circumspect.lab.optimise.run import OptimisationProgress
    from circumspect.lab.optimise.watch import Due, StoredScores

BETTER, NO_BETTER = 0, 1
_NO_MODEL = "Optimising a prompt needs a model that reads it."
NOTE = "It holds the cases as they were sent: personal data. Look through them before you commit or share them."


@click.group()
def optimise() -> None:
    """Improve a prompt on labelled cases."""


optimise.add_command(forget)


@optimise.command()
@click.option("--dataset", "folder", type=FOLDER, help="cases/, policies/, criteria.yaml, labels.jsonl.")
@click.option("--budget", type=click.IntRange(1), help="Reviews in all. Too few are refused.")
@click.option("--prompt", "prompt_name", default="review", show_default=True, help="Which prompt of the reviewer.")
@click.option("--start", type=FILE, help="The text to begin with instead of ours.")
@click.option("--model", help="The model that reviews. Without it, the one in the settings.")
@click.option("--reflection-model", help="The model that writes new instructions; else the one that reviews.")
@click.option("--metric", default="review", show_default=True, help="An entry point's name, or module:function.")
@click.option("--minibatch", type=click.IntRange(1, 50), default=5, show_default=True, help="Reviews to learn from.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random choices.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 512),
    default=8,
    show_default=True,
    help="Reviews at a time, in each process.",
)
@click.option("--tokens", type=click.IntRange(500), default=6_000, show_default=True, help="Budget of one review.")
@click.option("--seconds", type=click.FloatRange(1), default=120.0, show_default=True, help="Time for one review.")
@click.option("--run", "run_folder", type=click.Path(path_type=Path), help="The run's directory; else optimise/….")
@click.option("--tenant", help="Store the winner as a prompt version of this tenant. With --from-store: whose reviews.")
@click.option("--watch", is_flag=True, help="Run only if stored evaluations have become worse than --below.")
@click.option("--below", type=click.FloatRange(0, 1), default=0.8, show_default=True, help="With --watch: the bound.")
@click.option("--last", type=click.IntRange(1), default=200, show_default=True, help="With --watch: how many.")
@click.option(
    "--at-least", type=click.IntRange(1), default=50, show_default=True, help="With --watch: fewer say nothing."
)
@click.option("--from-store", is_flag=True, help="Make a dataset of the verdicts that people corrected or confirmed.")
@click.option(
    "--write",
    "made",
    type=NEW_FOLDER,
    metavar="DIR",
    help="With --from-store: where the dataset goes, a new folder.",
)
@since_option("With --from-store: only what was said since then.")
@add_store_options
@add_division_options(keeps=False)
def review(
    folder: Path | None,
    budget: int | None,
    prompt_name: str,
    start: Path | None,
    model: str | None,
    reflection_model: str | None,
    metric: str,
    minibatch: int,
    seed: int,
    concurrency: int,
    tokens: int,
    seconds: float,
    run_folder: Path | None,
    tenant: str | None,
    watch: bool,
    below: float,
    last: int,
    at_least: int,
    from_store: bool,
    made: Path | None,
    since: datetime | None,
    target: StoreTarget,
    division: Division,
) -> None:
    """Improve a prompt of the reviewer with GEPA.

    Half of the cases is learned from, a quarter validates, a quarter is held out until the end; which is which depends
    on a case's id alone. Stop it any way you like: the same command goes on where it was and pays for nothing twice.
    The winner is a candidate for an experiment.

    \b
    Exit code: 0 the winner is better than the start on held-out cases, or a watch saw no need; 1 nothing better was
    found; 2 an error.

    A dataset made from stored reviews holds the cases as they were sent, names and all. Look through it before you
    commit or share it; `optimise forget` deletes what was deleted on the server.

    \b
    circumspect optimise review --from-store --tenant shop --write dataset
    circumspect optimise review --dataset examples/review --budget 600 --model openai:gpt-4o
    circumspect optimise review --dataset examples/review --budget 600 --watch --below .8 --last 200
    """
    if from_store:
        if tenant is None or made is None or folder is not None:
            raise click.UsageError("--from-store needs --tenant NAME and --write DIR, and no --dataset.")
        found = read_from(target.load_settings().database, lambda connection: _gather_labels(connection, tenant, since))
        _write(found, tenant, made, target)
        return
    if made is not None or since is not None:
        raise click.UsageError("--write and --since go with --from-store.")
    if folder is None or budget is None:
        raise click.UsageError("--dataset DIR and --budget NUMBER are needed, or --from-store to make a dataset.")

    from circumspect.lab.optimise.dataset import read_dataset
    from circumspect.lab.optimise.metric import find_metric
    from circumspect.lab.optimise.run import OptimisationPlan, check, default_folder, need_gepa
    from circumspect.lab.optimise.run import optimise as run
    from circumspect.models import open_model

    need_gepa()
    if ":" in metric:
        sys.path.insert(0, str(Path.cwd()))
    find_metric(metric)
    text = read_text(start) if start else ""
    plan = OptimisationPlan(budget, prompt_name, text, metric, minibatch, seed, tokens, concurrency, seconds)
    dataset = read_dataset(folder)
    check(plan, dataset)
    if watch:
        verdict, saw = _look(dataset, metric, below, last, at_least, tenant, target.load_settings().database)
        if not verdict.due:
            target.say({"watch": saw.to_json(verdict, below)}, f"No run: {verdict.why}.{_of(saw)}")
            return
        click.echo(f"A run is due: {verdict.why}.{_of(saw)}", err=True)
    named = need_model(model, target.config, _NO_MODEL)
    reviewer = open_model(named)
    writer = open_model(need_model(reflection_model, target.config, _NO_MODEL)) if reflection_model else reviewer
    path = run_folder or default_folder(plan, dataset, reviewer.name, writer.name)
    if watch and (path / "report.json").exists():
        target.say({"run": str(path), "started": False}, f"That run has ended already: {path}. Its winner waits.")
        return
    click.echo(f"Run directory: {path}", err=True)
    try:
        with _show_progress(budget, target.as_json) as tell, _elsewhere(division, named) as others:
            report = run(plan, dataset, reviewer, writer, path, elsewhere=others, watch=tell)
    except KeyboardInterrupt:
        click.echo(f"\nStopped. What is done is in {path}; the same command goes on.", err=True)
        raise
    kept = tenant if report.has_improved else None
    if kept:
        _store(report, kept, target)
    _tell(report, kept, target)
    sys.exit(BETTER if report.has_improved else NO_BETTER)


@contextmanager
def _elsewhere(division: Division, model: str) -> Iterator[ReviewWorkers | None]:
    """None where this process reviews."""
    from circumspect.lab.batch.reviews import ReviewWorkers

    if not division.is_elsewhere:
        yield None
        return
    with hold_engine(division) as engine:
        yield ReviewWorkers(engine, model)


# --- from the store -------------------------------------------------------------------------------------------------


def _gather_labels(connection: sa.Connection, tenant: str, since: datetime | None) -> JudgedVerdicts:
    from circumspect.lab.optimise.from_store import gather
    from circumspect.stores import admin
    from circumspect.values import TenantId

    found = gather(connection, tenant, since.timestamp() if since else None)
    if not found.judged and not found.left_out and admin.get_tenant(connection, TenantId(tenant)) is None:
        raise unknown_tenant(tenant, " in this database")
    return found


def _write(found: JudgedVerdicts, tenant: str, folder: Path, target: StoreTarget) -> None:
    from circumspect.lab.optimise.from_store import write

    told, left_out = found.to_json(), [f"{count} left out: {why}." for why, count in found.left_out.items()]
    if not found.judged:
        raise ConfigError(
            " ".join([f"There are no verdicts of {tenant} that somebody corrected or confirmed.", *left_out]),
            fix="Correct some in the console under Reviews, or by POST /v1/evaluations/{id}/corrections.",
        )
    write(found, folder)
    train, validation, held = told["cases"].values()
    lines = [
        f"{told['labels']} labels, {told['confirmed']} of which confirm the verdict, in {folder}.",
        f"Cases: {train} to train, {validation} to validate, {held} held out.",
        *left_out,
    ]
    if found.widened_count:
        lines.append(f"{found.widened_count} had several documents, and will be read against all that are there.")
    target.say({**told, "dataset": str(folder)}, "\n".join(lines))
    click.echo(NOTE, err=True)


# --- the watch ------------------------------------------------------------------------------------------------------


def _look(
    dataset: Dataset, metric: str, below: float, last: int, at_least: int, tenant: str | None, database: str
) -> tuple[Due, StoredScores]:
    from sqlalchemy import make_url

    from circumspect.lab.optimise.metric import find_metric
    from circumspect.lab.optimise.watch import check_due, read_latest, score_stored
    from circumspect.stores.engine import connect

    url = make_url(database) if "://" in database else None
    file = database if url is None else url.database if url.get_backend_name() == "sqlite" else None
    if file is not None and not Path(file).is_file():
        raise ConfigError(f"There is no database {file} to look at.", fix="Name it with --database.")
    opened = connect(database)
    try:
        stored = opened.transaction(read_latest, last, tenant)
    finally:
        opened.close()
    saw = score_stored(stored, dataset.examples, find_metric(metric))
    return check_due(saw.scores, below, at_least), saw


def _of(saw: StoredScores) -> str:
    versions = ", ".join(f"{name} ({count})" for name, count in saw.prompts.items())
    return f" {saw.labelled} of them have a label. Prompts: {versions}." if versions else ""


# --- what came of it ------------------------------------------------------------------------------------------------


def _store(report: OptimisationReport, tenant: str, target: StoreTarget) -> None:
    """As a version that an experiment can name. Nothing uses it until one does."""
    from circumspect.stores import prompts
    from circumspect.values import TenantId

    winner, held = report.winner.prompt, report.winner_held
    note = f"optimised; held out {report.start_held.score:.3f} -> {held.score:.3f} on {held.examples} criteria"
    target.tx(
        prompts.put, TenantId(tenant), winner.id, winner.name, winner.text, at=datetime.now(UTC),
        parent=report.start.prompt.id, note=note, created_by=login(),
    )  # fmt: skip


def _tell(report: OptimisationReport, tenant: str | None, target: StoreTarget) -> None:
    following = _following(report, tenant)
    if target.as_json:
        target.say({**report.to_json(), "stored_for": tenant, "next": following if report.has_improved else None}, "")
        return
    for line in report.lines():
        click.echo(line)
    if not report.has_improved:
        why = (
            "no candidate beat the start" if not report.best else "the winner does not beat the start on held-out cases"
        )
        click.echo(f"\nNothing better was found: {why}.")
        return
    click.echo(f"\n{report.diff}\n")
    click.echo(f"The winner is a candidate, not live: {report.folder / 'winner.md'}")
    for line in following:
        click.echo(f"Next: {line}")


def _following(report: OptimisationReport, tenant: str | None) -> list[str]:
    """What to do with a winner: have it stored, where it is not yet, and try it on a share of the cases."""
    import shlex

    import orjson

    winner, whose = report.winner.prompt, tenant or "NAME"
    arm = f"optimised={orjson.dumps({'prompts': {winner.name: winner.id}}).decode()}"
    add = ["circumspect", "prompts", "add", winner.name, str(report.folder / "winner.md"), "--tenant", whose]
    name = winner.id.replace("@", "-")
    create = ["circumspect", "experiments", "create", name, "--tenant", whose, "--unit", "case", "--arm", arm]
    return [shlex.join(one) for one in ([] if tenant else [add]) + [create]]


@contextmanager
def _show_progress(budget: int, as_json: bool) -> Iterator[Callable[[OptimisationProgress], None]]:
    """On standard error: a bar where somebody watches, a line for each new candidate where nobody does."""
    told = 0

    def tell(now: OptimisationProgress) -> None:
        nonlocal told
        if now.candidates > told:
            told = now.candidates
            click.echo(f"{now.used}/{now.budget} reviews, {now.candidates} candidates, {_best(now)}", err=True)

    if as_json or not sys.stderr.isatty():
        yield tell
        return
    with show_bar(total=budget) as update:
        yield lambda now: update(
            completed=now.used, description=f"{now.candidates} candidates · round {now.rounds} · {_best(now)}"
        )


def _best(now: OptimisationProgress) -> str:
    return f"best {now.best:.3f}" if now.best is not None else "validating the start"
