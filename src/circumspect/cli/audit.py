"""`circumspect audit`: what would have been held in conversations of an agent that already runs, and why."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from circumspect.cli.batch_options import Division, add_division_options, rows_of
from circumspect.cli.options import FILE, NEW_FILE, PATH, read_moment
from circumspect.errors import CircumspectError, ConfigError

if TYPE_CHECKING:
    from circumspect.audit.rulings import AuditRow
    from circumspect.audit.summary import AuditSummary
    from circumspect.audit.tool_defs import Specs
    from circumspect.policy.policy_file import Policy

STRICTNESS = ("redo", "ask", "escalate", "deny")
# As `record_formats` has them, which takes too long to load for `--help`; a test compares the two.
FORMATS = (
    "transcript",
    "mcp",
    "otlp",
    "agents",
    "langsmith",
    "langfuse",
    "batch",
    "inspect",
    "requests",
    "messages",
    "csv",
)
EXPORTS = ("otlp", "langfuse", "langsmith")


@click.command()
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option("--format", "format_name", type=click.Choice(FORMATS), help="What the files are, where it is not seen.")
@click.option("--from", "export", type=click.Choice(EXPORTS), help="The files, or a folder of them, are its exports.")
@click.option(
    "--policy", "policy_path", type=FILE, help="The policy file; without one, effects are guessed from names."
)
@click.option("--tools", "tools_path", type=FILE, help="Tool definitions for transcripts that carry none.")
@click.option("--json", "as_json", is_flag=True, help="One JSON line for each proposed call, then a summary line.")
@click.option("--html", "html_path", type=NEW_FILE, help="Also write a page.")
@click.option("--labels", "labelled", is_flag=True, help="Score against the labels that the transcripts carry.")
@click.option("--label-file", type=FILE, help='Score against labels of their own: {"id", "expected"} a line.')
@click.option(
    "--at", callback=read_moment, metavar="ISO-TIME", help="What time it was: for conditions and limits over time."
)
@click.option("--fail-on", type=click.Choice(STRICTNESS), help="Exit with 1 when any call is held this much or more.")
@add_division_options(keeps=True)
def audit(
    paths: tuple[Path, ...],
    format_name: str | None,
    export: str | None,
    policy_path: Path | None,
    tools_path: Path | None,
    as_json: bool,
    html_path: Path | None,
    labelled: bool,
    label_file: Path | None,
    at: datetime | None,
    fail_on: str | None,
    division: Division,
) -> None:
    """What would have been held, and why. No model is asked and nothing is run.

    PATHS are files or folders: conversations one a line, request logs, batches, traces (OTLP, Langfuse, LangSmith,
    OpenAI Agents), dumps of LangChain, pydantic-ai, Vercel AI, Inspect, MCP logs, CSV. The format is seen by the
    content. What cannot be read is reported with its line, skipped and counted; the exit code is 2 when nothing to rule
    on could be read from a file, or there was no call in any.

    \b
    circumspect policy init transcripts.jsonl --out policy.yaml
    circumspect audit transcripts.jsonl --policy policy.yaml --html report.html
    circumspect audit transcripts.jsonl --policy policy.yaml --jobs 8 --run transcripts.run
    """
    from circumspect.audit.file_streams import find_files
    from circumspect.audit.ground_truth import AuditScore, labels_from
    from circumspect.audit.report_text import lines
    from circumspect.audit.rulings import AuditedCall, line_of
    from circumspect.audit.summary import AuditSummary
    from circumspect.audit.transcript_files import specs_from
    from circumspect.lab.batch.job import Incomplete
    from circumspect.language import catalogue
    from circumspect.policy.load import load
    from circumspect.reasons import ReasonCode

    policy = load(policy_path) if policy_path else None
    score = AuditScore(labels_from(label_file) if label_file else None) if labelled or label_file else None
    summary = AuditSummary(keep=60 if html_path else 4)
    specs = specs_from(tools_path) if tools_path else None
    incomplete: CircumspectError | None = None
    if format_name and export and format_name != export:
        raise ConfigError(f"--format {format_name} and --from {export} do not agree.", fix="Give one of them.")
    reading = _Reading(tuple(find_files(paths)), specs, format_name or export)
    with _rows(reading, policy_path, policy, at, division, shown=not as_json) as rows:
        try:
            for row in rows:
                summary.add(row)
                if score and isinstance(row, AuditedCall):
                    score.add(row)
                if as_json:
                    sys.stdout.buffer.write(line_of(row))
        except Incomplete as problem:
            incomplete = problem
    meanings = {str(code): catalogue.meaning(code) for code in ReasonCode if str(code) in summary.reasons}
    if as_json:
        import orjson

        total: dict[str, Any] = {"summary": summary.to_json()}
        if score:
            total["score"] = score.to_json()
        click.echo(orjson.dumps(total))
    else:
        for line in lines(
            summary, score, meanings=meanings, width=min(shutil.get_terminal_size((100, 24)).columns, 120)
        ):
            click.echo(line)
    if html_path:
        from circumspect.audit.report_html import page

        shown = policy_path.name if policy_path else "guessed"
        html_path.write_text(page(summary, score, policy=shown, at=datetime.now(UTC), meanings=meanings), "utf-8")
        click.echo(f"Wrote {html_path}.", err=True)
    if incomplete:
        raise incomplete
    _refuse_silence(summary, paths)
    if score and not score.verdicts and summary.calls:
        raise ConfigError(
            "None of the calls has a label, so nothing could be scored.",
            fix='Write "label": {"expected": "PROCEED"} (or HOLD, ASK_USER, BLOCK), or give --label-file.',
        )
    if fail_on and any(summary.verdicts[word] for word in STRICTNESS[STRICTNESS.index(fail_on) :]):
        sys.exit(1)


def _refuse_silence(summary: AuditSummary, paths: Sequence[Path]) -> None:
    """A file that was named and from which nothing was read is no pass, nor is an audit that ruled on nothing. In a
    folder, others may lie beside."""
    unread = summary.unread_files
    named = [one for path, one in unread.items() if path in {path.name for path in paths}]
    if summary.ruled_files and not named:
        return
    for one in named or list(unread.values()):
        raise ConfigError(
            f"There was nothing to rule on in {one.path}, and not everything could be read: {one.problem}.",
            fix="Give UTF-8 text in a format that `circumspect docs audit` lists; --format forces one.",
        )
    if not summary.ruled_files:
        from circumspect.audit.summary import NOTHING_PROPOSED

        raise ConfigError(
            f"There was nothing to rule on in {', '.join(path.name for path in paths[:3])}: {NOTHING_PROPOSED}.",
            fix="Give conversations in which the agent called a tool; `circumspect docs audit` lists what is read.",
        )


@dataclass(frozen=True)
class _Reading:
    paths: tuple[Path, ...]
    specs: Specs | None
    format_name: str | None


@contextmanager
def _rows(
    reading: _Reading,
    policy_path: Path | None,
    policy: Policy | None,
    at: datetime | None,
    division: Division,
    *,
    shown: bool,
) -> Iterator[Iterable[AuditRow]]:
    """What the audit says, from here or from whoever does the work."""
    if not division.is_divided:
        from circumspect.audit.auditor import audit as audited

        rows = audited(reading.paths, policy, specs=reading.specs, now=at, format_name=reading.format_name)
        yield _show_progress(rows, show=shown)
        return
    from circumspect.lab.batch.audits import AuditOrder, audit_of, decode_row
    from circumspect.policy.load import text_of

    if any(not path.is_file() for path in reading.paths):
        raise ConfigError(
            "A pipe is read once, and by one.", fix="Save it as a file, or leave --jobs and the like out."
        )
    text = text_of(policy_path) if policy_path else None
    paths = tuple(str(path.resolve()) for path in reading.paths)
    job = audit_of(AuditOrder(paths, text, reading.specs, at, format_name=reading.format_name))
    with rows_of(job, division, "bytes", shown=shown) as encoded:
        yield map(decode_row, encoded)


def _show_progress(rows: Iterable[AuditRow], *, show: bool) -> Iterator[AuditRow]:
    """The rows, with a running count on standard error where somebody watches."""
    watching = show and sys.stderr.isatty() and find_spec("rich") is not None
    if not watching:
        yield from rows
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} calls and replies looked at"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        for row in rows:
            progress.advance(task)
            yield row
