"""Signing in and out, and what other sites cannot make a browser do."""

from __future__ import annotations

import threading
import time

import pytest
from tests.server.console.building import SAME, Browsing, ConsoleHouse
from tests.server.house import PASSWORD, Running

from circumspect.server import credentials
from circumspect.server.console import page_routes
from circumspect.server.session_cookies import COOKIE
from circumspect.server.stores import access
from circumspect.server.stores.access import NO_ROLE, OperatorRow


def test_who_is_not_signed_in_is_sent_to_sign_in_and_comes_back(browsing: Browsing) -> None:
    with browsing.as_("") as page:
        page.goto("/conversations?outcome=asked")
        page.wait_for_url("**/login?next=*")
        page.fill("input[name=name]", "noa")
        page.fill("input[name=password]", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/conversations?outcome=asked")
        page.click("form[action='/logout'] button")
        page.wait_for_url("**/login")
        page.goto("/conversations")
        page.wait_for_url("**/login?next=*")


def test_a_wrong_password_is_told_and_the_name_kept(browsing: Browsing) -> None:
    with browsing.as_("", expected=("401",)) as page:
        page.goto("/login")
        page.fill("input[name=name]", "noa")
        page.fill("input[name=password]", "wrong")
        page.click("button.primary")
        page.wait_for_selector("[role=alert]")
        assert page.input_value("input[name=name]") == "noa"
        assert page.input_value("input[name=password]") == ""


@pytest.mark.parametrize("next_", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_signing_in_never_leads_to_another_site(house: ConsoleHouse, next_: str) -> None:
    with house.visitor("") as visitor:
        said = {"name": "noa", "password": PASSWORD, "next": next_}
        answer = visitor.post("/login", data=said, headers=SAME)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_a_person_without_a_role_can_sign_out(house: ConsoleHouse) -> None:
    nobody = OperatorRow("op-nobody", "nobody", NO_ROLE, None, time.time())
    house.stored(lambda store: store.tx(access.add_operator, nobody, credentials.hash_password(PASSWORD)))
    with house.visitor("nobody") as visitor:
        refused = visitor.get("/")
        assert refused.status_code == 403
        assert 'action="/logout"' in refused.text
        left = visitor.post("/logout", headers=SAME)
        assert (left.status_code, left.headers["location"]) == (303, "/login")
        assert f'{COOKIE}=""' in left.headers["set-cookie"]
        again = visitor.get("/")  # with the cookie all the same
        assert again.headers["location"].startswith("/login"), "the sign-in itself has ended"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(
    "path", ["/logout", "/escalations/esc_1/take", "/escalations/esc_1/reply", "/approvals/i_1/approve"]
)
def test_another_site_cannot_change_anything(house: ConsoleHouse, path: str, site: str) -> None:
    with house.visitor("noa") as visitor:
        answer = visitor.post(path, data={"hash": "x", "content": "x"}, headers={"Sec-Fetch-Site": site})
        assert answer.status_code == 403
        assert visitor.get("/").status_code == 200


def test_a_form_on_another_site_is_refused_by_the_server(browsing: Browsing, house: ConsoleHouse) -> None:
    """A real foreign page, with the operator's cookie in the browser."""
    target = f"{house.url}/logout"

    async def foreign(scope: dict, receive: object, send: object) -> None:
        if scope["type"] != "http":
            return
        body = f'<form method="post" action="{target}"><button>win a prize</button></form>'.encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": body})

    with Running(foreign) as other:
        evil = other.url.replace("127.0.0.1", "localhost")
        context = browsing.browser.new_context()
        token = house.signed_in("noa")
        context.add_cookies([{"name": COOKIE, "value": token, "url": house.url, "sameSite": "Lax"}])
        page = context.new_page()
        page.goto(evil)
        page.click("button")
        page.wait_for_load_state("load")
        context.close()
    with house.visitor("") as visitor:
        visitor.cookies.set(COOKIE, token)
        assert visitor.get("/").status_code == 200


def test_an_expired_sign_in_sends_htmx_to_the_sign_in_page_instead_of_swapping_it_in(house: ConsoleHouse) -> None:
    with house.visitor("") as visitor:
        answer = visitor.get("/conversations", headers={"HX-Request": "true"})
        assert (answer.status_code, answer.headers["hx-redirect"]) == (401, "/login")
        assert not answer.content


def test_what_was_written_when_the_sign_in_ended_is_given_back(house: ConsoleHouse) -> None:
    words = {"content": "a careful <answer>", "after": "7"}
    with house.visitor("") as visitor:
        answer = visitor.post("/escalations/esc_1/reply", data=words, headers=SAME)
        assert answer.status_code == 401
        assert 'action="/escalations/esc_1/reply"' in answer.text
        assert "a careful &lt;answer&gt;</textarea>" in answer.text
        assert '<input type="hidden" name="after" value="7">' in answer.text
        elsewhere = visitor.post("/escalations/esc_1/reply", data=words, headers={"Sec-Fetch-Site": "cross-site"})
        assert elsewhere.status_code == 303
        assert "careful" not in elsewhere.text
        beside = visitor.post("/escalations/esc_1/reply", data=words, headers={**SAME, "HX-Request": "true"})
        assert beside.status_code == 401
        assert "Nothing was done" in beside.text


def test_problems_are_told_in_the_language_of_the_page(house: ConsoleHouse) -> None:
    with house.visitor("root") as root:
        root.cookies.set("circumspect_language", "he")
        missing = root.get("/conversations/shop/nobody")
        assert missing.status_code == 404
        assert "אין כאן דבר" in missing.text
        assert "no such" not in missing.text
        for path in ("/usage.csv?tenant=%00", "/usage.csv?tenant=%D7%90"):
            assert root.get(path).status_code == 422
        assert root.get("/conversations?on=9999-12-31").status_code == 200


def test_the_language_is_chosen_and_kept(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/conversations")
        page.click("button[lang=he]")
        page.wait_for_selector("html[dir=rtl]")
        assert page.url.endswith("/conversations")
        page.goto("/")
        assert page.get_attribute("html", "lang") == "he"


def test_the_theme_is_chosen_and_kept(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/")
        ground = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(ground)
        page.click("[data-theme-toggle]")
        dark = page.evaluate(ground)
        assert dark != light
        page.goto("/conversations")
        assert page.evaluate(ground) == dark


def test_headers_keep_pages_to_themselves(house: ConsoleHouse) -> None:
    with house.visitor("noa") as visitor:
        answer = visitor.get("/")
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert (
            visitor.get("/healthz").headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        )
        assert visitor.get("/v1/nothing").headers["content-type"] == "application/json"


@pytest.mark.parametrize("path", ["/login", "/login/second", "/policies/shop", "/language"])
def test_a_form_of_separators_is_refused_before_anybody_reads_it(house: ConsoleHouse, path: str) -> None:
    headers = {**SAME, "Content-Type": "application/x-www-form-urlencoded"}
    with house.visitor("") as stranger:
        assert stranger.post(path, content=b"&" * 900_000, headers=headers).status_code == 413
        assert stranger.post(path, content=b"name=a&" * 500, headers=headers).status_code != 413


@pytest.mark.parametrize("letters", [10, 20_000])
def test_a_form_is_read_the_same_however_long_it_is(
    house: ConsoleHouse, letters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long one is read in a thread, where the framework finds it."""
    seen: list[str] = []
    read = page_routes._parse_form
    monkeypatch.setattr(
        page_routes, "_parse_form", lambda *said: (seen.append(threading.current_thread().name), read(*said))[1]
    )
    written = {"name": "noa", "password": PASSWORD, "next": "/account?a=1&b=2", "more": "שלום" * letters}
    with house.visitor("") as stranger:
        answer = stranger.post("/login", data=written, headers=SAME)
    assert (answer.status_code, answer.headers["location"]) == (303, "/account?a=1&b=2"), answer.text
    assert all("MainThread" not in one for one in seen)
    assert len(seen) == (letters > 10)


def test_what_is_being_written_stays_when_the_sign_in_ends(browsing: Browsing, house: ConsoleHouse) -> None:
    with browsing.as_("root", expected=("401", "ERR_FAILED", "text/event-stream")) as page:
        page.goto("/policies/shop")
        page.fill("[name=note]", "half a thought")
        kept = page.context.cookies()
        page.context.clear_cookies(name=COOKIE)
        page.evaluate("htmx.trigger(document.body, 'live-inbox')")
        page.wait_for_selector("#ended", state="visible")
        assert page.input_value("[name=note]") == "half a thought"
        assert page.url.endswith("/policies/shop")
        assert page.get_attribute("#ended a", "target") == "_blank"
        page.context.add_cookies(kept)
        page.evaluate("htmx.trigger(document.body, 'live-inbox')")
        page.wait_for_selector("#ended", state="hidden")
        page.fill("[name=note]", "")
        page.context.clear_cookies(name=COOKIE)
        page.evaluate("htmx.trigger(document.body, 'live-inbox')")
        page.wait_for_url("**/login?next=*")


def test_a_server_that_is_away_is_said_and_what_is_written_stays(browsing: Browsing) -> None:
    with browsing.as_("root", expected=("ERR_FAILED", "htmx:sendError", "htmx:afterRequest")) as page:
        page.goto("/policies/shop")
        page.fill("[name=note]", "half a thought")
        page.route("**/counts", lambda route: route.abort())
        page.evaluate("htmx.trigger(document.body, 'live-inbox')")
        page.wait_for_selector("#unreachable", state="visible")
        assert page.input_value("[name=note]") == "half a thought"
        page.unroute("**/counts")
        page.evaluate("htmx.trigger(document.body, 'live-inbox')")
        page.wait_for_selector("#unreachable", state="hidden")
