"""The MCP gateway, called by the official SDK over standard input and output: governed tools, nothing else changed."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from tests.patience import PATIENCE

import circumspect
from circumspect.cli import cli
from circumspect.demo.samples.apply_samples import apply_samples
from circumspect.demo.samples.sample_files import DIRECTORY
from circumspect.errors import ConfigError
from circumspect.policy.load import load
from circumspect.server.config import Settings
from circumspect.server.stores.policies import put_policy
from circumspect.stores import SqlStore
from circumspect.values import TenantId

SECRET = "a secret key for tests only which is long enough"


@pytest.fixture
async def shop(tmp_path: Path, monkeypatch):
    """A database with the sample shops; how to start the gateway; how to look inside."""
    database = f"sqlite:///{tmp_path}/c.db"
    monkeypatch.setenv("CIRCUMSPECT_SECRET_KEY", SECRET)
    monkeypatch.setenv("CIRCUMSPECT_DATABASE", database)
    store = await SqlStore.open(database)
    await apply_samples(store, Settings(database=database, secret_key=SECRET))
    yield store
    await store.close()


def gateway(tmp_path: Path, **options) -> Client:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "circumspect", "mcp", "--tenant", "shop", "--client", "tester"],
        env={
            "CIRCUMSPECT_DATABASE": f"sqlite:///{tmp_path}/c.db",
            "CIRCUMSPECT_SECRET_KEY": SECRET,
            # The program that is tested is this one, whichever is installed.
            "PYTHONPATH": str(Path(circumspect.__file__).parents[1]),
        },
        cwd=tmp_path,
    )
    return Client(command, read_timeout_seconds=PATIENCE, **options)


def said(result) -> str:
    return "\n".join(part.text for part in result.content)


async def ran(store, tool="cancel_order"):
    """How the tool's calls ended, in whatever session."""
    long_ago = datetime.now(UTC) - timedelta(days=1)
    return [one.state for one in await store.recent_executions(TenantId("shop"), [tool], long_ago)]


async def require_a_look(store, tenant="shop"):
    """From now on the shop's orders are cancelled only after they were looked at."""
    text = (DIRECTORY / "policy.yaml").read_text("utf-8")
    rule = "requires: [{call: get_order_status, same: order_id}]"
    text = text.replace("cancel_order: {", f"cancel_order: {{{rule}, ")
    await store.tx(put_policy, TenantId(tenant), text, load(text).hash, at=datetime.now(UTC))


async def approvals(*arguments: str):
    """The command, in a thread of its own: it brings its own event loop."""
    return await asyncio.to_thread(CliRunner().invoke, cli, ["approvals", *arguments], catch_exceptions=False)


async def test_reads_run_and_the_tools_say_what_they_do(shop, tmp_path):
    async with gateway(tmp_path) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["get_order_status"].annotations.read_only_hint
        assert tools["cancel_order"].annotations.destructive_hint
        result = await client.call_tool("get_order_status", {"order_id": "12345"})
        assert not result.is_error
        assert "12345" in said(result)


async def test_what_breaks_a_rule_is_held_with_the_reason(shop, tmp_path):
    async with gateway(tmp_path) as client:
        for name, arguments in (("drop_tables", {}), ("cancel_order", {}), ("cancel_order", {"order_id": 5, "x": 1})):
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert "HELD" in said(result)
    assert await ran(shop) == []


async def test_what_a_call_left_out_or_wrote_in_another_form_is_named(shop, tmp_path):
    async with gateway(tmp_path) as client:
        for given in ({}, {"order_id": "one of them"}):
            held = await client.call_tool("cancel_order", given)
            assert held.is_error
            assert said(held).startswith("HELD. Nothing has run. Give these as the tool's schema asks")
            assert ": order_id." in said(held)
    assert await ran(shop) == []


