"""`circumspect test`: does the policy still decide as people did? Fixtures run without a model; a build can ask."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from circumspect.cli.find_settings import find_database
from circumspect.cli.input_files import read_from
from circumspect.cli.options import FILE, NEW_FOLDER, PATH, config_option, since_option
from circumspect.cli.store_options import unknown_tenant
from circumspect.errors import ConfigError

if TYPE_CHECKING:
    import sqlalchemy as sa

    from circumspect.lab.learning.fixtures import FixtureResult
    from circumspect.lab.learning.overrides import Counted, Written

NOTE = "They hold what people said to the agent: personal data. Look through them before you commit or share them."


@click.command()
@click.argument("path", required=False, type=PATH, metavar="[DIR]")
@click.option("--policy", "policy_path", type=FILE, help="This policy instead of the one that each fixture names.")
@click.option(
    "--split",
    type=click.Choice(["all", "train", "held"]),
    default="all",
    show_default=True,
    help="Only fixtures to mend a policy by (train), or only those that are kept apart from that (held).",
)
@click.option("--from-store", is_flag=True, help="Make fixtures of what people decided in stored conversations.")
@click.option("--tenant", help="With --from-store: whose conversations.")
@click.option(
    "--write",
    "folder",
    type=NEW_FOLDER,
    metavar="DIR",
    help="With --from-store: where the fixtures go. Files that are there already are left as they are.",
)
@since_option("With --from-store: only what was said since then.")
@click.option(
    "--database",
    help="With --from-store: SQLite file or postgresql:// URL instead of the one in the settings. Nothing is written.",
)
@config_option
@click.option("--json", "as_json", is_flag=True, help="One JSON line for each fixture, then a summary line.")
def test(
    path: Path | None,
    policy_path: Path | None,
    split: str,
    from_store: bool,
    tenant: str | None,
    folder: Path | None,
    since: datetime | None,
    database: str | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Run the fixtures of DIR (without it: fixtures/): does the policy still decide as people did? No model is asked.

    The exit code is 0 when all pass, 1 when any fails or cannot be run, 2 when there are none.

    Fixtures made from stored conversations hold what people said to the agent, names and addresses included. Look
    through them before you commit or share them. Fixtures can also be written by hand: `circumspect docs fixtures`.

    \b
    circumspect test --from-store --tenant shop --write fixtures
    circumspect test fixtures --policy new.yaml
    """
    if from_store:
        if tenant is None or folder is None:
            raise click.UsageError("--from-store needs --tenant NAME and --write DIR.")
        store = find_database(config, database)
        _write(read_from(store, lambda connection: _read(connection, tenant, since)), folder, as_json)
        return
    if tenant is not None or folder is not None or since is not None:
        raise click.UsageError("--tenant, --write and --since go with --from-store.")
    root = path or Path("fixtures")
    if not root.exists():
        raise ConfigError(f"There is no folder {root}.", fix="Name the one with your fixtures.")
    results = _run(root, policy_path, split)
    if not results:
        raise ConfigError(f"None of the fixtures in {root} is for --split {split}.", fix="Leave --split out.")
    _show(results, as_json)
    sys.exit(0 if all(one.has_passed for one in results) else 1)


# --- running --------------------------------------------------------------------------------------------------------


def _run(root: Path, policy_path: Path | None, split: str) -> list[FixtureResult]:
    from circumspect.lab.learning.fixtures import Bench, files_of
    from circumspect.policy.load import load

    bench = Bench(load(policy_path) if policy_path else None)
    folder = root if root.is_dir() else root.parent
    results = list(bench.run(files_of(root), folder))
    return [one for one in results if split == "all" or one.held == (split == "held")]


