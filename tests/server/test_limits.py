"""How often and how much: buckets with and without a real Redis, and bodies against a real uvicorn."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import socket
import subprocess
from contextlib import asynccontextmanager

import pytest
import uvicorn
from fastapi import FastAPI, Request
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import StreamingResponse
from tests.patience import PATIENCE

from circumspect.server import request_limits
from circumspect.server.request_limits import RETRY_SECONDS, BodyLimit, Buckets, Limiter, TooManyRequests


class Hand:
    """A clock that is moved by hand."""

    at = 1000.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def hand() -> Hand:
    return Hand()


# --- in this process ------------------------------------------------------------------------------------------------


def test_a_minutes_worth_at_once_then_one_by_one(hand):
    buckets = Buckets(hand)
    assert [buckets.take("a", 6) for _ in range(6)] == [0] * 6
    assert buckets.take("a", 6) == pytest.approx(10)
    hand.at += 9.9
    assert buckets.take("a", 6) > 0
    hand.at += 0.1
    assert buckets.take("a", 6) == 0
    assert buckets.take("a", 6) > 0
    hand.at += 3600
    assert [buckets.take("a", 6) for _ in range(7)].count(0) == 6, "an idle hour is no more than a minute's worth"


@given(st.integers(1, 50), st.lists(st.floats(0, 30), max_size=120))
def test_in_no_minute_is_more_than_twice_the_rate_let_through(rate, waits):
    hand = Hand()
    buckets, let_through = Buckets(hand), []
    for wait in waits:
        hand.at += wait
        if not buckets.take("a", rate):
            let_through.append(hand.at)
    for start in let_through:
        assert sum(start <= at < start + 60 for at in let_through) <= 2 * rate


@given(st.integers(1, 1000), st.integers(0, 100))
def test_who_waits_as_long_as_told_is_let_through(rate, extra):
    hand = Hand()
    buckets = Buckets(hand)
    for _ in range(rate + extra):
        if wait := buckets.take("a", rate):
            hand.at += wait
            assert buckets.take("a", rate) == 0


def test_names_do_not_share_and_idle_ones_are_forgotten(hand, monkeypatch):
    monkeypatch.setattr(request_limits, "_MANY", 100)
    buckets = Buckets(hand)
    assert buckets.take("a", 1) == 0
    assert buckets.take("b", 1) == 0
    assert buckets.take("a", 1) > 0
    for number in range(1000):
        hand.at += 1
        buckets.take(f"name {number}", 60)
    assert len(buckets._empty_at) <= 101


async def test_a_limiter_raises_with_whole_seconds_to_wait(hand):
    limiter = Limiter(600, now=hand)
    await limiter.check("shop", 1)
    with pytest.raises(TooManyRequests) as told:
        await limiter.check("shop", 1)
    assert told.value.headers == {"Retry-After": "60"}
    assert (told.value.status, told.value.code) == (429, "too_many_requests")
    assert "60 s" in told.value.fix
    assert not limiter.is_shared


# --- Redis ----------------------------------------------------------------------------------------------------------


class RedisServer:
    def __init__(self, folder) -> None:
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("NOT TESTED WITH REDIS: redis-server is not installed; run `make services`")
        self._process = subprocess.Popen(
            [program, "--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", str(self._folder)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    _, writer = await asyncio.open_unix_connection(self.socket)
                except OSError:
                    await asyncio.sleep(0.01)
                else:
                    writer.close()
                    await writer.wait_closed()
                    return

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self.socket.unlink(missing_ok=True)

    def stop(self) -> None:
        """Frozen: it has the connection and says nothing."""
        assert self._process is not None
        self._process.send_signal(19)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(18)


@pytest.fixture
async def redis(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(request_limits, "REDIS_SECONDS", 5.0)  # a busy machine is not what these are about
    # Socket paths may have 107 characters at most.
    server = RedisServer(tmp_path_factory.mktemp("r"))
    await server.start()
    yield server
    server.go_on()
    server.kill()


async def test_workers_share_a_rate_through_redis_exactly(redis, hand):
    """Two limiters stand for two workers; a hundred requests come at once."""
    one, two = Limiter(30, redis=redis.url, now=hand), Limiter(30, redis=redis.url, now=hand)
    waits = await asyncio.gather(*(limiter.take("shop") for limiter in (one, two) for _ in range(50)))
    assert waits.count(0) == 30
    assert all(0 < wait <= 60 for wait in waits if wait)
    assert await two.take("other") == 0
    assert one.is_shared
    await one.close()
    await two.close()


async def test_buckets_in_redis_go_away_by_themselves(redis):
    from redis.asyncio import Redis

    limiter = Limiter(600, redis=redis.url)
    await limiter.take("shop")
    async with Redis.from_url(redis.url) as client:
        (key,) = await client.keys("*")
        assert key == b"circumspect:rate:shop"
        assert 0 < await client.pttl(key) <= 1000
        await client.set(key, "1e18")  # the clock was put back, or somebody wrote there
    assert await limiter.take("shop") == 0
    await limiter.close()


async def test_when_redis_is_killed_each_worker_counts_for_itself_and_says_so_once(redis, hand, caplog):
    caplog.set_level(logging.WARNING, "circumspect")
    limiter = Limiter(5, redis=redis.url, now=hand)
    assert [await limiter.take("shop") for _ in range(3)] == [0, 0, 0]
    redis.kill()
    waits = await asyncio.gather(*(limiter.take("shop") for _ in range(20)))
    assert waits.count(0) == 5, "its own bucket was still empty"
    assert not limiter.is_shared
    for _ in range(5):
        hand.at += RETRY_SECONDS
        await limiter.take("shop")
    assert len([one for one in caplog.records if "Redis cannot be used" in one.getMessage()]) == 1
    await redis.start()
    hand.at += RETRY_SECONDS
    assert await limiter.take("shop") == 0
    assert limiter.is_shared
    assert len([one for one in caplog.records if "Redis is back" in one.getMessage()]) == 1
    await limiter.close()


async def test_a_redis_that_hangs_holds_one_request_and_not_the_next(redis, hand, monkeypatch):
    monkeypatch.setattr(request_limits, "REDIS_SECONDS", 0.1)
    limiter = Limiter(5, redis=redis.url, now=hand)
    await limiter.take("shop")
    redis.stop()
    assert await limiter.take("shop") == 0
    assert not limiter.is_shared
    monkeypatch.setattr(request_limits, "REDIS_SECONDS", PATIENCE)
    async with asyncio.timeout(PATIENCE / 2):  # whoever asked Redis again would wait for twice as long
        assert await limiter.take("shop") == 0
    redis.go_on()
    hand.at += RETRY_SECONDS
    assert await limiter.take("shop") == 0
    assert limiter.is_shared
    await limiter.close()


async def test_a_redis_that_was_never_there_does_not_keep_anybody_out(hand):
    limiter = Limiter(2, redis="redis://127.0.0.1:1", now=hand)
    assert [bool(await limiter.take("shop")) for _ in range(3)] == [False, False, True]
    await limiter.close()


async def test_a_name_is_data_to_redis(redis, hand):
    limiter = Limiter(1, redis=redis.url, now=hand)
    for name in ("a b\r\nFLUSHALL", "*", "{x}", "имя", "a" * 1000):
        assert await limiter.take(name) == 0
        assert await limiter.take(name) > 0
    assert limiter.is_shared
    await limiter.close()


# --- bodies ---------------------------------------------------------------------------------------------------------

LIMIT = 2000
received: list[int] = []


def application() -> FastAPI:
    app = FastAPI()

    @app.post("/json")
    async def as_json(request: Request) -> int:
        return len(json.dumps(await request.json()))

    @app.post("/declared")
    async def declared(body: dict[str, str]) -> int:
        return len(body)

    @app.post("/raw")
    async def raw(request: Request) -> int:
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            received.append(size)
        return size

    @app.post("/answers-first")
    async def answers_first(request: Request) -> StreamingResponse:
        async def said():
            yield b"begun "
            async for chunk in request.stream():
                yield str(len(chunk)).encode()

        return StreamingResponse(said())

    @app.post("/never-reads")
    async def never_reads() -> str:
        return "done"

    return app


@asynccontextmanager
async def serving(**options):
    """A real uvicorn, with the limit in front of the application."""
    received.clear()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        app = BodyLimit(application(), **{"max_bytes": LIMIT, **options})
        config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none", timeout_keep_alive=2)
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await task


async def exchange(port: int, *pieces: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send the pieces, read until the server closes; status, headers, body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
    except ConnectionError:
        pass
    answer = b""
    try:
        async with asyncio.timeout(PATIENCE):
            while chunk := await reader.read(65536):
                answer += chunk
    except ConnectionError:
        pass
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]) if lines[0] else 0, headers, body


def head(path: str, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: h", "Content-Type: application/json", "Connection: close", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))


def sized(body: bytes) -> str:
    return f"Content-Length: {len(body)}"


async def test_what_fits_goes_through_to_the_last_byte():
    body = b'"' + b"x" * (LIMIT - 2) + b'"'
    async with serving() as port:
        assert (await exchange(port, head("/json", sized(body)), body))[0] == 200
        whole = chunked(body[:1000], body[1000:])
        assert (await exchange(port, head("/raw", "Transfer-Encoding: chunked"), whole))[2] == b"%d" % LIMIT


@pytest.mark.parametrize("path", ["/json", "/declared", "/raw", "/never-reads"])
async def test_a_declared_length_that_is_too_large_is_refused_before_it_is_sent(path, monkeypatch):
    monkeypatch.setattr(request_limits, "DISCARD_SECONDS", 0.1)
    async with serving() as port:
        status, headers, body = await exchange(port, head(path, f"Content-Length: {LIMIT + 1}"))
        assert status == 413
        assert set(json.loads(body)) == {"code", "problem", "fix"}
        assert headers["connection"] == "close"
        assert received == []


@pytest.mark.parametrize("path", ["/json", "/declared", "/raw"])
async def test_a_chunked_body_is_cut_off_where_it_becomes_too_large(path):
    piece = b"x" * 500
    async with serving() as port:
        pieces = [head(path, "Transfer-Encoding: chunked"), chunked(*[piece] * 2000)]
        status, headers, body = await exchange(port, *pieces)
        assert status == 413
        assert json.loads(body)["code"] == "too_large"
        assert headers["content-length"] == str(len(body))
        assert all(size <= LIMIT for size in received)


async def test_who_sends_everything_before_reading_still_hears_why():
    async with serving() as port:
        status, _, body = await exchange(port, head("/json", "Content-Length: 1000000"), b"x" * 1_000_000)
        assert (status, json.loads(body)["code"]) == (413, "too_large")


async def test_who_never_stops_sending_is_cut_off(monkeypatch):
    monkeypatch.setattr(request_limits, "DISCARD_BYTES", 100_000)
    async with serving() as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head("/json", "Transfer-Encoding: chunked"))
        with pytest.raises(ConnectionError):  # noqa: PT012
            while True:
                writer.write(b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n")
                await writer.drain()
        writer.transport.abort()


async def test_who_promises_a_large_body_and_sends_none_is_let_go(monkeypatch):
    monkeypatch.setattr(request_limits, "DISCARD_SECONDS", 0.1)
    async with serving() as port:
        assert (await exchange(port, head("/json", "Content-Length: 1000000", "Expect: 100-continue")))[0] == 413


async def test_an_answer_that_has_begun_is_cut_short_and_not_answered_twice():
    async with serving() as port:
        status, _, body = await exchange(
            port,
            head("/answers-first", "Transfer-Encoding: chunked"),
            *(b"1f4\r\n" + b"x" * 500 + b"\r\n" for _ in range(20)),
        )
        assert status in (0, 200)
        assert b"413" not in body
        assert (await exchange(port, head("/raw", sized(b"x")), b"x"))[0] == 200, "the server goes on"


async def test_a_body_that_dribbles_is_ended_and_others_are_served_meanwhile():
    async with serving(seconds=2) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head("/json", "Content-Length: 1000"))
        for _ in range(3):
            writer.write(b"x")
            await writer.drain()
            assert (await exchange(port, head("/raw", sized(b"ab")), b"ab"))[2] == b"2"
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"too_slow" in answer


async def test_an_answer_may_take_longer_than_a_body():
    """The seconds are for what comes in; waiting for a model is something else."""
    app = FastAPI()

    @app.post("/slow")
    async def slow(request: Request) -> str:
        await request.body()
        await asyncio.sleep(0.3)
        return "late" if not await request.is_disconnected() else "gone"

    messages = iter([{"type": "http.request", "body": b"x", "more_body": False}])
    sent = []

    async def receive():
        message = next(messages, None)
        if message is None:
            await asyncio.Event().wait()
        return message

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/slow",
        "headers": [],
        "query_string": b"",
        "http_version": "1.1",
    }
    await BodyLimit(app, max_bytes=10, seconds=0.1)(scope, receive, send)
    assert sent[0]["status"] == 200
    assert sent[1]["body"] == b'"late"'


@pytest.mark.parametrize(
    "request_",
    [
        head("/raw", "Content-Length: 1", "Content-Length: 5000") + b"x" * 5000,
        head("/raw", "Content-Length: 1", "Transfer-Encoding: chunked") + chunked(b"x" * 3000),
        head("/raw", "Content-Length: -1") + b"x",
        head("/raw", "Content-Length: 0x10") + b"x" * 16,
        head("/raw", "Content-Length: 1e3") + b"x" * 1000,
        head("/raw", "Transfer-Encoding: xchunked") + b"x",
        head("/raw", "Transfer-Encoding: chunked") + b"ffffffffffffffff\r\nx",
    ],
    ids=["two lengths", "length and chunks", "negative", "hex", "exponent", "unknown coding", "huge chunk"],
)
async def test_lengths_that_lie_never_reach_the_application(request_):
    async with serving(seconds=0.5) as port:
        status, _, _ = await exchange(port, request_)
        assert status in (0, 400, 408, 413, 501)
        assert all(size <= LIMIT for size in received)


async def test_what_is_no_request_passes_by():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    await BodyLimit(app)({"type": "lifespan"}, None, None)
    assert seen == ["lifespan"]


async def test_an_error_of_the_application_stays_one():
    async def app(scope, receive, send):
        raise RuntimeError("ours")

    with pytest.raises(RuntimeError, match="ours"):
        await BodyLimit(app)({"type": "http", "headers": []}, None, None)
