"""One server with a little demo data and one browser for each module.

Not one browser for all: its driver keeps an event loop in the thread of the tests, in which asynchronous tests of other
modules could not run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.console.building import FLAGS, Browsing, ConsoleHouse, chromium

from circumspect.console.demo import seed_demo
from circumspect.stores import SqlStore


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleHouse]:
    made = ConsoleHouse(f"sqlite:///{tmp_path_factory.mktemp('console')}/console.db")

    async def furnished(store: SqlStore) -> None:
        await made._furnish(store)
        await seed_demo(store, made.settings, share=0.25)

    made.stored(furnished)
    with made:
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