def _show(results: Sequence[FixtureResult], as_json: bool) -> None:
    from circumspect.wording import compact

    for one in results:
        click.echo(compact(one.to_json()) if as_json else _line(one))
    summary = {
        name: {"passed": sum(one.has_passed for one in some), "failed": sum(not one.has_passed for one in some)}
        for name, some in (
            ("train", [one for one in results if not one.held]),
            ("held", [one for one in results if one.held]),
        )
    }
    if as_json:
        click.echo(compact({"summary": summary}))
        return
    click.echo("")
    for name, title in (("train", "fixtures"), ("held", "held out")):
        if sum(summary[name].values()):
            click.echo(f"{title:10} {summary[name]['passed']:5} passed  {summary[name]['failed']:5} failed")


def _line(one: FixtureResult) -> str:
    mark = "pass" if one.has_passed else "FAIL"
    apart = " (held out)" if one.held else ""
    if one.has_passed:
        return f"{mark}  {one.file}{apart}: {one.verdict}"
    wanted = f", expected {' or '.join(one.expect)}" if one.expect else ""
    codes = f" ({', '.join(one.reason_codes)})" if one.reason_codes else ""
    said = f"{one.verdict}{codes}{wanted}" if one.verdict else "not run"
    return f"{mark}  {one.file}{apart}: {said}" + (f"; {one.problem}" if one.problem else "") + f"\n      {one.name}"


# --- from the store -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    fixtures: Sequence[Written]
    counted: Counted
    policy: str | None
    tools: bytes


def _read(connection: sa.Connection, name: str, since: datetime | None) -> _Found:
    import orjson

    from circumspect.lab.learning.outcome_stories import stories
    from circumspect.lab.learning.overrides import Counted, definitions, fixtures_of
    from circumspect.server.stores import policies
    from circumspect.stores import admin
    from circumspect.values import TenantId

    tenant = TenantId(name)
    specs, known = admin.get_tools(connection, tenant), admin.get_tenant(connection, tenant)
    if known is None and not specs:
        raise unknown_tenant(name, " in this database")
    counted = Counted()
    found = [one for story in stories(connection, tenant, since) for one in fixtures_of(story, counted, since)]
    policy = policies.current(connection, tenant)
    tools = orjson.dumps(definitions(specs.values()), option=orjson.OPT_INDENT_2)
    return _Found(found, counted, policy.text if policy else None, tools)


def _write(found: _Found, folder: Path, as_json: bool) -> None:
    import yaml

    from circumspect.lab.learning.overrides import POLICY, TOOLS
    from circumspect.wording import compact

    folder.mkdir(parents=True, exist_ok=True)
    (folder / TOOLS).write_bytes(found.tools + b"\n")
    policy = folder / POLICY
    if found.policy is not None and not policy.exists():
        policy.write_text(found.policy, "utf-8")
    new = 0
    for one in found.fixtures:
        path = folder / one.file
        if not path.exists():
            text = yaml.safe_dump(_plain(one.value), sort_keys=False, allow_unicode=True, width=110)
            path.write_text(text, "utf-8")
            new += 1
    apart = sum(bool(one.value["held"]) for one in found.fixtures)
    told = {
        "overrides": found.counted.overrides,
        "about_words_only": found.counted.about_words,
        "fixtures": len(found.fixtures),
        "held_out": apart,
        "new": new,
        "policy": str(policy) if policy.exists() else None,
    }
    if as_json:
        click.echo(compact(told))
    else:
        count, words = len(found.fixtures), found.counted.about_words
        click.echo(f"{count} fixture{'s' * (count != 1)} in {folder}, {new} of them new, {apart} held out.")
        if words:
            many = "override is" if words == 1 else "overrides are"
            click.echo(f"{words} {many} about words: no call was proposed, so no fixture.")
        if not policy.exists():
            click.echo(f"The database keeps no policy of this tenant: put yours into {policy}, or give --policy.")
        click.echo(NOTE, err=True)


def _plain(value: object) -> object:
    """What YAML can write: no subclasses, no tuples."""
    import orjson

    from circumspect.wording import compact

    return orjson.loads(compact(value))
