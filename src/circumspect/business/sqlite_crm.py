"""SqliteCrm: the embedded CRM, one file. Keys of saves are kept, so that a repeated one changes nothing."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from circumspect.business.crm import FIELDS, Lead
from circumspect.business.sqlite_file import open_transaction, prepare

_SCHEMA = """
CREATE TABLE IF NOT EXISTS leads (
    id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE COLLATE NOCASE, name TEXT NOT NULL DEFAULT '',
    company TEXT NOT NULL DEFAULT '', phone TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT 'new',
    note TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS saves (key TEXT PRIMARY KEY);
"""


class SqliteCrm:
    def __init__(self, path: Path) -> None:
        prepare(path, _SCHEMA)
        self._path = path

    async def find(self, email: str) -> Lead | None:
        return await asyncio.to_thread(self._find, email)

    async def save(self, email: str, changes: Mapping[str, str], key: str) -> Lead:
        return await asyncio.to_thread(self._save, email, changes, key)

    def _find(self, email: str) -> Lead | None:
        with open_transaction(self._path) as database:
            return _lead(database, email)

    def _save(self, email: str, changes: Mapping[str, str], key: str) -> Lead:
        with open_transaction(self._path, write=True) as database:
            if database.execute("INSERT OR IGNORE INTO saves VALUES (?)", (key,)).rowcount:
                database.execute("INSERT OR IGNORE INTO leads (email) VALUES (?)", (email,))
                for name in FIELDS:
                    if name in changes:
                        statement = f"UPDATE leads SET {name} = ? WHERE email = ?"  # noqa: S608 (a name of our own)
                        database.execute(statement, (changes[name], email))
            lead = _lead(database, email)
            assert lead is not None
            return lead


def _lead(database: sqlite3.Connection, email: str) -> Lead | None:
    row = database.execute(
        "SELECT email, name, company, phone, status, note, CAST(id AS TEXT) FROM leads WHERE email = ?", (email,)
    ).fetchone()
    return Lead(*row) if row else None
