"""Looking for conversations and reading one: what the user saw, what went on inside, and text that wants to be code."""

from __future__ import annotations

import re
import time
from typing import Any, get_args

import pytest
import sqlalchemy as sa
from tests.server.console.building import Browsing, ConsoleHouse, eventually
from tests.server.house import say

from circumspect.server.console.i18n import Translator
from circumspect.stores import SqlStore
from circumspect.stores.codec import dumps
from circumspect.stores.statements import insert
from circumspect.stores.tables import conversations, messages, tool_executions, turns
from circumspect.values import (
    LANGUAGES,
    SEVERITY,
    ConversationId,
    Effect,
    EntryKind,
    ExecutionState,
    Language,
    TurnOutcome,
)

PAYLOADS = (
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "{{ 7 * 7 }} ${7*7} #{7*7}",
    '"><svg onload=window.pwned=1>',
    "javascript:window.pwned=1",
    "</textarea><script>window.pwned=1</script>",
)


def test_words_and_filters_narrow_the_list_at_once(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/conversations")
        everything = page.locator("#found tbody tr.open").count()
        page.select_option("select[name=outcome]", "escalated")
        page.wait_for_url("**outcome=escalated**")
        eventually(page, lambda: page.locator("#found tbody tr.open").count() < everything)
        assert page.locator("#found .badge.escalated").count() > 0
        page.goto("/conversations")
        page.fill("#q", "Отменить заказ")
        page.wait_for_url("**q=**")
        eventually(page, lambda: "Cancel my order" not in page.inner_text("#found"))
        assert "Отменить заказ" in page.inner_text("#found")


@pytest.mark.parametrize(
    ("query", "there", "not_there"),
    [
        ("tenant=shop-he", "demo-he-", "demo-ru-"),
        ("reason=MISSING_PARAM", "demo-", "demo-xx"),
        ("tool=refund", "demo-", "opening hours"),
        ("language=ru", "demo-ru-", "demo-he-"),
        ("critique=1", "demo-", "opening hours"),
        ("held=1&days=30", "demo-", "opening hours"),
        ("q=demo-shop-001", "demo-en-01", "demo-he-"),
    ],
)
def test_every_filter_keeps_what_it_names(house: ConsoleHouse, query: str, there: str, not_there: str) -> None:
    with house.visitor("noa") as visitor:
        found = visitor.get(f"/conversations?{query}", headers={"HX-Request": "true"}).text
        assert there in found
        assert not_there not in found


def test_a_filter_that_finds_nothing_says_so(house: ConsoleHouse) -> None:
    with house.visitor("noa") as visitor:
        for query in ("q=zzzzzz", "on=2001-01-01", "tool=x%25", "outcome=x'--"):
            assert "empty" in visitor.get(f"/conversations?{query}").text


def test_the_chat_is_what_the_user_saw_until_the_switch_shows_the_inside(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/conversations/shop/demo-shop-002")
        assert page.locator(".bubble").count() >= 4
        assert page.locator(".step").count() == 0
        assert "Why was this held?" in page.inner_text("main")
        page.check("input[name=debug]", force=True)
        page.wait_for_url("**debug=1")
        for kind in ("assessment", "policy", "critique", "tool"):
            assert page.locator(f".step.{kind}").count() > 0, kind
        assert page.locator("svg rect.fa").count() > 0
        code = page.locator(".badge[data-code=DESTRUCTIVE_NO_CONFIRM]").first
        assert code.inner_text() == "Irreversible, not confirmed"
        code.hover()
        page.wait_for_selector("#tip:not([hidden])")
        assert page.inner_text("#tip").split("\n")[-1] == "DESTRUCTIVE_NO_CONFIRM"
        assert "DESTRUCTIVE_NO_CONFIRM" not in page.inner_text("main")
        colours = {
            kind: page.locator(f".step.{kind}").first.evaluate("one => getComputedStyle(one).borderInlineStartColor")
            for kind in ("assessment", "critique")
        }
        assert colours["assessment"] == "rgb(29, 95, 196)"
        assert colours["critique"] == "rgb(122, 47, 181)"


def test_an_argument_tells_whose_words_it_came_from(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/conversations/shop/demo-shop-002?debug=1")
        argument = page.locator(".step.policy li[data-tip]", has_text="order_id").first
        argument.hover()
        page.wait_for_selector("#tip:not([hidden])")
        said = page.inner_text("#tip")
        assert said.startswith("The user said it")
        assert "cancel order" in said


def test_the_raw_record_is_one_click_away(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/conversations/shop/demo-shop-002")
        with page.context.expect_page() as opened:
            page.click("a[href*='/v1/conversations/demo-shop-002/messages']")
        assert '"kind":"assessment"' in opened.value.content().replace("&quot;", '"')


def test_a_message_appears_while_one_looks(browsing: Browsing, house: ConsoleHouse) -> None:
    key = house.key("shop")
    conversation = house.conversation(key, person="live")
    say(key, conversation, "What are your opening hours?", person="live")
    with browsing.as_("noa") as page, browsing.as_("noa") as other:
        page.goto(f"/conversations/shop/{conversation}?debug=1")
        other.goto("/conversations")
        assert page.locator(".bubble").count() == 2
        page.wait_for_timeout(700)
        say(key, conversation, "cancel order 12344", person="live")
        page.wait_for_selector(".bubble >> nth=3")
        assert page.locator(".bubble").count() == 4
        assert page.locator(".step.policy").count() == 1
        eventually(other, lambda: "12344" in other.inner_text("#found tbody tr >> nth=0"))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_text_that_wants_to_be_code_stays_text(browsing: Browsing, house: ConsoleHouse, payload: str) -> None:
    key = house.key("shop")
    conversation = ConversationId(f"xss-{hash(payload) & 0xFFFF}")

    async def name_person(store: SqlStore) -> None:
        named = sa.update(conversations).where(conversations.c.id == conversation).values(person=payload)
        await store.tx(lambda connection: connection.execute(named))

    house.conversation(key, id=conversation)
    say(key, conversation, f"cancel order 12344 {payload}")
    house.stored(name_person)
    with browsing.as_("noa") as page:
        for path in (
            "/conversations",
            f"/conversations/shop/{conversation}",
            f"/conversations/shop/{conversation}?debug=1",
        ):
            page.goto(path)
            assert payload in page.inner_text("main"), path
            assert page.evaluate("window.pwned") is None
        page.goto(f"/conversations?q={payload.replace('#', '%23').replace('&', '%26')}")
        assert page.input_value("#q") == payload
        assert page.evaluate("window.pwned") is None


def test_two_thousand_messages_open_at_once_and_are_read_in_pieces(browsing: Browsing, house: ConsoleHouse) -> None:
    async def fill(store: SqlStore) -> None:
        await store.tx(_long_conversation, "short", 60)
        await store.tx(_long_conversation, "long", 2000)

    house.stored(fill)
    with house.visitor("noa") as visitor:
        best = {"short": 60.0, "long": 60.0}
        for _ in range(3):
            for name in best:
                began = time.monotonic()
                answer = visitor.get(f"/conversations/shop/{name}?debug=1")
                best[name] = min(best[name], time.monotonic() - began)
                assert answer.status_code == 200
        assert best["long"] < 5 * best["short"]
        assert len(answer.content) < 200_000
    with browsing.as_("noa") as page:
        page.goto("/conversations/shop/long")
        assert page.locator(".bubble").count() == 60
        assert page.locator("#m1999").count() == 1
        page.click("#earlier a")
        page.wait_for_selector("#m1880")
        assert page.locator(".bubble").count() == 120
        first = page.locator(".bubble").first.get_attribute("id")
        assert first == "m1880"


def _long_conversation(connection: sa.Connection, id_: str, many: int) -> None:
    now = time.time()
    row: dict[str, Any] = {
        "tenant": "shop", "id": id_, "mode": "adaptive", "drawn": True, "language": "en", "next_seq": many,
        "lease_until": 0.0, "calls": False, "created_at": now - many, "updated_at": now,
    }  # fmt: skip
    insert(connection, conversations, row)
    rows = [
        {
            "seq": seq,
            "role": "user" if seq % 2 == 0 else "assistant",
            "content": f"message {seq} of many",
            "at": now - many + seq,
        }
        for seq in range(many)
    ]
    common = {"tenant": "shop", "conversation": id_, "turn": "turn_long", "kind": "message", "meta": dumps({})}
    insert(connection, messages, *rows, common=common)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_step_and_every_state_has_a_name(language: Language) -> None:
    words = Translator(language)
    for key in (
        *(f"kind-{kind}" for kind in get_args(EntryKind)),
        *(f"state-{state}" for state in get_args(ExecutionState)),
        *(f"outcome-{outcome}" for outcome in get_args(TurnOutcome)),
        *(f"effect-{effect}" for effect in get_args(Effect)),
        *(f"verdict-{verdict}" for verdict in SEVERITY),
    ):
        assert words.t(key)


def test_what_was_understood_and_searched_is_shown_where_it_was_thought(house: ConsoleHouse) -> None:
    """A browsing session holds steps that a chat has not: where the information was, and each search."""
    button = {"id": "p", "role": "button", "name": "Patient", "haspopup": "menu", "expanded": False}
    asked = {"url": "http://clinic.example/", "page": {"title": "Clinic", "elements": [button]}}
    key = house.key("shop")
    first = key.post("/v1/agent/interact", json={**asked, "query": "Click the Patient button"}).json()
    more = key.post("/v1/agent/interact", json={**asked, "query": "How do I register a <b>patient</b>?"}).json()
    with house.visitor("noa") as visitor:
        for session, wanted in ((first["session"], "PAGE"), (more["session"], "register")):
            page = visitor.get(f"/conversations/shop/{session}?debug=1")
            assert page.status_code == 200
            assert wanted in page.text
            assert "<b>patient" not in page.text


def test_the_timeline_of_a_turn_says_how_long_each_model_call_and_each_tool_took(house: ConsoleHouse) -> None:
    async def prolong(store: SqlStore) -> tuple[str, str]:
        def body(connection: sa.Connection) -> tuple[str, str]:
            ran = connection.execute(
                sa.select(tool_executions).where(tool_executions.c.conversation == "demo-shop-002").limit(1)
            ).one()
            turn = connection.execute(sa.select(turns).where(turns.c.id == ran.turn)).one()
            result = dict(turn.result)
            calls = [{**one, "seconds": 0.75} for one in result["usage"]["calls"]]
            result["usage"] = {**result["usage"], "calls": calls}
            begun = turn.started_at
            connection.execute(
                sa.update(turns).where(turns.c.id == turn.id).values(result=result, finished_at=begun + 4.25)
            )
            connection.execute(
                sa.update(tool_executions)
                .where(tool_executions.c.id == ran.id)
                .values(started_at=begun + 1, finished_at=begun + 2.5)
            )
            return ran.tool, turn.id

        return await store.tx(body)

    tool, turn = house.stored(prolong)
    with house.visitor("noa") as visitor:
        page = visitor.get("/conversations/shop/demo-shop-002?debug=1").text
    chart = page.split(f'aria-labelledby="w-{turn}-title"')[1].split("</svg>")[0]
    names = re.findall(r'text-anchor="start">([^<]+)</text>', chart)
    beside = dict(zip(names[::2], names[1::2], strict=True))
    assert beside["Whole turn"] == "4.25 s"
    assert beside[tool] == "1.50 s"
    bars = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', chart)
    whole, *steps = [(float(x), float(width)) for x, width in bars]
    called = steps[list(beside).index(tool) - 1]
    assert called[0] - whole[0] >= whole[1] / 4.25 - 1, "it begins when the ledger says, or later"
    assert abs(called[1] - whole[1] * 1.5 / 4.25) < 1
