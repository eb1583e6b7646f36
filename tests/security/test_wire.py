"""What comes over the wire is not always HTTP as it should be: raw sockets against the real command."""

from __future__ import annotations

import gzip
import re
import socket
import time
import zlib
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.security.fortress import Fortress

HOST = b"Host: localhost\r\n"
SMUGGLED = b"GET /healthz HTTP/1.1\r\nHost: fortress\r\n\r\n"


def answers(raw: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3})", raw)]


def post(*headers: bytes, body: bytes = b"") -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return b"POST /v1/conversations HTTP/1.1\r\n" + HOST + lines + b"\r\n" + body


# --- smuggling ------------------------------------------------------------------------------------------------------

CHUNKS = b"0\r\n\r\n"
AMBIGUOUS = {
    "length and chunks": post(b"Content-Length: 5", b"Transfer-Encoding: chunked", body=CHUNKS + SMUGGLED),
    "chunks and length": post(b"Transfer-Encoding: chunked", b"Content-Length: 5", body=CHUNKS + SMUGGLED),
    "two lengths": post(b"Content-Length: 0", b"Content-Length: %d" % len(SMUGGLED), body=SMUGGLED),
    "a list of lengths": post(b"Content-Length: 0, %d" % len(SMUGGLED), body=SMUGGLED),
    "length with a sign": post(b"Content-Length: +0", body=SMUGGLED),
    "length with a space": post(b"Content-Length : 0", body=SMUGGLED),
    "length in hex": post(b"Content-Length: 0x0", body=SMUGGLED),
    "a negative length": post(b"Content-Length: -1", body=SMUGGLED),
    "folded header": post(b"X-Folded: a\r\n b", b"Content-Length: 0", body=SMUGGLED),
    "folded chunks": post(b"Transfer-Encoding:\r\n chunked", body=CHUNKS + SMUGGLED),
    "chunks, then identity": post(b"Transfer-Encoding: chunked, identity", body=CHUNKS + SMUGGLED),
    "chunks twice": post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", body=CHUNKS + SMUGGLED),
    "an unknown coding": post(b"Transfer-Encoding: xchunked", body=CHUNKS + SMUGGLED),
    "chunks behind a tab": post(b"Transfer-Encoding: \x0bchunked", body=CHUNKS + SMUGGLED),
    "a chunk that lies": post(b"Transfer-Encoding: chunked", body=b"fffffffffffffffff\r\nx\r\n" + CHUNKS + SMUGGLED),
    "a chunk with a sign": post(b"Transfer-Encoding: chunked", body=b"-1\r\n\r\n" + SMUGGLED),
    "a bare line feed": b"POST /v1/conversations HTTP/1.1\n" + HOST + b"Content-Length: 0\n\n" + SMUGGLED,
    "a bare carriage return": post(b"X: a\rContent-Length: 50", b"Content-Length: 0", body=SMUGGLED),
    "a nul in a header": post(b"X: a\x00b", b"Content-Length: 0", body=SMUGGLED),
    "two hosts": post(b"Host: elsewhere", b"Content-Length: 0", body=SMUGGLED),
    "no name before the colon": post(b": x", b"Content-Length: 0", body=SMUGGLED),
    "a space in the target": b"GET /healthz /v1/admin HTTP/1.1\r\n" + HOST + b"\r\n" + SMUGGLED,
    "version 9": b"GET /healthz HTTP/9.9\r\n" + HOST + b"\r\n" + SMUGGLED,
}


READ_BY_THE_BOOK = {"two hosts"}
"""Read by everybody in the same way: what follows is a second request to anyone who forwards it."""


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_request_that_can_be_read_in_two_ways_carries_no_second_one(fortress: Fortress, name: str) -> None:
    """Either it is refused and the connection ends, or everything is read in the one way that the standard says."""
    raw = fortress.raw(AMBIGUOUS[name])
    found = answers(raw)
    assert all(status < 500 or status == 501 for status in found), raw
    if name in READ_BY_THE_BOOK:
        assert 200 in found or found == [401], raw
    else:
        assert 200 not in found, raw


def test_two_honest_requests_on_one_connection_are_both_answered(fortress: Fortress) -> None:
    assert answers(fortress.raw(SMUGGLED + SMUGGLED)) == [200, 200]


# --- size -----------------------------------------------------------------------------------------------------------


def authorised(fortress: Fortress, *headers: bytes, body: bytes = b"") -> bytes:
    return post(
        f"Authorization: Bearer {fortress.token}".encode(), b"Content-Type: application/json", *headers, body=body
    )


def test_a_length_that_is_too_large_is_refused_at_once(fortress: Fortress) -> None:
    raw = fortress.raw(authorised(fortress, b"Content-Length: 999999999999"))
    assert answers(raw) == [413]


def test_chunks_without_end_are_cut_off(fortress: Fortress) -> None:
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    raw = fortress.raw(authorised(fortress, b"Transfer-Encoding: chunked", body=chunk * 40))
    assert answers(raw) in ([413], []), raw[:200]


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_compressed_bomb_is_never_unpacked(fortress: Fortress, coding: str) -> None:
    plain = b'{"id": "' + b"A" * 50_000_000 + b'"}'
    packed = gzip.compress(plain, 9) if coding == "gzip" else zlib.compress(plain, 9)
    assert len(packed) < 1_000_000
    before = memory(fortress)
    headers = (f"Content-Encoding: {coding}".encode(), b"Content-Length: %d" % len(packed))
    raw = fortress.raw(authorised(fortress, *headers, body=packed))
    assert answers(raw)[0] in (400, 415), raw[:200]
    assert memory(fortress) - before < 30_000


