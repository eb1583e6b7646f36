"""Codes, passkeys and proving it again, in the browser and behind it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pyotp
import pytest
import sqlalchemy as sa
from tests.patience import PATIENCE
from tests.server.console.building import SAME, Browsing, ConsoleHouse, overflow, serious
from tests.server.house import PASSWORD
from tests.server.rows import approval

from circumspect.server import credentials
from circumspect.server.console.held_forms import HELD_SECONDS
from circumspect.server.proving import STEP_COOKIE
from circumspect.server.session_cookies import COOKIE
from circumspect.server.stores import access
from circumspect.server.stores.access import OperatorRow
from circumspect.stores import SqlStore
from circumspect.stores.second_factor_tables import operator_passkeys
from circumspect.stores.tables import operator_sessions, operators

HERE = "/account/second-factor"


@pytest.fixture(autouse=True)
def _plenty(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests come from one address."""
    monkeypatch.setattr("circumspect.server.routes.session.ATTEMPTS_PER_MINUTE", 10_000)
    monkeypatch.setattr("circumspect.server.proving.PROOFS_PER_MINUTE", 10_000)
    monkeypatch.setattr("circumspect.server.console.pages.proving.PROOFS_PER_MINUTE", 10_000)


def newcomer(house: ConsoleHouse, name: str, role: Any = "admin", tenants: Any = None) -> str:
    async def add(store: SqlStore) -> None:
        row = OperatorRow(f"op-{name}", name, role, tenants, time.time())
        await store.tx(access.add_operator, row, credentials.hash_password(PASSWORD))

    house.stored(add)
    return name


def change(house: ConsoleHouse, statement: Any) -> None:
    async def run(store: SqlStore) -> None:
        await store.tx(lambda connection: connection.execute(statement) and None)

    house.stored(run)


def make_old(house: ConsoleHouse, name: str) -> None:
    """It is an hour ago that they proved who they are."""
    own = operator_sessions.c.operator == f"op-{name}"
    change(house, sa.update(operator_sessions).where(own).values(authenticated_at=time.time() - 3600))


@contextmanager
def knocking(house: ConsoleHouse) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=house.url, trust_env=False, timeout=PATIENCE, headers=SAME) as client:
        yield client


def sign_in(client: httpx.Client, name: str) -> httpx.Response:
    return client.post("/login", data={"name": name, "password": PASSWORD})


