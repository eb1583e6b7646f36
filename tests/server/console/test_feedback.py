"""Thumbs where people are: under a reply in the chat, and at a turn in the console. Each becomes a label as the API writes
it, of a turn of one's own conversation and of no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from tests.server.console.building import SAME, Browsing, eventually, overflow, serious
from tests.server.console.hosting import (
    Site,
    WidgetHouse,
    framed,
    hears,
    kept,
    opened,
    quiet,
    visiting,
    without_limits,
    write,
)
from tests.server.house import say

from circumspect.lab.learning.outcome_stories import story_of
from circumspect.lab.learning.outcomes import gather
from circumspect.lab.learning.overrides import Counted, fixtures_of
from circumspect.server.console.i18n import Translator
from circumspect.server.console.widget.talk import COMMENT
from circumspect.stores import SqlStore, labels
from circumspect.stores.labels import LabelRow, split_of
from circumspect.values import TenantId

SHOP = TenantId("shop")
UP, DOWN = ".thumbs .up >> nth=-1", ".thumbs .down >> nth=-1"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WidgetHouse]:
    with without_limits(tmp_path_factory.mktemp("feedback")) as made:
        yield made


@pytest.fixture(scope="module")
def site(house: WidgetHouse) -> Iterator[Site]:
    with Site(house) as made:
        made.allow(made.url)
        yield made


def written(house: WidgetHouse, conversation: str) -> list[LabelRow]:
    async def read(store: SqlStore) -> list[LabelRow]:
        return list(await store.tx(labels.list_labels, SHOP, [conversation]))

    return house.stored(read)


def pressed(frame: Any) -> list[str | None]:
    """Of the newest reply: what its two buttons say."""
    return [frame.get_attribute(one, "aria-pressed") for one in (UP, DOWN)]


def saved(page: Any, frame: Any) -> None:
    eventually(page, lambda: kept(frame)["thumbs"] == {})


# --- in the chat ----------------------------------------------------------------------------------------------------


def test_a_thumb_pressed_in_the_chat_is_the_label_that_the_api_writes(
    browser: Any, house: WidgetHouse, site: Site
) -> None:
    with visiting(browser, site) as page:
        frame = opened(page, site.page())
        assert frame.locator(".thumbs").count() == 0, "a greeting is no reply"
        write(frame, "cancel order 12345")
        frame.wait_for_selector("#choice:not([hidden])")
        quiet(frame)
        conversation = kept(frame)["conversation"]
        assert pressed(frame) == ["false", "false"]
        assert not frame.is_visible(".wrong")
        frame.click(DOWN)
        saved(page, frame)
        [row] = written(house, conversation)
        assert (row.kind, row.tool, row.decision) == ("thumbs_down", "cancel_order", "ask")
        frame.fill(".wrong input", "It was <b>another</b> order.")
        frame.press(".wrong input", "Enter")
        hears(frame, Translator("en").t("widget-thanks"))
        [row] = written(house, conversation)
        assert row.kind == "correct"
        assert row.confidence is not None
        assert row.split == split_of("shop", conversation)
        page.reload()
        frame = framed(page)
        frame.wait_for_selector(DOWN)
        assert pressed(frame) == ["false", "true"]
        frame.click(DOWN)
        assert frame.input_value(".wrong input") == "It was <b>another</b> order."
        for word in ("cancel_order", '"decision"', '"confidence"', '"tool"'):
            assert word not in house.heard, "what was judged is not for an end user"
    said = {"thumb": "down", "correction": "It was <b>another</b> order."}
    given = house.key("shop", "chat").post(f"/v1/conversations/{conversation}/turns/{row.turn}/feedback", json=said)
    assert given.status_code == 201
    ours, theirs = sorted(written(house, conversation), key=lambda one: one.at)
    assert replace(theirs, id=ours.id, by=ours.by, at=ours.at) == ours
    assert (ours.id, ours.by[:4]) == (f"{ours.turn}:{ours.by}", "key:")


def test_the_last_thumb_counts_and_is_learnt_from(browser: Any, house: WidgetHouse, site: Site) -> None:
    with visiting(browser, site) as page:
        frame = opened(page, site.page())
        write(frame, "cancel order 12346")
        quiet(frame)
        conversation = kept(frame)["conversation"]
        frame.click(UP)
        frame.click(DOWN)
        frame.click(UP)
        assert pressed(frame) == ["true", "false"]
        assert not frame.is_visible(".wrong")
        saved(page, frame)
    [row] = written(house, conversation)
    assert row.kind == "thumbs_up"

    async def learnt(store: SqlStore) -> tuple[list[Any], list[Any]]:
        found = await store.tx(lambda connection: list(gather(connection, SHOP)))
        story = await store.tx(story_of, SHOP, conversation)
        assert story is not None
        return [one for one in found if one.conversation == conversation], list(fixtures_of(story, Counted()))

    [label], [fixture] = house.stored(learnt)
    assert (label.kind, label.right, label.tool, label.confidence) == (
        "thumbs_up",
        True,
        "cancel_order",
        row.confidence,
    )
    assert fixture.value["name"] == "cancel_order: thumbs up from the user"


def test_what_could_not_be_sent_says_so_at_the_button_and_goes_out_later(
    browser: Any, house: WidgetHouse, site: Site
) -> None:
    with visiting(browser, site, expected=("ERR_FAILED", "Failed to load resource")) as page:
        frame = opened(page, site.page())
        write(frame, "what are your opening hours?")
        quiet(frame)
        conversation = kept(frame)["conversation"]
        page.route("**/feedback", lambda route: route.abort())
        frame.click(DOWN)
        frame.wait_for_selector(".thumbs .told.bad")
        assert Translator("en").t("widget-not-saved") in frame.inner_text(".told")
        assert pressed(frame) == ["false", "true"]
        assert written(house, conversation) == []
        frame.click(".told button")
        frame.wait_for_selector(".thumbs .told.bad button")
        page.unroute("**/feedback")
        page.reload()
        frame = framed(page)
        frame.wait_for_selector(DOWN)
        saved(page, frame)
        assert pressed(frame) == ["false", "true"]
    assert [row.kind for row in written(house, conversation)] == ["thumbs_down"]


def test_thumbs_are_pressed_from_the_keyboard_and_heard_in_hebrew(browser: Any, house: WidgetHouse, site: Site) -> None:
    words = Translator("he")
    with visiting(browser, site, theme="dark", width=360) as page:
        page.goto(f"{house.url}/widget?lang=he&key={house.token('shop-he', 'widget')}")
        page.wait_for_selector(".said")
        write(page, "מה שעות הפתיחה?")
        page.wait_for_selector(".thumbs .up")
        quiet(page)
        before = page.locator(".said.agent >> nth=-1").bounding_box()
        page.focus("#log")
        page.keyboard.press("Tab")
        up = page.evaluate("document.activeElement.getAttribute('aria-label')")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert (up, page.get_attribute(DOWN, "aria-label")) == (
            words.t("widget-thumb-up"),
            words.t("widget-thumb-down"),
        )
        assert pressed(page) == ["false", "true"]
        assert page.get_attribute(DOWN, "aria-expanded") == "true"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.placeholder") == words.t("widget-wrong")
        assert page.evaluate("document.activeElement.maxLength") == COMMENT
        assert serious(page) == []
        assert overflow(page) <= 0
        left, right = (page.locator(one).bounding_box() for one in (DOWN, UP))
        assert left["x"] < right["x"]
        assert before == page.locator(".said.agent >> nth=-1").bounding_box(), "nothing moves"


# --- at the door ----------------------------------------------------------------------------------------------------


def begun(client: httpx.Client, key: str) -> tuple[str, str]:
    """A visitor's conversation, and the turn that answered in it."""
    made = client.post("/widget/conversations", json={}).json()
    client.headers.update({"X-End-User-Token": made["visitor"]} if "visitor" in made else {})
    id_ = str(made["id"])
    headers = {"Idempotency-Key": key * 16}
    client.post(f"/widget/conversations/{id_}/messages", json={"content": "when are you open?"}, headers=headers)
    return id_, str(client.get(f"/widget/conversations/{id_}/messages").json()["items"][-1]["turn"])


