"""Work that can be divided: the options that say who does it and where it is kept, progress, and what Ctrl-C leaves."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from circumspect.cli.options import CommandFunction
from circumspect.errors import ConfigError

if TYPE_CHECKING:
    from circumspect.lab.batch.job import BatchJob, Engine
    from circumspect.lab.batch.run_job import ChunkProgress

ENGINES = ("serial", "processes", "ray")
SECONDS = 30
"""Between two lines of progress, where nobody watches a bar."""


@dataclass(frozen=True)
class Division:
    """The options."""

    engine: str | None = None
    jobs: int | None = None
    address: str | None = None
    run: str | None = None

    @property
    def is_elsewhere(self) -> bool:
        """Anybody but this process does the work."""
        return self.engine in ("processes", "ray") or (self.jobs or 1) > 1

    @property
    def is_divided(self) -> bool:
        """Anything but this process in one go."""
        return self.run is not None or self.is_elsewhere

    @property
    def has_engine_choice(self) -> bool:
        """Somebody has chosen who does it."""
        return self.engine is not None or self.jobs is not None


def add_division_options(*, keeps: bool) -> Callable[[CommandFunction], CommandFunction]:
    """Adds the options; the command gets them as `division`. `keeps`: what is done goes where --run says."""
    options = [
        click.option("--jobs", type=click.IntRange(1, 1024), help="So many processes at a time."),
        click.option(
            "--engine",
            type=click.Choice(ENGINES),
            help="Who does the work: this process, processes of this machine (all processors unless --jobs says "
            "otherwise), or a Ray cluster.",
        ),
        click.option(
            "--address",
            help="With --engine ray: host:port of the head node, ray://host:port where this machine is no node itself; "
            "else RAY_ADDRESS.",
        ),
    ]
    if keeps:
        options.append(
            click.option(
                "--run",
                metavar="FILE",
                help="Keep what is done in this file (or database URL): the same command then goes on where it was "
                "stopped, however it was.",
            )
        )

    def decorate(command: CommandFunction) -> CommandFunction:
        @wraps(command)
        def call_command(engine: str | None, jobs: int | None, address: str | None, **others: Any) -> Any:
            if address and engine != "ray":
                raise ConfigError("An address is for a Ray cluster.", fix="Add --engine ray, or leave --address out.")
            run = others.pop("run") if keeps else None
            return command(division=Division(engine, jobs, address, run), **others)

        wrapped: Any = call_command
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped  # type: ignore[no-any-return]

    return decorate


def engine_of(division: Division) -> Engine:
    from circumspect.lab.batch import engines

    name = division.engine or ("processes" if (division.jobs or 1) > 1 else "serial")
    if name == "ray":
        from circumspect.lab.batch.ray_engine import on_ray

        return partial(on_ray, address=division.address, most=division.jobs)
    if name == "processes":
        return partial(engines.processes, count=division.jobs)
    return engines.serial


@contextmanager
def hold_engine(division: Division) -> Iterator[Engine]:
    """For a command that has one task after the other: processes are started, or a cluster joined, once for all."""
    from circumspect.lab.batch.engines import Processes
    from circumspect.lab.batch.ray_engine import join_cluster

    with ExitStack() as stack:
        if division.engine == "ray":
            stack.enter_context(join_cluster(division.address))
            yield engine_of(division)
        else:
            yield stack.enter_context(closing(Processes(division.jobs)))


@contextmanager
def rows_of(job: BatchJob[Any], division: Division, noun: str, *, shown: bool) -> Iterator[Iterator[bytes]]:
    """The rows of a job, as they come; `shown` is False when they are printed as they come."""
    from circumspect.lab.batch.job_ledger import DatabaseLedger
    from circumspect.lab.batch.run_job import run

    with ExitStack() as stack:
        ledger = stack.enter_context(DatabaseLedger.open(division.run)) if division.run else None
        told = stack.enter_context(_show_progress(noun, division, shown=shown))
        try:
            yield stack.enter_context(closing(run(job, engine_of(division), ledger, told)))
        except KeyboardInterrupt:
            if division.run:
                click.echo(
                    f"Stopped. What is done is in {division.run}: the same command goes on from there.", err=True
                )
            raise


@contextmanager
def _show_progress(noun: str, division: Division, *, shown: bool) -> Iterator[Callable[[ChunkProgress], None]]:
    """A bar on standard error while somebody is looking at nothing else; a line now and then where nobody looks."""
    if not sys.stderr.isatty():
        yield _lines(noun) if division.run else lambda _: None
        return
    if sys.stdout.isatty() and not shown:
        yield lambda _: None
        return
    with show_bar(noun) as update:
        yield lambda now: update(total=now.size, completed=now.kept_size + now.made_size)


@contextmanager
def show_bar(noun: str = "", total: int | None = None) -> Iterator[Callable[..., None]]:
    """A bar on standard error; what comes back takes `completed`, and `total` and `description` where they change.
    Without the terminal's package there is none: whoever waits is not kept from the work."""
    if find_spec("rich") is None:
        yield lambda **_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    said = TextColumn("{task.description}")
    columns = (TextColumn(noun), BarColumn(), MofNCompleteColumn(), said, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield partial(bar.update, bar.add_task("", total=total))


def _lines(noun: str) -> Callable[[ChunkProgress], None]:
    last = time.monotonic()

    def tell(now: ChunkProgress) -> None:
        nonlocal last
        done = now.kept_size + now.made_size
        first, complete = not now.made, now.kept + now.made == now.chunks
        if first and now.kept:
            left = "nothing is left to do" if complete else "going on"
            click.echo(f"{done:,} of {now.size:,} {noun} were done before; {left}.", err=True)
        elif not first and (complete or time.monotonic() - last >= SECONDS):
            last = time.monotonic()
            click.echo(f"{done:,} of {now.size:,} {noun}", err=True)

    return tell
