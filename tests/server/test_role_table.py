"""docs/roles.md says who may use which route; here each of them knocks at each, and gets in exactly where it says so."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from tests.server.house import OURS, House

from circumspect.server.stores.access import SCOPES

PAGE = Path(__file__).parents[2] / "docs" / "roles.md"
ROW = re.compile(r"\| `(\w+) (\S+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|")
PEOPLE = {"operator": "noa", "reviewer": "rita", "admin": "root"}
OTHERS = ("anybody", "the metrics token")
DECIDED_INSIDE = "any"
"""A key of any scope gets through the door, and what it asks for decides."""


def read_table() -> list[tuple[str, str, dict[str, str]]]:
    api, _, _ = PAGE.read_text("utf-8").partition("## The console")
    return [
        (method, path, dict(zip((*PEOPLE, "keys"), cells, strict=True))) for method, path, *cells in ROW.findall(api)
    ]


TABLE = read_table()


def knock(client: httpx.Client, method: str, path: str) -> int:
    """With names of nothing, so that whoever gets in changes nothing."""
    return client.request(method, re.sub(r"{[^}]*}", "none", path)).status_code


def test_the_table_has_every_route(house: House) -> None:
    described = {
        (method.upper(), path)
        for path, methods in house.app.openapi()["paths"].items()
        for method in methods
        if method in ("get", "post", "put", "patch", "delete")
    }
    listed = {(method, re.sub(r":path}", "}", path)) for method, path, _ in TABLE}
    assert described <= listed


@pytest.mark.parametrize("role", PEOPLE)
def test_a_role_gets_in_exactly_where_the_table_says(house: House, role: str) -> None:
    client = house.operator(PEOPLE[role])
    for method, path, said in TABLE:
        if said[role] in OTHERS:
            continue
        status = knock(client, method, path)
        for_operators = any(said[one] == "yes" for one in PEOPLE)
        expected = (status not in (401, 403)) if said[role] == "yes" else status == (403 if for_operators else 401)
        assert expected, (method, path, said[role], status)


@pytest.mark.parametrize("scope", [one for one in SCOPES if one != "widget"])
def test_a_scope_gets_in_exactly_where_the_table_says(house: House, scope: str) -> None:
    client = house.key(OURS, scope)
    for method, path, said in TABLE:
        if said["keys"] in (*OTHERS, DECIDED_INSIDE):
            continue
        status = knock(client, method, path)
        expected = status not in (401, 403) if f"`{scope}`" in said["keys"] else status in (401, 403)
        assert expected, (method, path, said["keys"], status)


def test_nobody_gets_in_without_a_key_or_a_sign_in(house: House) -> None:
    for method, path, said in TABLE:
        if said["keys"] != "anybody":
            assert knock(house.client(), method, path) in (401, 403), (method, path)
