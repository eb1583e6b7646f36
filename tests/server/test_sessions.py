"""Where operators are signed in is listed and ended: their own, and others' by an admin who has all their tenants."""

from __future__ import annotations

import pytest
from tests.server.door import Door, hurry
from tests.server.door import door as opened

from circumspect.server.session_cookies import COOKIE

HERE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(autouse=True)
def _hurry(monkeypatch):
    hurry(monkeypatch)


@pytest.fixture
async def door(tmp_path, clock):
    async with opened(tmp_path, clock) as one:
        yield one


def by(token: str, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", **headers}


async def token_of(door: Door, name: str, **headers: str) -> str:
    made = await door.sign_in(name, headers=headers)
    return made.json()["token"]


async def listed(door: Door, token: str, **query: str) -> list[dict]:
    answer = await door.client.get("/v1/sessions", headers=by(token), params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def test_an_operator_sees_their_own_and_which_one_is_this(door: Door):
    await door.operator("dana")
    first = await token_of(door, "dana", **{"User-Agent": "Lynx/2"})
    door.clock.advance(minutes=5)
    await door.signed_in("eli")
    second = await token_of(door, "dana")
    one, other = await listed(door, second)
    assert (one["current"], other["current"]) == (True, False)
    assert (other["client"], other["address"], other["method"]) == ("Lynx/2", "127.0.0.1", "password")
    assert one["seen_at"] > other["seen_at"]
    assert "hash" not in one
    assert first not in str(one) + str(other)


async def test_one_is_ended_and_then_all_others(door: Door):
    await door.operator("dana")
    here, there, elsewhere = [await token_of(door, "dana") for _ in range(3)]
    its_id = next(one["id"] for one in await listed(door, there) if one["current"])
    ended = await door.client.delete(f"/v1/sessions/{its_id}", headers=by(here))
    assert ended.status_code == 204
    assert (await door.get("/role/any", there)).status_code == 401
    assert (await door.client.delete(f"/v1/sessions/{its_id}", headers=by(here))).status_code == 404
    others = await door.client.delete("/v1/sessions", headers=by(here))
    assert others.json() == {"ended": 1}
    assert (await door.get("/role/any", elsewhere)).status_code == 401
    assert (await door.get("/role/any", here)).status_code == 200
    assert (await door.log()).count("session.ended") == 2


async def test_nobody_but_an_admin_of_all_their_tenants_sees_or_ends_anothers(door: Door):
    victims = {"dana": None, "shopper": ("shop",), "both": ("shop", "other")}
    tokens = {name: await door.signed_in(name, tenants=tenants) for name, tenants in victims.items()}
    ids = {name: (await listed(door, token))[0]["id"] for name, token in tokens.items()}
    askers = {
        "eli": (await door.signed_in("eli"), set()),
        "rita": (await door.signed_in("rita", role="reviewer"), set()),
        "their-admin": (await door.signed_in("their-admin", role="admin", tenants=("other",)), set()),
        "shop-admin": (await door.signed_in("shop-admin", role="admin", tenants=("shop",)), {"shopper"}),
    }
    for token, allowed in askers.values():
        for name, id_ in ids.items():
            seen = await door.client.get("/v1/sessions", headers=by(token), params={"operator": name})
            assert (seen.status_code == 200) is (name in allowed), (name, seen.text)
            if name in allowed:
                continue
            assert seen.status_code in (403, 404)
            for path, query in ((f"/v1/sessions/{id_}", {}), (f"/v1/sessions/{id_}", {"operator": name}),
                                ("/v1/sessions", {"operator": name})):  # fmt: skip
                assert (await door.client.delete(path, headers=by(token), params=query)).status_code in (403, 404)
    for token in tokens.values():
        assert (await door.get("/role/any", token)).status_code == 200
    root = await door.signed_in("root", role="admin")
    for name, token in tokens.items():
        ended = await door.client.delete("/v1/sessions", headers=by(root), params={"operator": name})
        assert ended.json() == {"ended": 1}
        assert (await door.get("/role/any", token)).status_code == 401
    assert (await door.get("/role/any", root)).status_code == 200


async def test_a_key_has_no_sign_ins_and_another_page_ends_none(door: Door):
    key = await door.key("admin")
    assert (await door.client.get("/v1/sessions", headers=by(key))).status_code == 401
    await door.operator()
    await door.sign_in(cookie=True)
    assert (await door.client.delete("/v1/sessions")).status_code == 403, "no page of ours asked"
    assert (await door.client.delete("/v1/sessions", headers={"Sec-Fetch-Site": "cross-site"})).status_code == 403
    assert (await door.client.delete("/v1/sessions", headers=HERE)).status_code == 200
    assert (await door.get("/role/any", door.client.cookies[COOKIE])).status_code == 200
