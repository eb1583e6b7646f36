"""The chat on somebody's own web page, in a real browser: from another site, by keyboard, through a reload and a lost
connection, and without a byte that an end user should not have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from tests.patience import PATIENCE, wait_until
from tests.server.console.building import SAME, overflow, serious
from tests.server.console.hosting import (
    Site,
    WidgetHouse,
    framed,
    hears,
    kept,
    opened,
    quiet,
    said,
    visiting,
    without_limits,
    write,
)
from tests.server.house import Running, say
from tests.server.model_server import SlowModel
from tests.server.rows import approval, escalation

from circumspect.reasons import ReasonCode
from circumspect.server.console.i18n import Translator
from circumspect.server.console.widget import visits
from circumspect.server.console.widget.frame import WORDS
from circumspect.server.streams import STEPS
from circumspect.stores import SqlStore
from circumspect.stores.tables import messages, tools
from circumspect.values import LANGUAGES

NAUGHTY = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>{{ 7*7 }} <b>bold</b>'


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WidgetHouse]:
    with without_limits(tmp_path_factory.mktemp("widget")) as made:
        yield made


@pytest.fixture(scope="module")
def site(house: WidgetHouse) -> Iterator[Site]:
    with Site(house) as made:
        for tenant in ("shop", "shop-he", "shop-ru"):
            made.allow(made.url, tenant=tenant)
        yield made


def rows(house: WidgetHouse, query: sa.Select[Any]) -> list[Any]:
    async def read(store: SqlStore) -> list[Any]:
        return await store.tx(lambda connection: list(connection.execute(query)))

    return house.stored(read)


def users(house: WidgetHouse, tenant: str, text: str) -> list[Any]:
    """Messages of users, as stored, that say this."""
    where = (messages.c.tenant == tenant, messages.c.role == "user", messages.c.content == text)
    return rows(house, sa.select(messages).where(*where))


# --- in a browser ---------------------------------------------------------------------------------------------------


def test_a_call_is_confirmed_by_a_button_and_runs_once(browser: Any, house: WidgetHouse, site: Site) -> None:
    with visiting(browser, site) as page:
        frame = opened(page, site.page())
        write(frame, "cancel order 12345")
        frame.wait_for_selector("#choice:not([hidden])")
        assert "12345" in said(frame)[-1]
        frame.click("[data-choice=approve]")
        frame.wait_for_function("() => document.querySelectorAll('.said.agent').length === 3")
        quiet(frame)
        assert frame.is_hidden("#choice")
        assert frame.locator(".said.user p").all_inner_texts() == ["cancel order 12345", "Yes"]
        conversation = kept(frame)["conversation"]
    ran = house.key("shop", "read").get(f"/v1/conversations/{conversation}/messages?internal=true").json()["items"]
    assert [one["meta"].get("state") for one in ran if one["kind"] == "tool"].count("succeeded") >= 1
    assert "CONFIRMED_BY_USER" in json.dumps(ran)


def test_a_yes_typed_in_one_window_does_not_answer_what_another_was_asked(
    browser: Any, house: WidgetHouse, site: Site
) -> None:
    with visiting(browser, site) as page:
        frame = opened(page, site.page())
        write(frame, "cancel order 12347")
        frame.wait_for_selector("#choice:not([hidden])")
        conversation = kept(frame)["conversation"]
        api = house.key("shop", "chat")
        visitor = api.get(f"/v1/conversations/{conversation}").json()["person"]
        other = say(api, conversation, "cancel order 12348", person=visitor)
        assert other["pending"]["arguments"]["order_id"] == "12348"
        write(frame, "yes")
        frame.wait_for_function("() => document.querySelectorAll('.said.agent').length > 2")
        quiet(frame)
    told = house.key("shop", "read").get(f"/v1/conversations/{conversation}/messages?internal=true").text
    assert "PENDING_INTENT_MISMATCH" in told
    assert "CONFIRMED_BY_USER" not in told


def test_no_byte_that_reaches_an_end_user_is_internal(browser: Any, house: WidgetHouse, site: Site) -> None:
    with visiting(browser, site) as page:
        frame = opened(page, site.page())
        for words in ("where is my order 12346?", "cancel order 12346", "what is your return policy?"):
            write(frame, words)
            quiet(frame)
        page.reload()
        frame = framed(page)
        hears(frame, "what is your return policy?")
        conversation = kept(frame)["conversation"]
    bytes_sent = house.heard
    assert bytes_sent.count("event: done") == 3
    inner = rows(
        house, sa.select(messages).where(messages.c.conversation == conversation, messages.c.role == "internal")
    )
    assert {row.kind for row in inner} >= {"assessment", "policy", "tool"}
    for row in inner:
        if len(row.content) > 12:
            assert row.content not in bytes_sent, row.kind
            assert json.dumps(row.content)[1:-1] not in bytes_sent, row.kind
    for code in ReasonCode:
        assert code not in bytes_sent
    names = {row.name for row in rows(house, sa.select(tools.c.name).where(tools.c.tenant == "shop"))}
    assert names
    for word in (
        *names,
        "usage",
        "cost",
        "tokens",
        "confidence",
        "meta",
        "internal",
        "policy_version",
        "order_id",
        "hash",
    ):
        assert f'"{word}' not in bytes_sent, word
        assert word not in names or word not in bytes_sent, word


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_a_reload_in_the_middle_of_a_turn_loses_and_doubles_nothing(
    browser: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """On another site, where the browser gives the frame no storage, and on the same one, where it does."""
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    slow = SlowModel()
    with (
        Running(slow) as model,
        WidgetHouse(f"sqlite:///{tmp_path}/w.db", model=f"openai:slow@{model.url}/v1") as house,
        Site(house, name) as site,
    ):
        site.allow(site.url)
        with visiting(browser, site) as page:
            frame = opened(page, site.page())
            slow.close()
            write(frame, "when are you open?")
            wait_until(lambda: slow.asked == 1)
            assert kept(frame)["outbox"]
            page.reload()
            frame = framed(page)
            hears(frame, "when are you open?")
            slow.open()
            hears(frame, slow.words)
            quiet(frame)
            assert said(frame).count("when are you open?") == 1
            assert said(frame).count(slow.words) == 1
            page.reload()
            frame = framed(page)
            hears(frame, slow.words)
            assert said(frame)[1:] == ["when are you open?", slow.words]
        assert slow.asked == 1
        assert len(users(house, "shop", "when are you open?")) == 1


def test_what_is_said_without_a_connection_goes_out_once_it_is_back(
    browser: Any, house: WidgetHouse, site: Site
) -> None:
    with visiting(browser, site, expected=("ERR_INTERNET_DISCONNECTED", "Failed to load resource")) as page:
        frame = opened(page, site.page())
        write(frame, "hello there, offline test")
        quiet(frame)
        page.context.set_offline(True)
        write(frame, "first while away")
        write(frame, "second while away")
        frame.wait_for_function("() => document.querySelectorAll('.waits').length === 2")
        frame.wait_for_function("() => document.querySelector('#status').textContent.length > 0")
        page.context.set_offline(False)
        quiet(frame)
        mine = frame.locator(".said.user p").all_inner_texts()
        assert mine == ["hello there, offline test", "first while away", "second while away"]
    assert [len(users(house, "shop", text)) for text in mine] == [1, 1, 1]


def test_an_answer_that_got_lost_on_the_way_is_fetched_and_runs_nothing_twice(
    browser: Any, house: WidgetHouse, site: Site
) -> None:
    with visiting(browser, site, expected=("ERR_FAILED", "Failed to load resource")) as page:
        frame = opened(page, site.page())
        lost: list[str] = []

        def lose(route: Any) -> None:
            """The server gets it, and its answer never arrives."""
            if lost:
                route.continue_()
                return
            request = route.request
            lost.append(request.headers["idempotency-key"])
            headers = {**request.headers, "Sec-Fetch-Site": "same-origin"}
            httpx.post(request.url, content=request.post_data, headers=headers, trust_env=False, timeout=PATIENCE)
            route.abort()

        page.route("**/widget/conversations/*/messages", lose)
        write(frame, "a message whose answer gets lost")
        frame.wait_for_function("() => document.querySelectorAll('.said.agent').length === 2")
        quiet(frame)
        assert len(lost) == 1
    assert len(users(house, "shop", "a message whose answer gets lost")) == 1


def test_everything_can_be_done_from_the_keyboard(browser: Any, site: Site) -> None:
    with visiting(browser, site) as page:
        page.goto(site.page())
        page.wait_for_selector("[data-circumspect=widget]", state="attached")
        page.focus("#search")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        frame = framed(page)
        frame.wait_for_function("() => document.activeElement.id === 'words'")
        page.keyboard.type("cancel order 12347")
        page.keyboard.press("Enter")
        frame.wait_for_selector("#choice:not([hidden])")
        page.keyboard.press("Shift+Tab")
        assert frame.evaluate("document.activeElement.dataset.choice") == "deny"
        page.keyboard.press("Enter")
        frame.wait_for_function("() => document.querySelectorAll('.said.agent').length === 3")
        page.keyboard.press("Escape")
        page.wait_for_function("() => document.activeElement.dataset.circumspect === 'widget'")
        page.keyboard.press("Enter")
        frame.wait_for_function("() => document.activeElement.id === 'words'")


def test_a_screen_reader_hears_replies_whole_and_what_is_being_done(browser: Any, site: Site) -> None:
    with visiting(browser, site) as page:
        frame = opened(page, site.page())
        frame.evaluate(
            """() => { window.heard = [];
            new MutationObserver(() => window.heard.push(document.querySelector('#status').textContent))
              .observe(document.querySelector('#status'), {childList: true}) }"""
        )
        assert frame.get_attribute("#log", "role") == "log"
        assert frame.get_attribute("#status", "role") == "status"
        write(frame, "cancel order 12345")
        quiet(frame)
        words = Translator("en")
        assert words.t("widget-step-checking") in frame.evaluate("window.heard")
        assert frame.get_attribute("#log", "aria-busy") is None
        assert frame.locator(".said.user .by").first.inner_text() == "You:"


@pytest.mark.parametrize(
    ("tenant", "language", "theme", "width"),
    [("shop", "en", "light", 1280), ("shop-he", "he", "dark", 360), ("shop-ru", "ru", "dark", 1280), ("shop-he", "he", "light", 1280)],
)  # fmt: skip
def test_it_can_be_used_by_everyone(
    browser: Any, site: Site, tenant: str, language: str, theme: str, width: int
) -> None:
    asks = {"en": "cancel order 12345", "he": "בטלו את הזמנה 12345", "ru": "отмени заказ 12345"}[language]
    with visiting(browser, site, theme=theme, width=width) as page:
        frame = opened(page, site.page(tenant, language), rtl=language == "he")
        assert frame.get_attribute("html", "dir") == ("rtl" if language == "he" else "ltr")
        write(frame, asks)
        frame.wait_for_selector("#choice:not([hidden])")
        quiet(frame)
        box = frame.frame_element().bounding_box()
        assert box["width"] == 360 if width == 360 else box["width"] <= 400
        assert overflow(frame) <= 0
        mine, log = (frame.locator(one).first.bounding_box() for one in (".said.user", "#log"))
        left = mine["x"] - log["x"] < log["width"] - (mine["x"] - log["x"]) - mine["width"]
        assert left == (language == "he")
        assert (box["x"] < 100) == (language == "he" or width == 360)
        assert overflow(page) <= 0
        key = site.house.token(tenant, "widget")
        page.goto(f"{site.house.url}/widget?lang={language}&key={key}")
        page.wait_for_selector(".said")
        assert serious(page) == []


def test_words_that_want_to_be_code_stay_words(browser: Any, site: Site) -> None:
    with visiting(browser, site) as page:
        frame = opened(page, site.page())
        write(frame, NAUGHTY)
        quiet(frame)
        page.reload()
        frame = framed(page)
        hears(frame, "{{ 7*7 }}")
        assert NAUGHTY in said(frame)
        assert frame.locator("#log img, #log script, #log b").count() == 0
        assert not frame.evaluate("window.pwned")
        assert not page.evaluate("window.pwned")


def test_a_person_who_takes_over_is_heard_in_the_widget(browser: Any, house: WidgetHouse, site: Site) -> None:
    with visiting(browser, site) as page:
        frame = opened(page, site.page())
        write(frame, "I want to talk to a human")
        quiet(frame)
        conversation = kept(frame)["conversation"]
        noa = house.operator("noa")
        found = escalation(house, "shop", conversation)
        assert noa.post(f"/v1/escalations/{found}/take").status_code == 200
        said_ = noa.post(f"/v1/escalations/{found}/reply", json={"content": "Noa here, I am a person."})
        assert said_.status_code < 300, said_.text
        frame.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        hears(frame, "Noa here, I am a person.")
        assert frame.locator(".said.person .by").inner_text() == Translator("en").t("widget-person")
        assert "noa" not in house.heard.replace("Noa here", "")


def test_a_site_that_is_not_allowed_cannot_show_the_chat(browser: Any, house: WidgetHouse, site: Site) -> None:
    site.allow("https://elsewhere.example", tenant="shop-ru")
    try:
        wait_until(
            lambda: "elsewhere" in house.client().get(_frame(house, "shop-ru")).headers["content-security-policy"]
        )
        with visiting(browser, site, expected=("frame-ancestors", "violates", "Refused")) as page:
            page.goto(site.page("shop-ru", "ru"))
            page.wait_for_selector("[data-circumspect=widget]", state="attached")
            with page.expect_console_message(lambda said: "widget.origins" in said.text) as told:
                page.mouse.click(1280 - 48, 800 - 48)
            assert told.value.type == "warning"
            assert not any(frame.url.startswith(house.url) for frame in page.frames)
            assert page.locator("[data-circumspect=widget]").count() == 0, "a button that opens an empty page"
    finally:
        site.allow(site.url, tenant="shop-ru")


def test_a_conversation_that_was_deleted_makes_room_for_a_new_one(browser: Any, house: WidgetHouse, site: Site) -> None:
    with visiting(browser, site, expected=("404",)) as page:
        frame = opened(page, site.page())
        write(frame, "hello, soon forgotten")
        quiet(frame)
        first = kept(frame)["conversation"]
        assert house.key("shop", "admin").delete(f"/v1/conversations/{first}").status_code == 204
        write(frame, "and yet here I am")
        hears(frame, Translator("en").t("widget-ended"))
        quiet(frame)
        assert kept(frame)["conversation"] != first
    assert len(users(house, "shop", "and yet here I am")) == 1


# --- at the door ----------------------------------------------------------------------------------------------------


def _frame(house: WidgetHouse, tenant: str) -> str:
    return f"/widget?key={house.token(tenant, 'widget')}"


@pytest.fixture
def public(house: WidgetHouse) -> httpx.Client:
    return house.key("shop", "widget")


def begun(client: httpx.Client) -> str:
    """A conversation of this client's, which keeps its token as a frame does."""
    made = client.post("/widget/conversations", json={})
    assert made.status_code == 201, made.text
    client.headers.update({"X-End-User-Token": made.json()["visitor"]} if "visitor" in made.json() else {})
    assert re.fullmatch(r"web_[\w-]{32}", made.json()["id"])
    return str(made.json()["id"])