async def test_a_destructive_call_waits_for_a_colleague_and_the_retry_gets_what_became_of_it(shop, tmp_path):
    call = ("cancel_order", {"order_id": "12345"})
    async with gateway(tmp_path) as client:
        first, second = await client.call_tool(*call), await client.call_tool(*call)
        assert "PENDING" in said(first)
        assert "PENDING" in said(second)
        assert await ran(shop) == []
        (waiting,) = json.loads((await approvals("list", "--json")).output)
        assert waiting["arguments"]["order_id"] == "12345"
        assert (waiting["asked_by"], "tester" in waiting["proposed_by"]) == ("mcp:tester", True)
        assert (await approvals("approve", waiting["id"])).exit_code == 0
        assert await ran(shop) == ["succeeded"]
        third = await client.call_tool(*call)
        assert not third.is_error
        assert "12345" in said(third)
        assert await ran(shop) == ["succeeded"], "the retry attached; it did not run again"
        with pytest.raises(ConfigError, match="Already decided"):
            await approvals("approve", waiting["id"])
    assert await ran(shop) == ["succeeded"]


async def test_what_a_colleague_declines_is_declined_once_and_may_be_proposed_anew(shop, tmp_path):
    call = ("cancel_order", {"order_id": "12345"})
    async with gateway(tmp_path) as client:
        await client.call_tool(*call)
        (waiting,) = json.loads((await approvals("list", "--json")).output)
        assert (await approvals("deny", waiting["id"])).exit_code == 0
        assert "DECLINED" in said(await client.call_tool(*call))
        assert "PENDING" in said(await client.call_tool(*call))
    assert await ran(shop) == []


NOT_A_YES = [
    {"confirm": "no"},
    {"confirm": "false"},
    {"confirm": "yes"},
    {"confirm": 1},
    {"confirm": ["true"]},
    {"confirm": True, "also": "order 12346"},
    {"Confirm": True},
    {},
]


@pytest.mark.parametrize("content", NOT_A_YES, ids=repr)
def test_an_answer_that_is_not_exactly_what_the_form_asks_for_is_a_no(content):
    from circumspect.server.gateway import _parse_consent

    assert _parse_consent(types.ElicitResult.model_construct(action="accept", content=content)) is False


@pytest.mark.parametrize("mode", ["modern", "legacy"])
@pytest.mark.parametrize("action", ["accept", "decline", "cancel", "unticked", "says no"])
async def test_a_user_who_can_be_asked_is_asked(shop, tmp_path, action, mode):
    asked = []

    async def elicit(context, params):
        asked.append(params.message)
        if action in ("accept", "unticked"):
            return types.ElicitResult(action="accept", content={"confirm": action == "accept"})
        if action == "says no":
            return types.ElicitResult(action="accept", content={"confirm": "no"})
        return types.ElicitResult(action=action)

    options = {} if mode == "modern" else {"mode": "legacy"}
    async with gateway(tmp_path, elicitation_callback=elicit, **options) as client:
        try:
            result = await client.call_tool("cancel_order", {"order_id": "12345"})
        except RuntimeError:
            assert action == "cancel"  # asked again and again, and dismissed each time
            result = None
    assert "12345" in asked[0]
    assert await ran(shop) == (["succeeded"] if action == "accept" else [])
    if action in ("decline", "unticked", "says no"):
        assert "DECLINED" in said(result)


@pytest.mark.parametrize("mode", ["modern", "legacy"])
async def test_a_form_that_is_closed_is_no_answer_and_does_not_come_back_at_once(shop, tmp_path, mode):
    asked = []

    async def elicit(context, params):
        asked.append(params.message)
        if len(asked) == 1:
            return types.ElicitResult(action="cancel")
        return types.ElicitResult(action="accept", content={"confirm": True})

    options = {} if mode == "modern" else {"mode": "legacy"}
    async with gateway(tmp_path, elicitation_callback=elicit, **options) as client:
        assert "PENDING" in said(await client.call_tool("cancel_order", {"order_id": "12345"}))
        assert (len(asked), await ran(shop)) == (1, [])
        assert not (await client.call_tool("cancel_order", {"order_id": "12345"})).is_error
    assert (len(asked), await ran(shop)) == (2, ["succeeded"])


