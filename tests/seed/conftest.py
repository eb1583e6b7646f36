"""A database that is ready to be used, and a look at the sample shop's own system."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from circumspect.clock import FixedClock
from circumspect.demo.samples.shop_backend import Backend, ShopOrder
from circumspect.stores import SqlStore


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ready") / "circumspect.db"

    async def make() -> None:
        await (await SqlStore.open(f"sqlite:///{path}")).close()

    asyncio.run(make())
    return path


@pytest.fixture(autouse=True)
def database(empty_database: Path, tmp_path: Path) -> Path:
    """Where the `shop` fixture keeps everything. A copy is cheaper than making the tables anew for every test."""
    return Path(shutil.copy(empty_database, tmp_path / "circumspect.db"))


@pytest.fixture
def order(tmp_path: Path, clock: FixedClock) -> Callable[[str], ShopOrder]:
    """An order as the shop itself has it: `order("12345").status`."""
    return Backend(tmp_path / "sample-shop.db", now=clock.now()).order
