"""`circumspect backtest`: stored conversations under a changed policy, as a report or as JSON lines."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from circumspect.cli.batch_options import Division, add_division_options, rows_of
from circumspect.cli.input_files import require_database
from circumspect.cli.options import FILE, default_database_option, since_option
from circumspect.errors import CircumspectError, ConfigError, UnknownTenant

if TYPE_CHECKING:
    from rich.console import Console

    from circumspect.lab.batch.backtests import BacktestOrder
    from circumspect.lab.replay.flips import BacktestCase, BacktestSummary, Fate, RulingChange
    from circumspect.stores import SqlStore
    from circumspect.values import TenantId, ToolSpec

SHOWN = 20
WIDTH = 110
"""Of a report that does not go to a terminal."""

TITLES: Mapping[RulingChange, tuple[str, str]] = {
    "let_through": ("now let through", "red"),
    "looser": ("held more mildly", "red"),
    "held": ("now held", "green"),
    "stricter": ("held more strictly", "green"),
    "opinion_dropped": ("no second opinion any more", "yellow"),
    "opinion_asked": ("now with a second opinion", "cyan"),
}
FATES: Mapping[Fate, str] = {
    "confirmed": "the user said yes, and it succeeded",
    "approved": "a colleague approved it, and it succeeded",
    "ran": "it ran unasked and succeeded",
    "refused": "the user said no",
    "failed": "it ran and failed",
    "unknown": "it ran, and nobody knows how it ended",
    "unanswered": "the question was never answered",
    "held": "it did not run",
}


@dataclass(frozen=True)
class BacktestOptions:
    """The command's options."""

    policy: Path
    tenant: str | None
    database: str
    since: datetime | None
    limit: int | None
    against: Path | None
    verify: Path | None
    tools: Path | None
    as_json: bool
    division: Division


@click.command()
@click.option("--policy", type=FILE, required=True, help="The changed policy file.")
@click.option("--tenant", help="Only this tenant's conversations; without it, everyone's.")
@default_database_option("SQLite file or postgresql:// URL with the conversations. Nothing is written to it.")
@since_option("Only what was decided since then.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many conversations of a tenant, the newest.")
@click.option("--against", type=FILE, help="Compare with this policy; without it, with the one that is in force.")
@click.option("--verify", type=FILE, help="The policy they were played under: is what it decided then decided again?")
@click.option("--tools", type=FILE, help="Tool definitions (JSON), for tenants whose tools the database does not know.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a flip, and a summary at the end.")
@click.option(
    "--fail-on",
    type=click.Choice(["loosened", "tightened", "needless", "unreplayed", "any"]),
    multiple=True,
    help="Exit code 1 when there is any of this. Can be given several times.",
)
@add_division_options(keeps=True)
def backtest(fail_on: tuple[str, ...], **options: Any) -> None:
    """Run stored conversations under another policy, with no model, and show what would be decided otherwise.

    \b
    circumspect backtest --policy new.yaml --since 2026-03-01
    circumspect backtest --policy new.yaml --verify policy.yaml --fail-on loosened
    circumspect backtest --policy new.yaml --jobs 8 --run new.run
    """
    from circumspect.lab.replay.flips import BacktestSummary
    from circumspect.wording import compact

    wanted, summary = BacktestOptions(**options), BacktestSummary()
    if not wanted.as_json:
        import rich.console  # noqa: F401  what cannot be shown is not worth hours of work
    order = asyncio.run(_order(wanted))
    incomplete = _run(order, wanted, summary)
    if wanted.as_json:
        click.echo(compact(summary.to_json()))
    else:
        _report(summary, wanted, order)
    if incomplete:
        raise incomplete
    sys.exit(1 if any(_has(kind, summary) for kind in fail_on) else 0)


def _has(kind: str, summary: BacktestSummary) -> bool:
    from circumspect.lab.replay.flips import LOOSENED, TIGHTENED

    match kind:
        case "loosened":
            return any(summary.changes[change] for change in LOOSENED)
        case "tightened":
            return any(summary.changes[change] for change in TIGHTENED)
        case "needless":
            return bool(summary.needless.total())
        case "unreplayed":
            return bool(summary.unreplayed)
    return bool(summary.flips)


def _run(order: BacktestOrder, wanted: BacktestOptions, summary: BacktestSummary) -> CircumspectError | None:
    """Fills the summary, and prints the flips on the way where lines are wanted. What could not be done comes back."""
    from circumspect.lab.batch.backtests import add, backtest_of
    from circumspect.lab.batch.job import Incomplete

    job = backtest_of(order)
    with rows_of(job, wanted.division, "conversations", shown=not wanted.as_json) as rows:
        try:
            for row in rows:
                if not add(row, summary) and wanted.as_json:
                    click.echo(row.decode())
        except Incomplete as problem:
            return problem
    return None


