"""The customer's pages: a tenant's own usage and conversations, by its own key, and nothing of anybody else's."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from tests.patience import wait_until
from tests.server.console.building import SAME, Browsing, ConsoleHouse, overflow, serious
from tests.server.house import say

from circumspect.reasons import ReasonCode
from circumspect.server.console import customers
from circumspect.server.stores import tenants
from circumspect.server.vault import open_vault
from circumspect.stores import SqlStore
from circumspect.stores.tables import messages, plans
from circumspect.values import Plan, TenantId

NAUGHTY = "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>{{ 7*7 }}"
PAGES = ("/customer", "/customer?days=90", "/customer/conversations")


@contextmanager
def admitted(house: ConsoleHouse, tenant: str = "shop", *scopes: str) -> Iterator[httpx.Client]:
    """Somebody who signed in with a key of the tenant's."""
    with house.visitor("") as client:
        key = house.token(tenant, *(scopes or ("read",)))
        answer = client.post("/customer/login", data={"key": key}, headers=SAME)
        assert answer.status_code == 303, answer.text
        assert key not in str(answer.headers)
        yield client


def entered(page: Any, house: ConsoleHouse, tenant: str) -> None:
    page.goto("/customer/login")
    page.fill("input[name=key]", house.token(tenant, "read"))
    page.click("button.primary")
    page.wait_for_url("**/customer")


@pytest.mark.parametrize(
    ("tenant", "language", "theme", "width"),
    [("shop", "en", "light", 1280), ("shop-he", "he", "dark", 1280), ("shop-ru", "ru", "light", 360), ("shop-he", "he", "light", 360)],
)  # fmt: skip
def test_every_page_can_be_used_by_everyone(
    browsing: Browsing, house: ConsoleHouse, tenant: str, language: str, theme: str, width: int
) -> None:
    quota = 0 if width == 360 else 1_000_000
    with limited(house, tenant, quota), browsing.as_("", language=language, theme=theme, width=width) as page:
        page.goto("/customer/login")
        assert serious(page) == []
        entered(page, house, tenant)
        assert page.get_attribute("html", "dir") == ("rtl" if language == "he" else "ltr")
        for path in PAGES:
            page.goto(path)
            assert serious(page) == [], path
            assert overflow(page) <= 0, path
            assert page.locator("#quota").count() == (path != "/customer/conversations")
        page.click("tbody a >> nth=0")
        page.wait_for_selector(".bubble.user")
        assert serious(page) == []
        assert overflow(page) <= 0


def test_charts_run_to_the_left_in_hebrew(browsing: Browsing, house: ConsoleHouse) -> None:
    places = {}
    for language in ("en", "he"):
        with browsing.as_("", language=language) as page:
            entered(page, house, "shop-he")
            boxes = page.locator(".chart svg rect[data-tip]")
            places[language] = [boxes.nth(at).bounding_box()["x"] for at in range(boxes.count())]
            assert page.locator("details.data table tbody tr").count() == 30
    assert len(places["en"]) == len(places["he"]) > 3
    assert places["en"] == sorted(places["en"])
    assert places["he"] == sorted(places["he"], reverse=True)


def test_how_it_reasons_is_shown_only_where_it_does(house: ConsoleHouse) -> None:
    with admitted(house, "shop") as client:
        assert 'id="reasoning"' in client.get("/customer").text

    async def plain(store: SqlStore) -> None:
        """A tenant of the free plan, which answers in one go."""

        def body(connection: sa.Connection) -> None:
            row = tenants.get(connection, TenantId("shop"))
            assert row is not None
            free = connection.execute(sa.select(plans.c.name).where(plans.c.mode == "standard")).scalars().first()
            connection.execute(
                sa.text("INSERT INTO tenants (id, plan, name, language, config, settings, revision) "
                        "SELECT 'plain', :plan, name, language, config, settings, 1 FROM tenants WHERE id = 'shop'"),
                {"plan": free},
            )  # fmt: skip

        await store.tx(body)

    house.stored(plain)
    client_ = house.key("plain", "chat")
    say(client_, house.conversation(client_), "hello")
    with admitted(house, "plain") as client:
        page = client.get("/customer").text
        assert 'data-figure="messages"' in page
        assert 'id="reasoning"' not in page
        assert "Second opinions" not in page


