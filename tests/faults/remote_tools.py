"""Python tools that call the back end as people write them: with httpx, with requests, with a socket of their own."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from circumspect import IdempotencyKey, tool

LIBRARIES = ("httpx", "requests", "sockets")


def for_tenant(context: Any) -> list[Any]:
    options = context.options
    name, effect, recovery = str(options["tenant"]), str(options["effect"]), str(options["recovery"])
    url, timeout = str(options["url"]), float(options["timeout"])
    send = {"httpx": _with_httpx, "requests": _with_requests, "sockets": _with_a_socket}[str(options["library"])]

    def find(key: str, arguments: Mapping[str, Any]) -> dict[str, str] | None:
        answer = httpx.get(f"{url}/{name}/calls/{key}", trust_env=False, timeout=timeout)
        return answer.json() if answer.status_code == 200 else None

    settings: dict[str, Any] = {"lookup": find} if recovery == "lookup" else {}

    @tool(effect=effect, recovery=recovery, timeout=timeout, **settings)
    def cancel_order(order_id: str, key: IdempotencyKey) -> dict[str, str]:
        """Cancel an order."""
        # A little less than the tool has: the client library, and not we, finds out that no answer comes.
        return send(f"{url}/{name}/orders/{order_id}/cancel", str(key), timeout * 0.8)

    return [cancel_order]


Send = Callable[[str, str, float], dict[str, str]]


def _with_httpx(url: str, key: str, timeout: float) -> dict[str, str]:
    with httpx.Client(trust_env=False, timeout=timeout) as client:
        return _read(client.post(url, headers={"Idempotency-Key": key}))


def _with_requests(url: str, key: str, timeout: float) -> dict[str, str]:
    import requests

    with requests.Session() as session:
        session.trust_env = False
        return _read(session.post(url, headers={"Idempotency-Key": key}, timeout=timeout))


def _with_a_socket(url: str, key: str, timeout: float) -> dict[str, str]:
    """A request written by hand. What comes back is read with the standard library's reader, which wants all of it."""
    host, _, path = url.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port)), timeout=timeout) as connection:
        lines = f"POST /{path} HTTP/1.1\r\nHost: {host}\r\nIdempotency-Key: {key}\r\nContent-Length: 0\r\n\r\n"
        connection.sendall(lines.encode())
        answer = http.client.HTTPResponse(connection, method="POST")
        answer.begin()
        body = json.loads(answer.read())
    if answer.status >= 500:
        raise ConnectionResetError(f"{answer.status}")
    if answer.status >= 400:
        raise ValueError(body["message"])
    return dict(body)


def _read(answer: Any) -> dict[str, str]:
    answer.raise_for_status()
    return dict(answer.json())
