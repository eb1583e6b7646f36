"""MCP servers over stdio, real processes: they are started, called, outlived and ended; what they claim loosens nothing."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.tools import mcp_plain_server, mcp_sdk_server

from circumspect.errors import ConfigError, ToolError, ToolTimeout
from circumspect.tools import Toolset
from circumspect.tools.definitions import read
from circumspect.tools.mcp import McpDefinition, McpTools

SECRET = "s3cr3t-t0ken"
PLAIN, SDK = mcp_plain_server.__file__, mcp_sdk_server.__file__


def server(*args: str, program: str = PLAIN, declared: Any = lambda name: False, **said: Any) -> McpTools:
    data = {
        "name": "demo", "command": sys.executable, "args": ["-u", program, *args], "timeout": PATIENCE,
        "env": {"TOKEN": {"secret": "token"}, "PYTHONPATH": os.getcwd()},
    }  # fmt: skip
    return McpTools(read(McpDefinition, data | said), secrets={"token": SECRET}.__getitem__, declared=declared)


async def call(tools: McpTools, name: str, arguments: dict[str, Any] | None = None, key: str = "k") -> Any:
    (tool,) = (one for one in tools.tools() if one.spec.name == name)
    return await tool.call(arguments or {}, key)


async def becomes(true: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.02)


def lists(tmp_path: Path, *tools: Any) -> list[str]:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([{"inputSchema": {"type": "object"}} | tool for tool in tools]))
    return ["--list", str(file)]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


# --- calling ---------------------------------------------------------------------------------------------------------


async def test_a_server_of_the_official_sdk_is_called():
    async with server(program=SDK) as tools:
        specs = Toolset(tools.tools()).specs()
        assert specs["add"].description == "Add two numbers."
        assert specs["add"].required == {"a", "b"}
        assert await call(tools, "add", {"a": 1, "b": 2}) == {"result": 3}
        assert await call(tools, "key", key="exec-7") == {"key": "exec-7"}
        with pytest.raises(ToolError, match="no, and your token is") as refused:
            await call(tools, "refuse")
        assert type(refused.value) is ToolError
        many = await asyncio.gather(*(call(tools, "add", {"a": n, "b": 0}) for n in range(40)))
        assert many == [{"result": n} for n in range(40)]
        await call(tools, "learn")
        await becomes(lambda: "learned" in {one.spec.name for one in tools.tools()})
        assert await call(tools, "learned") == "learned"


async def test_a_server_of_the_older_protocol_is_called():
    async with server() as tools:
        assert (await call(tools, "echo", {"a": [1, None]}))["a"] == [1, None]
        assert await call(tools, "text") == "one\ntwo"
        assert await call(tools, "picture") == "[image, left out]"
        assert await call(tools, "garbage") == "still here"


async def test_one_process_serves_all_turns():
    async with server() as tools:
        pids = await asyncio.gather(*(call(tools, "echo", {"n": n}) for n in range(30)))
        assert len({one["pid"] for one in pids}) == 1
        assert [one["n"] for one in pids] == list(range(30))


async def test_an_error_of_the_tool_means_that_nothing_happened():
    async with server() as tools:
        with pytest.raises(ToolError, match=r"error: no: \[hidden\]") as refused:
            await call(tools, "error")
        assert type(refused.value) is ToolError


@pytest.mark.parametrize(
    ("code", "known"), [(-32602, True), (-32601, True), (-32603, False), (-32600, False), (0, False), (7, False)]
)
async def test_only_a_request_that_was_turned_away_is_known_not_to_have_happened(code: int, known: bool):
    async with server() as tools:
        with pytest.raises(ToolError, match="said by the server") as refused:
            await call(tools, "rpc_error", {"code": code})
        assert type(refused.value) is (ToolError if known else ToolTimeout)


async def test_an_answer_that_is_not_what_the_server_promised_leaves_the_outcome_unknown():
    async with server() as tools:
        with pytest.raises(ToolTimeout, match="cannot be used"):
            await call(tools, "lie")
    async with server(tools={"lie": {"effect": "read"}}) as tools:
        with pytest.raises(ToolError) as refused:
            await call(tools, "lie")
        assert type(refused.value) is ToolError


async def test_a_call_cannot_be_looked_up():
    async with server() as tools:
        with pytest.raises(ToolError, match="cannot be looked up"):
            await tools.tools()[0].lookup({}, "k")


# --- dying and hanging -----------------------------------------------------------------------------------------------


async def test_a_server_that_dies_in_a_call_leaves_it_unknown_and_is_started_again():
    async with server() as tools:
        first = await call(tools, "echo")
        waiting = asyncio.create_task(call(tools, "hang"))
        await asyncio.sleep(0.05)
        with pytest.raises(ToolTimeout, match="not known whether it happened"):
            await call(tools, "die")
        with pytest.raises(ToolTimeout):
            await waiting
        second = await call(tools, "echo")
        assert first["pid"] != second["pid"]
        assert gone(first["pid"])


async def test_a_server_that_was_killed_between_calls_is_started_again():
    async with server() as tools:
        pid = (await call(tools, "echo"))["pid"]
        os.kill(pid, 9)
        await becomes(lambda: not tools._session or not tools._session.alive)
        both = await asyncio.gather(call(tools, "echo"), call(tools, "echo"))
        assert len({one["pid"] for one in both} | {pid}) == 2


async def test_a_hanging_tool_does_not_hang_the_turn_nor_the_others():
    async with server(tools={"hang": {"timeout": 0.3}}) as tools:
        hanging = asyncio.gather(*(call(tools, "hang") for _ in range(3)), return_exceptions=True)
        assert "pid" in await call(tools, "echo")
        assert [type(one) for one in await hanging] == [ToolTimeout] * 3
        assert "pid" in await call(tools, "echo")


async def test_a_server_that_no_longer_reads_does_not_hang_the_turn():
    """Its pipe is full, so not even the word that we gave up can be written."""
    async with asyncio.timeout(PATIENCE):
        async with server(timeout=0.4) as tools:
            deaf = asyncio.create_task(call(tools, "deaf"))
            await asyncio.sleep(0.05)
            full = [asyncio.create_task(call(tools, "echo", {"x": "y" * 300_000})) for _ in range(3)]
            done, _ = await asyncio.wait([deaf, *full], timeout=PATIENCE)
            assert len(done) == 4
            assert all(isinstance(one.exception(), ToolTimeout) for one in done)


async def test_a_cancelled_turn_leaves_the_session_whole():
    async with server() as tools:
        turn = asyncio.create_task(call(tools, "hang"))
        await asyncio.sleep(0.05)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert "pid" in await call(tools, "echo")


async def test_an_endless_message_ends_the_session_and_not_our_memory():
    async with server(max_bytes=1_000_000) as tools:
        pid = (await call(tools, "echo"))["pid"]
        with pytest.raises(ToolTimeout):
            await call(tools, "huge")
        assert (await call(tools, "echo"))["pid"] != pid
        await becomes(lambda: gone(pid))


@pytest.mark.parametrize(
    ("args", "said", "problem"),
    [
        (["--broken"], {}, "It said: cannot start: no configuration"),
        (["--mute"], {"connect_timeout": 0.5}, "did not connect in time"),
        ([], {"command": "/no/such/program"}, "FileNotFoundError"),
        ([], {"env": {"X": {"secret": "missing"}}}, "needs the secret 'missing'"),
    ],
)
async def test_a_server_that_does_not_start_is_an_error_that_says_what_to_check(
    args: list[str], said: Any, problem: str
):
    with pytest.raises(ToolError) as refused:
        async with server(*args, **said):
            pass
    assert problem in str(refused.value)
    assert refused.value.fix
    assert type(refused.value) is ToolError


async def test_closing_ends_the_process_and_its_children():
    async with server() as tools:
        pid = (await call(tools, "echo"))["pid"]
        child = (await call(tools, "child"))["pid"]
    assert gone(pid)
    await becomes(lambda: gone(child))
    async with server("--stubborn") as tools:
        stubborn = (await call(tools, "echo"))["pid"]
        its_child = (await call(tools, "child"))["pid"]
    assert gone(stubborn)
    await becomes(lambda: gone(its_child))
    with pytest.raises(ToolError, match="was closed"):
        await call(tools, "echo")


# --- what is known about the tools -----------------------------------------------------------------------------------


async def test_a_hint_never_opens_a_gate(tmp_path: Path):
    hints = [
        {"name": "says_read", "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False, "idempotentHint": True}},
        {"name": "says_write", "annotations": {"readOnlyHint": False}},
        {"name": "says_destroy", "annotations": {"destructiveHint": True, "readOnlyHint": True}},
        {"name": "says_nothing"},
    ]  # fmt: skip
    args = lists(tmp_path, *hints)
    async with server(*args) as tools:
        specs = Toolset(tools.tools()).specs().values()
        assert {one.effect for one in specs} == {None}
        assert {one.open_world for one in specs} == {True}
        assert {one.recovery for one in specs} == {"blind"}
    async with server(*args, declared=lambda name: True) as tools:
        effects = {one.spec.name: one.spec.effect for one in tools.tools()}
        assert effects == {
            "says_read": None,
            "says_write": "write",
            "says_destroy": "destructive",
            "says_nothing": None,
        }
    said = {one["name"]: {"effect": "write", "open_world": False} for one in hints}
    async with server(*args, tools=said) as tools:
        effects = {one.spec.name: one.spec.effect for one in tools.tools()}
        assert effects == {
            "says_read": "write",
            "says_write": "write",
            "says_destroy": "destructive",
            "says_nothing": "write",
        }
        assert not any(one.spec.open_world for one in tools.tools())


async def test_the_tenant_says_what_the_tools_are(tmp_path: Path):
    args = lists(tmp_path, {"name": "note", "description": "Notes."}, {"name": "other"}, {"name": "third"})
    said = {"note": {"effect": "write", "recovery": "keyed", "timeout": 2, "phrases": {"en": "note {x}"}}}
    async with server(*args, prefix="crm_", allow=["note", "other"], deny=["other"], tools=said) as tools:
        (tool,) = tools.tools()
        spec = tool.spec
        assert (spec.name, spec.description, spec.effect, spec.recovery, spec.timeout) == (
            "crm_note", "Notes.", "write", "keyed", 2,
        )  # fmt: skip
        assert spec.phrases == {"en": "note {x}"}
        assert spec is tool.spec


async def test_tools_that_cannot_be_used_safely_are_left_out(tmp_path: Path, caplog):
    fetches = {"type": "object", "properties": {"a": {"$ref": "http://169.254.169.254/latest"}}}
    args = lists(
        tmp_path,
        {"name": "good.one"},
        {"name": "fetches", "inputSchema": fetches},
        {"name": "broken", "inputSchema": {"type": "object", "properties": {"a": {"type": 7}}}},
        {"name": "bad name; drop"},
        {"name": "x" * 65},
        {"name": "same.name"},
        {"name": "same_name"},
    )
    async with server(*args) as tools:
        assert [one.spec.name for one in tools.tools()] == ["good_one"]
        assert caplog.text.count("a tool is left out") == 6
        assert "refer to another document" in caplog.text


async def test_a_changed_list_changes_the_specs(tmp_path: Path):
    args = lists(tmp_path, {"name": "reload"}, {"name": "echo"}, {"name": "text"})
    schema = {"type": "object", "required": ["a"]}
    async with server(*args) as tools:
        toolset = Toolset(tools.tools())
        before = toolset.specs()
        now = [
            {"name": "reload", "inputSchema": {"type": "object"}},
            {"name": "echo", "inputSchema": schema},
            {"name": "picture", "inputSchema": schema},
        ]
        await call(tools, "reload", {"tools": now})
        await becomes(lambda: toolset.specs() is not before)
        after = toolset.specs()
        assert after["echo"].version != before["echo"].version
        assert after["reload"] is before["reload"]
        assert not after["text"].configured
        with pytest.raises(ToolError, match="not configured"):
            await toolset.call("text", {}, "k")
        assert [one.spec.name for one in tools.tools()] == ["reload", "echo", "text", "picture"]


async def test_a_secret_is_in_no_log_no_error_and_no_result(caplog, capfd):
    caplog.set_level(logging.DEBUG)
    shown = []
    async with server() as tools:
        shown.append(json.dumps(await call(tools, "echo", {"a": SECRET})))
        for name in ("error", "die"):
            with pytest.raises(ToolError) as refused:
                await call(tools, name)
            shown.append(repr(refused.value) + str(refused.value) + repr(refused.value.__cause__))
        shown.append(repr(tools) + repr(tools.tools()) + str([one.spec for one in tools.tools()]))
    with pytest.raises(ToolError) as refused:
        async with server("--broken"):
            pass
    shown.append(str(refused.value))
    assert SECRET not in "".join(shown)
    assert SECRET not in caplog.text
    assert not any(SECRET in str(record.__dict__) for record in caplog.records)
    assert "demo: my token is [hidden]" in caplog.text
    assert capfd.readouterr() == ("", ""), "a server's words go to our logs, not to the terminal"


@pytest.mark.parametrize(
    "said",
    [
        {"name": "x"},
        {"name": "x", "command": "a", "url": "https://a.example"},
        {"name": "x", "url": "https://a.example", "env": {"A": "b"}},
        {"name": "x", "command": "a", "headers": {"A": "b"}},
        {"name": "x", "command": "a", "tools": {"y": {"recovery": "lookup"}}},
        {"name": "x", "command": "a", "prefix": "a.b"},
        {"name": "x y", "command": "a"},
        {"name": "x", "comand": "a"},
    ],
)
def test_a_definition_that_makes_no_sense_is_refused(said: Any):
    with pytest.raises(ConfigError, match="circumspect docs tools"):
        read(McpDefinition, said)


def test_a_phrase_in_a_language_we_do_not_speak_is_refused():
    with pytest.raises(ConfigError, match="no language 'fr'"):
        server(tools={"y": {"phrases": {"fr": "oui"}}})
