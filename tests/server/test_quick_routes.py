"""The quick way to an endpoint: which routes have it, and that nobody can tell it from the framework's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.routing import Route
from tests.server.house import OURS, House, is_a_problem

from circumspect.server.app import ROUTERS
from circumspect.server.quick_routes import QuickRoutes, make_plan
from circumspect.server.strict_routes import StrictRoute

NOT_QUICK = {"/mcp", "/v1/session", "/v1/session/proof", "/v1/sessions", "/v1/sessions/{session_id}"}
"""No route of ours, or one that asks whoever signed in whether or not they may come in: it is not asked often."""
JSON = {"Content-Type": "application/json"}
TURN = re.compile(
    r"(conv|turn|chatcmpl|msg|resp|req)[-_][0-9a-zA-Z_]+|[0-9a-f]{16,}|\d{10}|\d{4}-\d\d-\d\dT[^\"]+|(?<=\"next\":\")[^\"]+"
)


def test_every_route_that_reads_requests_in_the_usual_way_is_quick() -> None:
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, Route)]
    slow = {one.path for one in routes if not (isinstance(one, StrictRoute) and make_plan(one))}
    assert slow == NOT_QUICK


def test_a_request_that_the_framework_refuses_counts_once_against_the_rate(tmp_path: Any) -> None:
    with House(f"sqlite:///{tmp_path}/h.db", rate_per_minute=2) as house:
        client = house.key()
        is_a_problem(client.post("/v1/conversations", json={"id": 5}), 422, "invalid")
        assert client.post("/v1/conversations", json={}).status_code == 201
        is_a_problem(client.post("/v1/conversations", json={}), 429)


def pieces() -> Iterator[bytes]:
    yield b'{"content": '
    yield b'"hello"}'


MESSAGES = "/v1/conversations/TALK/messages"
CHAT = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
REQUESTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a message": ("POST", MESSAGES, {"json": {"content": "hello"}}),
    "in pieces": ("POST", MESSAGES, {"content": pieces, "headers": JSON}),
    "with a key": ("POST", MESSAGES, {"json": {"content": "hello"}, "headers": {"Idempotency-Key": "k-1"}}),
    "with a key that is none": ("POST", MESSAGES, {"json": {"content": "hello"}, "headers": {"Idempotency-Key": "a b"}}),
    "no body": ("POST", MESSAGES, {}),
    "an empty body": ("POST", MESSAGES, {"content": b"", "headers": JSON}),
    "no JSON": ("POST", MESSAGES, {"content": b"{", "headers": JSON}),
    "another kind": ("POST", MESSAGES, {"content": b"{}", "headers": {"Content-Type": "text/plain"}}),
    "JSON of a vendor": (
        "POST", MESSAGES, {"content": b'{"content": "hi"}', "headers": {"Content-Type": "application/x+json; a=b"}},
    ),
    "a field that is missing": ("POST", MESSAGES, {"json": {}}),
    "a field that is unknown": ("POST", MESSAGES, {"json": {"content": "hello", "colour": "red"}}),
    "a field of another kind": ("POST", MESSAGES, {"json": {"content": 5}}),
    "a list": ("POST", MESSAGES, {"json": [1]}),
    "a body that is too large": ("POST", MESSAGES, {"json": {"content": "x" * 1_100_000}}),
    "a path that is no id": ("POST", "/v1/conversations/%20/messages", {"json": {"content": "hello"}}),
    "a conversation that is not there": ("POST", "/v1/conversations/no/messages", {"json": {"content": "hello"}}),
    "a list of conversations": ("GET", "/v1/conversations?limit=1", {}),
    "the last of two limits": ("GET", "/v1/conversations?limit=500&limit=1", {}),
    "a limit that is too high": ("GET", "/v1/conversations?limit=500", {}),
    "a limit that is empty": ("GET", "/v1/conversations?limit=", {}),
    "a flag": ("GET", f"{MESSAGES}?internal=yes&limit=1", {}),
    "a flag that is none": ("GET", f"{MESSAGES}?internal=maybe", {}),
    "its head": ("HEAD", "/v1/conversations", {}),
    "another method": ("PUT", "/v1/conversations", {"json": {}}),
    "a slash too many": ("GET", "/v1/conversations/", {}),
    "a model by a path": ("GET", "/v1/models/a/b", {}),
    "a chat": ("POST", "/v1/chat/completions", {"json": CHAT}),
    "a chat that is refused": ("POST", "/v1/chat/completions", {"json": {**CHAT, "messages": []}}),
    "a chat that is no JSON": ("POST", "/v1/chat/completions", {"content": b"[", "headers": JSON}),
    "what Anthropic's clients look for": (
        "POST", "/v1/messages", {"json": {}, "headers": {"anthropic-version": "2023-06-01"}},
    ),
    "a ruling on nothing": ("POST", "/v1/rulings", {"json": {"call": {}}}),
    "an id twice in a query": ("DELETE", "/v1/admin/documents?id=a&id=b", {}),
}  # fmt: skip


@pytest.mark.parametrize("what", REQUESTS)
@pytest.mark.parametrize("scopes", [(), ("read",)], ids=["with all scopes", "with one"])
def test_the_answer_is_the_frameworks(house: House, monkeypatch: Any, what: str, scopes: tuple[str, ...]) -> None:
    method, path, sent = REQUESTS[what]

    def ask() -> tuple[int, dict[str, str], str]:
        said = {**sent, "content": sent["content"]()} if callable(sent.get("content")) else sent
        talk = house.conversation(house.key())  # what was said before changes what is answered
        answer = house.key(OURS, *scopes).request(method, path.replace("TALK", talk), **said)
        return answer.status_code, _describe_headers(answer), TURN.sub("·", answer.text)

    ask()  # what a first request changes is the same for the next two
    quick = ask()
    with monkeypatch.context() as patched:
        patched.setattr(QuickRoutes, "_find", lambda self, scope: None)
        assert ask() == quick


def _describe_headers(answer: httpx.Response) -> dict[str, str]:
    changing = ("date", "x-request-id", "content-length")
    return {name: value for name, value in answer.headers.items() if name not in changing}
