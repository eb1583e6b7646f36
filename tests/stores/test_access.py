"""Rows of keys, operators, the log and secrets, on both databases."""

from __future__ import annotations

import asyncio

import pytest

from circumspect.errors import ConfigError, UnknownTenant
from circumspect.server.stores import access
from circumspect.server.stores.access import KeyRow, OperatorRow
from circumspect.stores import SqlStore, action_log
from circumspect.values import Business, Tenant

NOW = 1_800_000_000.0
DAY = 86400.0
KEY = KeyRow("k1", "shop", "till", ("chat", "read"), NOW)
DANA = OperatorRow("opr_1", "dana", "operator", None, NOW)


@pytest.fixture
async def shop(store: SqlStore) -> SqlStore:
    for name in ("shop", "other"):
        await store.put_tenant(Tenant(name, Business(name)))
    return store


# --- keys -----------------------------------------------------------------------------------------------------------


async def test_a_key_comes_back_as_it_was_put_with_its_hash_and_its_tenants_settings(shop):
    await shop.tx(access.add_key, KEY, "h1")
    found = await shop.tx(access.key_by_id, "k1")
    assert (found.row, found.hash, found.settings) == (KEY, "h1", {})
    assert await shop.tx(access.key_by_id, "k2") is None


async def test_a_key_for_nobody_is_refused_with_the_tenants_there_are(shop):
    with pytest.raises(UnknownTenant, match=r"no tenant 'shp'.*other, shop"):
        await shop.tx(access.add_key, KeyRow("k1", "shp", "", ("chat",), NOW), "h1")


async def test_a_revoked_key_stays_revoked_since_the_first_time(shop):
    await shop.tx(access.add_key, KEY, "h1")
    assert (await shop.tx(access.revoke_key, "k1", NOW + 1)).revoked_at == NOW + 1
    assert (await shop.tx(access.revoke_key, "k1", NOW + 2)).revoked_at == NOW + 1
    assert not (await shop.tx(access.key_by_id, "k1")).row.valid(NOW + 1)


async def test_what_is_not_theirs_is_not_there(shop):
    await shop.tx(access.add_key, KEY, "h1")
    assert await shop.tx(access.revoke_key, "k1", NOW, ("other",)) is None
    rotated = await shop.tx(access.rotate_key, "k1", new_id="k2", new_hash="h2", at=NOW, overlap=60, allowed=("other",))
    assert rotated is None
    assert await shop.tx(access.list_keys, ("other",)) == []
    assert await shop.tx(access.list_keys, ()) == []
    assert await shop.tx(access.list_keys, ("shop",)) == await shop.tx(access.list_keys) == [KEY]


async def test_a_rotated_key_has_the_same_rights_and_the_old_one_ends_after_the_overlap(shop):
    await shop.tx(access.add_key, KEY, "h1")
    old, new = await shop.tx(access.rotate_key, "k1", new_id="k2", new_hash="h2", at=NOW + 5, overlap=60)
    assert (new.tenant, new.name, new.scopes, new.expires_at) == (KEY.tenant, KEY.name, KEY.scopes, None)
    assert old.valid(NOW + 64)
    assert not old.valid(NOW + 65)
    assert (await shop.tx(access.key_by_id, "k1")).row == old


async def test_a_rotated_key_lasts_as_long_as_the_old_one_was_made_for_and_never_prolongs_it(shop):
    await shop.tx(access.add_key, KeyRow("k1", "shop", "", ("chat",), NOW, NOW + 90 * DAY), "h1")
    late = NOW + 89.5 * DAY
    old, new = await shop.tx(access.rotate_key, "k1", new_id="k2", new_hash="h2", at=late, overlap=DAY)
    assert new.expires_at == late + 90 * DAY
    assert old.expires_at == NOW + 90 * DAY


async def test_a_dead_key_is_not_rotated(shop):
    await shop.tx(access.add_key, KEY, "h1")
    await shop.tx(access.revoke_key, "k1", NOW)
    with pytest.raises(ConfigError, match="revoked"):
        await shop.tx(access.rotate_key, "k1", new_id="k2", new_hash="h2", at=NOW, overlap=60)


async def test_when_a_key_was_used_is_written_once_a_minute_however_many_try(shop):
    await shop.tx(access.add_key, KEY, "h1")
    written = await asyncio.gather(*(shop.tx(access.touch_key, "k1", NOW + one / 100) for one in range(20)))
    assert sum(written) == 1
    assert not await shop.tx(access.touch_key, "k1", NOW + 59)
    assert await shop.tx(access.touch_key, "k1", NOW + 61)


# --- operators ------------------------------------------------------------------------------------------------------


async def test_a_name_is_given_once(shop):
    await shop.tx(access.add_operator, DANA, "hash")
    with pytest.raises(ConfigError, match="already"):
        await shop.tx(access.add_operator, OperatorRow("opr_2", "dana", "admin", None, NOW), "hash")


async def test_an_operator_of_a_tenant_that_does_not_exist_is_refused(shop):
    with pytest.raises(UnknownTenant):
        await shop.tx(access.add_operator, OperatorRow("opr_2", "eli", "operator", ("shp",), NOW), "hash")
    await shop.tx(access.add_operator, OperatorRow("opr_2", "eli", "operator", ("shop",), NOW), "hash")
    assert (await shop.tx(access.operator_named, "eli")).tenants == ("shop",)


# --- the log --------------------------------------------------------------------------------------------------------


async def test_the_log_is_read_in_pages_that_miss_nothing_even_at_one_moment(shop):
    for number in range(7):
        await shop.tx(
            action_log.log_action, id=f"l{number}", at=NOW + number // 3, operator="dana", action="key.created",
            tenant="shop" if number % 2 else None, subject="k1", detail={"number": number},
        )  # fmt: skip
    read, before = [], None
    while page := await shop.tx(action_log.list_actions, before=before, limit=2):
        read += [row.id for row in page]
        before = page[-1].at, page[-1].id
    assert read == ["l6", "l5", "l4", "l3", "l2", "l1", "l0"]
    theirs = await shop.tx(action_log.list_actions, allowed=("shop",))
    assert [row.id for row in theirs] == ["l5", "l3", "l1"]
    assert theirs[0].detail == {"number": 5}
    assert await shop.tx(action_log.list_actions, allowed=()) == []


async def test_an_action_that_failed_is_not_in_the_log(shop):
    def acting(connection):
        action_log.log_action(connection, id="l1", at=NOW, operator="dana", action="key.created", subject="k1")
        access.add_key(connection, KeyRow("k1", "nobody", "", ("chat",), NOW), "h1")

    with pytest.raises(UnknownTenant):
        await shop.tx(acting)
    assert await shop.tx(action_log.list_actions) == []


# --- secrets --------------------------------------------------------------------------------------------------------


async def test_a_secret_is_its_tenants_own_and_is_replaced_and_deleted(shop):
    await shop.tx(access.put_secret, "shop", "token", "sealed 1", NOW)
    await shop.tx(access.put_secret, "shop", "token", "sealed 2", NOW)
    await shop.tx(access.put_secret, "other", "token", "theirs", NOW)
    assert await shop.tx(access.get_sealed_secrets, "shop") == {"token": "sealed 2"}
    assert await shop.tx(access.delete_secret, "shop", "token")
    assert not await shop.tx(access.delete_secret, "shop", "token")
    assert await shop.tx(access.get_sealed_secrets, "other") == {"token": "theirs"}
