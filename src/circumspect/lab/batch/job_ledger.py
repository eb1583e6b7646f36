"""The ledger of a run: what there is to do, and what came of each chunk. A file, or a database that is there already.

    with Ledger.open("run.db") as ledger:
        for row in run(job, engine, ledger): ...

The chunks are written down when a run begins, so that one that goes on has the same ones, whatever has happened to the
source meanwhile. A chunk's rows and the marker that it is done are one row of one table, written in one transaction:
there is no moment at which one is there without the other. What is left to do are the chunks without such a row.

What may surprise: two processes may work on one run. They waste each other's time, but nothing comes out twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import sqlalchemy as sa

from circumspect.lab.batch.job import BatchJob, Chunk
from circumspect.stores.engine import Database, connect

_AT_ONCE = 500
"""Chunks in one statement: databases limit the number of values."""

metadata = sa.MetaData()

runs = sa.Table(
    "batch_runs",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
)

planned = sa.Table(
    "batch_chunks",
    metadata,
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("detail", sa.JSON, nullable=False),
)

done = sa.Table(
    "batch_done",
    metadata,
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("rows", sa.LargeBinary, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)

_DONE = sa.text(
    'INSERT INTO batch_done (run, number, "rows", at) VALUES (:run, :number, :rows, :at)'
    " ON CONFLICT (run, number) DO NOTHING"
)
_OURS = sa.and_(done.c.run == planned.c.run, done.c.number == planned.c.number)


class BatchLedger(Protocol):
    """Where a run's chunks and rows are kept."""

    def begin(self, job: BatchJob[Any]) -> Sequence[Chunk]:
        """All chunks of the job, in order; listed anew unless the run is known."""
        ...

    def list_remaining(self) -> Sequence[Chunk]:
        """Those that nobody has done yet."""
        ...

    def commit(self, chunk: Chunk, rows: bytes) -> None: ...

    def rows(self, chunk: Chunk) -> bytes | None:
        """None while it is not done. Asked once for each chunk."""
        ...


class MemoryLedger:
    """For a run that is done in one go. Rows are forgotten once they were asked for."""

    def __init__(self) -> None:
        self._chunks: Sequence[Chunk] = ()
        self._rows: dict[int, bytes] = {}

    def begin(self, job: BatchJob[Any]) -> Sequence[Chunk]:
        self._chunks = job.chunks(job.order)
        return self._chunks

    def list_remaining(self) -> Sequence[Chunk]:
        return self._chunks

    def commit(self, chunk: Chunk, rows: bytes) -> None:
        self._rows[chunk.number] = rows

    def rows(self, chunk: Chunk) -> bytes | None:
        return self._rows.pop(chunk.number, None)


class DatabaseLedger:
    """In a database: of a run that can be stopped any way and goes on."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._run = ""
        database.transaction(metadata.create_all)

    @classmethod
    @contextmanager
    def open(cls, where: str) -> Iterator[DatabaseLedger]:
        """`where` is an SQLite file or a database URL. To be used by one thread."""
        database = connect(where)
        try:
            yield cls(database)
        finally:
            database.close()

    def begin(self, job: BatchJob[Any]) -> Sequence[Chunk]:
        self._run = f"{job.name}-{job.identity}"
        there = self._database.transaction(_read_plan, self._run)
        if there is None:
            chunks = job.chunks(job.order)
            self._database.transaction(_plan, self._run, job.name, chunks)
            there = self._database.transaction(_read_plan, self._run)
        return there or ()

    def list_remaining(self) -> Sequence[Chunk]:
        return self._database.transaction(_read_remaining, self._run)

    def commit(self, chunk: Chunk, rows: bytes) -> None:
        self._database.transaction(_commit, self._run, chunk.number, rows)

    def rows(self, chunk: Chunk) -> bytes | None:
        return self._database.transaction(_rows, self._run, chunk.number)


def _read_plan(connection: sa.Connection, run: str) -> Sequence[Chunk] | None:
    """None when the run has not begun."""
    if connection.execute(sa.select(runs.c.id).where(runs.c.id == run)).first() is None:
        return None
    return _chunks(connection, sa.select(planned).where(planned.c.run == run))


def _read_remaining(connection: sa.Connection, run: str) -> Sequence[Chunk]:
    without = sa.select(planned).outerjoin(done, _OURS).where(planned.c.run == run, done.c.number.is_(None))
    return _chunks(connection, without)


def _chunks(connection: sa.Connection, query: sa.Select[Any]) -> Sequence[Chunk]:
    found = connection.execute(query.order_by(planned.c.number)).all()
    return [Chunk(row.number, row.label, row.size, row.detail) for row in found]


def _plan(connection: sa.Connection, run: str, name: str, chunks: Sequence[Chunk]) -> None:
    """All of it or nothing. Somebody who begins the same run at the same moment has planned it already."""
    began = {"id": run, "name": name, "now": time.time()}
    first = sa.text(
        "INSERT INTO batch_runs (id, name, created_at) VALUES (:id, :name, :now) ON CONFLICT (id) DO NOTHING"
    )
    if not connection.execute(first, began).rowcount:
        return
    for start in range(0, len(chunks), _AT_ONCE):
        some = chunks[start : start + _AT_ONCE]
        values = [
            {"run": run, "number": one.number, "label": one.label, "size": one.size, "detail": one.detail}
            for one in some
        ]
        connection.execute(sa.insert(planned).values(values))


def _commit(connection: sa.Connection, run: str, number: int, rows: bytes) -> None:
    connection.execute(_DONE, {"run": run, "number": number, "rows": rows, "at": time.time()})


def _rows(connection: sa.Connection, run: str, number: int) -> bytes | None:
    query = sa.select(done.c.rows).where(done.c.run == run, done.c.number == number)
    found = connection.execute(query).scalar_one_or_none()
    return None if found is None else bytes(found)
