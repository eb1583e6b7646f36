"""Reading for pages: a function on a connection in, what it returns out, and no turn waits for it meanwhile.

On SQLite the store has one connection, which writes; a page that counts a month would hold up every conversation. So
pages read through connections of their own, opened for the moment and unable to write. On PostgreSQL, and in memory,
where there is nothing to open twice, the store itself is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from circumspect.server.services import Services
from circumspect.stores import bounds
from circumspect.stores.codec import dumps, loads
from circumspect.stores.engine import explain_error

P = ParamSpec("P")
T = TypeVar("T")


async def read(
    services: Services, body: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """`body(connection, ...)`, all of it as of one moment."""
    engine = _reader(services.settings.database)
    if engine is None:
        return await services.store.tx(body, *args, **kwargs)

    def run() -> T:
        try:
            with engine.connect() as connection, connection.begin():
                return body(connection, *args, **kwargs)
        except Exception as error:
            if ours := explain_error(error, "of the console"):
                raise ours from error
            raise

    return await asyncio.to_thread(run)


@cache
def _reader(database: str) -> sa.Engine | None:
    url = sa.make_url(database if "://" in database else f"sqlite:///{database}")
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    engine = sa.create_engine(
        url, poolclass=NullPool, json_serializer=dumps, json_deserializer=loads, hide_parameters=True
    )
    bounds.bound_sqlite(engine)
    sa.event.listen(engine, "connect", _prepare)
    return engine


def _prepare(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA query_only = ON").fetchall()
