"""Pages that are left open: so many for each operator, and the others' hear of changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.patience import wait_until
from tests.server.console.building import ConsoleHouse
from tests.server.test_open_streams import FEW, hold_as_many_as_there_may_be

from circumspect.server import open_streams


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch, house: ConsoleHouse) -> Iterator[None]:
    monkeypatch.setattr(open_streams, "MOST_STREAMS", FEW)
    yield
    wait_until(lambda: not house.app.state.services.streams._held)


def test_an_operator_has_so_many_pages_open_and_another_has_theirs(house: ConsoleHouse) -> None:
    with house.visitor("noa") as noa, house.visitor("rita") as rita:
        path = "/live?topics=conversations"
        hold_as_many_as_there_may_be(house, noa, path, rita, path)
