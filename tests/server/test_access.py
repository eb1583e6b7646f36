"""Who gets in with which key, and who with which role."""

from __future__ import annotations

import hmac
import itertools

import pytest
import sqlalchemy as sa
from tests.server.door import Door, hurry
from tests.server.door import door as opened

from circumspect.server import credentials
from circumspect.server.access import REMEMBERED_SECONDS, Keyring
from circumspect.server.session_cookies import COOKIE
from circumspect.server.stores import access
from circumspect.server.stores.access import ROLES, SCOPES
from circumspect.stores.tables import tenants


@pytest.fixture(autouse=True)
def _hurry(monkeypatch):
    hurry(monkeypatch)


@pytest.fixture
async def door(tmp_path, clock):
    async with opened(tmp_path, clock) as one:
        yield one


def refused(response, status: int, code: str) -> None:
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"code", "problem", "fix"}
    assert body["code"] == code
    assert body["problem"]
    assert body["fix"]


# --- keys -----------------------------------------------------------------------------------------------------------


async def test_a_key_lets_in_and_says_whose_it_is(door: Door):
    key = await door.key("chat", tenant="other")
    answer = await door.get("/key/chat", key)
    assert answer.json() == {"tenant": "other", "key": credentials.key_id(key)}


async def test_a_key_has_256_random_bits_and_only_its_hash_is_kept(door: Door):
    key = await door.key()
    assert len(key.split("_", 2)[2]) == 43
    assert key != await door.key()
    kept = await door.store.tx(lambda connection: str(connection.execute(sa.text("SELECT * FROM api_keys")).all()))
    assert key.split("_", 2)[2] not in kept
    assert credentials.hash_token(key) in kept


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_schemes_case_does_not_matter(door: Door, scheme):
    key = await door.key()
    assert (await door.get("/key/chat", headers={"Authorization": f"{scheme} {key}"})).status_code == 200


async def test_no_key_is_401_and_says_how_to_send_one(door: Door):
    answer = await door.get("/key/chat")
    refused(answer, 401, "not_signed_in")
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_keys_that_are_not_ours_are_all_refused_alike(door: Door):
    key, other = await door.key(), await door.key(tenant="other")
    id_, secret = key.split("_", 2)[1:]
    last = "A" if key[-1] != "A" else "B"
    wrong = [
        f"csk_{id_}_{other.split('_', 2)[2]}",  # somebody else's secret
        f"csk_{'0' * 16}_{secret}",  # an id that nobody has
        key[:-1] + last,
        key[:-1],
        key + "A",
        key.upper(),
        key.replace("csk_", "csk-"),
        f"csk_{id_}_",
        f"csk__{secret}",
        "csk_",
        "null",
        "undefined",
        "' OR 1=1 --",
        "csk_../../etc/passwd_" + "A" * 43,
        "A" * 4000,
        f"csk_{'%00' * 5}0_{secret}",
    ]
    answers = [await door.get("/key/chat", one) for one in wrong]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1


@pytest.mark.parametrize("header", ["", " ", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "Token abc", "Bearer\tx"])
async def test_a_header_that_cannot_be_read_is_401(door: Door, header):
    refused(await door.get("/key/chat", headers={"Authorization": header}), 401, "not_signed_in")


async def test_a_header_with_bytes_that_are_no_text_is_401(door: Door):
    for raw in (b"Bearer \xff\xfe", "Bearer csk_ключ_секрет".encode(), b"Bearer csk_\x80_\x80"):
        answer = await door.client.get("/key/chat", headers=[(b"authorization", raw)])
        assert answer.status_code == 401


async def test_two_authorization_headers_are_none(door: Door):
    key = await door.key()
    headers = [("Authorization", f"Bearer {key}"), ("Authorization", f"Bearer {key}")]
    refused(await door.client.get("/key/chat", headers=headers), 401, "not_signed_in")


