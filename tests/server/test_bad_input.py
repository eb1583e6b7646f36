"""Whatever comes in, what goes out is `{code, problem, fix}` with a status of the caller's; and nothing was stored."""

from __future__ import annotations

import json
import re
import socket
from contextlib import suppress

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE
from tests.server.house import House, is_a_problem, say

from circumspect.server.json_bodies import read_json
from circumspect.server.problems import HttpProblem

JSON = "application/json"


@pytest.fixture(scope="module")
def talk(house: House) -> str:
    return house.conversation(house.key())


def post(house: House, talk: str, body: bytes, kind: str = JSON) -> httpx.Response:
    return house.key().post(f"/v1/conversations/{talk}/messages", content=body, headers={"Content-Type": kind})


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"null\0",
        b'{"content": "a", "content": "b"}',
        b'{"content": "\xff\xfe"}',
        b'{"content": "\\ud800"}',
        b'{"content": NaN}',
        b'{"content": 1e999}',
        b'{"content": ' + b"9" * 5000 + b"}",
        b"[" * 5000 + b"]" * 5000,
        b'{"content": "x", "meta": ' + b"[" * 200 + b"]" * 200 + b"}",
        b"   ",
        b"{'content': 'x'}",
        '{"content": "x"}'.encode("utf-16"),
    ],
    ids=lambda body: repr(body[:24]),
)
def test_a_body_that_cannot_be_read_is_refused(house: House, talk: str, body: bytes) -> None:
    answer = post(house, talk, body)
    assert answer.status_code in (400, 422)
    is_a_problem(answer, answer.status_code)


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[]",
        b'"hello"',
        b'{"content": 1}',
        b'{"content": null}',
        b'{"content": ["a"]}',
        b'{"content": {"a": 1}}',
        b'{"content": "a\\u0000b"}',
        b'{"content": "a", "langauge": "en"}',
        b'{"content": "a", "language": "xx"}',
        b'{"content": "a", "person": "a b"}',
        b'{"content": "a", "person": "\\u0000"}',
    ],
    ids=repr,
)
def test_a_field_that_is_wrong_is_named(house: House, talk: str, body: bytes) -> None:
    is_a_problem(post(house, talk, body), 422, "invalid")


def test_a_body_is_not_read_before_it_is_known_whose_it_is(house: House) -> None:
    for path, operations in house.app.openapi()["paths"].items():
        for method, operation in operations.items():
            if "requestBody" in operation and operation["security"]:
                there = re.sub(r"{\w+}", "0123456789abcdef", path)
                answer = house.client().request(method, there, content=b"{", headers={"Content-Type": JSON})
                is_a_problem(answer, 401, "not_signed_in")
    for client, status in ((house.client(), 401), (house.key("shop", "read"), 403)):
        answer = client.post("/v1/conversations", content=b"[" * 990_000, headers={"Content-Type": JSON})
        is_a_problem(answer, status)


def test_whoever_has_no_key_may_not_send_more_than_others(house: House) -> None:
    pieces = (b"x" * 100_000 for _ in range(20))
    answer = house.client().post("/v1/conversations", content=pieces, headers={"Content-Type": JSON})
    is_a_problem(answer, 413)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"content": "a\\u0000b"}', "content: must not hold a NUL character"),
        (b'{"content": "hi", "person": "a b"}', "person: may hold letters, digits and"),
        (b'{"content": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested deeper than 100 levels"),
    ],
    ids=lambda value: repr(value[:30]),
)
def test_what_is_wrong_is_said_in_words(house: House, talk: str, body: bytes, words: str) -> None:
    assert words in post(house, talk, body).json()["problem"]


def test_a_header_that_is_wrong_is_named(house: House, talk: str) -> None:
    headers = {"Idempotency-Key": "k" * 4000}
    answer = house.key().post(f"/v1/conversations/{talk}/messages", json={"content": "hi"}, headers=headers)
    assert "header.Idempotency-Key: " in is_a_problem(answer, 422)["problem"]


def test_a_path_says_which_methods_it_has(house: House) -> None:
    refused = house.key().patch("/v1/conversations")
    is_a_problem(refused, 405)
    assert refused.headers["allow"] == "HEAD, GET, POST"
    head = house.key().head("/v1/conversations")
    assert (head.status_code, head.content) == (200, b"")


def test_what_was_sent_is_not_sent_back(house: House, talk: str) -> None:
    answer = post(house, talk, b'{"content": ["my-secret-words"], "my-secret-field": 1}')
    assert "my-secret-words" not in answer.text


def test_after_all_of_that_the_conversation_is_empty_and_works(house: House, talk: str) -> None:
    client = house.key()
    assert client.get(f"/v1/conversations/{talk}/messages").json()["items"] == []
    assert say(client, talk, "hello")["outcome"] == "answered"


