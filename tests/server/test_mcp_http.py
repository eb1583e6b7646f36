"""The MCP gateway over HTTP, called by the official SDK: the same rulings as over a pipe, for whoever has a key."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
import sqlalchemy as sa
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION
from tests.patience import PATIENCE
from tests.server.house import OURS, THEIRS, House, Running
from tests.server.test_end_users import AUDIENCE, ISSUER, KEYS, SHARED, sign, vouch
from tests.server.test_gateway import NOT_A_YES, require_a_look, said

from circumspect.errors import ToolError
from circumspect.server import credentials
from circumspect.server.app import create_app
from circumspect.server.stores import access, mcp_sessions
from circumspect.server.stores.access import KeyRow
from circumspect.server.stores.mcp_sessions import GatewaySession
from circumspect.stores import SqlStore
from circumspect.stores.mcp_tables import questions, sessions
from circumspect.tools.definitions import read
from circumspect.tools.mcp import McpDefinition, McpTools
from circumspect.values import TenantId

LOOK = ("get_order_status", {"order_id": "12345"})
NAMED = {"X-Conversation-Id": "c1"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
BOTH_KINDS = {"Accept": "application/json, text/event-stream"}
_numbers = itertools.count(1)


class Site:
    """A server, a look into its store, and for each test a key and a call that nobody else has."""

    def __init__(self, house: House, store: SqlStore) -> None:
        self.house, self.store, self.number = house, store, next(_numbers)
        self.move = ("update_address", {"order_id": "12345", "address": f"{self.number} Harbour Street, Haifa"})

    async def key(self, tenant: str = OURS, *scopes: str) -> str:
        id_, token = credentials.new_key()
        row = KeyRow(id_, TenantId(tenant), "test", scopes or ("chat",), time.time())
        await self.store.tx(access.add_key, row, credentials.hash_token(token))
        return token

    async def ran(self, tenant: str = OURS) -> list[str]:
        """How the test's own call ended, each time that it ran."""
        tool, arguments = self.move
        found = await self.store.recent_executions(TenantId(tenant), [tool], datetime.now(UTC) - timedelta(days=1))
        return [one.state for one in found if one.call.arguments["address"] == arguments["address"]]

    async def asked(self) -> list[Any]:
        return list(await self.store.tx(lambda connection: connection.execute(sa.select(questions)).all()))

    @asynccontextmanager
    async def connect(
        self, key: str = "", headers: dict[str, str] | None = None, transport: Any = None, **options: Any
    ) -> AsyncIterator[Client]:
        given = {"Authorization": f"Bearer {key or await self.key()}", **(headers or {})}
        async with (
            httpx2.AsyncClient(headers=given, timeout=PATIENCE, trust_env=False, transport=transport) as http,
            Client(streamable_http_client(f"{self.house.url}/mcp", http_client=http), **options) as client,
        ):
            yield client

    async def post(self, message: Any, key: str = "", **headers: str) -> httpx2.Response:
        """One request, as it is."""
        given = {"Authorization": f"Bearer {key or await self.key()}", **BOTH_KINDS, **headers}
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        async with httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
            return await http.post(
                f"{self.house.url}/mcp", content=body, headers={"Content-Type": "application/json", **given}
            )

    async def begin(self, key: str) -> dict[str, str]:
        """The header of a new session."""
        answer = await self.post(HELLO, key)
        assert answer.status_code == 200, answer.text
        return {"Mcp-Session-Id": answer.headers["mcp-session-id"]}


@pytest.fixture
async def site(house: House) -> AsyncIterator[Site]:
    store = await SqlStore.open(house.settings.database)
    yield Site(house, store)
    await store.close()


def answers(action: str, content: Any = None) -> Callable[..., Any]:
    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action=action, content=content)

    return elicit


YES = answers("accept", {"confirm": True})


