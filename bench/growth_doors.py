"""What people and programs ask a server for: every page of the console and every list of the API, once warm.

The server runs in this process over a database that was filled directly. A person has the same few conversations in all
of them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan

import httpx
from tests.server.console.test_growth import PAGES, ROUTES, GrownHouse
from tests.server.house import METRICS, OURS

from bench.growth_store import Clock
from bench.report import duration

TRIES = 5
HERE, ESCALATION = f"grown-{5:08d}", "esc-turn-shop-00000007-1"
MORE_PAGES = (
    f"/conversations/shop/{HERE}/messages", "/overview/needs", "/usage.csv", "/usage/evaluations.csv", "/log",
    "/policies/shop", "/policies/shop/held?tool=cancel_order&rule=required_arguments_are_present",
    "/policies/shop/words", "/prompt-versions", "/tenants/shop", "/tenants/shop/tools", "/tenants/shop/widget",
    "/notifications", "/new-experiment", "/new-review", "/new-tenant", "/colleagues", "/account", "/playground",
    "/first-steps", f"/queue/escalation/{ESCALATION}/known",
)  # fmt: skip
MORE_ROUTES = (
    f"/v1/conversations/{HERE}/messages?tenant=shop", f"/v1/escalations/{ESCALATION}", "/v1/admin/outbox",
    "/v1/admin/outbox?tenant=shop", "/v1/admin/plans", "/v1/admin/prompts?tenant=shop", "/v1/admin/tenants/shop",
    "/v1/admin/usage/evaluations", "/v1/admin/usage/measures", "/v1/admin/usage/quotas", "/v1/sessions", "/v1/session",
    f"/v1/work/escalation/{ESCALATION}/notes", "/healthz", "/readyz",
)  # fmt: skip


def measure(house: GrownHouse, clock: Clock, tell: Callable[[str], None]) -> dict[str, float]:
    """The least time of a few tries, by what was asked for."""
    with house.visitor("root") as browser:
        operator, scraper, app = house.operator("root"), house.client(METRICS), house.key(OURS)
        asked = [
            *((f"console: {path}", browser, path) for path in (*PAGES, *MORE_PAGES)),
            *((f"GET {path}", scraper if path == "/metrics" else operator, path) for path in (*ROUTES, *MORE_ROUTES)),
        ]
        found = {"POST /v1/conversations and a first message": _time(lambda: _take_turn(app), clock)}
        for name, client, path in asked:
            try:
                found[name] = _time(lambda client=client, path=path: _get(client, path), clock)
                tell(f"{name} {duration(found[name])}")
            except (httpx.HTTPError, AssertionError) as problem:
                found[name] = nan
                tell(f"{name} failed: {problem!r}"[:500])
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
    assert answer.status_code in (200, 303), (path, answer.status_code, answer.text[:300])


def _take_turn(client: httpx.Client) -> None:
    made = client.post("/v1/conversations", json={})
    assert made.status_code == 201, made.text
    said = client.post(f"/v1/conversations/{made.json()['id']}/messages", json={"content": "hello"})
    assert said.status_code == 200, said.text
