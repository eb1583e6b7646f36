"""What people and programs ask a server for: every page of the console and every list of the API, once warm.

The server runs in this process over a database that was filled directly. A person has the same few conversations in all
of them.
"""

from __future__ import annotations

import httpx
from tests.server.console.test_growth import PAGES, ROUTES, GrownHouse
from tests.server.house import METRICS, OURS

from bench.growth_store import Clock

TRIES = 5


def measure(house: GrownHouse, clock: Clock) -> dict[str, float]:
    """The least time of a few tries, by what was asked for."""
    with house.visitor("root") as browser:
        operator, scraper, app = house.operator("root"), house.client(METRICS), house.key(OURS)
        asked = [
            *((f"console: {path}", browser, path) for path in PAGES),
            *((f"GET {path}", scraper if path == "/metrics" else operator, path) for path in ROUTES),
        ]
        found = {"POST /v1/conversations and a first message": _time(lambda: _take_turn(app), clock)}
        for name, client, path in asked:
            found[name] = _time(lambda client=client, path=path: _get(client, path), clock)
    return found


def _time(deed: Clock | object, clock: Clock) -> float:
    tries = []
    for _ in range(TRIES):
        began = clock()
        deed()  # type: ignore[operator]
        tries.append(clock() - began)
    return min(tries)


def _get(client: httpx.Client, path: str) -> None:
    answer = client.get(path, follow_redirects=not path.startswith("/queue/"))
    assert answer.status_code in (200, 303), (path, answer.text)


def _take_turn(client: httpx.Client) -> None:
    made = client.post("/v1/conversations", json={})
    assert made.status_code == 201, made.text
    said = client.post(f"/v1/conversations/{made.json()['id']}/messages", json={"content": "hello"})
    assert said.status_code == 200, said.text
