"""Operators sign in at a real OpenID Connect provider, which these tests start; and what does not let anybody in."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from tests.server.door import PASSWORD, hurry
from tests.server.oidc_house import CLIENT, SECRET, SITE, RealProvider, free_port, make_jwks, real_provider

from circumspect.server import console, credentials
from circumspect.server.app import create_app
from circumspect.server.config import Settings
from circumspect.server.console.pages.provider_signing import COOKIE as DEPARTURE
from circumspect.server.oidc import AWAY_SECONDS, KEYS_SECONDS, LOGOUT_EVENT
from circumspect.server.session_cookies import COOKIE
from circumspect.server.stores import access
from circumspect.server.stores.access import OperatorRow
from circumspect.stores import action_log


@pytest.fixture(autouse=True)
def _hurry(monkeypatch):
    hurry(monkeypatch)


@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    with real_provider(tmp_path_factory.mktemp("provider"), free_port(), make_jwks("k1")) as one:
        yield one


class Site:
    def __init__(self, app, client: httpx.AsyncClient) -> None:
        self.app, self.client = app, client

    @property
    def services(self):
        return self.app.state.services

    async def leave(self, **query: str) -> str:
        """Where the browser is sent."""
        left = await self.client.get("/login/oidc", params=query)
        assert left.status_code == 303, left.text
        return left.headers["location"]

    async def come_back(self, provider: RealProvider, person: str, **query: str) -> httpx.Response:
        return await self.client.get(provider.sign_in(await self.leave(**query), person))

    async def whoami(self) -> dict:
        return (await self.client.get("/v1/session")).json()

    async def add(self, name: str, role: str = "reviewer") -> OperatorRow:
        row = OperatorRow(self.services.ids.new("opr"), name, role, None, 0.0)
        await self.services.store.tx(access.add_operator, row, credentials.hash_password(PASSWORD))
        return row

    async def log(self) -> list[str]:
        return [row.action for row in await self.services.store.tx(action_log.list_actions)]


@asynccontextmanager
async def site(tmp_path, issuer: str, clock=None, **settings):
    made = Settings(
        database=f"sqlite:///{tmp_path}/store.db",
        oidc_issuer=issuer,
        oidc_client_id=CLIENT,
        oidc_client_secret=SECRET,
        oidc_label="Acme ID",
        **settings,
    )
    app = create_app(made, clock=clock)
    console.install(app)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=SITE) as client:
            yield Site(app, client)


@pytest.fixture
async def desk(tmp_path, provider):
    async with site(tmp_path, provider.url) as one:
        await one.add("dana@shop.example")
        yield one


async def test_a_known_operator_comes_back_signed_in_to_the_page_they_wanted(desk: Site, provider):
    way = await desk.leave(next="/escalations?tenant=shop")
    asked = {name: value[0] for name, value in parse_qs(urlsplit(way).query).items()}
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert len(asked["code_challenge"]) == 43
    assert min(len(asked["state"]), len(asked["nonce"])) >= 43
    back = await desk.client.get(provider.sign_in(way, "u1"))
    assert (back.status_code, back.headers["location"]) == (303, "/escalations?tenant=shop")
    who = await desk.whoami()
    assert (who["name"], who["role"]) == ("dana@shop.example", "reviewer")
    assert DEPARTURE not in desk.client.cookies
    assert {"operator.linked", "session.created"} <= set(await desk.log())
    assert "operator.linked" not in (await desk.log())[2:], "the second time they are known"


async def test_the_sign_in_page_has_the_button_and_the_form(desk: Site):
    shown = (await desk.client.get("/login?next=/usage")).text
    assert "Sign in with Acme ID" in shown
    assert 'href="/login/oidc?next=%2Fusage"' in shown
    assert 'name="password"' in shown


async def test_a_return_with_another_state_or_of_another_browser_is_refused(desk: Site, provider):
    back = provider.sign_in(await desk.leave(), "u1")
    state = parse_qs(urlsplit(back).query)["state"][0]
    assert (await desk.client.get(back.replace(state, "A" * 43))).status_code == 401
    assert COOKIE not in desk.client.cookies
    own = provider.sign_in(await desk.leave(), "u1")
    desk.client.cookies.clear()
    assert (await desk.client.get(own)).status_code == 401, "the browser that began it is another"
    assert COOKIE not in desk.client.cookies


async def test_a_code_is_good_once(desk: Site, provider):
    way = await desk.leave()
    taken_along = desk.client.cookies[DEPARTURE]
    back = provider.sign_in(way, "u1")
    assert (await desk.client.get(back)).status_code == 303
    assert (await desk.client.get(back)).status_code == 401, "what it took along is gone"
    desk.client.cookies.clear()
    desk.client.cookies.set(DEPARTURE, taken_along, domain="server.test")
    assert (await desk.client.get(back)).status_code == 401, "and to a thief of it the provider says no"
    assert COOKIE not in desk.client.cookies


async def test_who_takes_too_long_begins_again(tmp_path, provider, clock):
    async with site(tmp_path, provider.url, clock) as desk:
        back = provider.sign_in(await desk.leave(), "u1")
        clock.advance(seconds=AWAY_SECONDS)
        answer = await desk.client.get(back)
        assert answer.status_code == 401
        assert "begin again" in answer.text


async def test_who_refuses_at_the_provider_is_not_signed_in(desk: Site):
    way = await desk.leave()
    state = parse_qs(urlsplit(way).query)["state"][0]
    refused = await desk.client.get("/login/oidc/callback", params={"error": "access_denied", "state": state})
    assert refused.status_code == 401
    assert 'name="password"' in refused.text


@pytest.mark.parametrize("person", ["u2", "u3"], ids=["not verified", "nobody here"])
async def test_who_is_no_operator_here_is_not_let_in(desk: Site, provider, person):
    await desk.add("eli@shop.example")
    answer = await desk.come_back(provider, person)
    assert answer.status_code == 403
    assert "Ask an administrator" in answer.text
    assert COOKIE not in desk.client.cookies


async def test_a_name_that_is_linked_is_nobody_elses(desk: Site, provider):
    await desk.come_back(provider, "u1")
    desk.client.cookies.clear()
    assert (await desk.come_back(provider, "u4")).status_code == 403, "the same address, another person"


async def test_a_disabled_operator_is_not_let_in(desk: Site, provider):
    row = await desk.services.store.tx(access.operator_named, "dana@shop.example")
    await desk.services.store.tx(access.set_disabled, row.id, 1.0)
    assert (await desk.come_back(provider, "u1")).status_code == 403


async def test_groups_give_roles_at_every_sign_in_and_a_change_ends_what_was_open(tmp_path, provider):
    roles = {"oidc_roles": "chiefs=admin,support=operator", "oidc_provision": "create"}
    async with site(tmp_path, provider.url, **roles) as desk:
        assert (await desk.come_back(provider, "u1")).status_code == 303
        who = await desk.whoami()
        assert (who["name"], who["role"]) == ("dana@shop.example", "operator")
        by_password = await desk.client.post("/v1/session", json={"name": "dana@shop.example", "password": PASSWORD})
        assert by_password.status_code == 401, "there is no password"
        before = desk.client.cookies[COOKIE]
        await desk.services.store.tx(access.set_role, who["id"], "admin", None)
        desk.client.cookies.clear()
        await desk.come_back(provider, "u1")
        assert (await desk.whoami())["role"] == "operator"
        old = await desk.client.get("/v1/session", headers={"Authorization": f"Bearer {before}"})
        assert old.status_code == 401
        desk.client.cookies.clear()
        assert (await desk.come_back(provider, "u3")).status_code == 403, "no group of theirs has a role"


async def test_who_has_to_prove_it_again_is_asked_by_the_provider(desk: Site, provider):
    way = await desk.leave(again="true")
    assert parse_qs(urlsplit(way).query)["max_age"] == ["0"]
    assert (await desk.client.get(provider.sign_in(way, "u1"))).status_code == 303


async def test_signing_out_offers_to_leave_the_provider_too(desk: Site, provider):
    await desk.come_back(provider, "u1")
    out = await desk.client.post("/logout", headers={"Sec-Fetch-Site": "same-origin"})
    assert out.headers["location"] == "/login?left=true"
    assert "/login/oidc/out" in (await desk.client.get("/login?left=true")).text
    way = await desk.client.get("/login/oidc/out")
    assert way.headers["location"].startswith(f"{provider.url}/session/end?")


async def test_who_is_signed_out_at_the_provider_is_signed_out_here(tmp_path, tmp_path_factory):
    """The token is made with the key that the real provider shows."""
    folder, port, jwks = tmp_path_factory.mktemp("leaving"), free_port(), make_jwks("k1")
    with real_provider(folder, port, jwks) as provider:
        async with site(tmp_path, provider.url) as desk:
            await desk.add("dana@shop.example")
            await desk.come_back(provider, "u1")
            assert (await desk.whoami())["name"] == "dana@shop.example"
            now = int(time.time())
            said = {"iss": provider.url, "aud": CLIENT, "sub": "u1", "iat": now, "exp": now + 60, "jti": "1",
                    "events": {LOGOUT_EVENT: {}}}  # fmt: skip
            key, stranger = (jwt.PyJWK(one["keys"][0]).key for one in (jwks, make_jwks("k1")))
            for wrong in ({**said, "sub": "u9"}, {**said, "aud": "another"}):
                token = jwt.encode(wrong, key, "RS256", headers={"kid": "k1"})
                await desk.client.post("/login/oidc/backchannel", data={"logout_token": token})
            forged = jwt.encode(said, stranger, "RS256", headers={"kid": "k1"})
            refused = await desk.client.post("/login/oidc/backchannel", data={"logout_token": forged})
            assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")
            assert (await desk.whoami())["name"] == "dana@shop.example"
            token = jwt.encode(said, key, "RS256", headers={"kid": "k1"})
            heard = await desk.client.post("/login/oidc/backchannel", data={"logout_token": token})
            assert (heard.status_code, heard.headers["cache-control"]) == (200, "no-store")
            assert (await desk.whoami())["code"] == "not_signed_in"
            assert (await desk.log())[0] == "session.ended"


async def test_with_passwords_off_the_provider_is_the_only_way_in(tmp_path, provider):
    async with site(tmp_path, provider.url, password_sign_in=False) as desk:
        await desk.add("dana@shop.example")
        refused = await desk.client.post("/v1/session", json={"name": "dana@shop.example", "password": PASSWORD})
        assert refused.status_code == 403
        assert 'name="password"' not in (await desk.client.get("/login")).text
        assert (await desk.come_back(provider, "u1")).status_code == 303


async def test_when_the_provider_is_down_the_page_says_so_and_a_password_still_works(tmp_path):
    async with site(tmp_path, f"http://127.0.0.1:{free_port()}") as desk:
        await desk.add("dana")
        answer = await desk.client.get("/login/oidc?next=/usage")
        assert answer.status_code == 503
        assert "cannot be reached" in answer.text
        assert 'name="password"' in answer.text
        made = await desk.client.post("/v1/session", json={"name": "dana", "password": PASSWORD})
        assert made.status_code == 201


async def test_a_provider_that_changes_its_keys_is_asked_for_them_again(tmp_path, tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("rotating"), free_port()
    async with site(tmp_path, f"http://127.0.0.1:{port}") as desk:
        await desk.add("dana@shop.example")
        with real_provider(folder, port, make_jwks("k1")) as provider:
            assert (await desk.come_back(provider, "u1")).status_code == 303
        held = desk.app.state.provider
        with real_provider(folder, port, make_jwks("k2")) as provider:
            assert (await desk.come_back(provider, "u1")).status_code == 401, "it was asked a moment ago"
            held._keys = (held._keys[0] - KEYS_SECONDS, held._keys[1])
            assert (await desk.come_back(provider, "u1")).status_code == 303


async def test_nobody_is_sent_to_another_site(desk: Site, provider):
    back = await desk.come_back(provider, "u1", next="//evil.example/")
    assert back.headers["location"] == "/"
