"""A house for each module: one server, two tenants. `house` is on SQLite, `both` on SQLite and on PostgreSQL."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.house import House
from tests.stores.conftest import BOTH, postgres  # noqa: F401


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the shops and operators in it. Made once: that takes longer than most tests."""
    path = tmp_path_factory.mktemp("furnished") / "house.db"
    made = House(f"sqlite:///{path}")
    made.stored(made._furnish)
    return path


@pytest.fixture(scope="module")
def house(furnished: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    path = shutil.copy(furnished, tmp_path_factory.mktemp("house"))
    with House(f"sqlite:///{path}") as opened:
        yield opened


@pytest.fixture(scope="module", params=BOTH)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    if request.param == "sqlite":
        path = shutil.copy(request.getfixturevalue("furnished"), tmp_path_factory.mktemp("house"))
        with House(f"sqlite:///{path}") as opened:
            yield opened
        return
    server = request.getfixturevalue("postgres")
    name = f"house_{secrets.token_hex(4)}"
    server.sql(f"CREATE DATABASE {name}")
    # Beside a database that is no file, the sample shops keep their own below the working directory.
    with contextlib.chdir(tmp_path_factory.mktemp("house")), House(server.url(name)) as opened:
        yield opened
    server.sql(f"DROP DATABASE {name} WITH (FORCE)")
