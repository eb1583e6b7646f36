"""`circumspect chat` and `circumspect demo`: a conversation in the terminal, or one message a line from a pipe."""

from __future__ import annotations

import asyncio
import secrets
import shlex
import sys
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from circumspect.approvers import COMMAND_LINE
from circumspect.cli.options import default_database_option, default_model_option, read_moment
from circumspect.cli.store_options import login
from circumspect.errors import ConfigError, UnknownTenant
from circumspect.reasons import ReasonCode
from circumspect.values import LANGUAGES, Language, Mode, TurnResult

if TYPE_CHECKING:
    from rich.console import Console

    from circumspect.agent import Agent
    from circumspect.ports import Clock

COMMANDS = {
    "/debug": "show or hide what happens inside each turn",
    "/mode standard|adaptive": "change how turns are processed",
    "/tenant NAME": "talk to another tenant",
    f"/lang {'|'.join(LANGUAGES)}|auto": "answer in this language, or in the language of each message",
    "/reset": "start a new conversation",
    "/help": "show this list",
    "/quit": "leave (so does Ctrl-D)",
}


def _options(command: Any) -> Any:
    for option in reversed(
        (
            click.option(
                "--tenant", default="shop", show_default=True, help="A sample tenant: shop, shop-he, shop-ru."
            ),
            default_model_option,
            click.option("--mode", type=click.Choice(["standard", "adaptive"]), help="Instead of the plan's mode."),
            click.option(
                "--understanding",
                type=click.Choice(["guided", "service"]),
                help="Understand each message first; service also decides one of five ways.",
            ),
            default_database_option("SQLite file or postgresql:// URL in which everything is kept."),
            click.option("--lang", type=click.Choice(LANGUAGES), help="Answer in this language, whatever comes in."),
            click.option("--conversation", help="Go on with this conversation instead of starting a new one."),
            click.option("--at", callback=read_moment, metavar="ISO-TIME", help="A fixed clock, for scripts."),
            click.option("--debug", is_flag=True, help="Show what happens inside each turn."),
            click.option("--json", "as_json", is_flag=True, help="Print one JSON object a turn."),
        )
    ):
        command = option(command)
    return command


@click.command()
@_options
def chat(**options: Any) -> None:
    """Talk to a tenant.

    In a terminal: a coloured chat; /help lists what else can be typed. With standard input not a terminal, one message
    a line is read and answered; with --json each answer is one JSON object with turn_id, outcome, reply, reason_codes,
    pending and usage. The exit code is then 1 when a message could not be answered: no model, no database.

    \b
    circumspect chat --tenant shop-ru
    printf 'cancel order 12345\\nyes\\n' | circumspect chat --json
    """
    sys.exit(asyncio.run(_talk(ChatSession(**options))))


@click.command()
@_options
def demo(**options: Any) -> None:
    """Chat with the demo shop: offline model, embedded database, nothing to set up.

    The same as `chat`, except that the shop opens anew each time: order 12345 can be cancelled again.
    """
    sys.exit(asyncio.run(_talk(ChatSession(**options, new_shop=True))))


@dataclass(frozen=True)
class ChatSession:
    """What the chat currently is about. A slash command makes a new one."""

    tenant: str
    model: str | None
    mode: Mode | None
    database: str
    lang: Language | None
    conversation: str | None
    at: datetime | None
    debug: bool
    as_json: bool
    understanding: Literal["guided", "service"] | None = None
    new_shop: bool = False

    @property
    def clock(self) -> Clock:
        from circumspect.clock import FixedClock, SystemClock

        return FixedClock(self.at) if self.at else SystemClock()

    def agent(self) -> Agent:
        from circumspect.agent import Agent
        from circumspect.demo import samples

        if self.tenant not in samples.names():
            raise UnknownTenant(
                f"There is no tenant '{self.tenant}'.", fix=f"Choose one of: {', '.join(samples.names())}."
            )
        clock = self.clock
        directory = None if self.new_shop else _folder(self.database)
        sample = samples.load(self.tenant, directory=directory, now=clock.now())
        return Agent(
            sample.tenant,
            tools=sample.tools,
            policy=sample.policy_path,
            model=self.model,
            database=self.database,
            mode=self.mode,
            understanding=self.understanding,
            clock=clock,
        )

    def fresh(self) -> ChatSession:
        return replace(self, conversation=f"chat-{secrets.token_hex(4)}")


def _folder(database: str) -> Path | None:
    """The demo shop's own database lies beside ours, or in memory like ours."""
    path = database.removeprefix("sqlite:///") if database.startswith("sqlite:") else database
    if path in ("sqlite:", "sqlite://", "", ":memory:"):
        return None
    return Path(".circumspect") if "://" in path else Path(path).parent


async def _talk(session: ChatSession) -> int:
    session = session if session.conversation else session.fresh()
    if sys.stdin is None:
        raise ConfigError("Standard input is closed.", fix="Type in a terminal, or pipe one message a line into it.")
    if sys.stdin.isatty() and not session.as_json:
        await _in_terminal(session)
        return 0
    return await _from_pipe(session)


