"""Nobody gives a key more than they have: scopes, tenants, time."""

from __future__ import annotations

import itertools
import time

import httpx
import pytest
from tests.server.house import OURS, THEIRS, House, is_a_problem

from circumspect.server import credentials
from circumspect.server.stores import access
from circumspect.server.stores.access import SCOPES, KeyRow
from circumspect.stores import SqlStore
from circumspect.values import TenantId

OTHERS = [scope for scope in SCOPES if scope not in ("admin", "widget")]


def make_key(house: House, *scopes: str, days: float | None = None, tenant: str = OURS) -> tuple[str, httpx.Client]:
    """The id of a new key, made behind the server's back, and a client that has it."""
    id_, key = credentials.new_key()
    now = time.time()
    row = KeyRow(id_, TenantId(tenant), "test", scopes, now, None if days is None else now + days * 86_400)

    async def add(store: SqlStore) -> None:
        await store.tx(access.add_key, row, credentials.hash_token(key))

    house.stored(add)
    return id_, house.client(key)


@pytest.mark.parametrize("held", [combination for size in range(len(OTHERS)) for combination in
                                  itertools.combinations(OTHERS, size)])  # fmt: skip
def test_a_key_gives_the_scopes_that_it_has_and_no_other(house: House, held: tuple[str, ...]) -> None:
    _, client = make_key(house, "admin", *held)
    for scope in SCOPES:
        answer = client.post("/v1/admin/keys", json={"name": "heir", "scopes": [scope]})
        if scope in ("admin", *held):
            assert answer.json()["scopes"] == [scope]
        else:
            is_a_problem(answer, 403, "not_permitted")
    beside = [*held, "admin", next(scope for scope in OTHERS if scope not in held)]
    is_a_problem(client.post("/v1/admin/keys", json={"name": "heir", "scopes": beside}), 403)


def test_an_heir_gives_no_more_than_its_maker(house: House) -> None:
    _, client = make_key(house, "admin", "chat")
    heir = house.client(client.post("/v1/admin/keys", json={"name": "h", "scopes": ["admin"]}).json()["key"])
    is_a_problem(heir.post("/v1/admin/keys", json={"name": "h", "scopes": ["chat"]}), 403)


def test_to_rotate_a_stronger_key_is_not_to_get_it(house: House) -> None:
    strong, owner = make_key(house, "chat", "read", "manage")
    _, client = make_key(house, "admin")
    is_a_problem(client.post(f"/v1/admin/keys/{strong}/rotate", json={"overlap_hours": 0}), 403)
    assert owner.get("/v1/conversations").status_code == 200, "and it goes on working"


def test_a_key_rotates_itself_for_as_long_as_it_was_made_for(house: House) -> None:
    own, client = make_key(house, "admin", days=30)
    made = client.post(f"/v1/admin/keys/{own}/rotate", json={"overlap_hours": 1})
    assert made.status_code == 201
    assert "T" in made.json()["expires_at"]


def test_an_heir_ends_with_its_maker(house: House) -> None:
    own, client = make_key(house, "admin", "chat", days=1)
    ends = next(one["expires_at"] for one in client.get("/v1/admin/keys").json() if one["id"] == own)
    for days in (None, 400):
        made = client.post("/v1/admin/keys", json={"name": "h", "scopes": ["chat"], "expires_in_days": days}).json()
        assert made["expires_at"] == ends
    sooner = client.post("/v1/admin/keys", json={"name": "h", "scopes": ["chat"], "expires_in_days": 0.5}).json()
    assert sooner["expires_at"] < ends
    lasting, _ = make_key(house, "chat")
    assert client.post(f"/v1/admin/keys/{lasting}/rotate", json={}).json()["expires_at"] == ends


def test_a_key_that_was_just_revoked_makes_no_heir(house: House) -> None:
    """It is remembered as good for a moment; what it does then must not last."""
    own, client = make_key(house, "admin")
    assert client.get("/v1/admin/keys").status_code == 200

    async def revoke(store: SqlStore) -> None:
        await store.tx(access.revoke_key, own, time.time())

    house.stored(revoke)
    for answer in (
        client.post("/v1/admin/keys", json={"name": "h", "scopes": ["admin"]}),
        client.post(f"/v1/admin/keys/{own}/rotate", json={}),
    ):
        is_a_problem(answer, answer.status_code)
        assert answer.status_code in (401, 403)


def test_nobody_gives_a_key_of_a_tenant_that_is_not_theirs(house: House) -> None:
    _, client = make_key(house, *SCOPES[:4])
    elsewhere, _ = make_key(house, "chat", tenant=THEIRS)
    is_a_problem(client.post("/v1/admin/keys", json={"name": "h", "scopes": ["chat"], "tenant": THEIRS}), 404)
    is_a_problem(client.post(f"/v1/admin/keys/{elsewhere}/rotate", json={}), 404)
    admin = house.operator("their-admin")
    ours, _ = make_key(house, "chat")
    is_a_problem(admin.post("/v1/admin/keys", json={"name": "h", "scopes": ["chat"], "tenant": OURS}), 404)
    is_a_problem(admin.post(f"/v1/admin/keys/{ours}/rotate", json={}), 404)


def test_an_admin_gives_every_scope_where_they_may_see(house: House) -> None:
    for scope in SCOPES:
        asked = {"name": "h", "scopes": [scope], "tenant": THEIRS}
        assert house.operator("their-admin").post("/v1/admin/keys", json=asked).status_code == 201


@pytest.mark.parametrize("name", ["noa", "rita"])
def test_who_is_no_admin_gives_no_key(house: House, name: str) -> None:
    asked = {"name": "h", "scopes": ["chat"], "tenant": OURS}
    is_a_problem(house.operator(name).post("/v1/admin/keys", json=asked), 403)