def test_a_visitor_judges_no_turn_of_anybody_else(house: WidgetHouse) -> None:
    public, api = house.key("shop", "widget"), house.key("shop", "chat")
    (mine, turn), (theirs, other) = begun(public, "a"), begun(public, "b")
    own = house.conversation(api, id="customer-18")
    program = say(api, own, "when are you open?")["turn_id"]

    def judge(client: httpx.Client, talk: str, which: str, **said: Any) -> httpx.Response:
        where = f"/widget/conversations/{talk}/turns/{which}/feedback"
        return client.post(where, json=said or {"thumb": "down"}, headers=SAME)

    refused = [
        judge(public, mine, other),
        judge(public, mine, program),
        judge(public, own, program),
        judge(public, mine, "turn_of_nobody"),
        judge(house.key("shop-ru", "widget"), mine, turn),
    ]
    assert [(one.status_code, one.json()) for one in refused] == [(404, {"code": "not_found"})] * 5
    assert judge(house.key("shop", "chat", "widget"), mine, turn).status_code == 403
    for wrong in ({"thumb": "up", "correction": "x"}, {"thumb": "down", "correction": "x" * (COMMENT + 1)}):
        assert judge(public, mine, turn, **wrong).status_code == 422
    assert [written(house, one) for one in (mine, theirs, own)] == [[], [], []]
    assert judge(public, mine, turn).json() == {"thumb": "down"}
    assert len(written(house, mine)) == 1


