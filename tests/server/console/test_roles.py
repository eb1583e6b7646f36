"""Who may see and do what, for every route that there is: a new page without a role in this list fails here."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.routing import APIRoute
from tests.server.console.building import SAME, ConsoleHouse

from circumspect.server.console.pages import ROUTERS

OPEN = {
    ("GET", "/login"),
    ("POST", "/login"),
    ("POST", "/language"),
    ("GET", "/login/oidc"),
    ("GET", "/login/oidc/callback"),
    ("GET", "/login/oidc/out"),
    ("POST", "/login/oidc/backchannel"),
    ("GET", "/login/second"),
    ("POST", "/login/second"),
    ("POST", "/login/passkey"),
    ("POST", "/login/passkey/ask"),
    ("GET", "/begin"),
    ("POST", "/begin"),
}
"""For people who have not signed in."""
FILLED = {
    "tenant": "shop",
    "conversation_id": "demo-shop-001",
    "escalation_id": "esc_none",
    "approval_id": "int_none",
    "did": "take",
    "experiment_id": "exp_none",
    "turn_id": "turn_none",
    "operator": "opr_none",
    "notification_id": "esc-none:0",
    "subject": "escalation",
    "item_id": "esc_none",
    "draft_id": "draft_none",
    "way": "next",
    "version": "1",
    "seq": "1",
}
FORM = {
    "hash": "x",
    "content": "x",
    "arguments": "{}",
    "language": "en",
    "seen": "x",
    "share": "0.1",
    "winner": "control",
    "note": "x",
}


def routes() -> list[tuple[str, str, APIRoute]]:
    found = []
    for router in ROUTERS:
        for route in router.routes:
            assert isinstance(route, APIRoute)
            found += [(method, route.path, route) for method in sorted(route.methods - {"HEAD"})]
    return [one for one in found if one[:2] not in OPEN]


def roles_of(route: APIRoute) -> tuple[str, ...] | None:
    for dependency in route.dependant.dependencies:
        roles = getattr(dependency.call, "roles", None)
        if roles is not None:
            return roles
    return None


def knock(client: Any, method: str, path: str) -> int:
    for name, value in FILLED.items():
        path = path.replace(f"{{{name}}}", value)
    if path.startswith("/live"):
        with client.stream("GET", f"{path}?topics=inbox", headers=SAME) as answer:
            return int(answer.status_code)
    options: dict[str, Any] = {"data": FORM} if method == "POST" else {}
    return int(client.request(method, path, headers=SAME, **options).status_code)


ALL = routes()
IDS = [f"{method} {path}" for method, path, _ in ALL]


@pytest.mark.parametrize(("method", "path", "route"), ALL, ids=IDS)
def test_every_route_says_who_may_use_it(method: str, path: str, route: APIRoute) -> None:
    assert roles_of(route) is not None
    assert not route.include_in_schema


@pytest.mark.parametrize(("method", "path", "route"), ALL, ids=IDS)
def test_nobody_gets_anywhere_without_signing_in(house: ConsoleHouse, method: str, path: str, route: APIRoute) -> None:
    with house.visitor("") as visitor:
        assert knock(visitor, method, path) == (401 if method == "POST" else 303)


@pytest.mark.parametrize(("name", "role"), [("noa", "operator"), ("rita", "reviewer"), ("root", "admin")])
def test_a_role_opens_its_own_doors_and_no_others(house: ConsoleHouse, name: str, role: str) -> None:
    for method, path, route in ALL:
        if path == "/logout":
            continue
        roles = roles_of(route)
        assert roles is not None
        with house.visitor(name) as visitor:
            status = knock(visitor, method, path)
        if not roles or role == "admin" or role in roles:
            assert status in (200, 204, 303, 404, 409, 422), (method, path, status)
        else:
            assert status == 403, (method, path, status)


def test_an_operator_of_one_tenant_sees_nothing_of_another(house: ConsoleHouse) -> None:
    with house.visitor("theirs") as visitor:
        for path in (
            "/",
            "/conversations",
            "/escalations?state=all",
            "/approvals?state=all",
            "/experiments",
            "/shadows",
            "/prompt-versions",
        ):
            page = visitor.get(path).text
            assert "Kestrel" not in page, path
            assert "demo-shop-0" not in page, path
            assert "demo-careful" not in page, path
            assert "demo-beside" not in page, path
        assert visitor.get("/conversations/shop/demo-shop-001").status_code == 404
        assert visitor.get("/conversations?tenant=shop").status_code == 404
        assert visitor.get("/conversations/shop-ru/demo-shop-ru-001").status_code == 200


def test_a_reviewer_sees_no_buttons_that_change_anything(house: ConsoleHouse) -> None:
    with house.visitor("rita") as visitor:
        page = visitor.get("/escalations?state=open").text
        link = page.split('href="/escalations/')[2].split('"')[0]
        detail = visitor.get(f"/escalations/{link}").text
        assert "/take" not in detail
        assert "/resolve" not in detail
