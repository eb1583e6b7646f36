"""Secrets at rest: text in, sealed text out, and back. The secret key comes from the settings or from a file.

Sealing is Fernet (AES and HMAC) with a key derived from the secret key. Several secret keys may be given, the newest
first: the first seals, all of them open. The one choice that may surprise: beside an SQLite database the key is made on
first use (`secret.key`, readable by its owner only), because one file without the other is of no use to a thief of
either; with PostgreSQL there may be many workers on many machines, so there the key has to be given.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import logging
import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from circumspect.errors import ConfigError
from circumspect.private_files import make_folder
from circumspect.server.config import MAKE_KEY, SHORTEST_SECRET, Settings, secret_keys
from circumspect.server.stores import access
from circumspect.stores import SqlStore
from circumspect.values import TenantId

KEY_FILE = "secret.key"
_SEALING = b"circumspect: secrets of tenants"
_SIGNING = b"circumspect: the operators' log"

logger = logging.getLogger("circumspect.server")


class Vault:
    def __init__(self, secret_key: str | Sequence[str]) -> None:
        keys = (secret_key,) if isinstance(secret_key, str) else tuple(secret_key)
        if not keys:
            raise ConfigError("There is no secret key.", fix=f"Make one with: {MAKE_KEY}")
        self._fernet = MultiFernet([Fernet(_derive_key(key)) for key in keys])
        self._signing = [_derive_key(key, _SIGNING) for key in keys]

    def seal(self, text: str) -> str:
        return self._fernet.encrypt(text.encode("utf-8", "surrogatepass")).decode()

    def unseal(self, sealed: str) -> str:
        try:
            return self._fernet.decrypt(sealed.encode()).decode("utf-8", "surrogatepass")
        except (InvalidToken, UnicodeError):
            raise ConfigError("A stored secret cannot be opened with this secret key.", fix=_OTHER_KEY) from None

    def sign(self, text: str) -> str:
        """For what has to be ours later on, such as a checkpoint of the operators' log."""
        return _sign(self._signing[0], text)

    def fits(self, text: str, signature: str) -> bool:
        """Was it signed with any of the keys?"""
        return any(hmac.compare_digest(_sign(key, text).encode(), signature.encode()) for key in self._signing)

    async def secrets_of(self, store: SqlStore, tenant: TenantId) -> Mapping[str, str]:
        """A tenant's secrets, opened, by name."""
        sealed = await store.tx(access.get_sealed_secrets, tenant)
        return {name: self.unseal(text) for name, text in sealed.items()}


_OTHER_KEY = (
    "Set CIRCUMSPECT_SECRET_KEY to the key it was sealed with (several with commas, the newest first), "
    "or give the secret again with `circumspect apply`."
)


def _derive_key(secret_key: str, purpose: bytes = _SEALING) -> bytes:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret_key.encode())
    return base64.urlsafe_b64encode(derived)


def _sign(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def open_vault(settings: Settings) -> Vault:
    """With the key of the settings, or of the file beside an SQLite database, which is made if there is none."""
    if settings.secret_key is not None:
        return Vault(secret_keys(settings.secret_key))
    path = key_path(settings.database)
    if path is None:
        if _in_memory(settings.database):
            return Vault(secrets.token_urlsafe(32))
        raise ConfigError(
            "There is no secret key, and tenants' secrets are not stored without one.",
            fix=f"Set CIRCUMSPECT_SECRET_KEY for every worker; make one with: {MAKE_KEY}",
        )
    return Vault(_read(path) if path.exists() else _create_key(path))


def find_vault(settings: Settings) -> Vault | None:
    """The same for whoever only looks: None where there is no key. Nothing is made."""
    path = key_path(settings.database)
    if settings.secret_key is None and (path is None or not path.exists()):
        return None
    return open_vault(settings)


class MissingKey:
    """Stands in for a vault where there is no key: what was signed cannot be checked, which is no sign of tampering."""

    def __init__(self, settings: Settings) -> None:
        self._place = key_path(settings.database)

    def sign(self, text: str) -> str:
        raise self._explain()

    def fits(self, text: str, signature: str) -> bool:
        raise self._explain()

    def _explain(self) -> ConfigError:
        where = f"Put the server's file back as {self._place}, or set" if self._place else "Set"
        return ConfigError(
            "There is no secret key here, so what was signed with it cannot be checked. None was made.",
            fix=f"{where} CIRCUMSPECT_SECRET_KEY to the key of the server that wrote it.",
        )


def key_path(database: str) -> Path | None:
    """Where the key of this database is kept when the settings have none; None when it has to be given."""
    if _in_memory(database):
        return None
    if "://" not in database:
        return Path(database).parent / KEY_FILE
    if not database.startswith("sqlite"):
        return None
    path = database.partition("://")[2].partition("?")[0].removeprefix("/")
    return Path(path).parent / KEY_FILE


def _in_memory(database: str) -> bool:
    return database in (":memory:", "sqlite://", "sqlite:///", "sqlite:///:memory:")


def open_to_others(path: Path) -> bool:
    """Can anybody but its owner read the file? Always no where files have no such bits."""
    return os.name == "posix" and bool(path.stat().st_mode & 0o077)


def _read(path: Path) -> tuple[str, ...]:
    try:
        keys = tuple(path.read_text("utf-8").split())
        if open_to_others(path):
            logger.warning("the secret key's file can be read by others: chmod 600 %s", path)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The secret key in {path} cannot be read.", fix="Make the file readable for the user who runs the server."
        ) from error
    if not keys or any(len(key) < SHORTEST_SECRET for key in keys):
        raise ConfigError(
            f"The file {path} holds no usable secret key.",
            fix=f"Put the key back from a backup. If no secret was ever stored, delete the file: each line needs "
            f"{SHORTEST_SECRET} characters or more.",
        )
    return keys


def _create_key(path: Path) -> tuple[str, ...]:
    """Written aside and linked into place: whoever comes second finds a whole key, never half of one."""
    try:
        make_folder(path.parent)
        handle, aside = tempfile.mkstemp(prefix=f".{KEY_FILE}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(aside, path)
        finally:
            Path(aside).unlink()
    except OSError as error:
        raise ConfigError(
            f"No secret key can be kept in {path.parent}: {error.strerror}.",
            fix="Make the folder writable, or set CIRCUMSPECT_SECRET_KEY.",
        ) from error
    return _read(path)
