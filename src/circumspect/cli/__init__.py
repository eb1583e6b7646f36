"""The command `circumspect`. Each verb lives in its own module and is imported only when it is used."""

from __future__ import annotations

import logging
import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from circumspect import __version__
from circumspect.errors import CircumspectError
from circumspect.extras import explain_imports

VERBS: dict[str, tuple[str, str]] = {
    "demo": ("chat:demo", "Chat with the demo shop: no key, no set-up."),
    "chat": ("chat:chat", "Talk to a tenant in the terminal, or one message a line from a pipe."),
    "audit": ("audit:audit", "What would have been held in transcripts of an agent, and why."),
    "backtest": ("backtest:backtest", "Run stored conversations under another policy, with no model."),
    "test": ("test:test", "Does the policy still decide as people did? Fixtures, run with no model."),
    "calibrate": ("calibrate:calibrate", "How far off confidences are, and which caps and bands would fit."),
    "check-model": (
        "check_model:check_model",
        "How a model does, before it is trusted: format, tools, claims, cost.",
    ),
    "policy": ("policy:policy", "Draft, check, explain and compare policy files."),
    "evaluate": ("evaluate:evaluate", "Check cases against a policy's criteria, with quotes that are really there."),
    "optimise": ("optimise:optimise", "Improve a prompt on labelled cases; the winner is a candidate, never live."),
    "browse": ("browse:browse", "Do a task in a real browser, step by step, every step verified."),
    "experiments": ("experiments:experiments", "Try another configuration on a share of the conversations."),
    "prompts": ("prompts:prompts", "Versions of the words that models see: list, compare, add."),
    "serve": ("serve:serve", "Serve the HTTP API: chat, OpenAI-compatible endpoint, operators' work."),
    "health": ("health:health", "Is the server on this machine alive, or ready? For health checks."),
    "apply": ("apply:apply", "Create or update tenants from files."),
    "tenants": ("tenants:tenants", "List tenants, or show one as a file."),
    "tools": ("tools:tools", "Tools that clients bring along: see them, declare them."),
    "keys": ("keys:keys", "Make, list, rotate and revoke API keys."),
    "operators": ("operators:operators", "People who may sign in."),
    "approvals": ("approvals:approvals", "Calls that wait for a second person."),
    "escalations": ("escalations:escalations", "Conversations that wait for a person."),
    "outbox": ("outbox:outbox", "Notifications that wait to leave, or were given up."),
    "mcp": ("mcp:mcp", "Be an MCP server: a tenant's tools behind its policy."),
    "demo-data": ("demo_data:demo_data", "Sample conversations for the console, and away with them."),
    "backup": ("backup:backup", "Copy the database while servers run, verified."),
    "restore": ("backup:restore", "Make a database of a backup; what it left open waits for a person."),
    "db": ("db:db", "The database's schema: see it, bring it up to date, take it back."),
    "docs": ("docs:docs", "Read the pages of this version, without a network."),
    "doctor": ("doctor:doctor", "Every setting, what is wrong with it and how to fix it."),
}


class Verbs(click.Group):
    """A group that knows its commands by name and one line, and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, name = VERBS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(f"circumspect.cli.{module}"), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            raise click.NoSuchCommand(args[0], possibilities=VERBS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with explain_imports():
                return super().invoke(ctx)
        except BrokenPipeError:
            # Left to click, it would end with 1, which says that a check found something.
            _give_up_output()
            sys.exit(141)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in VERBS.items()])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="circumspect")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="error",
    envvar="CIRCUMSPECT_LOG_LEVEL",
    help="Write JSON log lines of this level and above to standard error.",
)
def cli(log_level: str) -> None:
    """A reasoning layer for LLM agents: the model proposes, code disposes.

    \b
    circumspect demo                         chat with a demo shop, offline
    circumspect chat --tenant shop-he        the same in Hebrew
    circumspect audit transcripts.jsonl      what would have been held, with no model
    circumspect policy check policy.yaml     is the policy file sound?

    `circumspect COMMAND --help` tells more about each command.
    """
    from circumspect.logs import configure

    configure(log_level)


def main() -> NoReturn:
    """Run the command. A user's mistake ends in one message and exit code 2, never in a traceback."""
    os.umask(0o077)  # reports and databases hold what people said: whatever is made here is its owner's alone
    try:
        code = cli.main(prog_name="circumspect", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("Interrupted.", err=True)
        sys.exit(130)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except CircumspectError as problem:
        click.echo(f"Error: {problem.problem}", err=True)
        if problem.fix:
            click.echo(f"  {problem.fix}", err=True)
        for line in getattr(problem, "findings", ()):
            click.echo(f"  {line}", err=True)
        sys.exit(2)
    except OSError as problem:
        if problem.strerror is None:
            raise
        logging.getLogger(__name__).debug("The command ended in an error of the system.", exc_info=True)
        _give_up_output()
        said = f"{problem.filename}: {problem.strerror}" if problem.filename else problem.strerror
        click.echo(f"Error: {said}.", err=True)
        click.echo("  Check the path, that you may read or write there, and that there is room.", err=True)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


def _give_up_output() -> None:
    """What is still buffered cannot be written; Python would try once more at the end, and complain aloud."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
