"""Small requests that once stopped a worker for everybody, and how long `/healthz` waits while they are sent.

Each is a few kilobytes that made one pattern, schema or answer cost the square of its length, or more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.security.fortress import Fortress

Send = Callable[[httpx.Client, int], httpx.Response]
HEX = "e" * 8_000


def make_doubling(times: int, at: int = 0) -> dict[str, Any]:
    """Definitions that each name the next one twice; `at` makes it another schema."""
    parts = {f"a{step}": {"allOf": [{"$ref": f"#/$defs/a{step + 1}"}] * 2} for step in range(times)}
    return {"type": "object", "description": str(at), "$defs": {**parts, f"a{times}": {}}, "$ref": "#/$defs/a0"}


def _tools(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": "cancel_order", "parameters": schema}}]


def _chat(client: httpx.Client, schema: dict[str, Any], text: str = "cancel order 12345") -> httpx.Response:
    said = [{"role": "user", "content": text}]
    body = {"model": "circumspect", "messages": said, "tools": _tools(schema)}
    return client.post("/v1/chat/completions", json=body)


def _audit(client: httpx.Client, schema: dict[str, Any]) -> httpx.Response:
    call = {"id": "c", "type": "function", "function": {"name": "cancel_order", "arguments": "{}"}}
    said = [{"role": "user", "content": "cancel it"}, {"role": "assistant", "tool_calls": [call]}]
    return client.post("/v1/audit", json={"transcripts": [{"messages": said, "tools": _tools(schema)}]})


def _say(client: httpx.Client, text: str, at: int) -> httpx.Response:
    client.post("/v1/conversations", json={"id": f"attack-{at}"})
    return client.post(f"/v1/conversations/attack-{at}/messages", json={"content": text})


def _talk(client: httpx.Client, length: int, at: int) -> httpx.Response:
    said = [
        {"role": role, "content": content}
        for turn in range(length)
        for role, content in (("user", f"{at}: cancel order {turn}, please. " * 6), ("assistant", "Which one? " * 20))
    ]
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    body = {"messages": [*said, {"role": "user", "content": "cancel order 12345"}], "tools": _tools(schema)}
    return client.post("/v1/chat/completions", json={"model": "circumspect", **body})


def _page(client: httpx.Client, html: str) -> httpx.Response:
    body = {"query": "Click the first button", "url": "https://shop.example/", "page": {"html": html}}
    return client.post("/v1/agent/interact", json=body)


SAID = "cancel order refund please my the and not yes no 12345 €12.50 tomorrow 2026-11-18 monday blue shirt size "


def _rule(client: httpx.Client, value: object, at: int, said: str = SAID * 1_000) -> httpx.Response:
    call = {"tool": "cancel_order", "arguments": {"order_id": value}}
    body = {"call": call, "conversation": f"ruled-{at}", "messages": [{"role": "user", "content": said}]}
    return client.post("/v1/rulings", json=body)


ATTACKS: dict[str, Send] = {
    "definitions that double, in tools": lambda client, at: _chat(client, make_doubling(40, at)),
    "definitions that double, in a transcript": lambda client, at: _audit(client, make_doubling(40, at)),
    "a pattern that backtracks, in tools": lambda client, at: _chat(
        client, {"properties": {"code": {"type": "string", "pattern": "^(a+)+$"}}}, "code " + "a" * 40 + "!"
    ),
    "a message of spaces": lambda client, at: _say(client, "a" + " " * 19_900 + "b", at),
    "a message of line breaks": lambda client, at: _say(client, "a" + "\n" * 19_900 + "b", at),
    "a message of quotation marks": lambda client, at: _say(client, '"' + " " * 19_900, at),
    "a message of a thousand wishes": lambda client, at: _say(client, f"{at} " + "cancel order 12345. " * 990, at),
    "a message of wishes in one sentence": lambda client, at: _say(client, f"{at} " + "לבטל הזמנה 12345 " * 1_150, at),
    "a message of half a date": lambda client, at: _say(client, f"{at}a" + "2026-" * 3_970 + "b", at),
    "a talk of many wishes": lambda client, at: _talk(client, 200, at),
    "an id of hex letters": lambda client, at: _page(client, f"<button id='{HEX}{at}'>Go</button>"),
    "another large schema every time": lambda client, at: _chat(
        client, {"type": "object", "properties": {f"p{at}_{n}": {"type": "string"} for n in range(1_500)}}
    ),
    "a ruling of many values": lambda client, at: _rule(client, [f"no. {at} {n}" for n in range(4_900)], at),
    "a ruling over a long talk": lambda client, at: _rule(client, "12345", at, SAID * 4_000),
    "a reply of one sentence": lambda client, at: client.post("/v1/replies/check", json={"text": f"{at} " + SAID * 900}),
}  # fmt: skip


@dataclass
class AttackReport:
    """What came back, and how long everybody else waited meanwhile."""

    statuses: list[int] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    """Of `/healthz`, in seconds, one after the other."""
    held: float = 0.0
    """Seconds of computing between two signs of the event loop, at most."""


def attack(fortress: Fortress, name: str, times: int, pause: float = 0.1) -> AttackReport:
    """Sends one of them `times` times, ten a second or as fast as answers come, and asks for health all the while."""
    found, over = AttackReport(), threading.Event()

    def ask() -> None:
        with fortress.client() as client:
            while not over.is_set():
                begun = time.perf_counter()
                assert client.get("/healthz").status_code == 200
                found.waits.append(time.perf_counter() - begun)
                over.wait(0.02)

    begun = time.monotonic()
    asking = threading.Thread(target=ask)
    asking.start()
    try:
        with fortress.client(fortress.token) as client:
            for at in range(times):
                found.statuses.append(ATTACKS[name](client, at).status_code)
                time.sleep(pause)
    finally:
        over.set()
        asking.join()
    found.held, _ = fortress.find_held_longest(begun)
    return found
