"""A second proof beside the password: a code of an app, or a recovery code, in; whether it is good out.

Each check is one transaction that counts the try, looks at the code and spends it: the same code is good once, however
many workers see it. After five wrong codes in a row no code is good for a minute, then two, up to a quarter of an
hour, which makes about a hundred guesses a day out of a million codes. Only who knows the password gets this far, so
nobody else can bring such a lock about.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
import sqlalchemy as sa

from circumspect.errors import CircumspectError, ConfigError
from circumspect.ports import Ids
from circumspect.server import totp
from circumspect.server.credentials import hash_token
from circumspect.server.stores import second_factors as rows
from circumspect.server.stores import sessions
from circumspect.server.stores.access import OperatorRow
from circumspect.server.stores.second_factors import FREE_CODES, PasskeyRow, SecondFactors
from circumspect.server.vault import Vault
from circumspect.stores import SqlStore, action_log
from circumspect.values import JsonObject

RECOVERY_CODES = 10
ENROLMENT_SECONDS = 900
_PURPOSE = "code app"


class CodeRefused(CircumspectError):
    code = "code_refused"
    status = 403


@dataclass(frozen=True, slots=True)
class Enrolment:
    """An app that is being set up. Nothing of it is kept before a code shows that it works."""

    secret: str
    address: str
    sealed: str
    """The secret for whoever was shown it, to be given back with the first code."""


async def check_code(store: SqlStore, ids: Ids, vault: Vault, operator: OperatorRow, code: str, now: datetime) -> bool:
    """Is it a code of the operator's app, or one of the recovery codes? It is spent if so."""
    return await store.tx(_check_code, ids, vault, operator, code, now)


def _check_code(
    connection: sa.Connection, ids: Ids, vault: Vault, operator: OperatorRow, code: str, now: datetime
) -> bool:
    tried = rows.begin_code(connection, operator.id, now.timestamp())
    if tried.locked:
        return False
    text = totp.clean_code(code)
    if not totp.is_code(text):
        good = rows.spend_recovery_code(connection, operator.id, _hash_recovery(operator.id, text))
        if good:
            _log(connection, ids, operator.name, "recovery_code.used", operator, now)
    else:
        secret = vault.unseal(tried.sealed) if tried.sealed is not None else None
        step = totp.find_step(secret, text, now.timestamp(), tried.step) if secret is not None else None
        good = step is not None and rows.spend_step(connection, operator.id, step)
    if not good and tried.failures >= FREE_CODES:
        detail: JsonObject = {"failures": tried.failures}
        _log(connection, ids, operator.name, "second_factor.locked", operator, now, detail)
    return good


# --- setting up and taking away -------------------------------------------------------------------------------------


def begin_enrolment(vault: Vault, operator: OperatorRow, now: datetime) -> Enrolment:
    secret = totp.new_secret()
    said = {"for": _PURPOSE, "operator": operator.id, "secret": secret, "until": now.timestamp() + ENROLMENT_SECONDS}
    return Enrolment(secret, totp.build_address(secret, operator.name), vault.seal(orjson.dumps(said).decode()))


def resume_enrolment(vault: Vault, operator: OperatorRow, sealed: str, now: datetime) -> Enrolment | None:
    """The one that was begun by this operator, unless it took too long."""
    try:
        said: Any = orjson.loads(vault.unseal(sealed))
    except (ConfigError, ValueError):
        return None
    if not isinstance(said, dict) or said.get("for") != _PURPOSE or said.get("operator") != operator.id:
        return None
    if said["until"] <= now.timestamp():
        return None
    return Enrolment(said["secret"], totp.build_address(said["secret"], operator.name), sealed)


async def add_code_app(
    store: SqlStore, ids: Ids, vault: Vault, operator: OperatorRow, enrolment: Enrolment, code: str, now: datetime
) -> tuple[str, ...]:
    """Recovery codes, to be shown once; none where the operator has some. Raises `CodeRefused`."""
    return await store.tx(_add_code_app, ids, vault, operator, enrolment.secret, totp.clean_code(code), now)


def _add_code_app(
    connection: sa.Connection, ids: Ids, vault: Vault, operator: OperatorRow, secret: str, code: str, now: datetime
) -> tuple[str, ...]:
    step = totp.find_step(secret, code, now.timestamp()) if totp.is_code(code) else None
    if step is None:
        raise CodeRefused("That is not the code that the app shows now.", fix="Type the code that it shows.")
    sealed = vault.seal(secret)
    if not rows.put_code_app(connection, operator.id, sealed, step, now.timestamp()):
        raise CodeRefused("There is an app already.", fix="Remove it before you set up another.")
    _log(connection, ids, operator.name, "code_app.added", operator, now)
    return _first_recovery_codes(connection, operator)


