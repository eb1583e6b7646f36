"""Where a database stands in the history of revisions, and the way back in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from circumspect.errors import StoreError
from circumspect.stores.bounds import connect_patiently
from circumspect.stores.engine import connect, explain_error, parse_url
from circumspect.stores.schema import (
    FIRST,
    HEAD,
    VERSION,
    import_revision,
    is_usable,
    list_revisions,
    lock_history,
    read_version,
    without_foreign_keys,
)


@dataclass(frozen=True, slots=True)
class SchemaStatus:
    schema: str | None
    needed: str
    usable: bool
    said: str


def read_status(url: str) -> SchemaStatus:
    """Nothing is made or changed by looking."""
    if _is_missing_file(url):
        return SchemaStatus(None, HEAD, False, "there is no such file; `circumspect db upgrade` makes it.")
    with _connected(url) as connection, connection.begin():
        version = read_version(connection)
    return SchemaStatus(version, HEAD, is_usable(version), _compare(version))


def _compare(version: str | None) -> str:
    if version is None or FIRST <= version < HEAD:
        return "run `circumspect db upgrade`, after a backup."
    if version == HEAD:
        return "they fit."
    if is_usable(version):
        return "it is newer, only adds to it, and can be used."
    return "it is newer: upgrade Circumspect." if version > HEAD else "it is older than the first release: use another."


def take_back(url: str, revision: str) -> list[str]:
    """The revisions that were taken back, the newest first, in one transaction. A revision says how in `downgrade`."""
    known = {name[:4]: name for name in list_revisions()}
    if revision not in known:
        raise StoreError(f"There is no revision {revision}.", fix=f"There are: {', '.join(known)}.")
    if _is_missing_file(url):
        raise StoreError("There is no such database.", fix="Name it with --database.")
    with _connected(url) as connection:
        return _take_back(connection, known, revision)


def _take_back(connection: sa.Connection, known: Mapping[str, str], revision: str) -> list[str]:
    with without_foreign_keys(connection), connection.begin():
        lock_history(connection)
        version = read_version(connection)
        if version is None or version not in known:
            fix = "Use the version of Circumspect that made it." if version else "There is nothing to take back."
            raise StoreError(f"The schema of this database is {version or 'not ours'}.", fix=fix)
        if version < revision:
            raise StoreError(f"The database is at {version}, before {revision}.", fix="Run `circumspect db upgrade`.")
        later = [number for number in sorted(known, reverse=True) if revision < number <= version]
        for number in later:
            undo = getattr(import_revision(known[number]), "downgrade", None)
            if undo is None:
                raise StoreError(
                    f"Revision {number} cannot be taken back without losing rows; nothing was changed.",
                    fix="Restore the backup from before the upgrade: circumspect restore.",
                )
            undo(connection)
        if later:
            connection.execute(sa.update(VERSION).values(version_num=revision))
        return later


@contextmanager
def _connected(url: str) -> Iterator[sa.Connection]:
    database = connect(url)
    try:
        with connect_patiently(database.engine) as connection:
            yield connection
    except Exception as error:
        if ours := explain_error(error, database.name):
            raise ours from error
        raise
    finally:
        database.close()


def _is_missing_file(url: str) -> bool:
    parsed = parse_url(url)
    path = parsed.database or ":memory:"
    return (
        parsed.get_backend_name() == "sqlite" and not path.startswith((":memory:", "file:")) and not Path(path).exists()
    )
