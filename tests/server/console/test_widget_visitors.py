"""Each visitor of the chat has conversations of their own: who knows an id and the public key still finds nothing."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from typing import Any

import httpx
import jwt
import pytest
from tests.server.console.hosting import Site, WidgetHouse, framed, hears, opened, visiting, without_limits, write
from tests.server.house import SECRET
from tests.server.test_end_users import vouch

from circumspect.server.vault import Vault

SIGNING = "what the site's own sign-in signs with, long enough"
TOKEN = "X-End-User-Token"


def sign(person: str, **said: Any) -> str:
    return jwt.encode({"sub": person, "exp": time.time() + 300, **said}, SIGNING, "HS256", {"kid": "site"})


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WidgetHouse]:
    keys = [{"kid": "site", "algorithm": "HS256", "secret": "end_users"}]
    with without_limits(tmp_path_factory.mktemp("visitors")) as made:
        made.stored(lambda store: vouch(store, "shop", {"keys": keys}, SIGNING))
        made.stored(lambda store: vouch(store, "shop-ru", {"keys": keys, "required": True}, SIGNING))
        yield made


def begin(client: httpx.Client, token: str = "") -> tuple[str, str]:
    """The conversation, and the token of who began it."""
    made = client.post("/widget/conversations", json={}, headers={TOKEN: token} if token else {})
    assert made.status_code == 201, made.text
    return str(made.json()["id"]), str(made.json().get("visitor", token))


def write_as(client: httpx.Client, talk: str, token: str, text: str) -> httpx.Response:
    headers = {"Idempotency-Key": secrets.token_hex(16)} | ({TOKEN: token} if token else {})
    return client.post(f"/widget/conversations/{talk}/messages", json={"content": text}, headers=headers)


def read_as(client: httpx.Client, talk: str, token: str) -> httpx.Response:
    return client.get(f"/widget/conversations/{talk}/messages", headers={TOKEN: token} if token else {})


@pytest.mark.parametrize("other", ["another visitor", "nobody", "a known person"])
def test_another_visitor_finds_nothing_under_a_known_id(house: WidgetHouse, other: str) -> None:
    client = house.key("shop", "widget")
    talk, token = begin(client)
    asked = write_as(client, talk, token, "cancel order 12348")
    assert "event: done" in asked.text
    pending = read_as(client, talk, token).json()["pending"]
    strangers = {"another visitor": begin(client)[1], "nobody": "", "a known person": sign("mallory")}[other]
    assert read_as(client, talk, strangers).status_code == 404
    assert write_as(client, talk, strangers, "yes").status_code == 404
    headers = {"Idempotency-Key": secrets.token_hex(16)} | ({TOKEN: strangers} if strangers else {})
    choice = {**pending, "decision": "approve"}
    path = f"/widget/conversations/{talk}"
    assert client.post(f"{path}/confirmations", json=choice, headers=headers).status_code == 404
    turn = read_as(client, talk, token).json()["items"][-1]["turn"]
    assert client.post(f"{path}/turns/{turn}/feedback", json={"thumb": "up"}, headers=headers).status_code == 404
    assert read_as(client, talk, token).json()["pending"] == pending, "the question is still there for who was asked"


def test_a_visitors_token_is_for_one_tenant_and_cannot_be_made(house: WidgetHouse) -> None:
    client = house.key("shop", "widget")
    talk, token = begin(client)
    theirs = Vault(SECRET).seal('{"for": "vis_", "tenant": "shop-ru", "person": "visitor:1", "until": 99999999999}')
    old = Vault(SECRET).seal('{"for": "vis_", "tenant": "shop", "person": "visitor:1", "until": 1}')
    cookie = Vault(SECRET).seal('{"for": "customer pages", "key": "k", "until": 99999999999}')
    made_up = Vault("somebody else's key, which is long enough").seal('{"for": "vis_", "tenant": "shop"}')
    for wrong in (token[:-8] + "AAAAAAA=", "vis_", *(f"vis_{one}" for one in (theirs, old, cookie, made_up, "x"))):
        answer = read_as(client, talk, wrong)
        assert (answer.status_code, answer.json()) == (401, {"code": "end_user_token"}), wrong[:8]


def test_a_visitors_token_opens_no_door_of_the_api(house: WidgetHouse) -> None:
    _, token = begin(house.key("shop", "widget"))
    answer = house.key("shop", "chat").post("/v1/conversations", json={}, headers={TOKEN: token})
    assert answer.status_code == 401


def test_whom_the_site_names_is_that_person_here_and_by_the_api(house: WidgetHouse) -> None:
    client, api = house.key("shop", "widget"), house.key("shop", "chat")
    talk, _ = begin(client, sign("anna"))
    assert "event: done" in write_as(client, talk, sign("anna"), "hello").text
    assert api.get(f"/v1/conversations/{talk}").json()["person"] == "anna"
    assert read_as(client, talk, sign("mallory")).status_code == 404
    assert read_as(client, talk, sign("anna", exp=time.time() - 60)).status_code == 401


def test_where_signing_is_required_the_site_has_to_say_who_it_is(house: WidgetHouse) -> None:
    client = house.key("shop-ru", "widget")
    assert client.post("/widget/conversations", json={}).status_code == 401
    talk, token = begin(client, sign("anna"))
    assert "event: done" in write_as(client, talk, token, "hello").text


@pytest.fixture(scope="module")
def site(house: WidgetHouse) -> Iterator[Site]:
    """One for all: which origins a tenant allows is remembered for a moment."""
    with Site(house) as made:
        made.allow(made.url)
        yield made


def test_a_page_hands_in_who_is_signed_in(browser: Any, house: WidgetHouse, site: Site) -> None:
    with visiting(browser, site) as page:
        chat = opened(page, f"{site.page()}&user={sign('anna')}")
        write(chat, "What are your opening hours?")
        hears(chat, "open")
    found = house.key("shop", "chat").get("/v1/conversations", params={"person": "anna"}).json()["items"]
    assert [one["id"][:4] for one in found][:1] == ["web_"]


def test_a_visitor_whose_token_is_not_known_any_more_begins_anew(browser: Any, site: Site) -> None:
    with visiting(browser, site, expected=("401", "404")) as page:
        chat = opened(page, site.page())
        write(chat, "What are your opening hours?")
        hears(chat, "open")
        chat.evaluate(
            """() => { const name = Object.keys(sessionStorage).find((one) => one.startsWith("circumspect:"));
            const kept = JSON.parse(sessionStorage[name]); kept.visitor = "vis_old"; sessionStorage[name] = JSON.stringify(kept); }"""
        )
        page.reload()
        chat = framed(page)
        write(chat, "What are your opening hours?")
        hears(chat, "open")
