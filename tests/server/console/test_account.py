"""One's own account: where one is signed in, ending that, another password."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from tests.patience import PATIENCE
from tests.server.console.building import SAME, Browsing, ConsoleHouse
from tests.server.house import PASSWORD


@pytest.fixture
def elsewhere(house: ConsoleHouse) -> Iterator[httpx.Client]:
    """Another browser of noa's."""
    with httpx.Client(base_url=house.url, trust_env=False, timeout=PATIENCE) as client:
        client.headers["User-Agent"] = "Elsewhere/1 <b>"
        assert client.post("/login", data={"name": "noa", "password": PASSWORD}, headers=SAME).status_code == 303
        yield client


def is_signed_in(client: httpx.Client) -> bool:
    return client.get("/account").status_code == 200


@pytest.mark.parametrize("language", ["en", "he", "ru"])
def test_the_page_shows_where_one_is_signed_in(house: ConsoleHouse, elsewhere: httpx.Client, language: str) -> None:
    with house.visitor("noa") as visitor:
        visitor.cookies.set("circumspect_language", language)
        shown = visitor.get("/account").text
    assert "Elsewhere/1 &lt;b&gt;" in shown
    assert "127.0.0.1" in shown
    assert "ses_" not in shown


def test_another_browser_is_signed_out_from_here(house: ConsoleHouse, elsewhere: httpx.Client) -> None:
    with house.visitor("noa") as visitor:
        refused = visitor.post("/account/sessions/end", headers={"Sec-Fetch-Site": "cross-site"})
        assert refused.status_code == 403
        assert is_signed_in(elsewhere)
        assert visitor.post("/account/sessions/end", headers=SAME).status_code == 303
        assert is_signed_in(visitor)
    assert not is_signed_in(elsewhere)


def test_an_admin_signs_others_out_and_nobody_else_does(house: ConsoleHouse, elsewhere: httpx.Client) -> None:
    for name in ("rita", "their-admin"):
        with house.visitor(name) as visitor:
            assert visitor.get("/account?operator=noa").status_code in (403, 404)
            answer = visitor.post("/account/sessions/end", data={"operator": "noa"}, headers=SAME)
            assert answer.status_code in (403, 404)
            assert "noa" not in visitor.get("/account").text
    assert is_signed_in(elsewhere)
    with house.visitor("root") as visitor:
        assert "Elsewhere/1" in visitor.get("/account?operator=noa").text
        answer = visitor.post("/account/sessions/end", data={"operator": "noa"}, headers=SAME)
        assert answer.status_code == 303
        assert is_signed_in(visitor)
    house.sessions.pop("noa", None)
    assert not is_signed_in(elsewhere)


def test_another_password_ends_the_other_sign_ins(house: ConsoleHouse, elsewhere: httpx.Client) -> None:
    better = "a much better password"
    with house.visitor("noa") as visitor:
        for current, new, status in (("wrong", better, 422), (PASSWORD, "short", 422), ("", better, 422)):
            answer = visitor.post("/account/password", data={"current": current, "new": new}, headers=SAME)
            assert answer.status_code == status
            assert 'role="alert"' in answer.text
            assert better not in answer.text
        assert is_signed_in(elsewhere)
        try:
            changed = visitor.post("/account/password", data={"current": PASSWORD, "new": better}, headers=SAME)
            assert changed.status_code == 303
            assert is_signed_in(visitor)
            assert not is_signed_in(elsewhere)
        finally:
            back = visitor.post("/account/password", data={"current": better, "new": PASSWORD}, headers=SAME)
            assert back.status_code == 303


def test_the_page_works_in_a_browser(browsing: Browsing, elsewhere: httpx.Client) -> None:
    with browsing.as_("noa") as page:
        page.goto("/")
        page.click(".me a[href='/account']")
        page.wait_for_url("**/account")
        page.click("button.danger")
        page.wait_for_selector("[role=status]")
    assert not is_signed_in(elsewhere)
