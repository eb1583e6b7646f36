"""`circumspect prompts`: versions of the words that models see."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from circumspect.cli.input_files import read_text
from circumspect.cli.options import FILE
from circumspect.cli.store_options import StoreTarget, add_store_options, login, need_packages, table, unknown_tenant
from circumspect.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

    from circumspect.prompts import Prompt
    from circumspect.stores.prompts import PromptRow
    from circumspect.values import TenantId

tenant_option = click.option("--tenant", help="Whose versions; without it only those that come with the package.")


@click.group()
def prompts() -> None:
    """Versions of the words that models see.

    \b
    circumspect prompts list --tenant shop
    circumspect prompts show adaptive            what comes with the package
    circumspect prompts add adaptive mine.md --tenant shop
    circumspect prompts diff adaptive@1a2b3c4d --tenant shop
    """
    need_packages()


@prompts.command("list")
@click.argument("name", required=False)
@tenant_option
@add_store_options
def list_(name: str | None, tenant: str | None, target: StoreTarget) -> None:
    """All prompts, or the versions of one.

    \b
    circumspect prompts list --tenant shop
    circumspect prompts list adaptive --tenant shop
    """
    from circumspect.prompts import FIXED, list_prompt_names, load_default_prompt
    from circumspect.server.schemas.prompts import PromptShown

    if name is not None and name not in list_prompt_names():
        raise _unknown(name)
    found = [
        PromptShown.of_prompt(load_default_prompt(one))
        for one in list_prompt_names()
        if one not in FIXED and name in (None, one)
    ]
    if tenant is not None:
        found += [PromptShown.of_prompt(row) for row in target.tx(_list_versions, tenant, name)]
    lines = [
        (one.id, one.created_at.isoformat(timespec="seconds") if one.created_at else "with the package", one.note)
        for one in found
    ]
    target.say(found, table(lines, ("id", "since", "note")))


@prompts.command()
@click.argument("prompt")
@tenant_option
@click.option("--uses", is_flag=True, help="Also the newest turns that used it.")
@add_store_options
def show(prompt: str, tenant: str | None, uses: bool, target: StoreTarget) -> None:
    """The text of a version, by its id; by name, what comes with the package."""
    from circumspect.server.schemas.prompts import UseShown
    from circumspect.stores import prompts as rows

    one = _text(prompt, tenant, target)
    turns = target.tx(rows.uses, _require_tenant(tenant), one.id) if uses else ()
    lines = [f"{use.turn}  {use.conversation}  {use.outcome}" for use in turns]
    text = "\n".join((one.text, "", f"{len(turns)} turns used it:", *lines)) if uses else one.text
    target.say({"id": one.id, "name": one.name, "text": one.text, "uses": [UseShown.of(use) for use in turns]}, text)


@prompts.command()
@click.argument("prompt")
@click.argument("against", required=False)
@tenant_option
@add_store_options
def diff(prompt: str, against: str | None, tenant: str | None, target: StoreTarget) -> None:
    """What a version changes, against another or against what comes with the package."""
    from circumspect.prompts import load_default_prompt
    from circumspect.server.schemas.prompts import DiffShown

    new = _text(prompt, tenant, target)
    old = _text(against, tenant, target) if against else load_default_prompt(new.name)
    found = DiffShown.between(old, new)
    target.say(found, "\n".join(found.lines) or "They are the same.")


@prompts.command()
@click.argument("name")
@click.argument("file", type=FILE)
@click.option("--tenant", required=True, help="Who may use it.")
@click.option("--note", default="", help="What it is for.")
@add_store_options
def add(name: str, file: Path, tenant: str, note: str, target: StoreTarget) -> None:
    """Add a version. Nothing uses it before an experiment chooses it."""
    from circumspect.clock import RandomIds, SystemClock
    from circumspect.prompts import load_default_prompt, make_prompt_version
    from circumspect.server.schemas.prompts import PromptShown
    from circumspect.stores import action_log
    from circumspect.stores import prompts as rows
    from circumspect.values import TenantId

    made = make_prompt_version(name, read_text(file))
    if made.id == load_default_prompt(name).id:
        raise ConfigError("This is the text that comes with the package.", fix="Change it first.")
    now, log = SystemClock().now(), RandomIds().new("act")

    def body(connection: Any) -> PromptRow:
        row = rows.put(
            connection, TenantId(tenant), made.id, name, made.text, at=now,
            parent=load_default_prompt(name).id, note=note, created_by=login(),
        )  # fmt: skip
        action_log.log_action(
            connection, id=log, at=now, operator=login(), action="add_prompt", tenant=tenant, subject=made.id,
            detail={"note": note},
        )  # fmt: skip
        return row

    row = target.tx(body)
    overlay = f'{{"prompts": {{"{name}": "{row.id}"}}}}'
    after = f"{row.id} is there. Try it: circumspect experiments create … --arm 'new={overlay}'"
    target.say(PromptShown.of_prompt(row), after)


# ---------------------------------------------------------------------------------------------------------------------


def _text(id_: str, tenant: str | None, target: StoreTarget) -> Prompt:
    from circumspect.prompts import Prompt, list_prompt_names, load_default_prompt
    from circumspect.stores import prompts as rows

    name = id_.rpartition("@")[0] or id_
    if name not in list_prompt_names():
        raise _unknown(name)
    ours = load_default_prompt(name)
    if id_ in (name, ours.id):
        return ours
    row = target.tx(rows.get, _require_tenant(tenant), id_)
    if row is None:
        raise ConfigError(f"'{tenant}' has no version {id_}.", fix="`circumspect prompts list --tenant …` shows them.")
    return Prompt(row.name, row.text)


def _unknown(name: str) -> ConfigError:
    return ConfigError(f"There is no prompt '{name}'.", fix="`circumspect prompts list` shows them.")


def _require_tenant(tenant: str | None) -> TenantId:
    from circumspect.values import TenantId

    if tenant is None:
        raise ConfigError("Versions belong to a tenant.", fix="Say whose: --tenant NAME.")
    return TenantId(tenant)


def _list_versions(connection: sa.Connection, tenant: str, name: str | None) -> Sequence[PromptRow]:
    from circumspect.stores import admin
    from circumspect.stores import prompts as rows
    from circumspect.values import TenantId

    if admin.get_tenant(connection, TenantId(tenant)) is None:
        raise unknown_tenant(tenant)
    return rows.list_prompts(connection, TenantId(tenant), name)
