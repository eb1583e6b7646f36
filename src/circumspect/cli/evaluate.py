"""`circumspect evaluate`: cases against the criteria of a policy, with quotes that are really there."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from circumspect.cli.batch_options import Division, add_division_options, engine_of, show_bar
from circumspect.cli.input_files import read_text
from circumspect.cli.options import FILE, NEW_FILE, PATH, config_option, need_model, pick_model_name
from circumspect.errors import ConfigError

if TYPE_CHECKING:
    from circumspect.lab.batch.evaluations import BatchProgress
    from circumspect.lab.batch.reviews import ReviewWorkers
    from circumspect.ports import Model
    from circumspect.prompts import Prompt
    from circumspect.review.case_files import Criteria
    from circumspect.review.outline import SummaryCache
    from circumspect.review.reviewing import Reviewing
    from circumspect.review.shelf import Shelf
    from circumspect.review.values import CriterionResult, ReviewCase

MET, NOT_MET, UNCERTAIN = 0, 1, 3


@click.command()
@click.argument("cases", type=PATH)
@click.argument("policies", type=PATH, nargs=-1, required=True)
@click.option("--criteria", "criteria_path", type=FILE, required=True, help="YAML, JSON or JSONL: what is checked.")
@click.option("--only", multiple=True, metavar="ID", help="Only these criteria; can be given several times.")
@click.option(
    "--controller",
    type=click.Choice(["auto", "react", "heuristic"]),
    default="auto",
    help="react: a model drives. heuristic: no model. auto: react when a model is configured.",
)
@click.option("--model", help="For example openai:gpt-4o. Without it, the one in the settings.")
@config_option
@click.option("--prompt", "prompt_path", type=FILE, help="Other instructions for the model than ours.")
@click.option("--no-fallback", is_flag=True, help="No passages found by words when the model fails.")
@click.option("--tokens", type=click.IntRange(500), default=6_000, show_default=True, help="Budget of one criterion.")
@click.option("--seconds", type=click.FloatRange(1), default=120.0, show_default=True, help="Time for one criterion.")
@click.option("--hard", is_flag=True, help="Stop a criterion at its budget instead of warning the model.")
@click.option("--json", "as_json", is_flag=True, help="One JSON line for each result, then a summary line.")
@click.option("--trace", is_flag=True, help="With --json: how each verdict came about.")
@click.option("--html", "html_path", type=NEW_FILE, help="Also write a page.")
@click.option("--out", help="A database for the results: a batch that can be stopped and resumed.")
@click.option("--budget-tokens", type=click.IntRange(1), help="Batch: stop cleanly when so many tokens are spent.")
@click.option("--budget-usd", type=click.FloatRange(0, min_open=True), help="Batch: stop when so much money is spent.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 512),
    help="Batch with a model: criteria at a time, in each process. [default: 8]",
)
@add_division_options(keeps=False)
def evaluate(
    cases: Path,
    policies: tuple[Path, ...],
    criteria_path: Path,
    only: tuple[str, ...],
    controller: Literal["auto", "react", "heuristic"],
    model: str | None,
    config: Path | None,
    prompt_path: Path | None,
    no_fallback: bool,
    tokens: int,
    seconds: float,
    hard: bool,
    as_json: bool,
    trace: bool,
    html_path: Path | None,
    out: str | None,
    budget_tokens: int | None,
    budget_usd: float | None,
    concurrency: int | None,
    division: Division,
) -> None:
    """Check CASES (a JSON or JSONL file, or a folder) against the criteria of POLICIES (files or folders).

    Every quote that is shown stands in the document. Without a model the heuristic controller answers, mostly with
    UNCERTAIN and the sentences to read.

    \b
    Exit code: 0 all met, 1 some not met, 3 none not met and some uncertain, 2 an error. With --out: 0 when every
    criterion has a result, whatever it is; 4 when the budget ended the batch before that.

    \b
    circumspect evaluate case.json policy.pdf --criteria criteria.yaml
    circumspect evaluate cases/ policies/ --criteria criteria.yaml --out results.db
    circumspect evaluate cases/ policies/ --criteria criteria.yaml --out results.db --engine ray --address head:6379
    """
    from circumspect.review.case_files import read_cases, read_criteria, read_documents
    from circumspect.review.controller import ReviewLimits
    from circumspect.review.reviewing import Reviewing
    from circumspect.review.shelf import Shelf

    if out is None and (budget_tokens or budget_usd):
        raise ConfigError("A budget is for a batch.", fix="Add --out results.db, or use --tokens for one criterion.")
    if out is None and division.has_engine_choice:
        raise ConfigError("An engine is for a batch.", fix="Add --out results.db, or leave --engine and --jobs out.")
    if out is not None and html_path:
        raise ConfigError("A batch writes no page.", fix="Evaluate one case with --html.")
    criteria = _pick_criteria(read_criteria(criteria_path), only)
    given = list(read_cases(cases))
    documents = [document for path in policies for document in read_documents(path)]
    twice = next((one.id for index, one in enumerate(documents) if one.id in {two.id for two in documents[:index]}), "")
    if twice:
        raise ConfigError(f"Two documents are called {twice}.", fix="Rename one: results name documents by file name.")
    named = None if controller == "heuristic" else pick_model_name(model, config)
    if controller == "react":
        named = need_model(model, config, "The react controller needs a model.")
    reviewing = Reviewing(
        _model(named),
        ReviewLimits(tokens=tokens, budget="hard" if hard else "soft", seconds=seconds),
        not no_fallback,
        _prompt(prompt_path),
    )
    shelf = Shelf(documents)
    pairs = sum(len(criteria.of(case, shelf.names)) for case in given)
    if not pairs:
        raise ConfigError("No criterion is about any of these cases.", fix="Compare 'policy' in cases and criteria.")
    if out is None:
        sys.exit(asyncio.run(_singly(given, criteria, shelf, reviewing, as_json, trace, html_path)))
    from circumspect.lab.batch.evaluations import Budget, run_batch

    try:
        with _show_progress(pairs, as_json) as watch:
            ended = run_batch(
                given, criteria, shelf, reviewing, out, budget=Budget(budget_tokens, budget_usd),
                concurrency=concurrency, elsewhere=_elsewhere(division, named), watch=watch,
            )  # fmt: skip
    except KeyboardInterrupt:
        click.echo(f"Stopped. What is done is in {out}: the same command goes on from there.", err=True)
        raise
    _tell(ended, as_json, out)
    sys.exit(0 if ended.complete else 4)


def _pick_criteria(criteria: Criteria, only: tuple[str, ...]) -> Criteria:
    from dataclasses import replace

    known = {one.id for one in criteria.items}
    unknown = next((name for name in only if name not in known), None)
    if unknown:
        raise ConfigError(f"There is no criterion '{unknown}'.", fix="Check the ids in the criteria file.")
    return replace(criteria, items=tuple(one for one in criteria.items if one.id in only)) if only else criteria


def _prompt(path: Path | None) -> Prompt | None:
    from circumspect.prompts import Prompt as Words

    if path is None:
        return None
    text = read_text(path).strip()
    if not text:
        raise ConfigError(f"{path} is empty.", fix="Say in it what the model should do, or leave --prompt out.")
    return Words(path.stem, text)


def _model(named: str | None) -> Model | None:
    from circumspect.models import open_model

    return open_model(named) if named else None


def _elsewhere(division: Division, model: str | None) -> ReviewWorkers | None:
    """None where the batch decides for itself."""
    from circumspect.lab.batch.reviews import ReviewWorkers

    # Reviews that wait for a model need no second process to run side by side.
    if not (division.is_elsewhere if model else division.has_engine_choice):
        return None
    return ReviewWorkers(engine_of(division), model)


async def _singly(
    cases: list[ReviewCase],
    criteria: Criteria,
    shelf: Shelf,
    reviewing: Reviewing,
    as_json: bool,
    trace: bool,
    html_path: Path | None,
) -> int:
    import orjson

    from circumspect.reasons import ReasonCode
    from circumspect.review import report_html, report_text
    from circumspect.review.reviewing import prepare, review

    names = shelf.names
    wanted = [(case, one, criteria.document_of(one, names)) for case in cases for one in criteria.of(case, names)]
    prepared = await prepare(shelf, reviewing, _cache(), about={document for *_, document in wanted})
    results: list[CriterionResult] = []
    for case, criterion, document in wanted:
        results.append(await review(case, criterion, prepared, reviewing, document=document))
        if as_json:
            click.echo(orjson.dumps(results[-1].to_json(trace=trace)))
    by_id = {one.id: one for one in criteria.items}
    if as_json:
        click.echo(orjson.dumps({"summary": _summary(results)}))
    else:
        width = min(shutil.get_terminal_size((100, 24)).columns, 120)
        for case in cases:
            own = [result for result in results if result.case == case.id]
            click.echo(f"{case.id}  {case.title}".rstrip())
            for line in report_text.lines(own, by_id, width=width):
                click.echo(line)
        if reviewing.model is None:
            click.echo("No model was asked. With --model the criteria are read, not only compared.", err=True)
    failed = [result for result in results if result.reason_code == ReasonCode.MODEL_FAILED]
    if failed:
        why = next((step.text for step in failed[0].trace if step.reason), "")
        click.echo(f"The model failed on {len(failed)} of {len(results)}; they are open. {why}", err=True)
    if html_path:
        used = {citation.document for result in results for citation in result.citations}
        shown = {name: one for name, one in shelf.documents.items() if name in used}
        html_path.write_text(report_html.page(results, by_id, shown, cases), "utf-8")  # noqa: ASYNC240
        click.echo(f"Wrote {html_path}.", err=True)
    return exit_code(results)


def exit_code(results: list[CriterionResult]) -> int:
    statuses = {result.status for result in results}
    return NOT_MET if "NOT_MET" in statuses else UNCERTAIN if "UNCERTAIN" in statuses else MET


def _summary(results: list[CriterionResult]) -> dict[str, object]:
    from circumspect.review.values import STATUSES

    counts: dict[str, object] = {status: sum(result.status == status for result in results) for status in STATUSES}
    tokens, cost = sum(result.tokens for result in results), sum(result.cost_usd for result in results)
    return {"results": len(results), **counts, "tokens": tokens, "cost_usd": round(cost, 6)}


def _cache() -> SummaryCache:
    from circumspect.review.outline import FileCache

    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return FileCache(Path(base) / "circumspect" / "summaries")


# --- batch ----------------------------------------------------------------------------------------------------------


@contextmanager
def _show_progress(total: int, as_json: bool) -> Iterator[Callable[[BatchProgress], None]]:
    """A bar where somebody watches, nothing where nobody does."""
    if as_json or not sys.stderr.isatty():
        yield lambda _: None
        return
    with show_bar(total=total) as update:

        def tell(now: BatchProgress) -> None:
            spent = f" · {now.tokens:,} tokens · ${now.cost_usd:.2f}" if now.tokens else ""
            update(completed=now.done_count, description=f"{now.rate:.1f}/s{spent}")

        yield tell


def _tell(ended: BatchProgress, as_json: bool, out: str) -> None:
    import orjson

    if as_json:
        click.echo(orjson.dumps({"summary": ended.to_json()}))
        return
    counts = ", ".join(f"{count:,} {status}" for status, count in ended.statuses.items())
    click.echo(f"{ended.done_count:,} of {ended.total:,} results in {out}: {counts}.")
    click.echo(
        f"{ended.made:,} made now in {ended.seconds:.1f} s ({ended.rate:.1f} a second), {ended.kept:,} were there"
        + (f"; {ended.tokens:,} tokens, ${ended.cost_usd:.4f}." if ended.tokens else ".")
    )
    if not ended.complete:
        click.echo(f"Stopped: {ended.why}. Run the same command again to go on.")