async def _order(wanted: BacktestOptions) -> BacktestOrder:
    from circumspect.lab.batch.backtests import BacktestOrder
    from circumspect.policy.load import load, text_of

    for path in filter(None, (wanted.verify, wanted.against)):
        load(path)
    store = await _open_store(wanted.database)
    try:
        tools = {one: await _specs(store, one, wanted.tools) for one in await _tenants(store, wanted.tenant)}
        against = {one: text for one in tools if (text := await _read_compared(store, one, wanted.against))}
    finally:
        await store.close()
    everything = {name: spec for specs in tools.values() for name, spec in specs.items()}
    load(wanted.policy, specs=everything or None)
    verify = text_of(wanted.verify) if wanted.verify else None
    database, text = _anywhere(wanted.database), text_of(wanted.policy)
    return BacktestOrder(database, text, tools, wanted.since, wanted.limit, verify, against)


async def _read_compared(store: SqlStore, tenant: TenantId, path: Path | None) -> str:
    """The text that the new one is compared with; empty where none is in force, or where this release refuses it."""
    from circumspect.errors import PolicyError
    from circumspect.policy.load import load, text_of
    from circumspect.server.stores import policies

    if path:
        return text_of(path)
    current = await store.tx(policies.current, tenant)
    try:
        return current.text if current and load(current.text) else ""
    except PolicyError:
        return ""


async def _open_store(database: str) -> SqlStore:
    """The database as it is: neither made nor brought up to date."""
    from circumspect.stores import SqlStore

    require_database(database)
    return await SqlStore.open(database, migrate=False)


def _anywhere(database: str) -> str:
    """The same for a process that is started in another folder."""
    path = database.removeprefix("sqlite:///")
    return database if "://" in path else f"sqlite:///{Path(path).resolve()}"


async def _tenants(store: SqlStore, wanted: str | None) -> tuple[TenantId, ...]:
    from circumspect.lab.replay.stored_turns import tenants_of
    from circumspect.values import TenantId

    everyone = await tenants_of(store)
    if wanted is None:
        return everyone
    known = dict.fromkeys((*everyone, *(tenant.id for tenant in await store.tenants())))
    if wanted not in known:
        fix = f"Choose one of: {', '.join(known)}." if known else "There is none in this database yet."
        raise UnknownTenant(f"There is no tenant '{wanted}' in this database.", fix=fix)
    return (TenantId(wanted),)


async def _specs(store: SqlStore, tenant: TenantId, path: Path | None) -> Mapping[str, ToolSpec]:
    """The tools enabled for the tenant: from the file, or as they were when an agent last opened the database."""
    from circumspect.audit.transcript_files import specs_from

    specs = specs_from(path) if path else await store.tool_specs(tenant)
    if not specs:
        raise ConfigError(
            f"The database does not know the tools of tenant '{tenant}'.",
            fix="Give their definitions with --tools FILE (a JSON list of OpenAI tool definitions).",
        )
    known = await store.get_tenant(tenant)
    enabled = known.tools if known else None
    return specs if enabled is None else {name: spec for name, spec in specs.items() if name in enabled}


# --- the report -----------------------------------------------------------------------------------------------------


def _report(summary: BacktestSummary, wanted: BacktestOptions, order: BacktestOrder) -> None:
    from rich.console import Console

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    _overview(summary, wanted, order, console)
    if summary.tallies:
        _rules(summary, console)
        _cases(summary, console)
    if summary.unreplayed:
        _print_unreplayed(summary, console)


def _overview(summary: BacktestSummary, wanted: BacktestOptions, order: BacktestOrder, console: Console) -> None:
    from rich.text import Text

    if not summary.calls:
        talks = _many(summary.conversations, "stored conversation")
        none = "There are no stored conversations" + (" since then." if wanted.since else ".")
        console.print(f"No call was proposed in {talks}." if summary.conversations else none)
        return
    first, last = (at.strftime("%Y-%m-%d") if at else "" for at in (summary.first, summary.last))
    span = first if first == last else f"{first} to {last}"
    calls, talks = _many(summary.calls, "proposed call"), _many(summary.conversations, "conversation")
    console.print(Text(f"{calls} in {talks}, {span}, under {wanted.policy}", style="bold"))
    if summary.verified:
        checked = f"{summary.verified:,} of {summary.calls:,} were decided again under the policy of their time"
        console.print(Text(f"{checked} and came out as stored.", style="dim"))
    console.print(Text(f"Compared with {_name_compared(wanted, order)}.", style="dim"))
    if not summary.tallies:
        console.print(Text("Nothing would be decided otherwise."))