def request(method: str, id_: int = 2, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def of_stream(answer: httpx2.Response) -> dict[str, Any]:
    (data,) = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    return dict(json.loads(data.removeprefix("data: ")))


# --- what a client sees ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [{}, NAMED], ids=["session", "named"])
async def test_tools_are_listed_and_reads_run(site: Site, headers):
    async with site.connect(headers=headers) as client:
        assert (client.protocol_version == LATEST_MODERN_VERSION) is bool(headers)
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["get_order_status"].annotations.read_only_hint
        result = await client.call_tool(*LOOK)
        assert not result.is_error
        assert "12345" in said(result)


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_every_version_with_sessions_is_spoken(site: Site, version):
    key = await site.key()
    hello = {**HELLO, "params": {**HELLO["params"], "protocolVersion": version}}
    begun = await site.post(hello, key)
    assert of_stream(begun)["result"]["protocolVersion"] == version
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "Mcp-Protocol-Version": version}
    ready = await site.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, key, **session)
    assert ready.status_code == 202
    called = await site.post(request("tools/call", name=LOOK[0], arguments=LOOK[1]), key, **session)
    assert "12345" in of_stream(called)["result"]["content"][0]["text"]


async def test_a_version_without_sessions_has_to_name_its_conversation(site: Site):
    answer = await site.post(request("server/discover"), **{"Mcp-Protocol-Version": LATEST_MODERN_VERSION})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == types.UNSUPPORTED_PROTOCOL_VERSION
    assert error["data"]["supported"] == list(HANDSHAKE_PROTOCOL_VERSIONS)
    assert "x-conversation-id" in error["message"]


@pytest.mark.parametrize("headers", [{}, NAMED], ids=["session", "named"])
async def test_what_breaks_a_rule_is_held_with_the_reason(site: Site, headers):
    async with site.connect(headers=headers) as client:
        for name, arguments in (("drop_tables", {}), ("update_address", {"order_id": "12345"})):
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert "HELD" in said(result)


@pytest.mark.parametrize("headers", [{}, NAMED], ids=["session", "named"])
@pytest.mark.parametrize(
    ("elicit", "runs", "words"),
    [
        (YES, True, ""),
        (answers("decline"), False, "DECLINED"),
        (answers("accept", {"confirm": False}), False, "DECLINED"),
        (answers("accept", {"confirm": "yes"}), False, "DECLINED"),
        (answers("cancel"), False, "PENDING"),
    ],
    ids=["accept", "decline", "unticked", "in words", "cancel"],
)
async def test_the_clients_user_is_asked(site: Site, elicit, runs, words, headers):
    async with site.connect(headers=headers, elicitation_callback=elicit) as client:
        assert words in said(await client.call_tool(*site.move))
    assert await site.ran() == (["succeeded"] if runs else [])
    assert await site.asked() == []


async def test_without_a_user_to_ask_a_colleague_decides_also_in_a_later_session(site: Site):
    key = await site.key()
    async with site.connect(key) as client:
        assert "PENDING" in said(await client.call_tool(*site.move))
    async with site.connect(key) as client:
        pending = await client.call_tool(*site.move)
        assert "PENDING" in said(pending)
        intent = pending.meta["io.circumspect/intent"]
        noa = await asyncio.to_thread(site.house.operator, "noa")
        shown = (await asyncio.to_thread(noa.get, f"/v1/approvals/{intent}")).json()
        yes = {"hash": shown["hash"]}
        decided = await asyncio.to_thread(noa.post, f"/v1/approvals/{intent}/approve", json=yes)
        assert decided.status_code == 200, decided.text
    async with site.connect(key) as client:
        assert "PENDING" not in said(await client.call_tool(*site.move))
        assert await site.ran() == ["succeeded"]
    async with site.connect() as client:
        assert "PENDING" in said(await client.call_tool(*site.move)), "another client's call is another call"
    assert await site.ran() == ["succeeded"]