async def _from_pipe(session: ChatSession) -> int:
    agent, code = session.agent(), 0
    try:
        for raw in sys.stdin.buffer:
            line = raw.decode("utf-8", "replace").strip("\r\n")
            if line.startswith("/") and (command := line.split()[0]) in {name.split()[0] for name in COMMANDS}:
                if command == "/quit":
                    break
                changed = _apply_command(session, line)
                if changed != session and (changed.tenant, changed.mode) != (session.tenant, session.mode):
                    await agent.close()
                    agent = changed.agent()
                session = changed
                continue
            turn = await _turn(agent, line, session)
            if session.as_json:
                import orjson

                click.echo(orjson.dumps(turn.to_json()))
            else:
                click.echo(turn.reply)
                if session.debug:
                    from circumspect.cli.debug import show

                    show(turn, _console())
            if why := _explain_failure(turn, session):
                click.echo(why, err=True)
                code = 1
    finally:
        await agent.close()
    return code


async def _in_terminal(session: ChatSession) -> None:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.formatted_text import HTML
    from prompt_toolkit.history import InMemoryHistory

    console, agent = _console(), session.agent()
    prompt: PromptSession[str] = PromptSession(history=InMemoryHistory())
    _welcome(console, agent, session)
    try:
        while True:
            try:
                line = (await prompt.prompt_async(HTML("<b><ansigreen>you ›</ansigreen></b> "))).strip()
            except EOFError:
                return
            except KeyboardInterrupt:
                continue
            if not line:
                continue
            if line.startswith("/"):
                if line.split()[0] in ("/quit", "/exit"):
                    return
                try:
                    changed = _apply_command(session, line, console)
                    if (changed.tenant, changed.mode) != (session.tenant, session.mode):
                        await agent.close()
                        agent = changed.agent()
                        _welcome(console, agent, changed)
                    session = changed
                except ConfigError as problem:
                    console.print(f"[red]{problem.problem}[/red] {problem.fix}")
                continue
            await _answer(agent, line, session, console)
    finally:
        await agent.close()


async def _answer(agent: Agent, line: str, session: ChatSession, console: Console) -> None:
    from rich.text import Text

    from circumspect.cli.debug import COLOURS, show

    with console.status("[dim]…[/dim]", spinner="dots"):
        turn = await _turn(agent, line, session)
    if session.debug:
        show(turn, console)
    console.print(
        Text("agent › ", style=f"bold {COLOURS[turn.outcome]}").append(Text(turn.reply, style="not bold default"))
    )
    if why := _explain_failure(turn, session):
        console.print(Text(why, style="red"))


async def _turn(agent: Agent, line: str, session: ChatSession) -> TurnResult:
    account = f"{COMMAND_LINE}{login()}"
    return await agent.turn(line, conversation=session.conversation or "chat", language=session.lang, account=account)


def _explain_failure(turn: TurnResult, session: ChatSession) -> str:
    """For whoever runs the command: what broke. The reply is for the tenant's users, and does not say."""
    broken = {ReasonCode.MODEL_FAILED, ReasonCode.STORE_FAILED, ReasonCode.INTERNAL_ERROR}
    code = next((one for one in turn.reason_codes if one in broken), None)
    if turn.outcome != "failed" or code is None:
        return ""
    from circumspect.language import catalogue

    asked = f" Ask it by itself: circumspect doctor --online --model {shlex.quote(session.model or '…')}"
    return f"{code}: {catalogue.meaning(code)}{asked if code is ReasonCode.MODEL_FAILED else ''}"


def _apply_command(session: ChatSession, line: str, console: Console | None = None) -> ChatSession:
    """The session after a slash command."""
    command, _, value = line.partition(" ")
    value = value.strip()
    match command:
        case "/debug":
            return replace(session, debug=not session.debug)
        case "/reset":
            _tell(console, "A new conversation.")
            return session.fresh()
        case "/mode":
            if value not in ("standard", "adaptive"):
                raise ConfigError(f"'{value}' is not a mode.", fix="Type /mode standard or /mode adaptive.")
            return replace(session, mode=cast(Mode, value))
        case "/lang":
            if value not in (*LANGUAGES, "auto"):
                raise ConfigError(
                    f"'{value}' is not a language we speak.", fix=f"Type /lang {', '.join(LANGUAGES)} or auto."
                )
            return replace(session, lang=None if value == "auto" else value)
        case "/tenant":
            from circumspect.demo import samples

            if value not in samples.names():
                raise UnknownTenant(f"There is no tenant '{value}'.", fix=f"One of: {', '.join(samples.names())}.")
            return replace(session.fresh(), tenant=value)
        case "/help":
            listed = "\n".join(f"{name:<26} {what}" for name, what in COMMANDS.items())
            _tell(console, listed)
            if console is None:
                click.echo(listed, err=session.as_json)
            return session
        case _:
            raise ConfigError(f"There is no command {command}.", fix="Type /help for the list.")


def _tell(console: Console | None, text: str) -> None:
    if console:
        console.print(text, style="dim", markup=False)


def _welcome(console: Console, agent: Agent, session: ChatSession) -> None:
    from rich.panel import Panel
    from rich.text import Text

    from circumspect.language import catalogue

    say = partial(catalogue.say, session.lang or agent.tenant.language)
    about = Text()
    about.append(agent.tenant.business.name, style="bold").append(f"  ·  {agent.tenant.plan.mode} mode\n")
    if agent.model.name == "offline":
        about.append(f"{say('chat-offline')}\n", "yellow")
    else:
        about.append(f"Model: {agent.model.name}\n")
    about.append(f"{say('chat-try')}\n", "dim").append(say("chat-help"), "dim")
    console.print(Panel(about, title="Circumspect", border_style="blue", expand=False))


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)
