"""What went wrong on the wire leaves the outcome open unless it proves that nothing was sent; a refusal does not.

Each client library is the real one, against a server that answers with exactly these bytes.
"""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import httpx
import httpx2
import pytest
from tests.tools.raw_server import Answer, RawServer, answer, hang_up, silence

from circumspect import tool
from circumspect.errors import ToolError, ToolTimeout

requests: Any = pytest.importorskip("requests")

CUT_SHORT = (
    b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\nconnection: close\r\n\r\n{"ok"'
)
NOT_JSON = b'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{"ok": tr'
WAITS = 0.5


def with_httpx(url: str) -> Any:
    answered = httpx.post(url, json={}, timeout=WAITS)
    answered.raise_for_status()
    return answered.json()


async def with_httpx_async(url: str) -> Any:
    async with httpx.AsyncClient(timeout=WAITS) as client:
        answered = await client.post(url, json={})
        answered.raise_for_status()
        return answered.json()


def with_httpx2(url: str) -> Any:
    answered = httpx2.post(url, json={}, timeout=WAITS)
    answered.raise_for_status()
    return answered.json()


def with_requests(url: str) -> Any:
    with requests.Session() as session:
        answered = session.post(url, json={}, timeout=WAITS)
        answered.raise_for_status()
        return answered.json()


def with_urllib(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, data=b"{}", timeout=WAITS) as answered:
            return json.load(answered)
    except urllib.error.HTTPError as error:
        error.close()
        raise


def with_a_socket(url: str) -> Any:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=WAITS) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n")
        answered = b""
        while more := connection.recv(4096):
            answered += more
    status = int(answered.split(b" ")[1]) if answered else 0
    if 400 <= status < 500:
        raise ToolError(f"the server said {status}")
    if status >= 500:
        raise ConnectionAbortedError(f"the server said {status}")
    return json.loads(answered.partition(b"\r\n\r\n")[2])


CLIENTS = [with_httpx, with_httpx_async, with_httpx2, with_requests, with_urllib, with_a_socket]


def make_tool(client: Callable[[str], Any], url: str) -> Any:
    async def pay() -> Any:
        return await client(url)

    def pay_in_a_thread() -> Any:
        return client(url)

    return tool(effect="write", name="pay")(pay if client is with_httpx_async else pay_in_a_thread)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)
@pytest.mark.parametrize(
    "bad",
    [silence, hang_up, CUT_SHORT, NOT_JSON, answer(503, {"error": "later"})],
    ids=["silence", "hang-up", "cut-short", "not-json", "503"],
)
async def test_what_may_have_happened_is_never_called_a_failure(client: Callable[[str], Any], bad: Answer) -> None:
    async with RawServer(bad) as server:
        with pytest.raises(ToolTimeout):
            await make_tool(client, server.url).call({}, "key")
        assert len(server.asked) == 1


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)
async def test_a_server_that_says_no_or_is_not_there_has_done_nothing(client: Callable[[str], Any]) -> None:
    async with RawServer(answer(409, {"error": "closed"})) as server:
        with pytest.raises(ToolError) as refused:
            await make_tool(client, server.url).call({}, "key")
    with pytest.raises(ToolError) as not_there:
        await make_tool(client, server.url).call({}, "key")
    assert not isinstance(refused.value, ToolTimeout)
    assert not isinstance(not_there.value, ToolTimeout)
