"""The playground: a rehearsed conversation with any tenant, in which nothing happens, and what goes on inside beside it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from tests.server.console.building import SAME, Browsing, ConsoleHouse, overflow, serious
from tests.server.house import say

from circumspect.stores import SqlStore
from circumspect.values import TenantId

NAUGHTY = "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>{{ 7*7 }}"


def begin(page: Any, tenant: str) -> None:
    page.goto(f"/playground?tenant={tenant}")
    page.click("main form button.primary")
    page.wait_for_selector("#play")
    page.wait_for_load_state()  # before its script is there, Enter is a new line


def play(page: Any, text: str) -> None:
    page.fill("#play textarea", text)
    page.press("#play textarea", "Enter")


def agents(page: Any, count: int) -> None:
    page.wait_for_function("count => document.querySelectorAll('#said .bubble.agent').length === count", arg=count)


def test_a_call_is_played_to_its_end_with_its_steps_beside_it(browsing: Browsing, house: ConsoleHouse) -> None:
    with browsing.as_("noa") as page:
        begin(page, "shop")
        assert "/playground/shop/playground-" in page.url
        play(page, "cancel order 12345")
        page.wait_for_selector("#choice:not([hidden])")
        page.wait_for_selector("#inside .step.assessment")
        page.wait_for_selector("#inside .step.policy")
        page.click("[data-answer=approve]")
        agents(page, 2)
        page.wait_for_selector("#inside .step.tool")
        said = page.locator("#said .text").all_inner_texts()
        page.reload()
        page.wait_for_selector("#inside .step.tool")
        assert page.locator("#said .text").all_inner_texts() == said
        conversation = page.url.rpartition("/")[2]
    log = house.operator("root").get("/v1/admin/log?tenant=shop").json()["items"]
    assert {"by": "noa", "action": "playground", "subject": conversation}.items() <= log[0].items()


def count(house: ConsoleHouse, query: str) -> int:
    with closing(sqlite3.connect(house.settings.database.removeprefix("sqlite:///"))) as database:
        return int(database.execute(query).fetchone()[0])


def status_of(house: ConsoleHouse, order: str) -> str:
    """As a user hears it from the shop's own tool."""
    key = house.key("shop", "chat")
    return str(say(key, house.conversation(key), f"where is order {order}?")["reply"])


def test_a_confirmed_call_is_not_made_and_the_page_says_where_its_result_is_from(
    browsing: Browsing, house: ConsoleHouse
) -> None:
    before = status_of(house, "12346")
    with browsing.as_("noa") as page:
        begin(page, "shop")
        play(page, "cancel order 12346")
        page.wait_for_selector("#choice:not([hidden])")
        page.click("[data-answer=approve]")
        agents(page, 2)
        assert "12346" in page.locator("#said .bubble.agent .text").nth(1).inner_text()
        page.wait_for_selector("#inside .step.tool >> text=not made")
        source = page.get_attribute("#inside .step.tool p a", "href")
        page.goto(source)
        page.wait_for_selector(".step.tool >> text=cancel_order")
        assert page.locator("text=not made").count() == 0, "that one was"
    assert status_of(house, "12346") == before


def test_a_program_that_writes_into_the_playground_does_nothing_either(browsing: Browsing, house: ConsoleHouse) -> None:
    before = status_of(house, "12347")
    with browsing.as_("noa") as page:
        begin(page, "shop")
        conversation = page.url.rpartition("/")[2]
    client = house.key("shop", "chat")
    say(client, conversation, "cancel order 12347")
    assert say(client, conversation, "yes")["outcome"] == "acted"
    assert status_of(house, "12347") == before


@pytest.mark.parametrize(("named", "rehearsed"), [("playground-mine", True), ("PLAYGROUND-mine", False)])
def test_what_does_not_count_does_not_happen_either_whoever_names_a_conversation(
    house: ConsoleHouse, named: str, rehearsed: bool
) -> None:
    client, before = house.key("shop", "chat"), status_of(house, "12345")
    assert client.post("/v1/conversations", json={"id": named}).status_code == 201
    say(client, named, "cancel order 12345")
    assert say(client, named, "yes")["outcome"] == "acted"
    assert (status_of(house, "12345") == before) is rehearsed
    since = house.app.state.services.clock.now() - timedelta(days=1)

    async def recent(store: SqlStore) -> set[str]:
        return {one.conversation for one in await store.recent_executions(TenantId("shop"), ("cancel_order",), since)}

    assert (named in house.stored(recent)) is not rehearsed


