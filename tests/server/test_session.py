"""Operators sign in and out; guesses, forgeries and other people's pages get nowhere."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher
from tests.server.door import PASSWORD, SITE, Door, hurry
from tests.server.door import door as opened

from circumspect.server import credentials, signin
from circumspect.server.session_cookies import COOKIE, DEVICE
from circumspect.server.stores import access
from circumspect.server.stores.sign_in_attempts import FREE_FAILURES, begin_attempt
from circumspect.stores import action_log
from circumspect.stores.tables import operators


@pytest.fixture(autouse=True)
def _hurry(monkeypatch):
    hurry(monkeypatch)


@pytest.fixture
async def door(tmp_path, clock):
    async with opened(tmp_path, clock, rate=10_000) as one:
        yield one


@pytest.fixture
async def plenty(door: Door, monkeypatch):
    """Without the limit per address, which is not what these are about."""
    monkeypatch.setattr("circumspect.server.routes.session.ATTEMPTS_PER_MINUTE", 10_000)
    return door


async def test_a_program_gets_a_token_and_no_cookie(door: Door):
    operator = await door.operator(role="admin", tenants=("shop",))
    made = await door.sign_in()
    assert made.status_code == 201
    assert "set-cookie" not in made.headers
    assert made.headers["cache-control"] == "no-store"
    body = made.json()
    token = body.pop("token")
    assert credentials.is_session(token)
    who = {
        "kind": "operator", "id": operator.id, "name": "dana", "role": "admin", "tenants": ["shop"],
        "expires_at": "2026-04-01T00:00:00Z",
    }  # fmt: skip
    assert body == who
    assert (await door.get("/v1/session", token)).json() == who


async def test_a_browser_gets_a_cookie_that_scripts_cannot_read_and_no_token(door: Door):
    await door.operator()
    made = await door.sign_in(cookie=True)
    assert made.json()["token"] is None
    cookie, device = made.headers.get_list("set-cookie")
    assert cookie.startswith(f"{COOKIE}=ses_")
    assert device.startswith(f"{DEVICE}=")
    for part in ("HttpOnly", "SameSite=lax", "Path=/"):
        assert part in cookie
        assert part in device
    assert "Secure" not in cookie + device
    assert (await door.get("/v1/session")).json()["name"] == "dana"


@pytest.mark.parametrize(
    ("settings", "secure"),
    [
        ({"cookie_secure": "always"}, True),
        ({"cookie_secure": "never", "public_url": "https://shop.example"}, False),
        ({"public_url": "https://shop.example"}, True),
        ({"public_url": "http://shop.example"}, False),
        ({}, False),
    ],
)
async def test_the_cookie_is_for_https_only_when_the_settings_say_so(tmp_path, clock, settings, secure):
    async with opened(tmp_path, clock, **settings) as door:
        await door.operator()
        for cookie in (await door.sign_in(cookie=True)).headers.get_list("set-cookie"):
            assert ("Secure" in cookie) is secure
            assert cookie.startswith("__Host-") is secure
            assert "Domain" not in cookie, "or a browser refuses the name"


async def test_a_request_over_https_makes_the_cookie_secure_by_itself(door: Door):
    await door.operator()
    made = await door.client.post(
        "https://server.test/v1/session", json={"name": "dana", "password": PASSWORD, "cookie": True}
    )
    assert "Secure" in made.headers["set-cookie"]


async def test_a_key_is_told_whose_it_is(door: Door):
    key = await door.key("chat", "admin")
    assert (await door.get("/v1/session", key)).json() == {
        "kind": "key", "id": credentials.key_id(key), "tenant": "shop", "scopes": ["admin", "chat"]
    }  # fmt: skip


async def test_only_the_hash_of_a_sign_in_is_kept(door: Door):
    token = await door.signed_in()
    kept = await door.store.tx(
        lambda connection: str(connection.execute(sa.text("SELECT * FROM operator_sessions")).all())
    )
    assert token not in kept
    assert credentials.hash_token(token) in kept


async def test_signing_out_ends_it_everywhere_and_twice_is_no_mistake(door: Door):
    await door.operator()
    await door.sign_in(cookie=True)
    token = door.client.cookies[COOKIE]
    headers = {"Sec-Fetch-Site": "same-origin"}
    ended = await door.client.delete("/v1/session", headers=headers)
    assert ended.status_code == 204
    assert f'{COOKIE}=""' in ended.headers["set-cookie"]
    assert (await door.get("/role/any", token)).status_code == 401
    again = await door.client.delete("/v1/session", headers={"Authorization": f"Bearer {token}"})
    assert again.status_code == 204
    assert (await door.client.delete("/v1/session")).status_code == 401
    key = await door.key()
    by_key = await door.client.delete("/v1/session", headers={"Authorization": f"Bearer {key}"})
    assert by_key.status_code == 401


async def test_a_sign_in_ends_after_the_hours_in_the_settings(tmp_path, clock):
    async with opened(tmp_path, clock, session_hours=2) as door:
        token = await door.signed_in()
        clock.advance(hours=2, seconds=-1)
        assert (await door.get("/role/any", token)).status_code == 200
        clock.advance(seconds=1)
        assert (await door.get("/role/any", token)).status_code == 401


async def test_a_sign_in_ends_when_it_is_not_used(tmp_path, clock):
    async with opened(tmp_path, clock, session_idle_minutes=10) as door:
        token = await door.signed_in()
        for _ in range(5):
            clock.advance(minutes=9)
            assert (await door.get("/role/any", token)).status_code == 200
        clock.advance(minutes=10)
        assert (await door.get("/role/any", token)).status_code == 401


async def test_a_browser_has_one_sign_in_and_a_new_one_ends_the_one_it_had(door: Door):
    await door.operator("dana")
    await door.operator("eli")
    program = (await door.sign_in()).json()["token"]
    await door.sign_in(cookie=True)
    first = door.client.cookies[COOKIE]
    await door.sign_in("eli", cookie=True)
    second = door.client.cookies[COOKIE]
    assert first != second
    assert (await door.get("/role/any", first)).status_code == 401
    assert (await door.get("/role/any", second)).json()["name"] == "eli"
    assert (await door.get("/role/any", program)).status_code == 200, "that one is not in this browser"
    await door.sign_in("eli", "wrong wrong wrong", cookie=True)
    assert (await door.get("/role/any", second)).status_code == 200, "who fails ends nothing"


async def test_a_token_that_somebody_planted_is_not_the_one_of_the_sign_in(door: Door):
    await door.operator()
    planted = credentials.new_session()
    door.client.cookies.set(COOKIE, planted)
    made = await door.sign_in(cookie=True)
    assert planted not in made.headers["set-cookie"]
    assert (await door.get("/role/any", planted)).status_code == 401


async def test_over_https_only_the_name_that_no_other_host_can_set_is_read(tmp_path, clock):
    async with opened(tmp_path, clock, public_url="https://shop.example") as door:
        token = await door.signed_in()
        planted = await door.get("/role/any", headers={"Cookie": f"{COOKIE}={token}"})
        assert planted.status_code == 401
        own = await door.get("/role/any", headers={"Cookie": f"__Host-{COOKIE}={token}"})
        assert own.status_code == 200


async def test_disabling_and_a_new_password_sign_out_at_once(door: Door):
    operator = await door.operator()
    for ending in (
        lambda connection: access.set_password(connection, operator.id, credentials.hash_password(PASSWORD)),
        lambda connection: access.set_disabled(connection, operator.id, 1.0),
    ):
        token = (await door.sign_in()).json()["token"]
        assert (await door.get("/role/any", token)).status_code == 200
        await door.store.tx(ending)
        assert (await door.get("/role/any", token)).status_code == 401
    assert (await door.sign_in()).status_code == 401


async def test_forged_and_foreign_cookies_are_refused(door: Door):
    token = await door.signed_in()
    key = await door.key()
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")
    for cookie in (
        changed, token[:-1], token + "x", credentials.new_session(), key, credentials.hash_token(token), "", "ses_",
        "dana", "eyJhbGciOiJub25lIn0.eyJyb2xlIjoiYWRtaW4ifQ.", "' OR 1=1 --", "ses_" + "%00" * 14 + "0",
    ):  # fmt: skip
        answer = await door.get("/role/any", headers={"Cookie": f"{COOKIE}={cookie}"})
        assert answer.status_code == 401, cookie
    assert (await door.get("/role/any", headers={"Cookie": f"{COOKIE}={token}"})).status_code == 200


# --- other people's pages -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": SITE}, 403),
        ({"Sec-Fetch-Site": "nonsense"}, 403),
        ({"Origin": SITE}, 200),
        ({"Origin": "https://server.test"}, 403),
        ({"Origin": "http://server.test.evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 403),
    ],
    ids=str,
)
async def test_a_change_with_a_cookie_has_to_come_from_our_own_pages(door: Door, headers, status):
    await door.operator()
    await door.sign_in(cookie=True)
    answer = await door.client.post("/role/any", headers=headers)
    assert answer.status_code == status
    assert (await door.client.get("/role/any", headers=headers)).status_code == 200, "reading changes nothing"


async def test_behind_a_proxy_our_own_pages_are_those_of_the_public_address(tmp_path, clock):
    async with opened(tmp_path, clock, public_url="https://shop.example/agent", cookie_secure="never") as door:
        await door.operator()
        await door.sign_in(cookie=True)
        post = door.client.post
        assert (await post("/role/any", headers={"Origin": "https://shop.example"})).status_code == 200
        assert (await post("/role/any", headers={"Origin": "https://evil.example"})).status_code == 403


async def test_a_token_in_the_header_needs_no_origin(door: Door):
    token = await door.signed_in()
    answer = await door.client.post(
        "/role/any", headers={"Authorization": f"Bearer {token}", "Sec-Fetch-Site": "cross-site"}
    )
    assert answer.status_code == 200


async def test_nobody_is_signed_in_by_another_page(door: Door):
    await door.operator()
    assert (await door.sign_in(headers={"Sec-Fetch-Site": "cross-site"})).status_code == 403
    form = await door.client.post("/v1/session", data={"name": "dana", "password": PASSWORD})
    assert form.status_code == 415
    plain = await door.client.post(
        "/v1/session",
        content=f'{{"name": "dana", "password": "{PASSWORD}"}}',
        headers={"Content-Type": "text/plain"},
    )
    assert plain.status_code == 415


# --- guessing -------------------------------------------------------------------------------------------------------


async def test_whatever_is_wrong_the_answer_is_the_same_and_the_same_work_is_done(plenty: Door, monkeypatch):
    door = plenty
    checked = []

    def counting(password, kept):
        checked.append(kept)
        return real(password, kept)

    real = credentials._fits
    monkeypatch.setattr(credentials, "_fits", counting)
    await door.operator("dana")
    off = await door.operator("off")
    await door.store.tx(access.set_disabled, off.id, 1.0)
    locked = await door.operator("locked")
    for _ in range(FREE_FAILURES):
        await door.store.tx(begin_attempt, locked.name, "127.0.0.1", None, door.clock.now().timestamp())
    answers = [
        await door.sign_in("nobody", "wrong wrong wrong"),
        await door.sign_in("dana", "wrong wrong wrong"),
        await door.sign_in("off", PASSWORD),
        await door.sign_in("locked", PASSWORD),
        await door.sign_in("locked", "wrong wrong wrong"),
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1
    assert len({tuple(sorted(answer.headers.items())) for answer in answers}) == 1
    assert len(checked) == len(answers), "one check of a password for each"


async def test_the_work_for_a_name_that_nobody_has_is_the_work_for_a_real_one():
    made, real = credentials._nobodys(), credentials.hash_password(PASSWORD)
    assert made.split("$")[:4] == real.split("$")[:4]


async def test_a_refusal_comes_no_sooner_than_it_always_does(door: Door, monkeypatch):
    monkeypatch.setattr(signin, "REFUSAL_SECONDS", 0.5)
    loop = asyncio.get_running_loop()
    before = loop.time()
    assert (await door.sign_in("nobody", "x")).status_code == 401
    assert loop.time() - before >= 0.5


async def test_repeated_failures_lock_the_name_at_their_address_for_a_growing_while(plenty: Door):
    door = plenty
    await door.operator()
    for _ in range(FREE_FAILURES):
        assert (await door.sign_in(password="wrong wrong wrong")).status_code == 401
    assert (await door.sign_in()).status_code == 401, "right, but locked"
    door.clock.advance(seconds=30)
    assert (await door.sign_in(password="wrong wrong wrong")).status_code == 401
    door.clock.advance(seconds=30)
    assert (await door.sign_in()).status_code == 401, "this time it takes a minute"
    door.clock.advance(seconds=30)
    assert (await door.sign_in()).status_code == 201
    assert (await door.sign_in(password="wrong wrong wrong")).status_code == 401
    assert (await door.sign_in()).status_code == 201, "forgotten"


async def test_guesses_sent_at_once_are_locked_out_too(plenty: Door):
    door = plenty
    await door.operator()
    await asyncio.gather(*(door.sign_in(password=f"guess number {number}") for number in range(12)))
    assert (await door.sign_in()).status_code == 401


async def test_an_address_may_try_so_often_a_minute_for_whatever_names(door: Door):
    answers = [await door.sign_in(f"name-{number}", "x") for number in range(21)]
    assert [answer.status_code for answer in answers] == [401] * 20 + [429]
    assert int(answers[-1].headers["retry-after"]) >= 1


async def test_all_addresses_of_one_ipv6_network_are_one(door: Door):
    statuses = []
    for number in range(21):
        transport = httpx.ASGITransport(door.app, client=(f"2001:db8::{number:x}", 1))
        async with httpx.AsyncClient(transport=transport, base_url=SITE) as client:
            made = await client.post("/v1/session", json={"name": "nobody", "password": "x"})
            statuses.append(made.status_code)
    assert statuses == [401] * 20 + [429]
    assert (await door.sign_in("nobody", "x")).status_code == 401, "from elsewhere"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "dana"},
        {"name": "dana", "password": ""},
        {"name": "dana", "password": "x" * 1025},
        {"name": "d" * 201, "password": "x"},
        {"name": ["dana"], "password": "x"},
        {"name": {"$ne": None}, "password": {"$ne": None}},
        {"name": "dana", "password": PASSWORD, "role": "admin"},
    ],
    ids=str,
)
async def test_what_is_no_sign_in_is_refused_without_being_repeated(door: Door, body):
    await door.operator()
    answer = await door.client.post("/v1/session", json=body)
    assert answer.status_code == 422
    assert PASSWORD not in answer.text


@pytest.mark.parametrize("name", ["dana\0", "' OR ''='", "dana; DROP TABLE operators", "\ud83d", "ДАНА"])
async def test_odd_names_are_just_wrong(door: Door, name):
    await door.operator()
    answer = await door.client.post(
        "/v1/session",
        content=json.dumps({"name": name, "password": PASSWORD}),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == (400 if name == "\ud83d" else 401)


# --- passwords ------------------------------------------------------------------------------------------------------


async def test_a_password_composed_otherwise_is_the_same_password(door: Door):
    operator = await door.operator()
    await door.store.tx(access.set_password, operator.id, credentials.hash_password("caf\u00e9 au lait \u2116 1"))
    assert (await door.sign_in(password="cafe\u0301 au lait No 1")).status_code == 201


async def test_a_password_hashed_with_less_work_is_hashed_anew_when_its_owner_signs_in(door: Door):
    operator = await door.operator()
    weak = PasswordHasher(time_cost=1, memory_cost=8192).hash(PASSWORD)
    await door.store.tx(access.set_password, operator.id, weak)

    async def kept() -> str:
        return await door.store.tx(lambda connection: connection.execute(sa.select(operators.c.password)).scalar())

    assert (await door.sign_in(password="wrong wrong wrong")).status_code == 401
    assert await kept() == weak
    assert (await door.sign_in()).status_code == 201
    assert not credentials.is_outdated(await kept())
    assert (await door.sign_in()).status_code == 201


# --- the log --------------------------------------------------------------------------------------------------------


async def test_the_log_says_who_signed_in_and_out_and_who_was_locked(plenty: Door):
    door = plenty
    token = await door.signed_in()
    await door.client.delete("/v1/session", headers={"Authorization": f"Bearer {token}"})
    for _ in range(FREE_FAILURES + 3):
        await door.sign_in(password="wrong wrong wrong")
        await door.sign_in("nobody", "wrong wrong wrong")
    assert await door.log() == ["operator.locked", "session.created", "session.ended"]
    rows = await door.store.tx(action_log.list_actions)
    assert {row.operator for row in rows} == {"dana"}
    assert {row.at for row in rows} == {door.clock.now().timestamp()}
