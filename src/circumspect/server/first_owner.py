"""The first administrator, made in the browser: by whoever holds the link that `circumspect serve` prints.

The code in the link is sealed with the server's own key, so that every worker knows it and nothing is stored. It is
good for a day, and for nothing at all once there is anybody.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa

from circumspect.errors import ConfigError
from circumspect.server.responses import LoggedAction
from circumspect.server.stores import access
from circumspect.server.stores.access import OperatorRow
from circumspect.server.vault import Vault
from circumspect.stores import action_log
from circumspect.stores.tables import operators

GOOD_FOR = timedelta(days=1)
_PURPOSE = "first owner until "


class SomebodyIsThere(ConfigError):
    """There is an operator already: the link does nothing any more."""


def seal_first_code(vault: Vault, now: datetime) -> str:
    return vault.seal(f"{_PURPOSE}{(now + GOOD_FOR).isoformat()}")


def is_first_code(vault: Vault, code: str, now: datetime) -> bool:
    try:
        said = vault.unseal(code)
    except ConfigError:
        return False
    return said.startswith(_PURPOSE) and now < datetime.fromisoformat(said.removeprefix(_PURPOSE))


def is_nobody_there(connection: sa.Connection) -> bool:
    """Disabled ones are somebody: who was put out does not come in by this door."""
    return connection.execute(sa.select(operators.c.id).limit(1)).first() is None


def add_first_owner(connection: sa.Connection, row: OperatorRow, password: str, change: LoggedAction) -> None:
    """Of two who come at once the second waits for the first, and is told."""
    action_log.wait_for_turn(connection)
    if not is_nobody_there(connection):
        raise SomebodyIsThere("There is an administrator already.", fix="Sign in, or ask them for an account.")
    access.add_operator(connection, row, password)
    change.log(connection, None, row.id, {"name": row.name, "role": row.role})
