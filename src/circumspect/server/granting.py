"""What somebody may hand on: nobody gives a key more than they have themselves.

A key gives scopes that it has, in its own tenant, until it ends itself. An operator of role admin has every scope in
the tenants that they see. The one choice that may surprise: to rotate a key is to give one, since the new one is in the
answer; a key that rotates itself is the exception as to time, because that is how short-lived keys are kept alive.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from circumspect.server.access import NotPermitted, Principal
from circumspect.server.stores import access
from circumspect.server.stores.access import KeyRow, KeyScope


def require_own_scopes(connection: sa.Connection, who: Principal, scopes: Collection[KeyScope], now: float) -> None:
    """Raises `NotPermitted` for a scope that `who` does not have now: a key that was revoked a moment ago, and is still
    remembered as good, makes no heir."""
    if who.caller is None:
        return
    known = access.key_by_id(connection, who.caller.key)
    held = known.row.scopes if known is not None and known.row.valid(now) else ()
    missing = [scope for scope in scopes if scope not in held]
    if missing:
        raise NotPermitted(
            f"A key gives only what it has: this one lacks the scope {' and '.join(missing)}.",
            fix="Ask an operator of role admin, or use `circumspect keys` on the server.",
        )


def limit_end(who: Principal, ends: float | None) -> float | None:
    """When a key that `who` makes ends: with its maker at the latest, where that is a key. None is never."""
    own = None if who.caller is None else who.caller.expires_at
    if own is None or ends is None:
        return own if ends is None else ends
    return min(own, ends)


def is_own(who: Principal, key: KeyRow) -> bool:
    """A key is about to change itself."""
    return who.caller is not None and who.caller.key == key.id
