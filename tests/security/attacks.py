"""Small requests that once stopped a worker for everybody, and how long `/healthz` waits while they are sent.

Each is a few kilobytes that made one pattern, schema or answer cost the square of its length, or more.
"""

from __future__ import annotations

import base64
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx
from tests.knowledge import hostile_files
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


def _visit(client: httpx.Client, text: str) -> httpx.Response:
    """As anybody who looks at a page with the widget in it."""
    made = client.post("/widget/conversations", json={}).json()
    headers = {"X-End-User-Token": made["visitor"], "Idempotency-Key": secrets.token_hex(16)}
    return client.post(f"/widget/conversations/{made['id']}/messages", json={"content": text}, headers=headers)


def _audit_talk(client: httpx.Client, calls: int, at: int, together: bool = False) -> httpx.Response:
    """A transcript of so many calls, one after the other or all of them in one answer."""
    made = [
        {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "cancel_order", "arguments": f'{{"order_id": "{at}{n}"}}'},
        }
        for n in range(calls)
    ]
    said: list[dict[str, Any]] = [{"role": "user", "content": f"{at}: cancel all of them, please"}]
    for group in [made] if together else [[one] for one in made]:
        said.append({"role": "assistant", "content": None, "tool_calls": group})
        said += [{"role": "tool", "tool_call_id": one["id"], "content": '{"status": "cancelled"}'} for one in group]
        said.append({"role": "assistant", "content": f"I have cancelled order {at}{len(said)}."})
    return client.post(
        "/v1/audit",
        content=json.dumps({"id": f"t{at}", "messages": said}),
        headers={"Content-Type": "application/x-ndjson"},
    )


def _talk_of_calls(client: httpx.Client, calls: int, at: int) -> httpx.Response:
    """An answer of so many calls, which a client says that its model gave."""
    made = [
        {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "cancel_order", "arguments": f'{{"order_id": "{at}{n}"}}'},
        }
        for n in range(calls)
    ]
    results = [{"role": "tool", "tool_call_id": one["id"], "content": "done"} for one in made]
    said = [
        {"role": "user", "content": f"{at}: cancel all of them"},
        {"role": "assistant", "content": None, "tool_calls": made},
        *results,
    ]
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    body = {"model": "circumspect", "messages": said, "tools": _tools(schema)}
    return client.post("/v1/chat/completions", json=body)


def _review(client: httpx.Client, at: int, document: dict[str, str], text: str = "It was in time.") -> httpx.Response:
    body = {
        "case": {"id": f"A-{at}", "facts": {"claim": {"submitted": "2026-04-05"}}},
        "criteria": [{"id": "K-1", "text": text, "facts": ["claim.submitted"]}],
        "documents": [document],
    }
    return client.post("/v1/evaluations", json=body)


NESTED = base64.b64encode(hostile_files.nested_streams(400)).decode()
BOUNDS = "at most 30 days and not more than 20 days after the last day, but within 10 days, up to 5 days or "


def _page(client: httpx.Client, html: str) -> httpx.Response:
    body = {"query": "Click the first button", "url": "https://shop.example/", "page": {"html": html}}
    return client.post("/v1/agent/interact", json=body)


FORM = "application/x-www-form-urlencoded"
MARKS = "\u0315\u0300"
"""Two marks that change places when they are put into order."""


def _sign_in(client: httpx.Client, value: object, at: int) -> httpx.Response:
    return client.post("/v1/session", json={"name": f"nobody-{at}", "password": value})


SAID = "cancel order refund please my the and not yes no 12345 €12.50 tomorrow 2026-11-18 monday blue shirt size "


def _rule(client: httpx.Client, value: object, at: int, said: str = SAID * 1_000) -> httpx.Response:
    call = {"tool": "cancel_order", "arguments": {"order_id": value}}
    body = {"call": call, "conversation": f"ruled-{at}", "messages": [{"role": "user", "content": said}]}
    return client.post("/v1/rulings", json=body)


def _rule_near(client: httpx.Client, at: int) -> httpx.Response:
    """A tool that there is not, and many whose names have the same letters in another order."""
    shuffle = Random(at)
    names = ["".join(shuffle.sample("ab" * 98, 196)) for _ in range(128)]
    tools = [{"name": name, "parameters": {"type": "object"}, "effect": "read"} for name in names[1:]]
    body = {"call": {"tool": names[0], "arguments": {}}, "conversation": f"near-{at}", "tools": tools}
    return client.post("/v1/rulings", json=body)