@pytest.mark.parametrize(
    "headers",
    [
        b"X-Big: " + b"a" * 500_000 + b"\r\n",
        b"".join(b"X-%d: a\r\n" % n for n in range(20_000)),
        b"Cookie: a=b; " * 30_000,
    ],
    ids=["one that is huge", "very many", "cookies"],
)
def test_headers_without_end_are_refused(fortress: Fortress, headers: bytes) -> None:
    before = memory(fortress)
    raw = fortress.raw(b"GET /v1/models HTTP/1.1\r\n" + HOST + headers + b"\r\n\r\n")
    assert answers(raw) in ([], [400], [414], [431]), raw[:200]
    assert memory(fortress) - before < 30_000


def test_a_target_without_end_is_refused(fortress: Fortress) -> None:
    raw = fortress.raw(b"GET /healthz?" + b"a" * 500_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n")
    assert answers(raw) in ([], [400], [414], [431]), raw[:200]


def memory(fortress: Fortress) -> int:
    """Kilobytes; 0 where nobody says."""
    try:
        status = Path(f"/proc/{fortress.process.pid}/status").read_text()
    except OSError:
        return 0
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0])


# --- slowness -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_clients_that_send_a_byte_at_a_time_are_cut_off_and_hold_up_nobody(fortress: Fortress) -> None:
    """Slow in the headers, silent from the start, slow after a first request that was answered, and slow in a body that
    nobody wants any more."""
    with ExitStack() as stack:
        everyone = [stack.enter_context(fortress.connect()) for _ in range(120)]
        silent, second, unwanted = everyone[:20], everyone[20:40], everyone[40:60]
        for connection in second:
            connection.sendall(SMUGGLED)
            assert b"200 OK" in connection.recv(65536)
        for connection in unwanted:
            connection.sendall(post(b"Content-Type: application/json", b"Content-Length: 100000"))
        living, began, place = set(everyone), time.monotonic(), 0
        text = b"GET /v1/models HTTP/1.1\r\nX-Slow: " + b"a" * 1000
        while living and time.monotonic() - began < 2 * PATIENCE:
            assert fortress.anyone.get("/healthz", timeout=PATIENCE / 2).status_code == 200
            living = {one for one in living if not _closed(one, b"" if one in silent else text[place : place + 1])}
            place += 1
            time.sleep(0.5)
    assert not living, f"{len(living)} of {len(everyone)} connections are still open"


def _closed(connection: socket.socket, sent: bytes) -> bool:
    """Is it, now that one more byte was sent?"""
    connection.setblocking(False)
    try:
        connection.sendall(sent)
        while connection.recv(65536):
            pass
    except (BlockingIOError, InterruptedError):
        return False
    except OSError:
        pass
    return True


# --- methods and paths ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PROPFIND", "TRACK", "DEBUG", "get", "PUT", "BREW"])
def test_a_method_that_is_not_offered_does_nothing(fortress: Fortress, method: str) -> None:
    request = f"{method} /v1/models HTTP/1.1\r\nX-Echo: to-be-traced\r\n".encode() + HOST + b"Connection: close\r\n\r\n"
    raw = fortress.raw(request)
    assert answers(raw) in ([400], [401], [404], [405], [501]), raw
    assert b"to-be-traced" not in raw


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"])
def test_a_method_cannot_be_changed_by_a_header(fortress: Fortress, header: str) -> None:
    fortress.key.post("/v1/conversations", json={"id": "stays"})
    answer = fortress.key.get("/v1/conversations/stays", headers={header: "DELETE"}, params={"_method": "DELETE"})
    assert answer.status_code == 200
    assert fortress.key.get("/v1/conversations/stays").status_code == 200


@pytest.mark.parametrize(
    "target",
    [
        "/v1/conversations/../admin/tenants",
        "/v1/conversations/%2e%2e/admin/tenants",
        "/v1/./admin/tenants",
        "//v1/admin/tenants",
        "/v1//admin/tenants",
        "/V1/ADMIN/TENANTS",
        "/v1/admin/tenants/",
        "/v1/admin/tenants;x=1",
        "/v1/admin/tenants%00",
        "/v1/admin%2ftenants",
        "/v1\\admin\\tenants",
        "/healthz/../v1/admin/tenants",
        "http://elsewhere/v1/admin/tenants",
        "/v1/admin/tenants/../../../../etc/passwd",
        "/static/../../etc/passwd",
        "/..%c0%af..%c0%afetc/passwd",
        "*",
        "elsewhere:443",
    ],
)
def test_no_spelling_of_a_path_gets_in_without_a_key(fortress: Fortress, target: str) -> None:
    raw = fortress.raw(f"GET {target} HTTP/1.1\r\n".encode() + HOST + b"Connection: close\r\n\r\n")
    assert answers(raw) in ([400], [401], [404], [405]), raw
    assert b"root:x" not in raw


def test_another_host_in_the_request_is_in_no_answer(fortress: Fortress) -> None:
    for target in ("/v1/conversations/", "/v1/models", "/openapi.json", "/v1/session"):
        raw = fortress.raw(
            f"GET {target} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nConnection: close\r\n\r\n".encode()
        )
        assert b"evil.example" not in raw
