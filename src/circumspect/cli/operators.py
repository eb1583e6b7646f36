"""`circumspect operators`: the people who sign in. Passwords are typed or piped in, never written on the command line,
where every process of the machine can read them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from time import time
from typing import TYPE_CHECKING, Any, TypeVar

import click

from circumspect.cli.store_options import StoreTarget, add_store_options, iso, need_packages, table, write_log
from circumspect.clock import RandomIds
from circumspect.errors import ConfigError

if TYPE_CHECKING:
    import sqlalchemy as sa

    from circumspect.server.stores.access import OperatorRole, OperatorRow
    from circumspect.stores.log_chain import LogHead

T = TypeVar("T")
ROLES = ("operator", "reviewer", "admin")
_STDIN = click.option("--password-stdin", is_flag=True, help="Read the password from standard input, without asking.")


@click.group()
def operators() -> None:
    """Add, list and disable operators, change their passwords, and check the log of what they did."""
    need_packages()


@operators.command()
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(ROLES),
    default="operator",
    show_default=True,
    help="operator (escalations, approvals, reading), reviewer (reading, reviews), admin (everything).",
)
@click.option(
    "--tenant", "tenants", multiple=True, help="Only this tenant's conversations. Can be given several times."
)
@_STDIN
@add_store_options
def add(name: str, role: OperatorRole, tenants: tuple[str, ...], password_stdin: bool, target: StoreTarget) -> None:
    """Add an operator. The password is asked for, twice, or read from standard input.

    \b
    circumspect operators add dana --role admin
    """
    from circumspect.server.credentials import hash_password
    from circumspect.server.operator_accounts import check_operator_name
    from circumspect.server.stores import access
    from circumspect.server.stores.access import OperatorRow
    from circumspect.values import TenantId

    name, now = check_operator_name(name), time()
    hashed = hash_password(_password(password_stdin))
    allowed = tuple(TenantId(tenant) for tenant in dict.fromkeys(tenants)) or None
    row = OperatorRow(RandomIds().new("opr"), name, role, allowed, now)

    def add_and_log(connection: sa.Connection) -> None:
        access.add_operator(connection, row, hashed)
        write_log(connection, "operator.added", now, subject=row.id, detail={"name": name, "role": role})

    target.tx(add_and_log)
    target.say(_describe_operator(row), f"{name} may sign in as {role}.")


@operators.command("list")
@add_store_options
def list_(target: StoreTarget) -> None:
    """Every operator: role, tenants, and whether they may sign in."""
    from circumspect.server.stores import access

    found = target.tx(access.list_operators)
    rows = [
        (row.name, row.role, _state(row), "all" if row.tenants is None else ",".join(row.tenants), row.id)
        for row in found
    ]
    text = table(rows, ("NAME", "ROLE", "STATE", "TENANTS", "ID")) if rows else "There are no operators."
    target.say([_describe_operator(row) for row in found], text)


@operators.command()
@click.argument("name")
@add_store_options
def disable(name: str, target: StoreTarget) -> None:
    """Sign an operator out everywhere, and let them in no more."""
    from circumspect.server.stores import access

    row = _change_operator(name, "operator.disabled", access.set_disabled, time(), target=target)
    target.say(_describe_operator(row), f"{name} may not sign in any more.")


@operators.command()
@click.argument("name")
@add_store_options
def enable(name: str, target: StoreTarget) -> None:
    """Let a disabled operator in again.

    \b
    circumspect operators enable dana
    """
    from circumspect.server.stores import access

    row = _change_operator(name, "operator.enabled", access.set_disabled, None, target=target)
    target.say(_describe_operator(row), f"{name} may sign in again.")


@operators.command()
@click.argument("name")
@_STDIN
@add_store_options
def passwd(name: str, password_stdin: bool, target: StoreTarget) -> None:
    """Set an operator's password. Signs them out everywhere, and what others failed with counts no more."""
    from circumspect.server.credentials import hash_password
    from circumspect.server.stores import access

    hashed = hash_password(_password(password_stdin))
    row = _change_operator(name, "operator.password", access.set_password, hashed, target=target)
    target.say(_describe_operator(row), f"The password of {name} is changed.")


