"""Keys, tokens and passwords: how they are made, read and hashed. No database, no request.

A key is `csk_<id>_<secret>` and a sign-in `ses_<secret>`, each with 256 random bits; random bits need no slow hash, so
they are kept as SHA-256. A password is what a person made up, so it is kept as argon2id. The one choice that may
surprise: `password_fits` does its full work for a name that nobody has, because an answer that comes sooner tells who
has an account.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
import unicodedata
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from circumspect.errors import ConfigError

if TYPE_CHECKING:
    from circumspect.server.stores.access import KeyScope

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 1024

_KEY = re.compile(r"csk_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_SESSION = re.compile(r"ses_[A-Za-z0-9_-]{43}")
_hasher = PasswordHasher()
_threads = ThreadPoolExecutor(2, "passwords")
"""Each check of a password takes a core and 64 MB for a moment; a crowd at the door must not take them all."""


class MixedScopes(ConfigError):
    """A key for web pages that may do something else as well."""

    code = "mixed_scopes"


def new_key() -> tuple[str, str]:
    """Its id, and the whole key, which is shown once."""
    id_ = secrets.token_hex(8)
    return id_, f"csk_{id_}_{secrets.token_urlsafe(32)}"


def key_id(token: str) -> str | None:
    """The id in a key; None for what is not written like one."""
    found = _KEY.fullmatch(token)
    return found[1] if found else None


def validate_scopes(scopes: Iterable[KeyScope]) -> tuple[KeyScope, ...]:
    """What a new key may do, each once. Raises `MixedScopes`: `widget` stands alone."""
    wanted = tuple(dict.fromkeys(scopes))
    others = [scope for scope in wanted if scope != "widget"]
    if others and len(others) < len(wanted):
        raise MixedScopes(
            "A key with the scope widget stands in web pages, where anybody can read it, so it may do nothing else.",
            fix=f"Make two keys: one with widget alone, and one with {' and '.join(others)}.",
        )
    return wanted


def new_session() -> str:
    return f"ses_{secrets.token_urlsafe(32)}"


def is_session(token: str) -> bool:
    return _SESSION.fullmatch(token) is not None


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def same(one: str, other: str) -> bool:
    """Takes as long whichever character differs."""
    return hmac.compare_digest(one.encode(), other.encode())


def validate_password(password: str) -> str:
    if len(password) < SHORTEST_PASSWORD:
        raise ConfigError(
            "The password is too short.", fix=f"Use {SHORTEST_PASSWORD} characters or more; several words are fine."
        )
    if len(password) > LONGEST_PASSWORD:
        raise ConfigError("The password is too long.", fix=f"Use at most {LONGEST_PASSWORD} characters.")
    return password


def hash_password(password: str) -> str:
    return _hasher.hash(_bytes(password))


async def password_fits(password: str, kept: str | None) -> bool:
    """None is for a name that nobody has: false, in the same time."""
    loop = asyncio.get_running_loop()
    fits = await loop.run_in_executor(_threads, _fits, password[:LONGEST_PASSWORD], kept)
    return fits and kept is not None


def is_outdated(kept: str) -> bool:
    """Was it hashed with less work than is usual now?"""
    return _hasher.check_needs_rehash(kept)


def _fits(password: str, kept: str | None) -> bool:
    try:
        return _hasher.verify(kept or _nobodys(), _bytes(password))
    except (VerificationError, InvalidHashError):
        return False


@cache
def _nobodys() -> str:
    return _hasher.hash(secrets.token_bytes(32))


def _bytes(password: str) -> bytes:
    """The same letters are the same password, however a keyboard composes them."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
