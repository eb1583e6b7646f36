from collections.abc import Iterator
from typing import Any

import pytest
from tests.clients.upstream import Upstream
from tests.server.house import House


@pytest.fixture(scope="package")
def upstream() -> Iterator[Upstream]:
    with Upstream() as running:
        yield running


@pytest.fixture(scope="package")
def house(upstream: Upstream, tmp_path_factory: Any) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("clients")
    with House(f"sqlite:///{folder}/house.db", model=upstream.model) as running:
        yield running