@operators.command("reset-second-factor")
@click.argument("name")
@add_store_options
def reset_second_factor(name: str, target: StoreTarget) -> None:
    """Take away an operator's code app, passkeys and recovery codes, for who lost them all.

    They are signed out everywhere, and sign in with their password until they set up another.
    """
    from circumspect.server.stores import second_factors, sessions

    def reset(connection: sa.Connection, operator: str, _: None) -> None:
        second_factors.delete_second_factors(connection, operator)
        sessions.end_sessions(connection, operator)

    row = _change_operator(name, "second_factor.reset", reset, None, target=target)
    target.say(_describe_operator(row), f"{name} signs in with the password alone.")


@operators.group("log")
def log_group() -> None:
    """The log of what operators, keys and commands did."""


@log_group.command("verify")
@click.option("--head", metavar="SEQ:HASH", help="A head that was seen before; it has to be in the log still.")
@add_store_options
def verify_log(head: str | None, target: StoreTarget) -> None:
    """Check that no row was changed, taken out or moved. Exits with 1 when one was, and names the first.

    Signed rows need the server's secret key. Where it is not, the check ends with 2 and says so; none is made.

    \b
    circumspect operators log verify
    circumspect operators log verify --head 812:6b1f…
    """
    from circumspect.server.vault import MissingKey, find_vault
    from circumspect.stores.log_chain import check_chain

    known = None if head is None else _read_head(head)
    settings = target.load_settings()
    signer = find_vault(settings) or MissingKey(settings)
    found = target.with_store(lambda store: check_chain(store, signer, known))
    said = {
        "whole": found.broken is None, "rows": found.rows, "head": str(found.head), "signed": found.signed,
        "broken": found.broken, "problem": found.problem,
    }  # fmt: skip
    if found.broken is not None:
        target.say(said, f"The log is broken at row {found.broken}: {found.problem}. Rows before it are whole.")
        raise SystemExit(1)
    signed = f"signed up to row {found.signed}" if found.signed else "not signed yet"
    target.say(said, f"The log is whole: {found.rows} rows, {signed}. Its head, to keep elsewhere: {found.head}")


def _read_head(text: str) -> LogHead:
    from circumspect.stores.log_chain import LogHead

    seq, _, hash_ = text.partition(":")
    if not (seq.isascii() and seq.isdigit() and re.fullmatch("[0-9a-f]{64}", hash_)):
        raise ConfigError("This is no head of the log.", fix="Write SEQ:HASH, as `operators log verify` prints it.")
    return LogHead(int(seq), hash_)


def _change_operator(
    name: str, action: str, change: Callable[[sa.Connection, str, T], None], value: T, *, target: StoreTarget
) -> OperatorRow:
    """The operator after `change(connection, id, value)`, which is logged as `action`."""
    from circumspect.server.stores import access

    def change_and_log(connection: sa.Connection) -> OperatorRow | None:
        row = access.operator_named(connection, name)
        if row is None:
            return None
        change(connection, row.id, value)
        write_log(connection, action, time(), subject=row.id, detail={"name": row.name})
        return access.operator_named(connection, name)

    row = target.tx(change_and_log)
    if row is None:
        raise ConfigError(f"There is no operator '{name}'.", fix="`circumspect operators list` shows them.")
    return row


def _password(from_stdin: bool) -> str:
    from circumspect.server.credentials import validate_password

    if from_stdin or not sys.stdin.isatty():
        return validate_password(sys.stdin.readline().rstrip("\r\n"))
    return validate_password(click.prompt("Password", hide_input=True, confirmation_prompt="The same again"))


def _state(row: OperatorRow) -> str:
    return "active" if row.disabled_at is None else "disabled"


def _describe_operator(row: OperatorRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "role": row.role,
        "tenants": None if row.tenants is None else list(row.tenants),
        "state": _state(row),
        "created_at": iso(row.created_at),
    }