def test_nobody_is_called_from_the_playground(browsing: Browsing, house: ConsoleHouse) -> None:
    queries = ("SELECT count(*) FROM escalations", "SELECT count(*) FROM outbox")
    before = [count(house, one) for one in queries]
    with browsing.as_("noa") as page:
        begin(page, "shop")
        play(page, "I want to talk to a person")
        agents(page, 1)
    assert [count(house, one) for one in queries] == before


def test_what_was_rehearsed_does_not_count_against_the_limits_of_users(house: ConsoleHouse) -> None:
    tenant, tools = TenantId("shop"), ("cancel_order",)
    since = house.app.state.services.clock.now() - timedelta(days=1)

    async def recent(store: SqlStore) -> set[str]:
        return {one.conversation for one in await store.recent_executions(tenant, tools, since)}

    assert count(house, "SELECT count(*) FROM tool_executions WHERE conversation LIKE 'playground-%'") > 0
    assert not [one for one in house.stored(recent) if one.startswith("playground-")]


def test_a_yes_typed_in_one_window_does_not_answer_what_another_was_asked(
    browsing: Browsing, house: ConsoleHouse
) -> None:
    with browsing.as_("noa") as page:
        begin(page, "shop")
        play(page, "cancel order 12347")
        page.wait_for_selector("#choice:not([hidden])")
        page.reload()
        page.wait_for_selector("#inside .step.policy")
        page.wait_for_load_state()
        conversation = page.url.rpartition("/")[2]
        client = house.key("shop", "chat")
        path = f"/v1/conversations/{conversation}/messages"
        assert client.post(path, json={"content": "cancel order 12348"}).json()["pending"]
        play(page, "yes")
        agents(page, 2)
    told = house.key("shop", "read").get(f"{path}?internal=true").text
    assert "PENDING_INTENT_MISMATCH" in told
    assert "CONFIRMED_BY_USER" not in told


@pytest.mark.parametrize(
    ("language", "theme", "width", "tenant"),
    [("en", "light", 1280, "shop"), ("he", "dark", 1280, "shop-he"), ("ru", "light", 360, "shop-ru")],
)
def test_it_can_be_used_by_everyone(browsing: Browsing, language: str, theme: str, width: int, tenant: str) -> None:
    with browsing.as_("noa", language=language, theme=theme, width=width) as page:
        page.goto("/playground")
        assert serious(page) == []
        begin(page, tenant)
        play(page, "12345?")
        agents(page, 1)
        page.wait_for_selector("#inside .step")
        assert serious(page) == []
        assert overflow(page) <= 0


def test_words_that_want_to_be_code_stay_words(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        begin(page, "shop")
        play(page, NAUGHTY)
        agents(page, 1)
        page.wait_for_selector("#inside .step")
        page.reload()
        assert page.locator("#said .bubble.user .text").all_inner_texts() == [NAUGHTY]
        assert not page.evaluate("window.pwned")


def test_nobody_speaks_for_a_real_user_from_here(house: ConsoleHouse) -> None:
    with house.visitor("noa") as visitor:
        assert visitor.get("/playground/shop/demo-shop-001").status_code == 404
        said = visitor.post("/playground/shop/demo-shop-001/messages", data={"content": "x"}, headers=SAME)
        assert said.status_code == 404


def test_only_operators_play_and_only_with_tenants_they_may_see(house: ConsoleHouse) -> None:
    with house.visitor("rita") as reviewer:
        assert reviewer.get("/playground").status_code == 403
    with house.visitor("theirs") as theirs:
        assert "Kestrel" not in theirs.get("/playground").text
        assert theirs.post("/playground", data={"tenant": "shop"}, headers=SAME).status_code == 404
        assert theirs.post("/playground", data={"tenant": "shop-ru"}, headers=SAME).status_code == 303
    with house.visitor("noa") as visitor:
        elsewhere = {"Sec-Fetch-Site": "cross-site"}
        assert visitor.post("/playground", data={"tenant": "shop"}, headers=elsewhere).status_code == 403