def hidden(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, page
    return found[1].replace("&#34;", '"').replace("&amp;", "&")


def set_up_app(client: httpx.Client) -> tuple[pyotp.TOTP, list[str]]:
    """For whoever is signed in; the code that set it up is spent, so the next one is of the next half-minute."""
    page = client.get(f"{HERE}/app").text
    secret = re.search(r'class="secret" dir="ltr">([A-Z2-7]+)<', page)
    assert secret
    app = pyotp.TOTP(secret[1])
    word = app.generate_otp(int(time.time() // 30) - 1)
    made = client.post(f"{HERE}/app", data={"enrolment": hidden(page, "enrolment"), "word": word})
    assert made.status_code == 200, made.text
    codes = re.findall(r"\b(?:[a-z2-7]{4}-){3}[a-z2-7]{4}\b", made.text)
    return app, list(dict.fromkeys(codes))


# --- codes ----------------------------------------------------------------------------------------------------------


def test_with_an_app_the_password_leads_to_a_second_step_and_to_nothing_else(house: ConsoleHouse) -> None:
    newcomer(house, "coder")
    with knocking(house) as client, knocking(house) as other:
        assert sign_in(client, "coder").headers["location"] == "/"
        assert sign_in(other, "coder").headers["location"] == "/"
        app, codes = set_up_app(client)
        assert len(codes) == 10
        assert codes[0] not in client.get(HERE).text, "they are shown once"
        assert client.get("/").status_code == 200, "who set it up is in"
        assert other.get("/").status_code == 303, "a sign-in with the password alone has ended"
        step = sign_in(other, "coder")
        assert step.headers["location"].startswith("/login/second")
        assert COOKIE not in str(step.headers.get_list("set-cookie"))
        token = other.cookies[STEP_COOKIE]
        with knocking(house) as thief:
            for written in (token, f"ses_{token}"):
                answer = thief.get("/", headers={"Cookie": f"{COOKIE}={written}"})
                assert answer.status_code == 303, "what is between the steps is no sign-in"
        assert other.post("/login/second", data={"word": "000000"}).status_code == 401
        good = {"word": app.now(), "next": "//evil.example"}
        assert other.post("/login/second", data=good, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        done = other.post("/login/second", data=good)
        assert (done.status_code, done.headers["location"]) == (303, "/")
        assert other.cookies[COOKIE].removeprefix("ses_") != token, "the sign-in is a new token"
        assert STEP_COOKIE not in other.cookies
        other.cookies.set(STEP_COOKIE, token)
        again = other.post("/login/second", data={"word": codes[0]})
        assert again.headers["location"].startswith("/login"), "and the step is over"


def test_an_app_is_removed_only_by_who_proves_it_again(house: ConsoleHouse) -> None:
    newcomer(house, "remover")
    with knocking(house) as client:
        sign_in(client, "remover")
        app, codes = set_up_app(client)
        make_old(house, "remover")
        for path in ("app/remove", "codes"):
            assert client.post(f"{HERE}/{path}").status_code == 403
        asked = client.post(f"{HERE}/app/remove")
        assert "Is it you?" in asked.text
        held = hidden(asked.text, "held")
        assert client.post("/prove", data={"held": held, "word": PASSWORD}).status_code == 401, "a password is no code"
        proved = client.post("/prove", data={"held": held, "word": codes[0]})
        assert f'action="{HERE}/app/remove"' in proved.text
        assert client.post(f"{HERE}/app/remove").status_code == 303
        assert "Set up an app" in client.get(HERE).text
        assert sign_in(client, "remover").headers["location"] == "/"
        assert app


def test_an_administrator_takes_it_away_but_not_of_who_may_see_more(house: ConsoleHouse) -> None:
    newcomer(house, "loser")
    newcomer(house, "small", tenants=("shop",))
    with knocking(house) as loser, knocking(house) as small, knocking(house) as root:
        sign_in(loser, "loser")
        set_up_app(loser)
        sign_in(small, "small")
        assert small.post(f"{HERE}/reset", data={"operator": "loser"}).status_code == 403
        assert "loser" not in small.get(HERE).text
        sign_in(root, "root")
        assert "loser" in root.get(HERE).text
        assert root.post(f"{HERE}/reset", data={"operator": "loser"}).status_code == 303
        assert loser.get("/").status_code == 303
        assert sign_in(loser, "loser").headers["location"] == "/"


# --- once more ------------------------------------------------------------------------------------------------------


def test_an_approval_waits_for_a_proof_and_then_goes_on_as_it_was(house: ConsoleHouse, browsing: Browsing) -> None:
    newcomer(house, "approver", "operator")
    waiting = approval(house, "shop", "demo-shop-001", "77777")
    with browsing.as_("approver", expected=("403", "401")) as page:
        make_old(house, "approver")
        page.goto(f"/approvals/{waiting}")
        page.click("form[action$='/deny'] button")
        page.wait_for_selector("text=Is it you?")
        assert page.locator("input[name=word][type=password]").count() == 1
        page.fill("input[name=word]", "not the password")
        page.keyboard.press("Enter")
        page.wait_for_selector("[role=alert]")
        page.fill("input[name=word]", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/approvals/{waiting}?outcome=*")


def test_what_waits_is_its_senders_whole_and_unchanged(house: ConsoleHouse) -> None:
    newcomer(house, "writer")
    text = "rules: \"<x>\" & 'y'\r\n\r\n  two  "
    with knocking(house) as client, knocking(house) as other:
        sign_in(client, "writer")
        sign_in(other, "root")
        make_old(house, "writer")
        asked = client.post("/policies/shop", data={"if_version": "0", "text": text, "note": ""})
        assert asked.status_code == 403
        held = hidden(asked.text, "held")
        assert text not in asked.text
        assert other.post("/prove", data={"held": held, "word": PASSWORD}).headers["location"] == "/"
        assert client.post("/prove", data={"held": held[:-4] + "AAAA", "word": PASSWORD}).headers["location"] == "/"
        assert client.post("/prove", data={"held": held}).status_code == 401, "nothing was proved"
        elsewhere = client.post(
            "/prove", data={"held": held, "word": PASSWORD}, headers={"Sec-Fetch-Site": "same-site"}
        )
        assert elsewhere.status_code == 403
        proved = client.post("/prove", data={"held": held, "word": PASSWORD})
        assert 'action="/policies/shop"' in proved.text
        assert "rules: &#34;&lt;x&gt;&#34; &amp; &#39;y&#39;\r\n\r\n  two  </textarea>" in proved.text
        assert HELD_SECONDS <= 3600


DANGEROUS = [
    ("/approvals/int_none/approve", {"hash": "x"}),
    ("/approvals/int_none/deny", {"hash": "x"}),
    ("/approvals/int_none/edit", {"hash": "x", "arguments": "{}"}),
    ("/policies/shop", {"if_version": "0", "text": "x"}),
    ("/policies/shop/rollback", {"if_version": "1", "version": "1"}),
    ("/tenants/shop/keys", {"name": "x", "scopes": "chat"}),
    ("/tenants/shop/keys/KEY/rotate", {}),
    ("/tenants/shop/keys/KEY/revoke", {}),
    (f"{HERE}/app", {"enrolment": "x", "word": "1"}),
    (f"{HERE}/passkeys", {"passkey": "{}", "name": "x"}),
    (f"{HERE}/passkeys/remove", {"passkey": "x"}),
    (f"{HERE}/reset", {"operator": "noa"}),
]


def test_what_is_dangerous_asks_who_is_there(house: ConsoleHouse) -> None:
    newcomer(house, "absent")
    key = credentials.key_id(house.token("shop", "chat")) or ""
    with knocking(house) as client:
        sign_in(client, "absent")
        make_old(house, "absent")
        for path, form in DANGEROUS:
            asked = client.post(path.replace("KEY", key), data=form)
            assert (asked.status_code, "Is it you?" in asked.text) == (403, True), path
        beside = client.post("/tenants/shop/keys", data={"name": "x", "scopes": "chat"}, headers={"HX-Request": "true"})
        assert beside.headers["hx-retarget"] == "#main"


# --- passkeys -------------------------------------------------------------------------------------------------------


class Device:
    """A browser by the server's name, with an authenticator of Chromium's own."""

    def __init__(self, browser: Any, house: ConsoleHouse, language: str = "en") -> None:
        self.url = house.url.replace("127.0.0.1", "localhost")
        self.context = browser.new_context(base_url=self.url, locale="en")
        self.context.add_cookies([{"name": "circumspect_language", "value": language, "url": self.url}])
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE * 1000)
        self.tools = self.context.new_cdp_session(self.page)
        self.tools.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
            "isUserVerified": True, "automaticPresenceSimulation": True,
        }  # fmt: skip
        self.id = self.tools.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"]

    def sign_in(self, name: str) -> None:
        self.page.goto("/login")
        self.page.fill("input[name=name]", name)
        self.page.fill("input[name=password]", PASSWORD)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(f"{self.url}/")

    def add_passkey(self, name: str) -> None:
        self.page.goto(HERE)
        self.page.fill("input[name=name]", name)
        self.page.click("[data-passkey=create]")
        self.page.wait_for_selector(f"td:has-text('{name}')")

    def sign_out(self) -> None:
        self.context.clear_cookies()
        self.page.goto("/login")


@pytest.fixture
def device(browser: Any, house: ConsoleHouse) -> Iterator[Device]:
    made = Device(browser, house)
    yield made
    made.context.close()


def test_a_passkey_is_added_signs_in_proves_and_is_removed(device: Device, house: ConsoleHouse) -> None:
    newcomer(house, "keyed")
    page = device.page
    device.sign_in("keyed")
    device.add_passkey("my laptop")
    assert len(page.inner_text("#recovery-codes").split()) == 10
    assert serious(page) == []
    device.sign_out()

    sent: list[Any] = []
    page.on("request", lambda one: sent.append(one.post_data) if one.url.endswith("/login/passkey") else None)
    page.click("[data-passkey=get]")
    page.wait_for_url(f"{device.url}/")
    with knocking(house) as thief:
        replayed = thief.post(
            device.url + "/login/passkey",
            content=sent[0],
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )
        assert replayed.status_code == 403, "the same answer does not sign in twice"
        assert COOKIE not in thief.cookies

    waiting = approval(house, "shop", "demo-shop-001", "88888")
    make_old(house, "keyed")
    page.goto(f"/approvals/{waiting}")
    page.click("form[action$='/deny'] button")
    page.wait_for_selector("text=Is it you?")
    page.click("[data-passkey=get]")
    page.wait_for_url(f"**/approvals/{waiting}?outcome=*")

    device.sign_out()
    page.fill("input[name=name]", "keyed")
    page.fill("input[name=password]", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/login/second*")
    assert serious(page) == []
    page.click("[data-passkey=get]")
    page.wait_for_url(f"{device.url}/")

    page.goto(HERE)
    page.click("form[action$='/passkeys/remove'] button")
    page.wait_for_selector("td", state="detached")
    device.sign_out()
    page.click("[data-passkey=get]")
    page.wait_for_selector("text=The passkey was not accepted")


def test_a_device_that_does_not_know_its_owner_or_is_a_copy_gets_nobody_in(device: Device, house: ConsoleHouse) -> None:
    newcomer(house, "copied")
    page = device.page
    device.sign_in("copied")
    device.add_passkey("my phone")
    device.sign_out()
    device.tools.send("WebAuthn.setUserVerified", {"authenticatorId": device.id, "isUserVerified": False})
    page.click("[data-passkey=get]")
    page.wait_for_selector("[data-failed]:not([hidden])")
    device.tools.send("WebAuthn.setUserVerified", {"authenticatorId": device.id, "isUserVerified": True})
    own = operator_passkeys.c.operator == "op-copied"
    change(house, sa.update(operator_passkeys).where(own).values(uses=10**6))
    page.click("[data-passkey=get]")
    page.wait_for_selector("text=The passkey was not accepted")
    change(house, sa.update(operator_passkeys).where(own).values(uses=0))
    page.goto("/login")
    page.click("[data-passkey=get]")
    page.wait_for_url(f"{device.url}/")


@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("he", "dark"), ("ru", "light")])
def test_the_pages_can_be_used_by_everyone(browsing: Browsing, house: ConsoleHouse, language: str, theme: str) -> None:
    name = newcomer(house, f"reader-{language}")
    with browsing.as_(name, language=language, theme=theme, expected=("403",)) as page:
        for path in (HERE, f"{HERE}/app"):
            page.goto(path)
            assert serious(page) == []
            assert overflow(page) <= 0
            page.set_viewport_size({"width": 360, "height": 900})
            assert overflow(page) <= 0
            page.set_viewport_size({"width": 1280, "height": 900})
        make_old(house, name)
        page.goto(f"{HERE}/app")
        page.fill("input[name=word]", "123456")
        page.keyboard.press("Enter")
        page.wait_for_selector("input[name=held]", state="attached")
        assert serious(page) == []
        assert page.locator(".notice:has-text('English')").count() == 0


def test_a_role_that_needs_more_than_a_password_is_led_to_set_it_up(house: ConsoleHouse) -> None:
    newcomer(house, "needy", "reviewer")
    app = house.app.state.services
    stricter = app.settings.model_copy(update={"second_factor_roles": ("reviewer",)})
    object.__setattr__(app, "settings", stricter)
    try:
        with knocking(house) as client:
            sign_in(client, "needy")
            for path in ("/", "/conversations", "/approvals"):
                assert client.get(path).headers["location"] == HERE, path
            assert client.get("/counts", headers={"HX-Request": "true"}).status_code == 204
            assert client.post("/conversations/shop/demo-shop-001/take").status_code == 403
            assert "needs more than a password" in client.get(HERE).text
            set_up_app(client)
            assert client.get("/").status_code == 200
    finally:
        object.__setattr__(app, "settings", stricter.model_copy(update={"second_factor_roles": ()}))


def test_nobody_who_is_disabled_finishes_the_second_step(house: ConsoleHouse) -> None:
    newcomer(house, "gone")
    with knocking(house) as client:
        sign_in(client, "gone")
        _, codes = set_up_app(client)
        client.post("/logout")
        sign_in(client, "gone")
        change(house, sa.update(operators).where(operators.c.name == "gone").values(disabled_at=1.0))
        answer = client.post("/login/second", data={"word": codes[0]})
        assert answer.headers["location"].startswith("/login")
        assert client.get("/").headers["location"].startswith("/login")
