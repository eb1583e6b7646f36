"""Tenant files go into both databases alike, also when two people apply at the same time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from circumspect.clock import RandomIds, SystemClock
from circumspect.demo.samples.apply_samples import apply_samples
from circumspect.errors import ConfigError
from circumspect.server.apply_tenant import apply_file
from circumspect.server.config import Settings
from circumspect.server.directory import Directory
from circumspect.server.stores import policies, tenants
from circumspect.server.vault import open_vault
from circumspect.stores import SqlStore
from circumspect.values import TenantId

SHOP = TenantId("shop")
FILE = """\
id: shop
plan: {name: gold, mode: adaptive, multiplier: 1.5}
business: {name: The Shop}
secrets: {token: {env: TOKEN}}
policy: {tools: {}}
"""


@pytest.fixture
def settings(url: str) -> Settings:
    return Settings(database=url, secret_key="a key of thirty-two characters or more")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOKEN", "s3cret")
    (tmp_path / "tenant.yaml").write_text(FILE)
    return tmp_path / "tenant.yaml"


async def test_a_file_is_stored_whole_and_the_second_time_not_at_all(store: SqlStore, settings, path):
    assert (await apply_file(path, store, settings)).created
    assert (await apply_file(path, store, settings)).changes == ()
    path.write_text(FILE.replace("The Shop", "A Shop"))
    told = await apply_file(path, store, settings)
    assert [str(one) for one in told.changes] == ["~ business.name: 'The Shop' → 'A Shop'"]
    row = await store.tx(tenants.get, SHOP)
    assert (row.tenant.business.name, row.tenant.plan.multiplier) == ("A Shop", 1.5)


async def test_of_many_who_apply_the_same_file_one_changes_it(store: SqlStore, settings, path):
    await apply_file(path, store, settings)
    path.write_text(FILE.replace("policy: {tools: {}}", "policy: {timezone: Asia/Jerusalem}"))
    told = await asyncio.gather(*(apply_file(path, store, settings) for _ in range(8)))
    assert sum(bool(one.changes) for one in told) == 1
    assert (await store.tx(policies.current, SHOP)).version == 2


async def test_nothing_is_stored_when_a_part_cannot_be(store: SqlStore, settings, path):
    class Shut:
        def seal(self, text: str) -> str:
            raise ConfigError("the vault is shut")

        unseal = seal

    with pytest.raises(ConfigError, match="shut"):
        await apply_file(path, store, settings, vault=lambda _: Shut())
    assert await store.tx(tenants.get, SHOP) is None
    assert await store.get_plan("gold") is None


async def test_the_samples_can_be_served(store: SqlStore, settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    await apply_samples(store, settings)
    directory = Directory(store, settings, open_vault(settings), SystemClock(), RandomIds())
    for name in ("shop", "shop-he", "shop-ru"):
        assert (await directory.setup(TenantId(name))).tenant.id == name
    await directory.close()
