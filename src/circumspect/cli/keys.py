"""`circumspect keys`: API keys of tenants. A key is printed once, when it is made; what is kept is a hash of it."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING

import click

from circumspect.cli.options import read_span
from circumspect.cli.store_options import StoreTarget, add_store_options, iso, need_packages, table, write_log
from circumspect.errors import ConfigError

if TYPE_CHECKING:
    import sqlalchemy as sa

    from circumspect.server.stores.access import KeyRow, KeyScope

SCOPES = ("chat", "read", "manage", "admin", "provision", "widget")


@click.group()
def keys() -> None:
    """Make, list, revoke and rotate API keys of tenants."""
    need_packages()


@keys.command()
@click.option("--tenant", required=True, help="Whose key it is.")
@click.option("--name", default="", help="What it is for, so that you know it again.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    help="chat (talk; the default), read (the tenant's internals and usage), manage (escalations and approvals), "
    "admin (configuration), provision (operators, for an identity provider); "
    "or widget alone, for a key that stands in web pages. Can be given several times.",
)
@click.option("--expires", metavar="TIME", callback=read_span, help="Ends after so long: 90d, 24h. Without it, never.")
@add_store_options
def create(tenant: str, name: str, scopes: tuple[KeyScope, ...], expires: float | None, target: StoreTarget) -> None:
    """Make a key and print it, this once.

    \b
    circumspect keys create --tenant shop
    circumspect keys create --tenant shop --name dashboard --scope read --scope manage --expires 90d
    """
    from circumspect.server.credentials import hash_token, new_key, validate_scopes
    from circumspect.server.schemas.keys import KeyListed
    from circumspect.server.stores import access
    from circumspect.server.stores.access import KeyRow
    from circumspect.values import TenantId

    if expires == 0:
        raise click.BadParameter(
            "a key that ends at once opens nothing; say how long, such as 90d.", param_hint="--expires"
        )
    now = time()
    id_, key = new_key()
    wanted = validate_scopes(scopes) or ("chat",)
    row = KeyRow(id_, TenantId(tenant), name, wanted, now, None if expires is None else now + expires)

    def add_and_log(connection: sa.Connection) -> None:
        access.add_key(connection, row, hash_token(key))
        _log(connection, row, "key.created", now)

    target.tx(add_and_log)
    if not target.as_json:
        click.echo("Keep it now; it is not shown again.", err=True)
    target.say({"key": key, **KeyListed.of(row, state=row.state(now)).to_json()}, key)


@keys.command("list")
@click.option("--tenant", help="Only this tenant's.")
@add_store_options
def list_(tenant: str | None, target: StoreTarget) -> None:
    """Every key: whose, what it may do, when it was last used (to the minute) and whether it still works."""
    from circumspect.server.schemas.keys import KeyListed
    from circumspect.server.stores import access
    from circumspect.values import TenantId

    found, now = target.tx(access.list_keys, None if tenant is None else (TenantId(tenant),)), time()
    rows = [
        (row.id, row.tenant, row.name, ",".join(row.scopes), row.state(now), iso(row.expires_at) or "never",
         iso(row.used_at) or "never")
        for row in found
    ]  # fmt: skip
    text = table(rows, ("ID", "TENANT", "NAME", "SCOPES", "STATE", "EXPIRES", "USED")) if rows else "There are no keys."
    target.say([KeyListed.of(row, state=row.state(now)) for row in found], text)


@keys.command()
@click.argument("key_id", metavar="ID")
@add_store_options
def revoke(key_id: str, target: StoreTarget) -> None:
    """End a key. Servers that are running refuse it within five seconds."""
    from circumspect.server.schemas.keys import KeyListed
    from circumspect.server.stores import access

    now = time()

    def revoke_and_log(connection: sa.Connection) -> KeyRow | None:
        row = access.revoke_key(connection, _id(key_id), now)
        if row is not None:
            _log(connection, row, "key.revoked", now)
        return row

    row = target.tx(revoke_and_log)
    if row is None:
        raise _no_such_key()
    target.say(KeyListed.of(row, state=row.state(now)), f"The key {row.id} of {row.tenant} is revoked.")


@keys.command()
@click.argument("key_id", metavar="ID")
@click.option(
    "--overlap",
    metavar="TIME",
    default="24h",
    show_default=True,
    callback=read_span,
    help="How long the old one still works.",
)
@add_store_options
def rotate(key_id: str, overlap: float, target: StoreTarget) -> None:
    """Make a new key with the same scopes and print it, this once; the old one ends after the overlap."""
    from circumspect.server.credentials import hash_token, new_key
    from circumspect.server.schemas.keys import KeyListed
    from circumspect.server.stores import access

    now = time()
    new_id, key = new_key()

    def rotate_and_log(connection: sa.Connection) -> tuple[KeyRow, KeyRow] | None:
        both = access.rotate_key(
            connection, _id(key_id), new_id=new_id, new_hash=hash_token(key), at=now, overlap=overlap
        )
        if both is not None:
            _log(connection, both[1], "key.rotated", now, old=both[0].id)
        return both

    both = target.tx(rotate_and_log)
    if both is None:
        raise _no_such_key()
    old, new = both
    if not target.as_json:
        click.echo(f"The old key {old.id} works until {iso(old.expires_at)}. Keep the new one now:", err=True)
    made, ended = (KeyListed.of(row, state=row.state(now)).to_json() for row in (new, old))
    target.say({"key": key, **made, "old": ended}, key)


def _id(text: str) -> str:
    """People paste the whole key as well."""
    return text.removeprefix("csk_").partition("_")[0]


def _no_such_key() -> ConfigError:
    return ConfigError("There is no key with this id.", fix="`circumspect keys list` shows them.")


def _log(connection: sa.Connection, row: KeyRow, action: str, now: float, **detail: str) -> None:
    what = {"scopes": list(row.scopes), **detail}
    write_log(connection, action, now, tenant=row.tenant, subject=row.id, detail=what)
