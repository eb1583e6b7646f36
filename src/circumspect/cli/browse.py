"""`circumspect browse`: a real Chromium does a task step by step, verified, and asks on the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from circumspect.cli.options import FILE, NEW_FOLDER, PATH, default_database_option, default_model_option
from circumspect.private_files import make_folder
from circumspect.values import LANGUAGES

if TYPE_CHECKING:
    from rich.console import Console

    from circumspect.setup import TurnSetup
    from circumspect.web.browser.chromium import Chromium
    from circumspect.web.browsing.drive import DriveStep
    from circumspect.web.reasoning.reasoning_events import ReasonedEvent


_EXIT_CODES = {"done": 0, "not_done": 1, "needs_answer": 3}


@click.command()
@click.argument("url")
@click.argument("task")
@default_model_option
@click.option("--smart", envvar="CIRCUMSPECT_SMART_MODEL", help="The model that thinks; without it --model.")
@click.option("--smart-fallback", envvar="CIRCUMSPECT_SMART_MODEL_FALLBACK", help="Thinks when that cannot be had.")
@click.option("--fast", envvar="CIRCUMSPECT_FAST_MODEL", help="Words actions and summaries; without it the smart one.")
@click.option(
    "--smart-temperature",
    envvar="CIRCUMSPECT_SMART_MODEL_TEMPERATURE",
    type=click.FloatRange(0, 2),
    default=0.3,
    show_default=True,
    help="How freely the one thinks.",
)
@click.option(
    "--fast-temperature",
    envvar="CIRCUMSPECT_FAST_MODEL_TEMPERATURE",
    type=click.FloatRange(0, 2),
    default=0.7,
    show_default=True,
    help="How freely the other words.",
)
@click.option(
    "--search",
    envvar="CIRCUMSPECT_SEARCH",
    default="documents",
    show_default=True,
    help="Where is searched: documents, tavily, searxng:URL, none.",
)
@click.option(
    "--documents",
    type=PATH,
    multiple=True,
    help="A file to know from: Markdown, text, HTML, PDF. May be given several times.",
)
@click.option("--policy", type=FILE, help="A policy file.")
@click.option("--headed", is_flag=True, help="Show the browser's window.")
@click.option("--record", type=NEW_FOLDER, help="Write screenshots and report.html there.")
@click.option("--steps", type=click.IntRange(1, 200), default=40, show_default=True, help="Stop after so many.")
@click.option("--lang", type=click.Choice(LANGUAGES), help="Speak this language, whatever comes in.")
@default_database_option("SQLite file or postgresql:// URL in which every step is kept.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a step.")
def browse(url: str, task: str, **options: Any) -> None:
    """Do TASK on the page at URL, step by step, in a real Chromium.

    Every step says what is expected, what happened and how sure that is. What only you know is asked on the terminal,
    and so is a yes before anything is sent, paid or deleted.

    Exit code: 0 done; 1 not done: you said no, the last action did not work, a claim was not true, too many steps; 2 it
    could not begin; 3 it waits for an answer that nobody gave.

    \b
    circumspect browse https://clinic.example "Add patient Ann Lee"
    circumspect browse URL "Which visits are due today?" --documents manual.pdf --record run1
    """
    import playwright.async_api  # noqa: F401  of all that is missing, the one whose extra brings the others

    raise SystemExit(asyncio.run(_browse(Browsing(url, task, **options))))


@dataclass(frozen=True)
class Browsing:
    url: str
    task: str
    model: str | None
    smart: str | None
    smart_fallback: str | None
    fast: str | None
    smart_temperature: float
    fast_temperature: float
    search: str
    documents: tuple[Path, ...]
    policy: Path | None
    headed: bool
    record: Path | None
    steps: int
    lang: str | None
    database: str
    as_json: bool


async def _browse(asked: Browsing) -> int:
    from circumspect.agent import Agent
    from circumspect.web.browser.chromium import Chromium
    from circumspect.web.browsing.browse_report import DriveReport
    from circumspect.web.browsing.drive import drive

    agent = Agent("browse", model=asked.model, policy=asked.policy, database=asked.database)
    report = DriveReport(asked.record, asked.task, asked.url) if asked.record else None
    try:
        setup = await _setup(asked, await agent.open())
        async with Chromium.open(headed=asked.headed) as browser:
            terminal = Terminal(asked, browser, report)
            last = await drive(
                browser,
                setup,
                asked.url,
                asked.task,
                ask=terminal.ask,
                watch=terminal.watch,
                language=asked.lang,
                most=asked.steps,
            )
    finally:
        await agent.close()
    terminal.show_end(last)
    return _EXIT_CODES[last.end]


async def _setup(asked: Browsing, setup: TurnSetup) -> TurnSetup:
    import os
    from dataclasses import replace

    from circumspect.knowledge.read_document import read_document
    from circumspect.knowledge.search import Library
    from circumspect.models import open_model
    from circumspect.stores import SqlStore
    from circumspect.web.browsing.interaction import setup_for_pages
    from circumspect.web.model_pair import ModelPair
    from circumspect.web.search.opening import open_search
    from circumspect.web.search.scoped_search import Scoped
    from circumspect.web.search.search_cache import SearchCache

    store, tenant = setup.ports.store, setup.tenant.id
    assert isinstance(store, SqlStore)
    library = Library(store)
    for path in asked.documents:
        await library.put(tenant, read_document(path.read_bytes(), path.name))
    key = os.environ.get("CIRCUMSPECT_SEARCH_KEY") or os.environ.get("TAVILY_API_KEY")
    searching = open_search(
        asked.search, key=key, library=library, tenant=tenant, allow=_find_search_host(asked.search)
    )
    smart = open_model(asked.smart) if asked.smart else setup.ports.model
    fallback = open_model(asked.smart_fallback) if asked.smart_fallback else None
    fast = open_model(asked.fast) if asked.fast else smart
    pair = ModelPair(smart, fast, fallback, asked.smart_temperature, asked.fast_temperature)
    search = None if asked.search == "none" else Scoped(searching, SearchCache())
    return replace(setup_for_pages(setup, models=pair, search=search), searches=(library,))


def _find_search_host(search: str) -> tuple[str, ...]:
    """Whoever names a search of their own on their own terminal may reach it, on loopback and on their network too."""
    from urllib.parse import urlsplit

    _, _, url = search.strip().partition(":")
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return ()
    return (host,) if host else ()


class Terminal:
    """Shows the steps, asks the questions, keeps the record."""

    def __init__(self, asked: Browsing, browser: Chromium, report: Any) -> None:
        from rich.console import Console

        self._asked, self._browser, self._report = asked, browser, report
        self._console: Console = Console(stderr=asked.as_json, highlight=False)
        if not asked.as_json and (asked.model or "offline") == "offline" and not asked.smart:
            from circumspect.language import catalogue

            self._console.print(catalogue.say("en", "chat-offline"), style="dim")

    async def watch(self, step: DriveStep) -> None:
        if self._report:
            await self._picture(step)
        if self._asked.as_json:
            sys.stdout.write(json.dumps({"step": step.number, **step.interaction.to_json()}, default=str) + "\n")
            sys.stdout.flush()
        else:
            self._show(step)

    async def _picture(self, step: DriveStep) -> None:
        from playwright.async_api import Error

        target = self._report.picture(step.number)
        make_folder(target.parent)
        try:
            await self._browser.tab.screenshot(path=target)
        except Error:
            self._report.add(step)
            return
        self._report.add(step, target.name)

    def _show(self, step: DriveStep) -> None:
        from rich.text import Text

        from circumspect.web.browsing.browse_report import describe_step

        made, console = step.interaction, self._console
        if made.verified:
            good = made.verified.success
            mark = Text("   ✓ " if good else "   ✗ ", style="green" if good else "red")
            console.print(mark + Text(f"{made.verified.happened} ({made.verified.confidence:.0%})"))
        if made.reasoned:
            found = made.reasoned
            told = f"   {found.source} ({found.confidence or ''}): {found.thought}".rstrip(": ")
            console.print(Text(told, style="dim"))
            for line in searches(made.reasoned):
                console.print(Text(f"   {line}", style="dim"))
        if made.action:
            console.print(Text(f"{step.number:>2} ", style="bold") + Text(describe_step(step)))
            console.print(Text(f"   expected: {made.action.expected.why}", style="dim"))

    async def ask(self, step: DriveStep) -> str | None:
        """The user's words; None when there is nobody, or they have had enough."""
        if field := step.password_field:
            return await self._password(step, field)
        if not self._asked.as_json:
            self._console.print(step.interaction.result.reply, style="bold", markup=False)
        return await self._line("> ")

    async def _password(self, step: DriveStep, field: str) -> str | None:
        """Typed straight into the page: neither the model nor the record sees it."""
        if not sys.stdin.isatty() or self._asked.headed:
            self._console.print(step.interaction.result.reply, style="bold", markup=False)
            return await self._line("> ")
        prompt = "Password (goes straight into the page; empty to stop): "
        secret = await _prompt_line(prompt, hidden=True)
        if not secret or (problem := await self._browser.fill_secret(field, secret)):
            if secret:
                self._console.print(problem, style="red", markup=False)
            return None
        return "The password is filled in. Go on."

    async def _line(self, prompt: str) -> str | None:
        if sys.stdin.isatty() and not self._asked.as_json:
            return (await _prompt_line(prompt)).strip() or None
        return (await _read_piped_line()).strip() or None

    def show_end(self, last: DriveStep) -> None:
        made = last.interaction
        if self._asked.as_json:
            return
        if made.status == "answer":
            style = "bold green" if last.end == "done" else "bold yellow"
            self._console.print(made.result.reply, style=style, markup=False)
        elif made.status == "next_action":
            self._console.print(f"Stopped after {last.number} steps; raise --steps to go on.", style="yellow")
        if self._report:
            self._console.print(f"Report: {self._report.folder / 'report.html'}", style="dim", markup=False)


def searches(reasoned: ReasonedEvent) -> Iterator[str]:
    """Each search and each change of source, a line each."""
    for hop in reasoned.hops:
        outcome = "failed" if hop.failed else "solved" if hop.judgement and hop.judgement.solved else "not solved"
        where = f" on {hop.domain}" if hop.domain and not hop.widened else ""
        yield f"searched “{hop.query}”{where}: {len(hop.results)} results, {outcome}"
    for one in reasoned.switches:
        yield f"{one.before} → {one.after} ({one.confidence}): {one.reason}"


async def _prompt_line(prompt: str, *, hidden: bool = False) -> str:
    """At a terminal; Ctrl-D is an empty line, and Ctrl-C ends the drive at once."""
    from prompt_toolkit import PromptSession

    try:
        return await PromptSession[str]().prompt_async(prompt, is_password=hidden)
    except EOFError:
        return ""


async def _read_piped_line() -> str:
    """The next line of standard input. The thread that waits for it keeps nobody from leaving."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def settle(text: str) -> None:
        if not line.done():
            line.set_result(text)

    def read() -> None:
        text = sys.stdin.readline()
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, text)

    threading.Thread(target=read, daemon=True).start()
    return await line
