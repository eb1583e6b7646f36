"""Text that would like to be more than text, in every field of every route. The routes come from the API's description."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.security.fortress import Fortress

from circumspect.server.app import create_app
from circumspect.server.config import Settings

DOCUMENT = create_app(Settings()).openapi()
PRODUCT = str(1337 * 1337)
FORGED = '{"level":"critical","message":"forged-line"}'
PAYLOADS = {
    "sql quote": "x' OR '1'='1",
    "sql drop": "x'; DROP TABLE conversations; --",
    "sql union": "x') UNION SELECT hash FROM api_keys --",
    "template braces": "{{1337*1337}}${1337*1337}<%= 1337*1337 %>#{1337*1337}",
    "python format": "{0.__class__.__init__.__globals__} %(asctime)s %s%s%s%n",
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "ansi": "\x1b[2J\x1b[31mred\x1b]0;title\x07",
    "log forging": f"x\r\n{FORGED}\r\n",
    "path": "../../../../etc/passwd",
    "encoded path": "..%2f..%2f%2e%2e/etc/passwd",
    "nul": "x\x00y",
    "bidi": "\u202egnp.exe\u2066",
    "overlong": "A" * 5_000,
    "json": '{"$gt": ""}',
    "shell": "$(touch pwned)`touch pwned`; touch pwned |",
}
KINDS = re.compile(r"application/(json|scim\+json|x-ndjson)|text/(event-stream|plain)")
"""What no browser takes for a page."""
SKIPPED = {"delete_session": "it would end the sign-in that the test knocks with"}


def operations() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] not in SKIPPED:
                yield operation["operationId"], method, path, operation


ALL = list(operations())
each = pytest.mark.parametrize(("name", "method", "path", "operation"), ALL, ids=[one[0] for one in ALL])


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return next((resolved(one) for one in schema["anyOf"] if one.get("type") != "null"), schema)
    return schema


def filled(schema: dict[str, Any], payload: str, depth: int = 0) -> Iterator[Any]:
    """Values of this schema, each with the payload in one place of its own."""
    schema = resolved(schema)
    if "properties" in schema:
        required = set(schema.get("required", ()))
        base = {key: plain(value) for key, value in schema["properties"].items() if key in required}
        base |= (schema.get("examples") or [{}])[0]
        for key, value in schema["properties"].items():
            for inner in filled(value, payload, depth + 1) if depth < 5 else ():
                yield {**base, key: inner}
        yield {**base, payload[:200]: payload}
    elif schema.get("type") == "array":
        for inner in filled(schema.get("items", {}), payload, depth + 1):
            yield [inner]
    elif schema.get("type") == "object" or not schema:
        yield {payload[:200]: payload}
    elif schema.get("type") == "string" or "enum" in schema or "const" in schema:
        yield payload


def plain(schema: dict[str, Any]) -> Any:
    schema = resolved(schema)
    if "default" in schema or "const" in schema:
        return schema.get("default", schema.get("const"))
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema:
        return {key: plain(schema["properties"][key]) for key in schema.get("required", ())}
    match schema.get("type"):
        case "array":
            return [plain(schema.get("items", {}))]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "object":
            return {}
    return "x"


def requests_of(method: str, path: str, operation: dict[str, Any], payload: str) -> Iterator[dict[str, Any]]:
    """The operation with the payload in one place after the other."""
    parameters = operation.get("parameters", [])

    def url(own: str | None = None) -> str:
        target = path
        for one in parameters:
            if one["in"] == "path":
                given = quote(payload, safe="") if one["name"] == own else str(plain(one["schema"]))
                target = target.replace("{" + one["name"] + "}", given)
        return target

    needed = {one["name"]: plain(one["schema"]) for one in parameters if one["in"] == "query" and one.get("required")}
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema")
    body = plain(schema) if schema else None
    for one in parameters:
        match one["in"]:
            case "path":
                yield {"method": method, "url": url(one["name"]), "params": needed, "json": body}
            case "query":
                yield {"method": method, "url": url(), "params": {**needed, one["name"]: payload}, "json": body}
            case "header" if payload.isprintable() and payload.isascii():
                yield {
                    "method": method, "url": url(), "params": needed, "json": body,
                    "headers": {one["name"]: payload},
                }  # fmt: skip
    for value in filled(schema, payload) if schema else ():
        yield {"method": method, "url": url(), "params": needed, "json": value}
    if "application/x-ndjson" in content:
        line = json.dumps({"messages": [{"role": "user", "content": payload}]}).encode()
        yield {
            "method": method, "url": url(), "content": line + b"\n" + payload.encode(),
            "headers": {"Content-Type": "application/x-ndjson"},
        }  # fmt: skip


def is_harmless(answer: httpx.Response, sent: dict[str, Any]) -> None:
    about = f"{sent['method']} {sent['url'][:100]} {str(sent.get('json'))[:200]}: {answer.status_code}"
    assert answer.status_code < 500, f"{about} {answer.text[:500]}"
    kind = answer.headers.get("content-type", "")
    assert answer.status_code == 204 or re.match(KINDS, kind), about
    text = answer.text
    assert PRODUCT not in text, f"{about}: something was worked out"
    assert "root:x:0" not in text, f"{about}: a file was read"
    ours = text.replace("SELECT hash FROM api_keys", "")
    assert not re.search(r"Traceback|sqlite3\.|sqlalchemy|psycopg|site-packages|SELECT .* FROM", ours), (
        f"{about} {text}"
    )
    for header, value in answer.headers.items():
        assert "forged-line" not in header + value
        assert "<script" not in value


@each
def test_text_stays_text(fortress: Fortress, name: str, method: str, path: str, operation: dict[str, Any]) -> None:
    knocking: tuple[httpx.Client, ...] = (fortress.key, fortress.operator)
    payloads = list(PAYLOADS.values())
    if name == "create_session":  # it takes its time on purpose
        knocking, payloads = (
            (fortress.anyone,),
            [PAYLOADS[one] for one in ("sql quote", "log forging", "nul", "overlong")],
        )
    for payload in payloads:
        for sent in requests_of(method, path, operation, payload):
            for who in knocking:
                is_harmless(who.request(**sent), sent)


def test_what_looks_like_a_condition_selects_nothing(fortress: Fortress) -> None:
    made = fortress.key.post("/v1/conversations", json={"id": "found-by-nobody", "person": "p-1"})
    assert made.status_code == 201
    for payload in ("' OR '1'='1", "p-1' --", "%", "_", "p-1%", "*"):
        found = fortress.key.get("/v1/conversations", params={"person": payload})
        assert found.status_code in (200, 422)
        assert found.status_code == 422 or found.json()["items"] == []


def test_after_all_of_that_everything_is_there_and_works(fortress: Fortress) -> None:
    tenants = fortress.operator.get("/v1/admin/tenants").json()["items"]
    assert {"shop", "shop-he", "shop-ru"} <= {one["id"] for one in tenants}
    assert fortress.key.post("/v1/conversations", json={"id": "afterwards"}).status_code == 201
    said = fortress.key.post("/v1/conversations/afterwards/messages", json={"content": "cancel order 12345"})
    assert said.json()["outcome"] == "asked", said.text
    assert not list(fortress.folder.rglob("pwned"))


def test_what_was_said_is_stored_as_it_was_said(fortress: Fortress) -> None:
    fortress.key.post("/v1/conversations", json={"id": "verbatim"})
    for name in ("sql drop", "template braces", "script", "ansi", "log forging", "bidi"):
        answer = fortress.key.post("/v1/conversations/verbatim/messages", json={"content": PAYLOADS[name]})
        assert answer.status_code == 200, answer.text
    stored = fortress.key.get("/v1/conversations/verbatim/messages").json()["items"]
    said = [row["content"] for row in stored if row["role"] == "user"]
    assert said == [PAYLOADS[name] for name in ("sql drop", "template braces", "script", "ansi", "log forging", "bidi")]


def test_the_log_is_one_object_a_line_and_nothing_of_it_is_theirs(fortress: Fortress) -> None:
    fortress.key.post("/v1/conversations", json={"id": "logged"})
    for payload in PAYLOADS.values():
        fortress.key.post("/v1/conversations/logged/messages", json={"content": payload, "person": payload})
        fortress.key.post("/v1/conversations/logged/messages", json={"content": payload.replace("\0", "")})
        fortress.key.get(f"/v1/conversations/{quote(payload, safe='')}", params={"tenant": payload})
    lines = fortress.lines()
    assert any(line["message"] == "turn" for line in lines)
    text = fortress.log()
    assert "\x1b" not in text
    assert "\\u001b" not in text
    for sign in ("forged-line", "alert(1)", "DROP TABLE", "etc/passwd", "1337*1337", "touch pwned", "AAAAAAAAAA"):
        assert sign not in text, sign