ATTACKS: dict[str, Send] = {
    "definitions that double, in tools": lambda client, at: _chat(client, make_doubling(40, at)),
    "definitions that double, in a transcript": lambda client, at: _audit(client, make_doubling(40, at)),
    "a pattern that backtracks, in tools": lambda client, at: _chat(
        client, {"properties": {"code": {"type": "string", "pattern": "^(a+)+$"}}}, "code " + "a" * 40 + "!"
    ),
    "a message of spaces": lambda client, at: _say(client, "a" + " " * 19_900 + "b", at),
    "a message of spaces, of a visitor": lambda client, at: _visit(client, f"{at}" + " " * 19_900 + "b"),
    "a message of line breaks": lambda client, at: _say(client, "a" + "\n" * 19_900 + "b", at),
    "a message of quotation marks": lambda client, at: _say(client, '"' + " " * 19_900, at),
    "a message of a thousand wishes": lambda client, at: _say(client, f"{at} " + "cancel order 12345. " * 990, at),
    "a message of wishes in one sentence": lambda client, at: _say(client, f"{at} " + "לבטל הזמנה 12345 " * 1_150, at),
    "a message of half a date": lambda client, at: _say(client, f"{at}a" + "2026-" * 3_970 + "b", at),
    "a message of marks": lambda client, at: _say(client, f"{at}a" + MARKS * 9_900, at),
    "a message of marks, of a visitor": lambda client, at: _visit(client, f"{at}a" + MARKS * 9_900),
    "a talk of marks": lambda client, at: _rule(client, "12345", at, f"{at}a" + MARKS * 100_000),
    "a cookie of backslashes": lambda client, at: client.get("/login", headers={"Cookie": 'a="' + '\\"' * 30_000 + '"'}),
    "a form of escapes": lambda client, at: client.post(
        "/login", content=b"name=" + b"%F0%9F%98%80" * 80_000, headers={"Content-Type": FORM, "Origin": str(client.base_url)}
    ),
    "languages without end": lambda client, at: client.get("/login", headers={"Accept-Language": "," * 60_000}),
    "a sign-in of lists": lambda client, at: _sign_in(client, [[[[[]]]]] * 65_000, at),
    "a name that is nearly a tool's": lambda client, at: _rule_near(client, at),
    "a talk of many wishes": lambda client, at: _talk(client, 200, at),
    "an id of hex letters": lambda client, at: _page(client, f"<button id='{HEX}{at}'>Go</button>"),
    "another large schema every time": lambda client, at: _chat(
        client, {"type": "object", "properties": {f"p{at}_{n}": {"type": "string"} for n in range(1_500)}}
    ),
    "a ruling of many values": lambda client, at: _rule(client, [f"no. {at} {n}" for n in range(4_900)], at),
    "a ruling over a long talk": lambda client, at: _rule(client, "12345", at, SAID * 4_000),
    "an answer of five hundred calls": lambda client, at: _talk_of_calls(client, 500, at),
    "five hundred calls, to be audited": lambda client, at: _audit_talk(client, 500, at),
    "five hundred calls in one answer, to be audited": lambda client, at: _audit_talk(client, 500, at, together=True),
    "a document of brackets": lambda client, at: _review(client, at, {"name": "a.md", "text": f"{at} " + "[" * 100_000}),
    "a document that unfolds": lambda client, at: _review(client, at, {"name": "a.pdf", "data": NESTED}),
    "a document of bounds": lambda client, at: _review(client, at, {"name": "a.md", "text": f"{at} " + BOUNDS * 1_000}),
    "a criterion of bounds": lambda client, at: _review(client, at, {"name": "a.md", "text": "Ten days."}, BOUNDS * 40),
    "a reply of one sentence": lambda client, at: client.post("/v1/replies/check", json={"text": f"{at} " + SAID * 900}),
}  # fmt: skip


OF_VISITORS = ("a message of spaces, of a visitor", "a message of marks, of a visitor")


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
        token = fortress.widget_token if name in OF_VISITORS else fortress.token
        with fortress.client(token) as client:
            for at in range(times):
                found.statuses.append(ATTACKS[name](client, at).status_code)
                time.sleep(pause)
    finally:
        over.set()
        asking.join()
    found.held, _ = fortress.find_held_longest(begun)
    return found
