"""A house for each module: one server, two tenants. `house` is on SQLite, `both` on SQLite and on PostgreSQL."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator

import pytest
from tests.server.house import House
from tests.stores.conftest import BOTH, postgres  # noqa: F401


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(f"sqlite:///{tmp_path_factory.mktemp('house')}/house.db") as opened:
        yield opened


@pytest.fixture(scope="module", params=BOTH)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    if request.param == "sqlite":
        with House(f"sqlite:///{tmp_path_factory.mktemp('house')}/house.db") as opened:
            yield opened
        return
    server = request.getfixturevalue("postgres")
    name = f"house_{secrets.token_hex(4)}"
    server.sql(f"CREATE DATABASE {name}")
    # Beside a database that is no file, the sample shops keep their own below the working directory.
    with contextlib.chdir(tmp_path_factory.mktemp("house")), House(server.url(name)) as opened:
        yield opened
    server.sql(f"DROP DATABASE {name} WITH (FORCE)")
