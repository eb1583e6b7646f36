"""Every test that takes `url` or `store` runs on SQLite and on PostgreSQL: one suite, both databases."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stores import postgres_server
from tests.stores.words import NOON, DatabaseMoment

from circumspect.stores import SqlStore, database_time
from circumspect.stores.tables import metadata

BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.Server]:
    """A server of our own, with the database `tests`, which has our schema."""
    try:
        with postgres_server.running() as server:
            server.sql("CREATE DATABASE tests")
            asyncio.run(_upgraded(server.url("tests")))
            yield server
    except postgres_server.NoPostgres as reason:
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {reason}")


@pytest.fixture(autouse=True)
def _database_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands at noon, or where a test sets it. In the processes that a test starts it runs as ever."""
    monkeypatch.setattr(DatabaseMoment, "now", NOON)
    monkeypatch.setattr(database_time, "read", lambda _: DatabaseMoment.now.timestamp())


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with our schema; copying it is quicker than making it for every test."""
    path = tmp_path_factory.mktemp("template") / "store.db"
    asyncio.run(_upgraded(f"sqlite:///{path}"))
    return path


async def _upgraded(url: str) -> None:
    await (await SqlStore.open(url)).close()


@pytest.fixture(params=BOTH)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that has our schema and nothing else."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "store.db")
        return f"sqlite:///{tmp_path}/store.db"
    server: postgres_server.Server = request.getfixturevalue("postgres")
    used = ", ".join(table.name for table in metadata.sorted_tables if table.name != "plans")
    # The log refuses to be emptied; who owns the server can do it all the same.
    owner = "SET session_replication_role = replica;"
    server.sql(f"{owner} TRUNCATE {used}; DELETE FROM plans WHERE name NOT IN ('free', 'pro', 'enterprise')", "tests")
    return server.url("tests")


@pytest.fixture(params=BOTH)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without anything in it."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/empty.db"
        return
    server: postgres_server.Server = request.getfixturevalue("postgres")
    server.sql("CREATE DATABASE empty")
    yield server.url("empty")
    server.sql("DROP DATABASE empty WITH (FORCE)")


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(url)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def workers() -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.stores.workers"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    with child:
        yield child


@pytest.fixture
def race(workers: subprocess.Popen[str]) -> Callable[..., Any]:
    """`race(job, url, processes)`: what each of so many worker processes returned."""

    def raced(job: str, url: str, processes: int, **options: Any) -> Any:
        assert workers.stdin
        assert workers.stdout
        request = {"job": job, "url": url, "processes": processes, **options}
        print(json.dumps(request), file=workers.stdin, flush=True)
        return json.loads(workers.stdout.readline())

    return raced
