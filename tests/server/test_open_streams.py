"""Streams of events that are held open: so many for each tenant and operator, and nobody else goes without."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from tests.patience import wait_until
from tests.server.house import OURS, THEIRS, House, is_a_problem
from tests.server.test_evaluations import send
from tests.server.test_health import values

from circumspect.server import open_streams

FEW = 3


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch, house: House) -> Iterator[None]:
    monkeypatch.setattr(open_streams, "MOST_STREAMS", FEW)
    # An evaluation that nobody works on has a stream without end.
    monkeypatch.setattr(house.app.state.services.evaluations, "start", lambda *_: None)
    yield
    wait_until(lambda: not house.app.state.services.streams._held)


def open_stream(opened: ExitStack, client: httpx.Client, path: str) -> None:
    answer = opened.enter_context(client.stream("GET", path))
    assert answer.status_code == 200
    lines = answer.iter_lines()
    opened.callback(lines.close)  # whoever forgets it closes the connection
    next(lines)


def hold_as_many_as_there_may_be(
    house: House, ours: httpx.Client, path: str, theirs: httpx.Client, their_path: str
) -> None:
    with ExitStack() as opened:
        for _ in range(FEW):
            open_stream(opened, ours, path)
        is_a_problem(ours.get(path), 429, "too_many_streams")
        open_stream(opened, theirs, their_path)
        assert house.client().get("/healthz").status_code == 200
    wait_until(lambda: not house.app.state.services.streams._held)
    with ExitStack() as opened:
        open_stream(opened, ours, path)


def test_how_long_somebody_looks_is_no_requests_time(house: House) -> None:
    """The autoscaler goes by the time that requests take: an hour's look would be sixty requests of a minute."""
    client = house.key(OURS)
    path = f"/v1/evaluations/{send(client)['id']}/events"
    with ExitStack() as opened:
        open_stream(opened, client, path)
        time.sleep(1.5)
    wait_until(lambda: not house.app.state.services.streams._held)
    at = frozenset({("route", "/v1/evaluations/{evaluation_id}/events")})
    told = wait_until(lambda: values(house).get(("circumspect_http_request_seconds_sum", at)))
    assert told < 1.5


def test_a_tenant_follows_so_many_evaluations_and_the_others_follow_theirs(house: House) -> None:
    ours, theirs = house.key(OURS), house.key(THEIRS)
    path, their_path = (f"/v1/evaluations/{send(one)['id']}/events" for one in (ours, theirs))
    hold_as_many_as_there_may_be(house, ours, path, theirs, their_path)
