"""One server for all doors: opening it takes longer than trying most of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.promises.machine import Stage, open_stage


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with open_stage(tmp_path_factory.mktemp("site")) as opened:
        yield opened