def test_a_key_of_a_web_page_opens_no_door_of_the_api(house: WidgetHouse, public: httpx.Client) -> None:
    talk = begun(public)
    del public.headers["X-End-User-Token"]
    document = house.app.openapi()
    tried = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if not operation.get("security") or operation["operationId"] in (
                "get_session",
                "delete_session",
                "metrics",
            ):
                continue
            address = re.sub(r"\{conversation_id\}", talk, path)
            answer = public.request(method.upper(), re.sub(r"\{\w+\}", "1", address), json={})
            assert answer.status_code in (401, 403, 404, 422), (method, path, answer.status_code)
            assert "items" not in answer.text
            tried += 1
    assert tried > 30
    assert public.get(f"/v1/conversations/{talk}").status_code == 403
    assert public.get("/v1/conversations").status_code == 403
    assert public.get(f"/v1/conversations/{talk}/messages").status_code == 403


def test_a_key_that_may_do_more_is_refused_wherever_a_page_would_use_it(house: WidgetHouse) -> None:
    for scopes in (("widget", "read"), ("chat",), ("admin",)):
        client = house.key("shop", *scopes)
        assert client.post("/widget/conversations", json={}).status_code == 403
        page = house.client().get(f"/widget?key={house.token('shop', *scopes)}")
        assert page.status_code == 403
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