async def test_a_key_in_the_address_or_in_a_cookie_does_not_count(door: Door):
    key = await door.key()
    assert (await door.get(f"/key/chat?api_key={key}")).status_code == 401
    assert (await door.get("/key/chat", headers={"Cookie": f"{COOKIE}={key}"})).status_code == 401


async def test_an_expired_key_is_refused_at_once_even_when_it_was_just_used(door: Door):
    key = await door.key(minutes=5)
    assert (await door.get("/key/chat", key)).status_code == 200
    door.clock.advance(minutes=5)
    refused(await door.get("/key/chat", key), 401, "not_signed_in")


async def test_a_revoked_key_is_refused_within_five_seconds(door: Door):
    key = await door.key()
    at = 0.0
    ring = Keyring(door.store, tick=lambda: at)
    now = door.clock.now().timestamp()
    assert await ring.verify(key, now)
    await door.store.tx(access.revoke_key, credentials.key_id(key), now)
    at = REMEMBERED_SECONDS
    assert await ring.verify(key, now), "remembered this long"
    at = REMEMBERED_SECONDS + 0.01
    assert await ring.verify(key, now) is None
    assert REMEMBERED_SECONDS < 5


async def test_a_key_whose_tenant_is_gone_is_refused(door: Door):
    key = await door.key(tenant="other")
    await door.store.tx(lambda connection: connection.execute(sa.delete(tenants).where(tenants.c.id == "other")))
    refused(await door.get("/key/chat", key), 401, "not_signed_in")


async def test_guessing_fills_no_memory(door: Door):
    ring = Keyring(door.store)
    now = door.clock.now().timestamp()
    for _ in range(50):
        assert await ring.verify(credentials.new_key()[1], now) is None
    assert ring._known == {}


async def test_hashes_are_compared_in_constant_time_also_when_there_is_no_such_key(door: Door, monkeypatch):
    compared = []

    def recording(one, other):
        compared.append((one, other))
        return real(one, other)

    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", recording)
    key = await door.key()
    for one in (key, key[:-1] + ("A" if key[-1] != "A" else "B"), credentials.new_key()[1]):
        await Keyring(door.store).verify(one, door.clock.now().timestamp())
    assert len(compared) == 3


async def test_when_a_key_was_used_is_written_once_a_minute(door: Door):
    key = await door.key()

    async def used() -> float | None:
        return (await door.store.tx(access.key_by_id, credentials.key_id(key))).row.used_at

    async def writes() -> int:
        return await door.store.tx(lambda connection: connection.connection.driver_connection.total_changes)

    assert await used() is None
    before = await writes()
    for _ in range(20):
        assert (await door.get("/key/chat", key)).status_code == 200
        door.clock.advance(seconds=2)
    assert await writes() - before == 1
    first = await used()
    door.clock.advance(seconds=30)
    await door.get("/key/chat", key)
    assert await used() == first + 70


async def test_a_key_still_works_when_its_use_cannot_be_written(door: Door, caplog):
    key = await door.key()
    await door.store.tx(
        lambda connection: connection.execute(
            sa.text("CREATE TRIGGER full BEFORE UPDATE ON api_keys BEGIN SELECT RAISE(FAIL, 'database is full'); END")
        )
    )
    assert (await door.get("/key/chat", key)).status_code == 200
    assert "could not be written" in caplog.text
    assert key not in caplog.text


# --- scopes and roles -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scopes", [c for n in range(1, 5) for c in itertools.combinations(SCOPES, n)], ids=str)
async def test_a_key_does_what_its_scopes_say_and_nothing_else(door: Door, scopes):
    key = await door.key(*scopes)
    for scope in SCOPES:
        answer = await door.get(f"/key/{scope}", key)
        if scope in scopes:
            assert answer.status_code == 200
        else:
            refused(answer, 403, "not_permitted")
    assert (await door.get("/key/any", key)).status_code == 200
    both = (await door.get("/key/chat-and-read", key)).status_code
    assert both == (200 if {"chat", "read"} <= set(scopes) else 403)


