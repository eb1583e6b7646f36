"""A nursery for each test process, and a site on either database."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.faults.back_end import BackEnd
from tests.faults.nursery import Nursery
from tests.faults.site import Site
from tests.stores import postgres_server

BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.Server]:
    try:
        with postgres_server.running() as server:
            yield server
    except postgres_server.NoPostgres as reason:
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {reason}")


@pytest.fixture
def back_end() -> Iterator[BackEnd]:
    made = BackEnd()
    yield made
    made.close()


@pytest.fixture(params=BOTH)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with nothing in it."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    server: postgres_server.Server = request.getfixturevalue("postgres")
    name = f"faults_{uuid.uuid4().hex[:12]}"
    server.sql(f"CREATE DATABASE {name}")
    return server.url(name)


@pytest.fixture
def open_site(nursery: Nursery, tmp_path: Path, database: str) -> Iterator[Callable[..., Site]]:
    opened: list[Site] = []

    def made(**options: Any) -> Site:
        site = Site(nursery, tmp_path, options.pop("database", database), **options)
        opened.append(site)
        return site

    yield made
    for site in opened:
        site.close()


@pytest.fixture
def site(open_site: Callable[..., Site]) -> Site:
    return open_site()