def test_nobody_reads_a_conversation_that_their_widget_did_not_begin(house: WidgetHouse, public: httpx.Client) -> None:
    client = house.key("shop", "chat")
    own = house.conversation(client, id="customer-17")
    say(client, own, "my secret")
    for id_ in (own, "web_" + "A" * 32, "web_guess", "..", "playground-1"):
        answer = public.get(f"/widget/conversations/{id_}/messages")
        assert answer.status_code == 404, id_
        assert "secret" not in answer.text
    theirs = begun(house.key("shop-ru", "widget"))
    assert public.get(f"/widget/conversations/{theirs}/messages").status_code == 404
    headers = {"Idempotency-Key": "k" * 32}
    assert (
        public.post(f"/widget/conversations/{theirs}/messages", json={"content": "x"}, headers=headers).status_code
        == 404
    )
    assert public.get("/widget/conversations").status_code in (404, 405)


def test_an_approval_is_no_question_to_the_user(house: WidgetHouse, public: httpx.Client) -> None:
    talk = begun(public)
    waiting = approval(house, "shop", talk)
    given = {"intent_id": waiting, "decision": "approve"}
    headers = {"Idempotency-Key": "k" * 32}
    assert public.post(f"/widget/conversations/{talk}/confirmations", json=given, headers=headers).status_code == 404
    assert public.get(f"/widget/conversations/{talk}/messages").json()["pending"] is None
    api = house.key("shop", "chat")
    assert api.post(f"/v1/conversations/{talk}/confirmations", json=given).status_code == 404
    assert house.key("shop", "manage").get(f"/v1/approvals/{waiting}").json()["state"] == "pending"