def test_a_body_that_is_too_large_is_refused_declared_or_not(house: House, talk: str) -> None:
    is_a_problem(post(house, talk, b'{"content": "' + b"x" * 1_100_000 + b'"}'), 413)

    def pieces():
        for _ in range(20):
            yield b"x" * 100_000

    headers = {"Content-Type": "application/json"}
    answer = house.key().post(f"/v1/conversations/{talk}/messages", content=pieces(), headers=headers)
    is_a_problem(answer, 413)


def test_a_long_message_is_answered_not_refused(house: House, talk: str) -> None:
    answer = house.key().post(f"/v1/conversations/{talk}/messages", json={"content": "x" * 30_000})
    assert answer.json()["reason_codes"] == ["MESSAGE_TOO_LONG"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_other_kinds_of_body_are_refused(house: House, talk: str, kind: str) -> None:
    answer = post(house, talk, b'{"content": "hi"}', kind)
    assert "Content-Type: application/json" in is_a_problem(answer, 415, "unsupported_media_type")["fix"]


@pytest.mark.parametrize(
    "id_", ["..", "a%00b", "a%2Fb", "%2e%2e%2f", "x" * 129, "a b", "%F0%9F%98%80", "-", "a%0d%0aX-Evil:1", "'--"]
)
def test_an_id_that_is_none_finds_nothing(house: House, id_: str) -> None:
    answer = house.key().get(f"/v1/conversations/{id_}/messages")
    assert answer.status_code in (404, 405, 422)
    is_a_problem(answer, answer.status_code)
    assert "x-evil" not in answer.headers


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "é"])
def test_a_key_that_cannot_be_kept_is_refused(house: House, talk: str, key: str) -> None:
    headers = {"Idempotency-Key": key.encode("utf-8")}
    answer = house.key().post(f"/v1/conversations/{talk}/messages", json={"content": "hi"}, headers=headers)
    is_a_problem(answer, 422)


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "limit=x", "after=%00", "after=!!!", "after=WzEsMl0", "after=bnVsbA", "tenant=a/b"],
)
def test_pages_that_cannot_be_are_refused(house: House, query: str) -> None:
    is_a_problem(house.key().get(f"/v1/conversations?{query}"), 422)


@pytest.mark.parametrize(("method", "path", "status"), [
    ("GET", "/", 404), ("GET", "/v1", 404), ("GET", "/v1/conversations/", 404), ("PUT", "/v1/conversations", 405),
    ("GET", "/v1/admin", 404), ("GET", "//v1/conversations", 404), ("TRACE", "/healthz", 405),
])  # fmt: skip
def test_paths_and_methods_that_are_not_there(house: House, method: str, path: str, status: int) -> None:
    is_a_problem(house.key().request(method, path), status)


def test_a_request_keeps_its_id_if_it_is_harmless(house: House) -> None:
    client = house.client()
    assert client.get("/healthz", headers={"X-Request-Id": "abc-1"}).headers["x-request-id"] == "abc-1"
    assert client.get("/healthz", headers={"X-Request-Id": 'a"b{}'}).headers["x-request-id"] != 'a"b{}'
    assert client.get("/healthz").headers["x-request-id"]


@pytest.mark.parametrize(
    "raw",
    [
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 20_000 + b"\r\n",
    ],
    ids=lambda raw: repr(raw[:40]),
)
def test_smuggled_and_broken_requests_do_no_harm(house: House, raw: bytes) -> None:
    host, port = house.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), PATIENCE) as connection:
        try:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        except OSError:
            answer = b""
    assert b" 500 " not in answer[:20]
    assert b"Traceback" not in answer
    assert house.client().get("/healthz").status_code == 200


@pytest.mark.parametrize("raw", [b"[" + b"[]," * 50_000 + b"0]", b"[" + b'{"a":[[[]]]},' * 15_000 + b"0]"])
def test_a_body_of_more_parts_than_anybody_sends_is_not_read(raw: bytes) -> None:
    with pytest.raises(HttpProblem, match="more than 50,000 objects and lists"):
        read_json(raw)


def test_brackets_in_a_text_are_a_text() -> None:
    said = '[{"' * 60_000
    assert read_json(json.dumps({"text": said}).encode()) == {"text": said}
    assert read_json(b"[" + b"[]," * 49_998 + b"0]") == [[]] * 49_998 + [0]


@settings(max_examples=150)
@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_no_bytes_crash_the_reader(raw: bytes) -> None:
    with suppress(HttpProblem):
        read_json(raw)


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE conversations; --", "<script>alert(1)</script>", "{{7*7}}", "%s%n", "\u202eabc", "\x1b[31m"]
)
def test_text_is_data_in_every_field(house: House, text: str) -> None:
    client = house.key()
    talk = house.conversation(client)
    say(client, talk, text)
    assert client.get(f"/v1/conversations/{talk}/messages").json()["items"][0]["content"] == text
    client.post("/v1/admin/keys", json={"name": text.replace("\x1b", ""), "scopes": ["chat"]})
    assert client.get("/v1/conversations", params={"person": text}).json()["items"] == []
    assert client.get("/v1/conversations").status_code == 200
