"""The directory: stored tenants become setups, changes arrive, and what is broken stops its own tenant only."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE

from circumspect.clock import FixedClock, RandomIds
from circumspect.demo.samples.apply_samples import apply_samples
from circumspect.errors import ModelUnavailable, UnknownTenant
from circumspect.pipeline import run_turn
from circumspect.policy.load import load
from circumspect.server.apply_tenant import apply_file
from circumspect.server.config import Settings
from circumspect.server.directory import RECENT_MODELS, Directory, TenantUnavailable, data_directory
from circumspect.server.stores import access, policies, tenants
from circumspect.server.vault import open_vault
from circumspect.stores import SqlStore
from circumspect.values import Business, ChatMessage, ConversationId, Incoming, ModelRequest, Tenant, TenantId, TurnId

SHOP = TenantId("shop")
SMALL = "id: shop\nbusiness: {name: The Shop}\n"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(database=f"sqlite:///{tmp_path}/circumspect.db")


@pytest.fixture
async def store(settings: Settings) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(settings.database)
    yield opened
    await opened.close()


@pytest.fixture
async def directory(store: SqlStore, settings: Settings, clock: FixedClock) -> AsyncIterator[Directory]:
    """Looks for changes every time."""
    opened = Directory(store, settings, open_vault(settings), clock, RandomIds(), check_seconds=0, retry_seconds=0)
    yield opened
    await opened.close()


@pytest.fixture
def apply(tmp_path: Path, store: SqlStore, settings: Settings, clock: FixedClock) -> Callable[..., Any]:
    async def applied(text: str) -> None:
        path = tmp_path / "tenant.yaml"
        path.write_text(textwrap.dedent(text))
        await apply_file(path, store, settings, clock=clock)

    return applied


async def say(directory: Directory, text: str, clock: FixedClock, tenant: TenantId = SHOP):
    incoming = Incoming(tenant, ConversationId("c"), TurnId(RandomIds().new("turn")), text, clock.now())
    return await run_turn(incoming, await directory.setup(tenant))


async def test_a_sample_shop_that_was_stored_cancels_an_order(directory, store, settings, clock):
    await apply_samples(store, settings, clock=clock)
    assert (await say(directory, "cancel order 12345", clock)).outcome == "asked"
    assert (await say(directory, "yes", clock)).outcome == "acted"
    told = await say(directory, "where is my order 12345", clock)
    assert "cancelled" in told.reply
    assert (Path(settings.database.removeprefix("sqlite:///")).parent / "sample-shop.db").is_file()


async def test_a_model_is_waited_for_as_long_as_the_settings_say(store, settings, clock):
    patience = settings.model_copy(update={"model_seconds": 1.0})
    directory = Directory(store, patience, open_vault(settings), clock, RandomIds())
    with socket.create_server(("127.0.0.1", 0)) as silent:
        model = await directory.model(f"openai:slow@http://127.0.0.1:{silent.getsockname()[1]}/v1")
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(ModelUnavailable, match="no answer in time"):
                await model.complete(ModelRequest("draft", "t", "Answer.", (ChatMessage("user", "hi"),)))
        await directory.close()


async def test_every_tenant_that_is_served_has_a_setup(directory, store, settings, clock):
    await apply_samples(store, settings, clock=clock)
    await store.put_tenant(Tenant(TenantId("library"), Business("Made by a program")))
    served = [await directory.setup(TenantId(one)) for one in ("shop", "shop-he", "shop-ru")]
    assert [one.tenant.id for one in served] == ["shop", "shop-he", "shop-ru"]
    assert [one.tenant.language for one in served] == ["en", "he", "ru"]


async def test_an_unknown_tenant_is_unknown(directory):
    for _ in range(2):
        with pytest.raises(UnknownTenant):
            await directory.setup(TenantId("nobody"))
        with pytest.raises(UnknownTenant):
            await directory.settings(TenantId("nobody"))
    assert not directory._kept


async def test_a_tenant_that_brings_its_own_tools_is_not_served(directory, store):
    await store.put_tenant(Tenant(SHOP, Business("Made by a program")))
    with pytest.raises(TenantUnavailable, match="brings its own tools"):
        await directory.setup(SHOP)
    with pytest.raises(TenantUnavailable, match="brings its own tools"):
        await directory.settings(SHOP)


async def test_the_same_setup_is_kept_until_something_changed(directory, apply, store):
    await apply(SMALL)
    first = await directory.setup(SHOP)
    assert await directory.setup(SHOP) is first
    await apply(SMALL + "language: ru\n")
    second = await directory.setup(SHOP)
    assert (first.tenant.language, second.tenant.language) == ("en", "ru")


async def test_within_a_second_nobody_asks_the_database(store, settings, apply, clock):
    await apply(SMALL)
    directory = Directory(store, settings, open_vault(settings), clock, RandomIds(), check_seconds=3600)
    first = await directory.setup(SHOP)
    await apply(SMALL + "language: ru\n")
    assert await directory.setup(SHOP) is first
    await directory.close()


async def test_a_policy_put_by_an_operator_holds_from_the_next_turn(directory, store, settings, clock):
    await apply_samples(store, settings, clock=clock)
    before = (await directory.setup(SHOP)).policy.hash
    lines = (await store.tx(policies.current, SHOP)).text.splitlines()
    text = "\n".join("  cancel_order: {deny: Not today.}" if "cancel_order" in line else line for line in lines)
    await store.tx(policies.put_policy, SHOP, text, load(text).hash, at=clock.now())
    setup = await directory.setup(SHOP)
    assert setup.policy.hash == load(text).hash != before
    assert (await say(directory, "cancel order 12345", clock)).pending is None


async def test_a_broken_policy_stops_its_own_tenant_and_nobody_else(directory, store, settings, clock, caplog):
    await apply_samples(store, settings, clock=clock)
    await directory.setup(SHOP)
    await store.tx(
        policies.put_policy, SHOP, "tools: {cancel_order: {params: {oder_id: {source: user}}}}\n", "h", at=clock.now()
    )
    with pytest.raises(TenantUnavailable, match="'cancel_order' has no parameter 'oder_id'"):
        await directory.setup(SHOP)
    assert (await directory.settings(SHOP)).tools
    for other in ("shop-he", "shop-ru"):
        assert (await directory.setup(TenantId(other))).tenant.id == other
    good = (await store.tx(policies.version, SHOP, 1)).text
    await store.tx(policies.put_policy, SHOP, good, "h", at=clock.now())
    assert await directory.setup(SHOP)


async def test_a_policy_text_is_never_taken_for_a_path(directory, store, apply, clock, tmp_path):
    await apply(SMALL)
    (tmp_path / "other.yaml").write_text("tools: {}\n")
    await store.tx(policies.put_policy, SHOP, f"{tmp_path}/other.yaml", "h", at=clock.now())
    with pytest.raises(TenantUnavailable):
        await directory.setup(SHOP)


async def test_a_tool_that_can_no_longer_be_imported_stops_the_tenant(directory, store, apply):
    await apply(SMALL)
    row = await store.tx(tenants.get, SHOP)
    await store.tx(tenants.put, row.tenant, {"tools": [{"python": "no_such_module_at_all:tools"}]})
    with pytest.raises(TenantUnavailable, match="no Python module 'no_such_module_at_all'"):
        await directory.setup(SHOP)


async def test_settings_of_a_newer_version_stop_the_tenant_and_not_the_server(directory, store, apply):
    await apply(SMALL)
    row = await store.tx(tenants.get, SHOP)
    await store.tx(tenants.put, row.tenant, {"telepathy": True})
    with pytest.raises(TenantUnavailable, match="ValidationError"):
        await directory.setup(SHOP)
    with pytest.raises(TenantUnavailable):
        await directory.settings(SHOP)


async def test_a_model_that_cannot_be_opened_stops_the_tenant(directory, store, apply):
    await apply(SMALL)
    row = await store.tx(tenants.get, SHOP)
    await store.tx(tenants.put, row.tenant, {"model": "no such model"})
    with pytest.raises(TenantUnavailable, match="is not the name of a model"):
        await directory.setup(SHOP)


async def never_made(context):
    """Tools that are waited for in vain."""
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("tools", "slow"),
    [([], "Reading and writing in the database"), ([{"python": f"{__name__}:never_made"}], "Reaching its tools")],
    ids=["without tools", "with tools"],
)
async def test_what_took_too_long_is_named(directory, apply, store, monkeypatch, tools, slow):
    await apply(SMALL)
    row = await store.tx(tenants.get, SHOP)
    await store.tx(tenants.put, row.tenant, {**row.settings, "tools": tools})
    model = await directory.model("offline")
    monkeypatch.setattr("circumspect.server.directory.BUILD_SECONDS", 0)
    with pytest.raises(TenantUnavailable, match=f"{slow} took longer") as refused:
        await directory.setup(SHOP)
    assert "apply" not in refused.value.fix
    assert model


async def test_tenants_with_the_same_model_share_it(directory, apply):
    await apply(SMALL)
    await apply("id: other\nbusiness: {name: Other}\nmodel: offline\n")
    one, two = await directory.setup(SHOP), await directory.setup(TenantId("other"))
    assert one.ports.model is two.ports.model


async def test_tools_get_the_secrets_of_their_own_tenant_as_they_are_now(directory, apply, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "secretive_tools.py").write_text(
        "from circumspect import tool\n\n"
        "def tools(context):\n"
        "    @tool(effect='read')\n"
        "    def peek() -> str:\n"
        "        'Peek.'\n"
        "        return context.secrets.get('token', 'none')\n"
        "    return [peek]\n"
    )
    tools = "tools: [{python: 'secretive_tools:tools'}]\n"
    monkeypatch.setenv("TOKEN", "first")
    await apply(SMALL + tools + "secrets: {token: {env: TOKEN}}\n")
    await apply("id: other\nbusiness: {name: Other}\n" + tools)
    first = await directory.setup(SHOP)
    assert await first.ports.tools.call("peek", {}, "k") == "first"
    assert await (await directory.setup(TenantId("other"))).ports.tools.call("peek", {}, "k") == "none"
    monkeypatch.setenv("TOKEN", "second")
    await apply(SMALL + tools + "secrets: {token: {env: TOKEN}}\n")
    assert await (await directory.setup(SHOP)).ports.tools.call("peek", {}, "k") == "second"
    assert await first.ports.tools.call("peek", {}, "k") == "first"


async def test_a_secret_that_cannot_be_opened_stops_the_tenant(directory, store, apply):
    await apply(SMALL)
    await store.tx(access.put_secret, SHOP, "token", "not sealed with this key", 1.0)
    await store.tx(tenants.touch, SHOP)
    with pytest.raises(TenantUnavailable, match="cannot be opened with this secret key"):
        await directory.setup(SHOP)


async def test_many_who_ask_at_once_wait_for_one_build(store, settings, apply, clock, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "counted_tools.py").write_text(
        "BUILT = []\n\ndef tools(context):\n    BUILT.append(context.tenant)\n    return []\n"
    )
    await apply(SMALL + "tools: [{python: 'counted_tools:tools'}]\n")
    import counted_tools  # type: ignore[import-not-found]

    counted_tools.BUILT.clear()
    directory = Directory(store, settings, open_vault(settings), clock, RandomIds())
    setups = await asyncio.gather(*(directory.setup(SHOP) for _ in range(50)))
    assert len({id(one) for one in setups}) == 1
    assert counted_tools.BUILT == ["shop"]
    await directory.close()


# --- MCP servers ----------------------------------------------------------------------------------------------------


@pytest.fixture
def life(tmp_path: Path) -> Path:
    folder = tmp_path / "life"
    folder.mkdir()
    return folder


def with_desk(life: Path, greeting: str) -> str:
    server = {
        "name": "desk",
        "command": sys.executable,
        "args": [str(Path(__file__).parent / "desk_server.py"), str(life), greeting],
        "tools": {"greet": {"effect": "read"}},
    }
    return SMALL + f"tools: [{{mcp: {json.dumps(server)}}}]\npolicy: {{tools: {{greet: {{effect: read}}}}}}\n"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            gc.collect()
            await asyncio.sleep(0.02)


def living(life: Path) -> list[str]:
    return sorted(one.read_text() for one in life.iterdir())


@pytest.mark.slow
async def test_a_turn_in_flight_keeps_its_server_and_the_last_one_closes_it(directory, apply, life):
    await apply(with_desk(life, "hello"))
    await until(lambda: living(life) == [])
    old = await directory.setup(SHOP)
    assert living(life) == ["hello"]
    await apply(with_desk(life, "shalom"))
    await until(lambda: living(life) == ["hello"])
    new = await directory.setup(SHOP)
    assert living(life) == ["hello", "shalom"]
    assert "hello Dana" in str(await old.ports.tools.call("greet", {"name": "Dana"}, "k"))
    assert "shalom Dana" in str(await new.ports.tools.call("greet", {"name": "Dana"}, "k"))
    del old
    await until(lambda: living(life) == ["shalom"])
    await directory.close()
    assert living(life) == []


@pytest.mark.slow
async def test_a_server_that_is_down_stops_its_tenant_until_it_is_up(directory, apply, store, life):
    await apply(with_desk(life, "hello"))
    row = await store.tx(tenants.get, SHOP)
    broken = json.loads(json.dumps(row.settings).replace("desk_server.py", "gone.py"))
    await store.tx(tenants.put, row.tenant, broken)
    with pytest.raises(TenantUnavailable, match="desk"):
        await directory.setup(SHOP)
    await store.tx(tenants.put, row.tenant, row.settings)
    assert "greet" in (await directory.setup(SHOP)).tools
    assert "greet" in await store.tool_specs(SHOP)


@pytest.mark.parametrize(
    ("database", "folder"),
    [
        ("sqlite:///data/c.db", Path("data")),
        ("sqlite:////srv/c.db", Path("/srv")),
        ("c.db", Path()),
        ("postgresql://host/name", Path(".circumspect")),
        ("sqlite:///:memory:", None),
    ],
)
def test_files_of_tools_lie_beside_the_database(database, folder):
    assert data_directory(database) == folder


async def test_models_that_nobody_has_any_more_are_let_go(directory, monkeypatch):
    """Their names are the tenants' to choose, and a tenant may change its mind every minute."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-tests")
    kept = await directory.model("openai:gpt-kept")
    for number in range(3 * RECENT_MODELS):
        await directory.model(f"openai:gpt-{number}")
    gc.collect()
    assert len(directory._models) == RECENT_MODELS + 1
    assert await directory.model("openai:gpt-kept") is kept, "whoever has one shares it with those who come"
    last = f"openai:gpt-{3 * RECENT_MODELS - 1}"
    assert await directory.model(last) is await directory.model(last)