async def test_what_one_session_looked_up_satisfies_nothing_in_another(site: Site):
    await require_a_look(site.store, THEIRS)
    key, cancel = await site.key(THEIRS), ("cancel_order", {"order_id": "12345"})
    async with site.connect(key) as first, site.connect(key) as second:
        await first.call_tool(*LOOK)
        held, pending = await second.call_tool(*cancel), await first.call_tool(*cancel)
        assert "REQUIREMENT_NOT_MET" in said(held)
        assert "PENDING" in said(pending)
    one, other = {"X-Conversation-Id": "one"}, {"X-Conversation-Id": "other"}
    key = await site.key(THEIRS)
    async with site.connect(key, one) as first, site.connect(key, other) as second:
        await first.call_tool(*LOOK)
        held, pending = await second.call_tool(*cancel), await first.call_tool(*cancel)
        assert "REQUIREMENT_NOT_MET" in said(held)
        assert "PENDING" in said(pending)
    async with site.connect(await site.key(THEIRS), one) as stranger:
        assert "REQUIREMENT_NOT_MET" in said(await stranger.call_tool(*cancel)), "a name is its own client's"


async def test_a_request_that_its_client_gave_up_asks_nobody_any_more(site: Site):
    asked = anyio.Event()

    async def never(context: Any, params: Any) -> types.ElicitResult:
        asked.set()
        await anyio.sleep_forever()
        raise AssertionError

    key = await site.key()
    async with site.connect(key, elicitation_callback=never) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, *site.move)
        await asked.wait()
        tasks.cancel_scope.cancel()
    async with asyncio.timeout(PATIENCE):
        while await site.asked():
            await asyncio.sleep(0.02)
    assert await site.ran() == []
    async with site.connect(key, elicitation_callback=YES) as client:
        await client.call_tool(*site.move)
    assert await site.ran() == ["succeeded"]


async def test_a_notice_that_a_request_is_cancelled_ends_its_question(site: Site):
    key = await site.key()
    session = await site.begin(key)
    call = request("tools/call", 7, name=site.move[0], arguments=site.move[1])
    waiting = asyncio.create_task(site.post(call, key, **session))
    async with asyncio.timeout(PATIENCE):
        while not await site.asked():
            await asyncio.sleep(0.02)
    for id_ in ("7", 8):
        other = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}
        assert (await site.post(other, key, **session)).status_code == 202
    assert not waiting.done()
    notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    assert (await site.post(notice, key, **session)).status_code == 202
    assert "PENDING" in (await asyncio.wait_for(waiting, PATIENCE)).text
    assert await site.ran() == []


@pytest.mark.parametrize("content", [*NOT_A_YES, {"confirm": {"deep": True}}, "yes", None], ids=repr)
async def test_an_answer_that_is_not_what_the_form_asks_for_is_a_no(site: Site, content):
    result = {"action": "accept", "content": content}
    assert "DECLINED" in await answer_with(site, {"result": result})
    assert await site.ran() == []


async def test_a_client_that_cannot_show_the_form_has_not_answered(site: Site):
    assert "PENDING" in await answer_with(site, {"error": {"code": -32601, "message": "no"}})
    assert await site.ran() == []


async def test_an_answer_counts_in_the_session_that_was_asked(site: Site):
    key = await site.key()
    other = await site.begin(key)
    accept = {"result": {"action": "accept", "content": {"confirm": True}}}
    decline = {"result": {"action": "decline"}}
    assert "DECLINED" in await answer_with(site, decline, key, before=[(accept, other)])
    assert await site.ran() == []


async def answer_with(
    site: Site, given: dict[str, Any], key: str = "", before: list[tuple[dict[str, Any], dict[str, str]]] | None = None
) -> str:
    """What a call comes to whose question is answered by hand."""
    key = key or await site.key()
    session = await site.begin(key)
    call = request("tools/call", 7, name=site.move[0], arguments=site.move[1])
    waiting = asyncio.create_task(site.post(call, key, **session))
    async with asyncio.timeout(PATIENCE):
        while not (asked := await site.asked()):
            await asyncio.sleep(0.02)
    for one, headers in [*(before or []), (given, session)]:
        sent = await site.post({"jsonrpc": "2.0", "id": asked[0].id, **one}, key, **headers)
        assert sent.status_code == 202
    return (await asyncio.wait_for(waiting, PATIENCE)).text