@contextmanager
def limited(house: ConsoleHouse, tenant: str, quota: int) -> Iterator[None]:
    """The tenant's plan has so many messages a month."""

    async def limit(store: SqlStore) -> Plan:
        plan = next(one.plan for one in await store.tenants() if one.id == tenant)
        await store.tx(tenants.put_plan, replace(plan, quota=quota))
        return plan

    before = house.stored(limit)
    try:
        yield
    finally:
        house.stored(lambda store: store.tx(tenants.put_plan, before))


def count_answered(house: ConsoleHouse, tenant: str) -> int:
    """Messages of this month as the turns themselves have them, not as the counts do."""
    month = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()
    counted = sa.text(
        "SELECT COUNT(*) FROM turns t JOIN messages m ON m.tenant = t.tenant AND m.conversation = t.conversation "
        "AND m.seq = t.first_seq AND m.role = 'user' WHERE t.tenant = :tenant AND t.status = 'done' "
        "AND t.started_at >= :month AND CAST(t.result AS TEXT) NOT LIKE '%QUOTA_REACHED%'"
    )
    values = {"tenant": tenant, "month": month}
    return int(house.stored(lambda store: store.tx(lambda one: one.execute(counted, values).scalar_one())))


def read_quota(page: str) -> str:
    (found,) = re.findall(r'data-figure="quota">(.*?)</strong>', page)
    return re.sub(r"[\u2066-\u2069]", "", unescape(found))


def test_the_quota_of_the_plan_is_shown_with_what_is_used_of_it(house: ConsoleHouse) -> None:
    """Talks of its own, because the sample's usage was not made by turns."""
    made = "INSERT INTO tenants (id, plan, name, language, config, settings, revision) SELECT 'small', 'tiny', name, "
    made += "language, config, settings, 1 FROM tenants WHERE id = 'shop'"

    async def add(store: SqlStore) -> None:
        await store.put_plan(Plan("tiny", "adaptive"))
        await store.tx(lambda connection: connection.execute(sa.text(made)))

    house.stored(add)
    chat = house.key("small", "chat")
    talk = house.conversation(chat)
    for text in ("hello", "cancel order 12345", "no"):
        say(chat, talk, text)
    with admitted(house, "small") as client:
        assert 'id="quota"' not in client.get("/customer").text
        used = count_answered(house, "small")
        assert used == 3
        with limited(house, "small", used + 1):
            page = client.get("/customer").text
            assert read_quota(page) == f"{used} of {used + 1}"
            assert "All of them are used" not in page
            assert say(chat, talk, "hello again")["outcome"] == "answered"
            wait_until(lambda: "QUOTA_REACHED" in say(chat, talk, "hello once more")["reason_codes"], pause=0.2)
            page = client.get("/customer").text
            assert read_quota(page) == f"{count_answered(house, 'small')} of {used + 1}"
            assert "All of them are used" in page
        with limited(house, "small", 0):
            page = client.get("/customer").text
            assert read_quota(page).endswith(" of 0")
            assert 'max="1"' in page
    with admitted(house, "shop") as others:
        assert 'id="quota"' not in others.get("/customer").text


@pytest.mark.parametrize(
    ("tenant", "said", "reached"),
    [("shop-he", "מתוך 0", "כולן נוצלו"), ("shop-ru", "из 0", "Все использованы")],
)
def test_the_quota_is_told_in_the_customers_language(house: ConsoleHouse, tenant: str, said: str, reached: str) -> None:
    with limited(house, tenant, 0), admitted(house, tenant) as client:
        language = tenant.removeprefix("shop-")
        page = client.get("/customer", headers={"Accept-Language": language}).text
    assert said in read_quota(page)
    assert reached in page


def test_a_customer_sees_nothing_internal_and_nothing_of_others(house: ConsoleHouse) -> None:
    async def stored(store: SqlStore) -> list[Any]:
        return await store.tx(lambda connection: list(connection.execute(sa.select(messages))))

    rows = [row for row in house.stored(stored) if row.tenant == "shop"]
    said = "\n".join(row.content for row in rows if row.role != "internal")
    thoughts = {row.content for row in rows if row.role == "internal" and len(row.content) > 12} - {""}
    thoughts = {thought for thought in thoughts if thought not in said}
    assert len(thoughts) > 20
    with admitted(house, "shop") as client:
        listing = client.get("/customer/conversations").text
        addresses = re.findall(r'href="(/customer/conversations/[^"?]+)"', listing)
        assert len(addresses) > 5
        for address in (*PAGES, *addresses):
            text = client.get(address).text
            for code in ReasonCode:
                assert code not in text, (address, code)
            for thought in thoughts:
                assert thought not in text, (address, thought)
            assert "shop-ru" not in text
        for address in (
            "/customer?tenant=shop-ru",
            "/customer/conversations?tenant=shop-ru",
            "/customer/conversations/demo-shop-ru-001",
            "/customer/conversations/demo-shop-ru-001?tenant=shop-ru",
        ):
            assert client.get(address).status_code == 404, address
        for address in ("/", "/conversations", "/conversations/shop/demo-shop-001", "/playground", "/escalations"):
            assert client.get(address).status_code == 303, address