def _name_compared(wanted: BacktestOptions, order: BacktestOrder) -> str:
    if wanted.against:
        return str(wanted.against)
    if len(order.against) == len(order.tools):
        return "the policy that is in force"
    then = "what was decided then, since the database has no policy in force"
    if not order.against:
        return then
    return f"the policy that is in force, and for {_many(len(order.tools) - len(order.against), 'tenant')} with {then}"


def _rules(summary: BacktestSummary, console: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("what changes", "who speaks, or no longer does"):
        table.add_column(name)
    for name in ("calls", "a day", "needless"):
        table.add_column(name, justify="right")
    for one in summary.rank_tallies():
        title, colour = TITLES[one.change]
        who = Text(one.rule or "the confidence cap")
        if one.reason:
            who.append(f"\n{one.reason}", style="dim")
        numbers = (f"{one.calls:,}", f"{one.calls / summary.days:.1f}", f"{one.needless:,}" if one.needless else "")
        table.add_row(Text(title, style=colour), who, *numbers)
    console.print(table)
    known, presumed, days = summary.needless["known"], summary.needless["presumed"], summary.days
    if known or presumed:
        said = f"{known:,} that a person had said yes to, {presumed:,} that ran unasked and succeeded"
        console.print(Text(f"Needless holds and questions: {(known + presumed) / days:.1f} a day ({said})."))
    asked = summary.questions
    dropped = f"; {asked['dropped']:,} no longer asked, {asked['dropped_yes']:,} of them had been answered with yes"
    console.print(
        Text(f"Questions: {asked['then'] / days:.1f} a day then, {asked['now'] / days:.1f} now")
        + Text(f"{dropped}." if asked["dropped"] else ".")
    )


def _cases(summary: BacktestSummary, console: Console) -> None:
    from rich.text import Text

    from circumspect.lab.replay.flips import shorten_value
    from circumspect.wording import compact

    cases, total = list(summary.cases())[:SHOWN], summary.changes.total()
    console.print()
    console.print(Text("Cases" if total == len(cases) else f"{len(cases)} of {total:,} cases", style="bold"))
    for case in cases:
        title, colour = TITLES[case.change] if case.change else ("", "")
        call = _plain(f"{case.call.tool} {compact(shorten_value(case.call.arguments, 60))}", 300)
        head, *rest = _wrap(f"{title}  {call}", console, indent="")
        console.print()
        console.print(Text(title, style=f"bold {colour}").append(head[len(title) :], style="not bold default"))
        for line in (*rest, *(line for said in _details(case) for line in _wrap(said, console))):
            console.print(Text(line))


def _details(case: BacktestCase) -> Iterator[str]:
    now, spoke = case.now.verdict if case.now else "?", case.spoke
    opinion = ", if a second opinion agrees" if case.open and now == "allow" else ""
    reason = f" ({spoke.reason})" if spoke.reason else ""
    yield f"{case.then.verdict} → {now}{opinion}{f', {spoke.rule}{reason}' if spoke.rule else ''}"
    if spoke.problem or spoke.sentence:
        yield _plain(spoke.problem or f"The rule: {spoke.sentence}", 400)
    price = {"known": ": needless", "presumed": ": needless, it seems"}.get(case.needless or "", "")
    if case.detour:
        price = "; now the model would have to look something up first"
    yield f"{FATES[case.fate]}{price}"
    yield f"{case.tenant} · {_plain(case.conversation, 80)} · {case.turn} · {case.at:%Y-%m-%d %H:%M}"


def _print_unreplayed(summary: BacktestSummary, console: Console) -> None:
    from rich.text import Text

    from circumspect.lab.replay.unreplayed import FIXES

    console.print()
    console.print(Text(f"{_many(summary.unreplayed, 'call')} cannot be replayed", style="bold yellow"))
    for reason, calls in summary.reasons.most_common(10):
        for line in _wrap(f"{calls:,}  {_plain(reason, 400)}", console):
            console.print(Text(line))
    for kind, calls in summary.count_unreplayed().most_common():
        for line in _wrap(f"{_many(calls, 'call')}: {FIXES[kind]}", console, indent=""):
            console.print(Text(line))


def _wrap(text: str, console: Console, indent: str = "    ") -> list[str]:
    return textwrap.wrap(text, console.width, initial_indent=indent, subsequent_indent="    ") or [""]


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _plain(text: str, most: int) -> str:
    """On one line, cut, and without anything that could write to the terminal."""
    kept = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 2 * most]).split())
    return kept if len(kept) <= most else kept[: most - 1] + "…"
