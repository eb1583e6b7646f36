"""`circumspect policy`: draft, check, explain and compare policy files."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson

from circumspect.cli.options import FILE, NEW_FILE, PATH, json_option
from circumspect.errors import ConfigError

if TYPE_CHECKING:
    from circumspect.audit.transcript_files import Transcript
    from circumspect.policy.value_kinds import JsonSchema
    from circumspect.values import ToolSpec

TOOLS = click.option(
    "--tools", "tools_path", type=FILE, help="OpenAI tool definitions (JSON) to hold the file against."
)


@click.group()
def policy() -> None:
    """Draft, check, explain and compare policy files. The language: `circumspect docs policy`."""


@policy.command()
@click.argument("path", type=FILE)
@TOOLS
@click.option(
    "--transcripts",
    "transcripts",
    type=PATH,
    multiple=True,
    help="Conversations whose results show which fields there are. May be given several times.",
)
@json_option
def check(path: Path, tools_path: Path | None, transcripts: tuple[Path, ...], as_json: bool) -> None:
    """Is the file sound? Every finding with its line and what to do. Exit code 1 when it would be refused."""
    from circumspect.policy.load import check as checked

    learnt = _learn_results(transcripts) if transcripts else None
    found, findings = checked(path, specs=_specs(tools_path), learnt=learnt)
    broken = any(one.level == "error" for one in findings)
    if as_json:
        rows = [
            {"level": one.level, "file": str(path), "line": one.line, "problem": one.problem, "fix": one.fix}
            for one in findings
        ]
        click.echo(orjson.dumps({"ok": not broken, "findings": rows}))
    else:
        for one in findings:
            click.secho(f"{one.level}: ", fg="red" if one.level == "error" else "yellow", nl=False)
            click.echo(one.describe(str(path)))
        if not broken:
            silent = found is not None and not (found.tools or found.patterns or found.tenants)
            but = ", and says nothing about any tool: each is held to what it declares itself" if silent else ""
            click.secho(f"{path} is sound{but}.", fg="green")
    sys.exit(1 if broken else 0)


@policy.command()
@click.argument("tool")
@click.option("--policy", "path", type=FILE, default="policy.yaml", show_default=True, help="The policy file.")
@click.option("--tenant", help="With this tenant's overrides.")
@TOOLS
@json_option
def explain(tool: str, path: Path, tenant: str | None, tools_path: Path | None, as_json: bool) -> None:
    """What will happen to a call of TOOL, in plain language. Exit code 2 where no line of the policy covers it."""
    from circumspect.policy.explain import explain as explained
    from circumspect.policy.load import load
    from circumspect.values import TenantId

    specs = _specs(tools_path)
    loaded, of = load(path, specs=specs), TenantId(tenant) if tenant else None
    spec = specs.get(tool) if specs else None
    text = explained(loaded, tool, spec, of)
    told = orjson.dumps({"tool": tool, "explanation": text.splitlines()}) if as_json else text
    if spec is None and loaded.of(tool, of) is None:
        names = (*loaded.tools, *(specs or ()))
        if not (near := _suggest_words(tool, names, closeness=0.8)):
            # The name may be meant as it is: then what becomes of its calls is an answer.
            click.echo(told)
            near = _suggest_words(tool, names, closeness=0.5)
        raise ConfigError(
            f"No line of the policy covers a tool '{tool}'{near and f': {near}'}",
            fix="Give the name to the letter. Every call of a tool that no line covers is denied.",
        )
    click.echo(told)


@policy.command()
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@json_option
def diff(old: Path, new: Path, as_json: bool) -> None:
    """What changed between two files, in words; what was loosened is marked."""
    from circumspect.policy.diff import changes
    from circumspect.policy.load import load

    found = changes(load(old), load(new))
    if as_json:
        rows = [{"where": one.where, "what": one.what, "direction": one.direction} for one in found]
        click.echo(orjson.dumps(rows))
        return
    for one in found:
        click.secho(str(one), fg={"loosened": "red", "tightened": "green"}.get(one.direction))
    if not found:
        click.echo("Nothing that could change a verdict.")


@policy.command()
def schema() -> None:
    """Print the JSON schema of the policy file, for editors."""
    from circumspect.policy.load import schema as published

    click.echo(orjson.dumps(published(), option=orjson.OPT_INDENT_2))


@policy.command()
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option("--out", type=NEW_FILE, help="Write here instead of standard output.")
def init(paths: tuple[Path, ...], out: Path | None) -> None:
    """Draft a policy from the tools found in transcripts. Every guess is marked for review."""
    from circumspect.audit.draft_policy import draft

    text = draft(_read_transcripts(paths))
    if text.rstrip().endswith("tools: {}"):
        names = ", ".join(str(path) for path in paths)
        raise ConfigError(f"No tools were found in {names}.", fix="Give transcripts that carry `tools` or tool calls.")
    if out is None:
        click.echo(text, nl=False)
        return
    if out.exists():
        raise ConfigError(f"{out} exists already.", fix="Choose another name with --out, or move the file away.")
    out.write_text(text, "utf-8")
    click.echo(f"Wrote {out}. Go through the lines marked `review`, then: circumspect policy check {out}")


def _read_transcripts(paths: tuple[Path, ...]) -> list[Transcript]:
    from circumspect.audit.transcript_files import TranscriptProblem, read

    found: list[Transcript] = []
    for one in read(paths):
        if isinstance(one, TranscriptProblem):
            click.echo(f"skipped: {one}", err=True)
        else:
            found.append(one)
    return found


def _learn_results(paths: tuple[Path, ...]) -> Mapping[str, JsonSchema]:
    from circumspect.audit.learnt_results import learn_results

    learnt = learn_results(_read_transcripts(paths))
    if not learnt:
        names = ", ".join(str(path) for path in paths)
        raise ConfigError(f"No results of tools were found in {names}.", fix="Give transcripts with tool results.")
    return learnt


def _specs(path: Path | None) -> Mapping[str, ToolSpec] | None:
    if path is None:
        return None
    from circumspect.audit.transcript_files import specs_from

    return specs_from(path)


def _suggest_words(word: str, words: Iterable[str], *, closeness: float) -> str:
    """ "did you mean 'cancel_order' or 'cancel_booking'?" What begins alike is near, too."""
    known = sorted(set(words))
    alike = [one for one in known if len(word) > 2 and (one.startswith(word) or word.startswith(one))]
    near = dict.fromkeys((*alike, *difflib.get_close_matches(word, known, n=3, cutoff=closeness)))
    said = " or ".join(f"'{one}'" for one in [*near][:3])
    return f"did you mean {said}?" if near else ""