# --- workers ---------------------------------------------------------------------------------------------------------


class TakingTurns(httpx2.AsyncBaseTransport):
    """Each request goes to the next of several servers."""

    def __init__(self, *urls: str) -> None:
        self._inner, self._urls = httpx2.AsyncHTTPTransport(), itertools.cycle(map(httpx2.URL, urls))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = next(self._urls)
        request.url = request.url.copy_with(host=url.host, port=url.port)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


@pytest.fixture
async def two_workers(both: House) -> AsyncIterator[tuple[Site, str]]:
    """On either database."""
    store = await SqlStore.open(both.settings.database)
    with Running(create_app(both.settings), drain=5) as second:
        yield Site(both, store), second.url
    await store.close()


@pytest.mark.parametrize("headers", [{}, NAMED], ids=["session", "named"])
async def test_any_worker_serves_any_request_of_a_session(two_workers: tuple[Site, str], headers):
    site, second = two_workers
    turns = TakingTurns(site.house.url, second)
    async with site.connect(headers=headers, transport=turns, elicitation_callback=YES) as client:
        for _ in range(3):
            assert len((await client.list_tools(cache_mode="bypass")).tools) > 3
        assert not (await client.call_tool(*site.move)).is_error
        assert not (await client.call_tool(*LOOK)).is_error
    assert await site.ran() == ["succeeded"]
    assert await site.asked() == []


# --- who may come in -------------------------------------------------------------------------------------------------