def test_what_goes_wrong_reaches_an_end_user_as_a_code(house: WidgetHouse, public: httpx.Client) -> None:
    talk = begun(public)
    for answer in (
        public.post(f"/widget/conversations/{talk}/messages", json={"content": "no key"}),
        public.post(f"/widget/conversations/{talk}/messages", json={"what": 1}, headers={"Idempotency-Key": "k" * 32}),
        public.post("/widget/conversations", content=b"{"),
        public.get("/widget/conversations/web_x/messages"),
        house.client("csk_0000000000000000_" + "A" * 43).post("/widget/conversations", json={}),
        house.client().post("/widget/conversations", json={}),
    ):
        assert 400 <= answer.status_code < 500
        assert list(answer.json()) == ["code"], answer.text


def test_another_site_may_not_use_the_widgets_routes_itself(house: WidgetHouse, public: httpx.Client) -> None:
    for where in ("cross-site", "same-site"):
        assert public.post("/widget/conversations", json={}, headers={"Sec-Fetch-Site": where}).status_code == 403
    answer = public.post("/widget/conversations", json={}, headers=SAME)
    assert answer.status_code == 201
    assert "access-control-allow-origin" not in answer.headers


def test_a_flood_from_one_address_is_told_to_wait_and_shuts_out_nobody_else(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visits, "MESSAGES_PER_MINUTE", 30)
    with WidgetHouse(f"sqlite:///{tmp_path}/w.db") as house:
        public = house.key("shop", "widget")
        codes = [public.post("/widget/conversations", json={}).status_code for _ in range(40)]
        assert codes.count(201) <= 31
        assert codes[-1] == 429
        assert house.key("shop", "chat").post("/v1/conversations", json={}).status_code == 201


def test_the_frame_has_the_words_of_all_languages_and_of_all_steps(house: WidgetHouse) -> None:
    for language in LANGUAGES:
        for word in WORDS:
            assert Translator(language).t(f"widget-{word}")
    assert {f"step-{step}" for step in STEPS.values()} <= set(WORDS)
    script = house.client().get("/widget.js")
    assert all(f'"{language}":["' in script.text for language in LANGUAGES)
    assert script.headers["cross-origin-resource-policy"] == "cross-origin"


def test_a_business_name_and_a_key_are_text_in_the_frame(house: WidgetHouse) -> None:
    page = house.client().get("/widget", params={"key": '"><script>1</script>', "lang": '"><x'})
    assert page.status_code == 403
    assert "<script>1" not in page.text
