"""What people do with an item of the work queue besides settling it: give it to somebody, put it off, note something.

Plain functions on a connection. Who calls them has looked the item up among those that they may see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from circumspect.server.stores.work_queue import WorkPlace
from circumspect.stores.codec import clean, epoch, moment, read_row
from circumspect.stores.statements import run, sql
from circumspect.stores.work_tables import work_notes


@dataclass(frozen=True, slots=True)
class WorkNote:
    id: str
    by: str
    at: datetime
    content: str


_PUT = """
    INSERT INTO work_items (about, item, tenant, conversation, {column})
    VALUES (:about, :item, :tenant, :conversation, :value)
    ON CONFLICT (about, item) DO UPDATE SET {column} = excluded.{column}
"""
_ASSIGN, _SNOOZE = sql(_PUT.format(column="assignee")), sql(_PUT.format(column="snoozed_until"))


def assign(connection: sa.Connection, place: WorkPlace, to: str | None) -> None:
    """None gives it back to everybody."""
    run(connection, _ASSIGN, {**_name(place), "value": to})


def snooze(connection: sa.Connection, place: WorkPlace, until: datetime | None) -> None:
    """None brings it back at once."""
    run(connection, _SNOOZE, {**_name(place), "value": None if until is None else epoch(until)})


def add_note(connection: sa.Connection, place: WorkPlace, note: WorkNote) -> WorkNote:
    """The note that is there now: the same words of the same author once more are a second press of the button."""
    for before in list_notes(connection, place, 1):
        if (before.by, before.content) == (clean(note.by), clean(note.content)):
            return before
    said = {"id": note.id, "by": clean(note.by), "at": epoch(note.at), "content": clean(note.content)}
    connection.execute(sa.insert(work_notes).values(**_name(place), **said))
    return note


def list_notes(connection: sa.Connection, place: WorkPlace, limit: int) -> Sequence[WorkNote]:
    """The newest, in the order of time."""
    own = (work_notes.c.about == place.table, work_notes.c.item == place.id)
    newest = sa.select(work_notes).where(*own).order_by(work_notes.c.at.desc(), work_notes.c.id.desc()).limit(limit)
    return [read_row(WorkNote, row, at=moment(row.at)) for row in connection.execute(newest)][::-1]


def _name(place: WorkPlace) -> dict[str, Any]:
    return {
        "about": place.table,
        "item": place.id,
        "tenant": place.tenant or None,
        "conversation": place.conversation or None,
    }
