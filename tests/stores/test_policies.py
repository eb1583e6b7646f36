"""Policy texts by version, on both databases."""

from __future__ import annotations

import asyncio

import pytest
from tests.conftest import NOON

from circumspect.errors import UnknownTenant
from circumspect.server.stores import policies, tenants
from circumspect.server.stores.policies import PolicyChanged
from circumspect.stores import SqlStore
from circumspect.values import Business, Plan, Tenant, TenantId

SHOP = TenantId("shop")


@pytest.fixture
async def shop(store: SqlStore) -> SqlStore:
    await store.put_tenant(Tenant(SHOP, Business("The Shop")))
    return store


async def put(store, text, **options):
    return await store.tx(policies.put_policy, SHOP, text, f"hash of {text}", at=NOON, **options)


async def test_a_text_is_a_new_version_only_when_it_differs(shop):
    assert (await put(shop, "a")).version == 1
    assert (await put(shop, "a", note="again")).version == 1
    made = await put(shop, "b", note="stricter", created_by="dana")
    assert (made.version, made.note, made.created_by, made.created_at) == (2, "stricter", "dana", NOON)
    assert await shop.tx(policies.current, SHOP) == made


async def test_going_back_is_a_new_version_with_an_old_text(shop):
    for text in ("a", "b", "a"):
        await put(shop, text)
    assert [(one.version, one.text) for one in await shop.tx(policies.versions, SHOP)] == [(3, "a"), (2, "b"), (1, "a")]


async def test_versions_come_in_pages(shop):
    for text in "abcde":
        await put(shop, text)
    page = await shop.tx(policies.versions, SHOP, limit=2)
    assert [one.version for one in page] == [5, 4]
    page = await shop.tx(policies.versions, SHOP, before=4, limit=2)
    assert [one.version for one in page] == [3, 2]
    assert (await shop.tx(policies.version, SHOP, 3)).text == "c"
    assert await shop.tx(policies.version, SHOP, 6) is None


async def test_an_editor_who_looked_at_an_older_version_is_told(shop):
    await put(shop, "a", if_version=0)
    await put(shop, "b", if_version=1)
    with pytest.raises(PolicyChanged, match="at version 2 by now, not at 1"):
        await put(shop, "c", if_version=1)
    assert (await shop.tx(policies.current, SHOP)).text == "b"


async def test_of_two_editors_at_once_one_wins_and_the_other_is_told(shop):
    await put(shop, "a")
    ended = await asyncio.gather(*(put(shop, text, if_version=1) for text in "bcdefg"), return_exceptions=True)
    assert sum(isinstance(one, PolicyChanged) for one in ended) == 5
    assert (await shop.tx(policies.current, SHOP)).version == 2


async def test_a_new_version_makes_the_revision_grow_and_nothing_else_does(shop):
    before = await shop.tx(tenants.revision, SHOP)
    await put(shop, "a")
    grown = await shop.tx(tenants.revision, SHOP)
    assert grown > before
    await put(shop, "a")
    assert await shop.tx(tenants.revision, SHOP) == grown


async def test_a_policy_belongs_to_a_tenant_that_is_there(store):
    with pytest.raises(UnknownTenant):
        await put(store, "a")


async def test_no_tenant_sees_the_policies_of_another(shop):
    await put(shop, "a")
    other = TenantId("other")
    assert await shop.tx(policies.current, other) is None
    assert await shop.tx(policies.versions, other) == []


async def test_settings_come_back_as_they_went_in_and_the_revision_grows(store):
    tenant = Tenant(SHOP, Business("The Shop"), Plan("gold", "adaptive"))
    settings = {"tools": [{"python": "a:b"}], "redact": ["x\x00y"], "rate_per_minute": 5}
    await store.tx(tenants.put, tenant, settings)
    row = await store.tx(tenants.get, SHOP)
    assert (row.settings, row.revision, row.tenant.id) == (settings, 1, "shop")
    assert await store.tx(tenants.revisions) == {"shop": 1}
    await store.tx(tenants.touch, SHOP)
    await store.tx(tenants.put_plan, Plan("gold", "standard"))
    row = await store.tx(tenants.get, SHOP, lock=True)
    assert (row.revision, row.tenant.plan.mode) == (3, "standard")
    assert [one.tenant.id for one in await store.tx(tenants.get_all)] == ["shop"]
    with pytest.raises(UnknownTenant):
        await store.tx(tenants.touch, TenantId("other"))