# --- in the console -------------------------------------------------------------------------------------------------


def test_an_operator_sees_the_users_thumb_at_its_turn_and_gives_their_own(browser: Any, house: WidgetHouse) -> None:
    public = house.key("shop", "widget")
    talk, turn = begun(public, "c")
    said = {"thumb": "down", "correction": "You are <i>closed</i> on Sundays."}
    assert public.post(f"/widget/conversations/{talk}/turns/{turn}/feedback", json=said).status_code == 201
    path = f"/conversations/shop/{talk}"
    with Browsing(browser, house).as_("rita", language="he", theme="dark", width=390) as page:
        page.goto(path)
        assert "You are <i>closed</i> on Sundays." in page.inner_text(".bubble.agent .said")
        assert page.locator(".bubble.user .thumbs").count() == 0
        page.focus(".thumbs [value=down]")
        page.keyboard.press("Enter")
        page.wait_for_selector(".thumbs [value=down][aria-pressed=true]")
        page.fill(".thumbs input[name=correction]", "Open from nine to five.")
        page.keyboard.press("Enter")
        eventually(page, lambda: page.locator(".thumbs input[type=hidden][name=correction]").count() == 1)
        page.click(".thumbs [value=down]")
        page.reload()
        assert page.input_value(".thumbs input[maxlength]") == "Open from nine to five."
        assert serious(page) == []
        assert overflow(page) <= 0
    _, own = written(house, talk)
    assert (own.kind, own.by, own.id, own.decision) == ("correct", "rita", f"{turn}:rita", "answer")
    log = house.operator("root").get("/v1/admin/log?tenant=shop").json()["items"]
    assert {one["by"] for one in log if one["action"] == "feedback" and one["subject"] == talk} == {"rita"}


def test_without_scripts_a_thumb_in_the_console_is_a_form(house: WidgetHouse) -> None:
    talk, turn = begun(house.key("shop", "widget"), "d")
    path = f"/conversations/shop/{talk}"
    with house.visitor("noa") as noa, house.visitor("theirs") as theirs:
        went = noa.post(f"{path}/turns/{turn}/feedback", data={"thumb": "up", "correction": "left over"}, headers=SAME)
        assert (went.status_code, went.headers["location"]) == (303, f"{path}#thumbs-{turn}")
        page = noa.get(path).text
        assert f'id="up-{turn}" aria-pressed="true"' in page
        assert f'id="down-{turn}" aria-pressed="false"' in page
        for who, where in ((theirs, f"{path}/turns/{turn}"), (noa, f"{path}/turns/turn_of_nobody")):
            assert who.post(f"{where}/feedback", data={"thumb": "down"}, headers=SAME).status_code == 404
    assert [(row.kind, row.by) for row in written(house, talk)] == [("thumbs_up", "noa")]
