"""One server for the whole folder: what one test does to it, the others must not notice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.security.fortress import Fortress


@pytest.fixture(scope="session")
def fortress(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fortress]:
    with Fortress(tmp_path_factory.mktemp("fortress")) as opened:
        yield opened