async def test_a_role_does_what_it_says_and_admin_does_everything(door: Door):
    for role in ROLES:
        token = await door.signed_in(role, role=role)
        for wanted in ROLES:
            answer = await door.get(f"/role/{wanted}", token)
            if role in (wanted, "admin"):
                assert answer.json() == {"name": role, "role": role}
            else:
                refused(answer, 403, "not_permitted")
        assert (await door.get("/role/any", token)).status_code == 200
        assert (await door.get("/role/operator-or-reviewer", token)).status_code == 200


async def test_a_key_is_no_operator_and_an_operator_is_no_key(door: Door):
    key, token = await door.key(*SCOPES), await door.signed_in(role="admin")
    refused(await door.get("/role/any", key), 401, "not_signed_in")
    refused(await door.get("/key/any", token), 401, "not_signed_in")


async def test_either_sees_only_what_is_theirs(door: Door):
    key = await door.key("manage")
    seen = await door.get("/either", key)
    assert seen.json() == {"name": f"key:{credentials.key_id(key)}", "seen": ["shop"], "other": False}
    everyone = await door.get("/either", await door.signed_in("dana"))
    assert everyone.json() == {"name": "dana", "seen": None, "other": True}
    some = await door.get("/either", await door.signed_in("eli", tenants=("shop",)))
    assert some.json() == {"name": "eli", "seen": ["shop"], "other": False}
    nobody = await door.get("/either", await door.signed_in("noa", tenants=()))
    assert nobody.json() == {"name": "noa", "seen": [], "other": False}


async def test_either_refuses_the_wrong_scope_the_wrong_role_and_strangers(door: Door):
    refused(await door.get("/either", await door.key("chat", "read", "admin")), 403, "not_permitted")
    refused(await door.get("/either", await door.signed_in("rina", role="reviewer")), 403, "not_permitted")
    refused(await door.get("/either"), 401, "not_signed_in")
    refused(await door.get("/either", "csk_nonsense"), 401, "not_signed_in")


async def test_a_wrong_key_is_not_helped_by_a_good_cookie(door: Door):
    await door.operator()
    await door.sign_in(cookie=True)
    assert (await door.get("/either")).status_code == 200
    assert (await door.get("/either", "csk_nonsense")).status_code == 401
    assert (await door.get("/role/any", "ses_nonsense")).status_code == 401


# --- rate -----------------------------------------------------------------------------------------------------------


async def test_a_tenant_is_told_to_wait_and_another_is_not(tmp_path, clock):
    async with opened(tmp_path, clock, rate=5) as door:
        key, second, other = await door.key(), await door.key(), await door.key(tenant="other")
        answers = [await door.get("/key/chat", one) for one in (key, second, key, second, key, second)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429]
        refused(answers[-1], 429, "too_many_requests")
        assert answers[-1].headers["retry-after"] == "12"
        assert (await door.get("/key/chat", other)).status_code == 200
        clock.advance(seconds=12)
        assert (await door.get("/key/chat", key)).status_code == 200
        assert (await door.get("/key/chat", key)).status_code == 429


async def test_a_tenant_may_have_a_rate_of_its_own(tmp_path, clock):
    async with opened(tmp_path, clock, rate=5) as door:
        await door.store.tx(
            lambda connection: connection.execute(
                sa.update(tenants).where(tenants.c.id == "shop").values(settings={"rate_per_minute": 2})
            )
        )
        key = await door.key()
        assert [(await door.get("/key/chat", key)).status_code for _ in range(3)] == [200, 200, 429]


async def test_a_stranger_cannot_use_up_a_tenants_rate(tmp_path, clock):
    async with opened(tmp_path, clock, rate=2) as door:
        key = await door.key()
        for _ in range(10):
            await door.get("/key/chat", key[:-1] + ("A" if key[-1] != "A" else "B"))
        assert (await door.get("/key/chat", key)).status_code == 200
