"""MCP servers over streamable HTTP: the official SDK behind uvicorn, and one that forgets, refuses, redirects and lies."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import pytest
import trustme
import uvicorn
from mcp.server.mcpserver import MCPServer
from tests.patience import PATIENCE
from tests.tools import mcp_sdk_server
from tests.tools.raw_server import Asked, RawServer, answer, hang_up, silence

from circumspect.errors import ToolError, ToolTimeout
from circumspect.outgoing import BlockedAddress
from circumspect.tools.definitions import read
from circumspect.tools.mcp import McpDefinition, McpTools

SECRET = "s3cr3t-t0ken"


def tools_at(url: str, *, allow: Any = ("127.0.0.1",), verify: Any = None, **said: Any) -> McpTools:
    data = {
        "name": "remote",
        "url": url,
        "headers": {"X-Token": {"secret": "token"}},
        "timeout": PATIENCE,
        "connect_timeout": PATIENCE,
    }
    return McpTools(read(McpDefinition, data | said), secrets={"token": SECRET}.__getitem__, allow=allow, verify=verify)


async def call(tools: McpTools, name: str, arguments: dict[str, Any] | None = None) -> Any:
    (tool,) = (one for one in tools.tools() if one.spec.name == name)
    return await tool.call(arguments or {}, "k")


async def becomes(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def honest(server: MCPServer | None = None, *, port: int = 0, **options: Any) -> AsyncIterator[str]:
    app = (server or mcp_sdk_server.make()).streamable_http_app(**options)
    running = uvicorn.Server(
        uvicorn.Config(app, port=port, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
    )
    running.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
    task = asyncio.create_task(running.serve())
    await becomes(lambda: running.started)
    try:
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        running.should_exit = True
        await task


# --- the official SDK ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"json_response": True}, {"stateless_http": True}], ids=str)
async def test_a_server_of_the_official_sdk_is_called(options: Any):
    async with honest(**options) as url, tools_at(url) as tools:
        assert await call(tools, "add", {"a": 1, "b": 2}) == {"result": 3}
        many = await asyncio.gather(*(call(tools, "add", {"a": n, "b": 0}) for n in range(40)))
        assert many == [{"result": n} for n in range(40)]
        with pytest.raises(ToolError, match="no, and your token"):
            await call(tools, "refuse")
        seen = await call(tools, "seen")
        assert seen["x-token"] == "[hidden]"


async def test_a_slow_tool_is_given_up_on_and_the_session_stays():
    async with honest() as url, tools_at(url, tools={"sleep": {"timeout": 0.3}}) as tools:
        with pytest.raises(ToolTimeout, match=r"within 0\.3 s"):
            await call(tools, "sleep", {"seconds": 30})
        assert await call(tools, "add", {"a": 1, "b": 2}) == {"result": 3}


@pytest.mark.parametrize("options", [{}, {"json_response": True}], ids=str)
async def test_an_answer_that_is_too_large_leaves_that_call_unknown_and_the_others_alone(options: Any):
    async with honest(**options) as url, tools_at(url, max_bytes=100_000) as tools:
        other = asyncio.create_task(call(tools, "sleep", {"seconds": 0.3}))
        with pytest.raises(ToolTimeout):
            await call(tools, "big", {"size": 200_000})
        assert await other == {"result": "awake"}
        assert await call(tools, "add", {"a": 1, "b": 2}) == {"result": 3}


async def test_a_changed_list_is_heard_of():
    async with honest() as url, tools_at(url) as tools:
        assert "learned" not in {one.spec.name for one in tools.tools()}
        await call(tools, "learn")
        await becomes(lambda: "learned" in {one.spec.name for one in tools.tools()})


async def test_a_server_that_is_gone_is_an_error_and_one_that_is_back_is_called_again():
    async with honest() as url:
        port = int(url.split(":")[2].partition("/")[0])
        tools = await tools_at(url).__aenter__()
    with pytest.raises(ToolError) as refused:
        await call(tools, "add", {"a": 1, "b": 2})
    assert type(refused.value) is ToolError, "no connection was made, so nothing happened"
    async with honest(port=port):
        assert await call(tools, "add", {"a": 1, "b": 2}) == {"result": 3}
        await tools.aclose()


async def test_the_certificate_of_a_server_is_checked():
    authority = trustme.CA()
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(shown)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with RawServer(older(), tls=shown) as server:
        async with tools_at(server.url, verify=trusting) as tools:
            assert await call(tools, "act") == {"acted": True}
        with pytest.raises(ToolError, match="nothing was sent"):
            async with tools_at(server.url):
                pass


# --- an older server that misbehaves ---------------------------------------------------------------------------------


def older(acts: Callable[[Asked, asyncio.StreamWriter, str], Any] | None = None, *, forgets: int = 0):
    """The older protocol, with sessions. `acts` answers calls; `forgets` sessions are unknown when they are called."""
    sessions: list[str] = []

    async def play(asked: Asked, writer: asyncio.StreamWriter) -> None:
        message = asked.json if asked.body else {}
        session = asked.headers.get("mcp-session-id", "")
        match asked.method, message.get("method"):
            case "POST", "initialize":
                sessions.append(f"session-{len(sessions)}")
                capabilities = {"tools": {}}
                info = {"name": "older", "version": "1"}
                result = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info}
                reply = answer(
                    200, {"jsonrpc": "2.0", "id": message["id"], "result": result}, mcp_session_id=sessions[-1]
                )
            case "POST", "tools/list":
                listed = {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]}
                reply = answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": listed})
            case "POST", "tools/call" if session in [f"session-{n}" for n in range(forgets)]:
                reply = answer(404, "no such session")
            case "POST", "tools/call" if acts:
                return await acts(asked, writer, message["id"])
            case "POST", "tools/call":
                done = {"content": [], "structuredContent": {"acted": True}}
                reply = answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": done})
            case "POST", method if method and method.startswith("notifications/"):
                reply = answer(202)
            case "POST", _:
                reply = answer(200, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}})
            case _:
                reply = answer(405)
        writer.write(reply)
        await writer.drain()
        writer.close()
        return None

    return play


def replies(raw: Any):
    async def acts(asked: Asked, writer: asyncio.StreamWriter, id_: str) -> None:
        if callable(raw):
            return await raw(asked, writer)
        writer.write(raw)
        await writer.drain()
        writer.close()
        return None

    return acts


async def test_a_session_that_the_server_has_forgotten_is_made_again_and_the_call_is_sent_once_more():
    async with RawServer(older(forgets=1)) as server, tools_at(server.url) as tools:
        assert await call(tools, "act") == {"acted": True}
        assert sum(one.method == "POST" and one.json.get("method") == "tools/call" for one in server.asked) == 2


async def test_a_server_that_forgets_every_session_is_not_asked_for_ever():
    async with RawServer(older(forgets=9)) as server, tools_at(server.url) as tools:
        with pytest.raises(ToolError):
            await call(tools, "act")
        assert sum(one.method == "POST" and one.json.get("method") == "tools/call" for one in server.asked) == 2


@pytest.mark.parametrize(
    "raw",
    [
        answer(500, "oops"),
        answer(202),
        answer(200, "<html>", content_type="text/html"),
        answer(200, "{nonsense", content_type="application/json"),
        answer(200, {"jsonrpc": "2.0", "id": 99, "result": "not even an object"}),
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\nevent: message\r\n\r\n",
        hang_up,
        silence,
    ],
    ids=["500", "202", "html", "no json", "no object", "half", "stream ends", "hang up", "silence"],
)
async def test_after_a_call_has_left_a_failure_leaves_its_outcome_unknown(raw: Any):
    seconds = 0.6 if raw is silence else PATIENCE
    async with RawServer(older(replies(raw))) as server, tools_at(server.url, timeout=seconds) as tools:
        with pytest.raises(ToolTimeout):
            await call(tools, "act")
        with pytest.raises(ToolTimeout):
            await call(tools, "act")


async def test_a_connection_that_breaks_under_one_call_leaves_the_others_alone():
    half = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"
    broken = asyncio.Event()

    async def acts(asked: Asked, writer: asyncio.StreamWriter, id_: str) -> None:
        if asked.json["params"]["arguments"] == {"wait": True}:
            await broken.wait()
            result = {"content": [], "structuredContent": {"waited": True}}
            writer.write(answer(200, {"jsonrpc": "2.0", "id": id_, "result": result}))
        else:
            writer.write(half)
        await writer.drain()
        writer.close()

    async with RawServer(older(acts)) as server, tools_at(server.url) as tools:
        other = asyncio.create_task(call(tools, "act", {"wait": True}))
        with pytest.raises(ToolTimeout):
            await call(tools, "act")
        broken.set()
        assert await other == {"waited": True}
        assert sum(one.method == "POST" and one.json.get("method") == "initialize" for one in server.asked) == 1


@pytest.mark.parametrize("status", [401, 403, 429])
async def test_a_server_that_does_not_let_us_in_has_done_nothing(status: int):
    bad = answer(status, f"your token {SECRET} is bad")
    async with RawServer(older(replies(bad))) as server, tools_at(server.url) as tools:
        with pytest.raises(ToolError, match=str(status)) as refused:
            await call(tools, "act")
        assert type(refused.value) is ToolError
    async with RawServer(answer(status, "no")) as server:
        with pytest.raises(ToolError, match=str(status)):
            async with tools_at(server.url):
                pass


# --- where it may be -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/mcp", "http://169.254.169.254/", "http://0x7f.1/mcp", "file:///etc/passwd"]
)
def test_a_private_address_is_refused_at_load(url: str):
    with pytest.raises(BlockedAddress):
        tools_at(url, allow=())


async def test_a_name_that_leads_inside_is_refused_and_nothing_is_sent():
    async with RawServer(older()) as server:
        with pytest.raises(ToolError, match="not on the public internet"):
            async with tools_at(f"http://localhost:{server.port}/mcp", allow=()):
                pass
        assert server.asked == []


async def test_a_redirect_leads_nowhere():
    async with RawServer(older()) as inside:
        for status in (302, 307, 308):
            async with RawServer(answer(status, location=inside.url)) as server:
                with pytest.raises(ToolError):
                    async with tools_at(server.url):
                        pass
        assert inside.asked == []


async def test_a_secret_is_in_no_log_no_error_and_no_result(caplog, capfd):
    caplog.set_level(logging.DEBUG)

    async def echoes(asked: Asked, writer: asyncio.StreamWriter, id_: str) -> None:
        said = asked.headers["x-token"]
        kind = asked.json["params"]["arguments"]["how"]
        content = [{"type": "text", "text": f"token {said}"}]
        writer.write(
            {
                "result": answer(200, {"jsonrpc": "2.0", "id": id_, "result": {"content": content}}, set_cookie=said),
                "error": answer(200, {"jsonrpc": "2.0", "id": id_, "result": {"content": content, "isError": True}}),
                "rpc": answer(200, {"jsonrpc": "2.0", "id": id_, "error": {"code": 5, "message": said}}),
                "bad": answer(200, f"{said} nonsense", content_type="application/json"),
                "500": answer(500, said),
            }[kind]
        )
        await writer.drain()
        writer.close()

    shown = []
    async with RawServer(older(echoes)) as server, tools_at(server.url) as tools:
        shown.append(json.dumps(await call(tools, "act", {"how": "result"})))
        for how in ("error", "rpc", "bad", "500"):
            with pytest.raises(ToolError) as refused:
                await call(tools, "act", {"how": how})
            shown.append(repr(refused.value) + str(refused.value) + repr(refused.value.__cause__))
        shown.append(repr(tools) + repr(tools.tools()))
    assert any(one.headers.get("x-token") == SECRET for one in server.asked)
    assert SECRET not in "".join(shown)
    assert SECRET not in caplog.text
    assert not any(SECRET in str(record.__dict__) for record in caplog.records)
    assert capfd.readouterr() == ("", "")