def test_only_a_key_that_may_read_opens_the_door(house: ConsoleHouse) -> None:
    with house.visitor("") as client:
        for key in ("", "csk_0000000000000000_" + "A" * 43, house.token("shop", "chat"), house.token("shop", "widget")):
            answer = client.post("/customer/login", data={"key": key}, headers=SAME)
            assert answer.status_code == 401
            assert customers.COOKIE not in client.cookies
            assert not key or key not in answer.text
        elsewhere = {"Sec-Fetch-Site": "cross-site"}
        key = house.token("shop", "read")
        assert client.post("/customer/login", data={"key": key}, headers=elsewhere).status_code == 403
        for path in PAGES:
            refused = client.get(path)
            assert (refused.status_code, refused.headers["location"]) == (303, "/customer/login")


def test_the_cookie_holds_no_key_and_cannot_be_made_up(house: ConsoleHouse) -> None:
    with admitted(house) as client:
        sealed = client.cookies[customers.COOKIE]
        assert house.token("shop", "read") not in sealed
        vault = open_vault(house.settings)
        assert "csk_" not in vault.unseal(sealed)
    said = json.loads(vault.unseal(sealed))
    forged = {
        "nonsense": "x",
        "changed": sealed[:-4] + "AAAA",
        "over": vault.seal(json.dumps({**said, "until": time.time() - 1})),
        "for something else": vault.seal(json.dumps({**said, "for": "something"})),
        "no such key": vault.seal(json.dumps({**said, "key": "0" * 16})),
        "a key that may not read": vault.seal(json.dumps({**said, "key": house.token("shop", "chat").split("_")[1]})),
        "no mapping": vault.seal("[1]"),
    }
    for name, cookie in forged.items():
        with house.visitor("") as client:
            client.cookies.set(customers.COOKIE, cookie, path="/customer")
            assert client.get("/customer").status_code == 303, name


def test_revoking_the_key_ends_the_look(house: ConsoleHouse) -> None:
    made = house.key("shop", "admin", "read").post("/v1/admin/keys", json={"name": "short", "scopes": ["read"]}).json()
    with house.visitor("") as client:
        client.post("/customer/login", data={"key": made["key"]}, headers=SAME)
        assert client.get("/customer").status_code == 200
        assert house.key("shop", "admin").delete(f"/v1/admin/keys/{made['id']}").status_code == 200
        assert client.get("/customer").status_code == 303


def test_signing_out_ends_the_look_of_this_browser(house: ConsoleHouse) -> None:
    with admitted(house) as client:
        assert client.post("/customer/logout", headers=SAME).status_code == 303
        assert client.get("/customer").status_code == 303


def test_an_operator_looks_as_the_customer_does(house: ConsoleHouse) -> None:
    with house.visitor("noa") as noa:
        assert "Kestrel" in noa.get("/customer?tenant=shop").text
        assert "tenant=shop" in noa.get("/customer/conversations?tenant=shop").text
        assert noa.get("/customer").status_code == 303
    with house.visitor("theirs") as theirs:
        assert theirs.get("/customer?tenant=shop").status_code == 404
        assert theirs.get("/customer?tenant=shop-ru").status_code == 200


def test_words_that_want_to_be_code_stay_words(browsing: Browsing, house: ConsoleHouse) -> None:
    client = house.key("shop", "chat")
    talk = house.conversation(client)
    say(client, talk, NAUGHTY)
    with browsing.as_("") as page:
        entered(page, house, "shop")
        page.goto("/customer/conversations?q=window.pwned")
        page.click("tbody a >> nth=0")
        page.wait_for_selector(".bubble.user")
        assert page.inner_text(".bubble.user .text") == NAUGHTY
        assert not page.evaluate("window.pwned")
