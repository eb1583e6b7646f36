"""Keys, sessions and cookies that were tampered with get nobody in, and every refusal looks like every other."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from tests.security.fortress import PASSWORD, Fortress
from tests.security.test_injection import DOCUMENT, plain

from circumspect.server import credentials
from circumspect.server.stores import access
from circumspect.server.stores.access import KeyRow
from circumspect.stores import SqlStore
from circumspect.values import TenantId

COOKIE = "circumspect_session"
UNSAFE = [
    (operation["operationId"], method, path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if method not in ("get", "head", "options") and operation["operationId"] != "create_session"
]


def refusal(fortress: Fortress, **headers: str) -> tuple[int, str, tuple[str, ...]]:
    answer = fortress.anyone.get("/v1/models", headers=headers)
    return answer.status_code, answer.text, tuple(sorted(name for name in answer.headers if name != "date"))


@pytest.fixture(scope="module")
def dead_keys(fortress: Fortress) -> dict[str, str]:
    """Keys that were good once."""
    made: dict[str, str] = {}

    async def add() -> None:
        store = await SqlStore.open(fortress.database)
        for name in ("expired", "revoked"):
            id_, made[name] = credentials.new_key()
            ends = 1.0 if name == "expired" else None
            row = KeyRow(id_, TenantId("shop"), name, ("chat",), 0.5, expires_at=ends)
            await store.tx(access.add_key, row, credentials.hash_token(made[name]))
            if name == "revoked":
                await store.tx(access.revoke_key, id_, time.time())
        await store.close()

    asyncio.run(add())
    return made


def test_every_key_that_is_not_good_is_refused_in_the_same_words(fortress: Fortress, dead_keys: dict[str, str]) -> None:
    prefix, id_, secret = fortress.token.split("_", 2)
    wrong = {
        "unknown id": f"{prefix}_{'0' * len(id_)}_{secret}",
        "wrong secret": f"{prefix}_{id_}_{'A' * len(secret)}",
        "cut off": fortress.token[:-1],
        "one more": fortress.token + "A",
        "upper case": fortress.token.upper(),
        "no secret": f"{prefix}_{id_}_",
        "garbage": "csk_",
        **dead_keys,
    }
    refused = {name: refusal(fortress, Authorization=f"Bearer {key}") for name, key in wrong.items()}
    assert {status for status, *_ in refused.values()} == {401}
    assert len(set(refused.values())) == 1, refused


def test_no_single_letter_of_a_key_can_be_another(fortress: Fortress) -> None:
    for place in range(len(fortress.token)):
        other = "B" if fortress.token[place] != "B" else "C"
        key = fortress.token[:place] + other + fortress.token[place + 1 :]
        assert refusal(fortress, Authorization=f"Bearer {key}")[0] == 401, place


@pytest.mark.parametrize("place", ["query", "cookie", "basic", "twice", "other twice", "no scheme"])
def test_a_key_counts_only_where_it_belongs(fortress: Fortress, place: str) -> None:
    key = fortress.token
    sent: dict[str, Any] = {
        "query": {"params": {"api_key": key, "token": key, "access_token": key}},
        "cookie": {"headers": {"Cookie": f"{COOKIE}={key}; Authorization={key}"}},
        "basic": {"headers": {"Authorization": f"Basic {key}"}},
        "twice": {"headers": [("Authorization", f"Bearer {key}"), ("Authorization", "Bearer x")]},
        "other twice": {"headers": [("X-Api-Key", key), ("X-Api-Key", "x")]},
        "no scheme": {"headers": {"Authorization": key}},
    }[place]
    assert fortress.anyone.get("/v1/models", **sent).status_code == 401


def test_a_session_is_no_key_and_a_key_is_no_session(fortress: Fortress) -> None:
    assert fortress.operator.post("/v1/conversations", json={}).status_code == 401
    cookie = {"Cookie": f"{COOKIE}={fortress.token}"}
    assert fortress.anyone.get("/v1/admin/tenants", headers=cookie).status_code == 401


def test_no_single_letter_of_a_session_can_be_another(fortress: Fortress) -> None:
    for place in range(0, len(fortress.session), 3):
        other = "B" if fortress.session[place] != "B" else "C"
        token = fortress.session[:place] + other + fortress.session[place + 1 :]
        for headers in ({"Authorization": f"Bearer {token}"}, {"Cookie": f"{COOKIE}={token}"}):
            assert fortress.anyone.get("/v1/admin/tenants", headers=headers).status_code == 401, place


def test_a_session_that_was_ended_is_over(fortress: Fortress) -> None:
    token = fortress.anyone.post("/v1/session", json={"name": "root", "password": PASSWORD}).json()["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert fortress.anyone.get("/v1/admin/tenants", headers=headers).status_code == 200
    assert fortress.anyone.delete("/v1/session", headers=headers).status_code == 204
    assert fortress.anyone.get("/v1/admin/tenants", headers=headers).status_code == 401


@pytest.mark.parametrize(("name", "method", "path", "operation"), UNSAFE, ids=[one[0] for one in UNSAFE])
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Referer": "https://evil.example/"},
    ],
    ids=["cross-site", "same-site", "other origin", "null origin", "referer only"],
)
def test_another_page_cannot_change_anything_with_the_cookie(
    fortress: Fortress, name: str, method: str, path: str, operation: dict[str, Any], headers: dict[str, str]
) -> None:
    """On every route that changes something; the routes come from the API's description."""
    for one in operation.get("parameters", []):
        path = path.replace("{" + one["name"] + "}", str(plain(one["schema"])))
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    body = plain(content["schema"]) if content else None
    cookie = {"Cookie": f"{COOKIE}={fortress.session}"}
    answer = fortress.anyone.request(method, path, json=body, headers=headers | cookie, params={"tenant": "shop"})
    assert answer.status_code in (401, 403, 422), f"{name}: {answer.status_code} {answer.text}"
    if answer.status_code == 422:
        assert answer.json()["code"] == "invalid", "only because the body was wrong before anybody was asked"


def test_the_same_change_from_our_own_page_is_made(fortress: Fortress) -> None:
    headers = {"Cookie": f"{COOKIE}={fortress.session}", "Sec-Fetch-Site": "same-origin"}
    answer = fortress.anyone.put("/v1/admin/plans/pro", json={"mode": "adaptive", "multiplier": 1}, headers=headers)
    assert answer.status_code == 200, answer.text


def test_guessing_passwords_is_slow_and_says_nothing(fortress: Fortress) -> None:
    answers = set()
    for name in ("root", "nobody-at-all", "root'--", "ROOT", ""):
        answer = fortress.anyone.post("/v1/session", json={"name": name, "password": "wrong password"})
        if answer.status_code != 429:
            answers.add((answer.status_code, answer.text))
        time.sleep(0.01)
    assert {status for status, _ in answers} <= {401, 422}
    assert len([one for one in answers if one[0] == 401]) <= 1