async def test_what_an_earlier_session_looked_up_satisfies_no_requirement(shop, tmp_path):
    await require_a_look(shop)
    look, cancel = ("get_order_status", {"order_id": "12345"}), ("cancel_order", {"order_id": "12345"})
    async with gateway(tmp_path) as client:
        assert "HELD" in said(await client.call_tool(*cancel))
        await client.call_tool(*look)
    async with gateway(tmp_path) as client:
        held = await client.call_tool(*cancel)
        assert "HELD" in said(held)
        assert "REQUIREMENT_NOT_MET" in said(held)
        await client.call_tool(*look)
        assert "PENDING" in said(await client.call_tool(*cancel))


async def test_what_an_earlier_session_left_pending_is_found_by_the_same_call_in_a_later_one(shop, tmp_path):
    await require_a_look(shop)
    look, cancel = ("get_order_status", {"order_id": "12345"}), ("cancel_order", {"order_id": "12345"})
    async with gateway(tmp_path) as client:
        await client.call_tool(*look)
        assert "PENDING" in said(await client.call_tool(*cancel))
    async with gateway(tmp_path) as client:
        assert "PENDING" in said(await client.call_tool(*cancel))
        (waiting,) = json.loads((await approvals("list", "--json")).output)
        assert (await approvals("approve", waiting["id"])).exit_code == 0
    async with gateway(tmp_path) as client:
        assert not (await client.call_tool(*cancel)).is_error
        assert await ran(shop) == ["succeeded"]
        assert "HELD" in said(await client.call_tool(*cancel)), "what became of it is told once; this is a new call"
    assert await ran(shop) == ["succeeded"]


async def test_a_user_may_answer_in_a_later_session_what_an_earlier_one_asked(shop, tmp_path):
    async def dismiss(context, params):
        return types.ElicitResult(action="cancel")

    async def accept(context, params):
        return types.ElicitResult(action="accept", content={"confirm": True})

    cancel = ("cancel_order", {"order_id": "12345"})
    async with gateway(tmp_path, elicitation_callback=dismiss, mode="legacy") as client:
        assert "PENDING" in said(await client.call_tool(*cancel))
    async with gateway(tmp_path, elicitation_callback=accept, mode="legacy") as client:
        assert not (await client.call_tool(*cancel)).is_error
    assert await ran(shop) == ["succeeded"]


async def test_two_sessions_at_once_are_two_conversations(shop, tmp_path):
    await require_a_look(shop)
    look, cancel = ("get_order_status", {"order_id": "12345"}), ("cancel_order", {"order_id": "12345"})
    async with gateway(tmp_path) as first, gateway(tmp_path) as second:
        await first.call_tool(*look)
        assert "HELD" in said(await second.call_tool(*cancel))
        assert "PENDING" in said(await first.call_tool(*cancel))
        assert "PENDING" in said(await second.call_tool(*cancel)), "the client is the same, and so is its call"
    assert len(json.loads((await approvals("list", "--json")).output)) == 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_that_is_given_up_while_its_user_is_asked_has_not_run(shop, tmp_path, mode):
    asked = anyio.Event()

    async def never(context, params):
        asked.set()
        await anyio.sleep_forever()

    call = ("cancel_order", {"order_id": "12345"})
    async with gateway(tmp_path, elicitation_callback=never, mode=mode) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, *call)
            await asked.wait()
            tasks.cancel_scope.cancel()
        assert "12345" in said(await client.call_tool("get_order_status", {"order_id": "12345"})), "the session goes on"
    assert await ran(shop) == []


async def test_two_calls_at_once_run_once(shop, tmp_path):
    async def elicit(context, params):
        return types.ElicitResult(action="accept", content={"confirm": True})

    async with gateway(tmp_path, elicitation_callback=elicit) as client, anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(client.call_tool, "cancel_order", {"order_id": "12345"})
    assert (await ran(shop)).count("succeeded") == 1


def test_an_unknown_tenant_is_a_clear_error(shop, tmp_path):
    result = CliRunner().invoke(cli, ["mcp", "--tenant", "nobody"])
    assert "nobody" in str(result.exception) or "nobody" in result.output