async def test_a_key_that_is_not_good_opens_nothing(site: Site):
    for headers in ({"Authorization": "Bearer csk_nonsense"}, {"Authorization": "Basic abc"}):
        answer = await site.post(HELLO, **headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "Authorization" in answer.json()["error"]["message"] or "key" in answer.json()["error"]["message"]
    assert (await site.post(HELLO, await site.key(OURS, "manage"))).status_code == 403
    with pytest.RaisesGroup(pytest.RaisesExc(MCPError, match="The API key is not valid"), flatten_subgroups=True):
        async with site.connect("csk_nonsense"):
            pass


async def test_a_session_is_there_for_nobody_else(site: Site):
    key = await site.key()
    session = await site.begin(key)
    assert (await site.post(request("tools/list"), key, **session)).status_code == 200
    for other in (await site.key(), await site.key(THEIRS)):
        assert (await site.post(request("tools/list"), other, **session)).status_code == 404


async def test_a_session_belongs_to_the_person_whose_token_opened_it(site: Site):
    await vouch(site.store, "shop-he", {"keys": KEYS, "issuer": ISSUER, "audience": AUDIENCE, "required": True}, SHARED)
    key, anna, mallory = await site.key("shop-he"), {"X-End-User-Token": sign()}, {"X-End-User-Token": sign("mallory")}
    assert (await site.post(HELLO, key)).status_code == 401, "nobody's word is taken"
    begun = await site.post(HELLO, key, **anna)
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    assert (await site.post(request("tools/list"), key, **session, **anna)).status_code == 200
    assert (await site.post(request("tools/list"), key, **session, **mallory)).status_code == 404
    async with site.connect(key, anna) as client:
        pending = await client.call_tool(*site.move)
        assert "PENDING" in said(pending)
    async with site.connect(key, mallory) as client:
        other = await client.call_tool(*site.move)
        assert other.meta["io.circumspect/intent"] != pending.meta["io.circumspect/intent"]
    async with site.connect(await site.key("shop-he"), anna) as client:
        again = await client.call_tool(*site.move)
        assert again.meta["io.circumspect/intent"] == pending.meta["io.circumspect/intent"], "by whichever key"


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:6274", 200),
        ("http://127.0.0.1:8000", 200),
        ("http://[::1]:1", 200),
        ("https://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
async def test_a_strangers_page_may_not_use_it(site: Site, origin, status):
    assert (await site.post(HELLO, Origin=origin)).status_code == status


async def test_a_session_that_is_not_there_is_said_to_be_that(site: Site):
    key = await site.key()
    listing = request("tools/list")
    assert (await site.post(listing, key)).status_code == 400
    unknown = await site.post(listing, key, **{"Mcp-Session-Id": "mcp_nonsense"})
    assert unknown.status_code == 404
    assert "new one" in unknown.json()["error"]["message"]
    session = await site.begin(key)
    given = {"Authorization": f"Bearer {key}", **session}
    async with httpx2.AsyncClient(base_url=site.house.url, headers=given, trust_env=False, timeout=PATIENCE) as http:
        unasked = await http.get("/mcp")
        assert (unasked.status_code, unasked.headers["allow"]) == (405, "POST, DELETE")
        assert (await http.delete("/mcp")).status_code == 204
        assert (await http.delete("/mcp")).status_code == 404
    assert (await site.post(listing, key, **session)).status_code == 404


@pytest.mark.parametrize(("column", "ago"), [("used_at", 3601), ("created_at", 24 * 3601)])
async def test_a_session_ends_when_it_is_idle_and_when_it_is_old(site: Site, column, ago):
    key = await site.key()
    session = await site.begin(key)
    own = sessions.c.id == session["Mcp-Session-Id"]
    back = sa.update(sessions).where(own).values({column: time.time() - ago})
    await site.store.tx(lambda connection: connection.execute(back))
    assert (await site.post(request("tools/list"), key, **session)).status_code == 404
    if column == "used_at":
        await site.store.tx(mcp_sessions.forget_ended_sessions, time.time(), 100)
        found = await site.store.tx(lambda connection: connection.execute(sa.select(sessions).where(own)).all())
        assert found == []


async def test_a_client_with_too_many_sessions_loses_the_one_it_used_least_recently(site: Site, monkeypatch):
    monkeypatch.setattr(mcp_sessions, "MOST_SESSIONS", 2)
    shop, now = TenantId(OURS), time.time()
    for number in range(3):
        session = GatewaySession(f"many-{site.number}-{number}", shop, "mcp:many", can_ask=False)
        await site.store.tx(mcp_sessions.begin_session, session, now + number)
    there = [
        await site.store.tx(mcp_sessions.find_session, shop, "mcp:many", f"many-{site.number}-{number}", now + 3)
        for number in range(3)
    ]
    assert [one is not None for one in there] == [False, True, True]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (json.dumps([HELLO, HELLO]).encode(), 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}', 400),
        (b"[" * 100_000, 400),
        (b" " * 1_000_001, 413),
    ],
    ids=["broken", "empty", "batch", "no client", "deep", "large"],
)
async def test_what_is_no_message_is_refused(site: Site, body, status):
    answer = await site.post(body)
    assert answer.status_code == status
    assert "Traceback" not in answer.text


# --- one gateway before another --------------------------------------------------------------------------------------


def beyond(site: Site, key: str, **more: Any) -> McpTools:
    """Our own client of MCP servers, with this key among its secrets."""
    said = {"name": "desk", "url": f"{site.house.url}/mcp", "headers": {"Authorization": {"secret": "key"}}, **more}
    return McpTools(read(McpDefinition, said), secrets={"key": f"Bearer {key}"}.__getitem__, allow=("127.0.0.1",))


async def test_a_server_behind_a_key_is_called_with_it(site: Site):
    key = await site.key()
    async with beyond(site, key, timeout=PATIENCE, connect_timeout=PATIENCE) as tools:
        by_name = {one.spec.name: one for one in tools.tools()}
        assert key not in repr(by_name)
        found = await by_name["get_order_status"].call({"order_id": "12345"}, "k")
        assert found["order_id"] == "12345"


async def test_a_server_that_does_not_know_the_key_has_done_nothing(site: Site):
    with pytest.raises(ToolError, match="401") as refused:
        async with beyond(site, "csk_nonsense"):
            pass
    assert type(refused.value) is ToolError
    assert "csk_nonsense" not in str(refused.value)
