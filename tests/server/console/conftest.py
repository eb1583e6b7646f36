"""One server with a little demo data and one browser for each module.

Not one browser for all: its driver keeps an event loop in the thread of the tests, in which asynchronous tests of other
modules could not run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.console.building import FLAGS, Browsing, ConsoleHouse, chromium

from circumspect.demo.demo_data import seed_demo
from circumspect.stores import SqlStore


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a little demo data. Made once: playing all those conversations takes seconds."""
    path = tmp_path_factory.mktemp("furnished") / "console.db"
    made = ConsoleHouse(f"sqlite:///{path}")

    async def fill(store: SqlStore) -> None:
        await made._furnish(store)
        await seed_demo(store, made.settings, share=0.25)

    made.stored(fill)
    return path


@pytest.fixture(scope="module")
def house(furnished: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleHouse]:
    path = shutil.copy(furnished, tmp_path_factory.mktemp("console"))
    with ConsoleHouse(f"sqlite:///{path}") as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = chromium()
    if path is None:
        pytest.skip("NO BROWSER: install Chromium (or set CHROMIUM=/path/to/it) to test the console's pages")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield made
        made.close()


@pytest.fixture(scope="module")
def browsing(browser: Any, house: ConsoleHouse) -> Browsing:
    return Browsing(browser, house)