async def remove_code_app(store: SqlStore, ids: Ids, operator: OperatorRow, now: datetime) -> None:
    def remove(connection: sa.Connection) -> None:
        if rows.delete_code_app(connection, operator.id):
            _log(connection, ids, operator.name, "code_app.removed", operator, now)
            _forget_unneeded_codes(connection, operator)

    await store.tx(remove)


async def add_passkey(
    store: SqlStore, ids: Ids, operator: OperatorRow, passkey: PasskeyRow, now: datetime
) -> tuple[str, ...]:
    """Recovery codes, as for an app."""

    def add(connection: sa.Connection) -> tuple[str, ...]:
        if not rows.add_passkey(connection, passkey):
            raise CodeRefused("This passkey is known already.", fix="Use it, or make another one.")
        _log(connection, ids, operator.name, "passkey.added", operator, now, {"name": passkey.name})
        return _first_recovery_codes(connection, operator)

    return await store.tx(add)


async def remove_passkey(store: SqlStore, ids: Ids, operator: OperatorRow, id_: str, now: datetime) -> bool:
    def remove(connection: sa.Connection) -> bool:
        removed = rows.delete_passkey(connection, id_, operator.id)
        if removed is not None:
            _log(connection, ids, operator.name, "passkey.removed", operator, now, {"name": removed.name})
            _forget_unneeded_codes(connection, operator)
        return removed is not None

    return await store.tx(remove)


async def renew_recovery_codes(store: SqlStore, ids: Ids, operator: OperatorRow, now: datetime) -> tuple[str, ...]:
    """New ones; those there were are good no more."""

    def renew(connection: sa.Connection) -> tuple[str, ...]:
        if not rows.find_second_factors(connection, operator.id).any:
            return ()
        _log(connection, ids, operator.name, "recovery_codes.renewed", operator, now)
        return _make_recovery_codes(connection, operator)

    return await store.tx(renew)


async def reset_second_factors(store: SqlStore, ids: Ids, by: str, operator: OperatorRow, now: datetime) -> bool:
    """Takes away all that an operator has, for who lost them, and signs them out: whoever found it may be signed in.
    False when there was nothing."""

    def reset(connection: sa.Connection) -> bool:
        had = rows.delete_second_factors(connection, operator.id)
        if had:
            sessions.end_sessions(connection, operator.id)
            _log(connection, ids, by, "second_factor.reset", operator, now, {"name": operator.name})
        return had

    return await store.tx(reset)


async def find_second_factors(store: SqlStore, operator: str) -> SecondFactors:
    return await store.tx(rows.find_second_factors, operator)


def _first_recovery_codes(connection: sa.Connection, operator: OperatorRow) -> tuple[str, ...]:
    has = rows.find_second_factors(connection, operator.id).recovery_codes
    return () if has else _make_recovery_codes(connection, operator)


def _make_recovery_codes(connection: sa.Connection, operator: OperatorRow) -> tuple[str, ...]:
    codes = tuple(_new_recovery_code() for _ in range(RECOVERY_CODES))
    rows.put_recovery_codes(connection, operator.id, [_hash_recovery(operator.id, code) for code in codes])
    return codes


def _forget_unneeded_codes(connection: sa.Connection, operator: OperatorRow) -> None:
    if not rows.find_second_factors(connection, operator.id).any:
        rows.delete_recovery_codes(connection, operator.id)


def _new_recovery_code() -> str:
    """80 bits in letters that are not mistaken for one another."""
    letters = base64.b32encode(secrets.token_bytes(10)).decode().lower()
    return "-".join(letters[at : at + 4] for at in range(0, 16, 4))


def _hash_recovery(operator: str, code: str) -> str:
    return hash_token(f"{operator}:{code.replace('-', '').lower()}")


def _log(
    connection: sa.Connection,
    ids: Ids,
    by: str,
    action: str,
    operator: OperatorRow,
    now: datetime,
    detail: JsonObject | None = None,
) -> None:
    action_log.log_action(
        connection, id=ids.new("log"), at=now, operator=by, action=action, subject=operator.id, detail=detail
    )
