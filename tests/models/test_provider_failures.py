"""Calls to a provider that do not work: what is tried again, what is not, and what a person is told."""

from __future__ import annotations

import asyncio
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.models.conftest import CANCEL, Open, asks
from tests.models.provider_server import Act, Cut, Drip, Hangup, ProviderServer, Raw, Silent, Status
from tests.models.wire_formats import Answer, Call

from circumspect.errors import ModelError, ModelGarbled, ModelRefused, ModelUnavailable
from circumspect.models import ProviderSettings, open_model
from circumspect.models.providers import ProviderModel

EMPTY_CHOICES = b'{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[],"content":null}'
TRANSIENT: dict[str, Act] = {
    "rate limit": Status(429),
    "server error": Status(500),
    "bad gateway": Raw(b"<html>bad gateway</html>", "text/html", 502),
    "unavailable": Status(503),
    "overloaded": Status(529),
    "timeout status": Status(408),
    "hangup": Hangup(),
    "cut in the body": Cut(Answer("a long answer"), 40),
    "not JSON": Raw(b'{"choices": [{"mess'),
    "not even text": Raw(b"\x00\xff\xfe"),
    "a page instead": Raw(b"<html>hello</html>", "text/html"),
    "empty body": Raw(b""),
    "empty choices": Raw(EMPTY_CHOICES),
    "wrong types": Raw(b'{"id": 1, "choices": "many", "content": 5, "usage": "much"}'),
    "a list": Raw(b"[]"),
    "null": Raw(b"null"),
}
PERMANENT = {400: "rejected", 401: "does not accept the key", 403: "does not accept the key", 404: "does not exist",
             413: "HTTP 413", 422: "rejected"}  # fmt: skip


@pytest.mark.parametrize("act", TRANSIENT.values(), ids=TRANSIENT.keys())
async def test_what_may_pass_is_tried_again(server: ProviderServer, model: ProviderModel, act: Act) -> None:
    server.plays(act, act, Answer("here I am"))
    reply = await model.complete(asks())
    assert (reply.text, reply.usage.attempts) == ("here I am", 3)


@pytest.mark.parametrize("act", TRANSIENT.values(), ids=TRANSIENT.keys())
async def test_after_three_tries_it_is_given_up(server: ProviderServer, model: ProviderModel, act: Act) -> None:
    server.plays(act, act, act, Answer("too late"))
    with pytest.raises((ModelUnavailable, ModelGarbled)) as caught:
        await model.complete(asks())
    assert len(server.requests) == 3
    assert model.name in str(caught.value)
    spent = caught.value.usage
    assert spent is not None
    assert spent.attempts == 3


@pytest.mark.parametrize(("status", "words"), PERMANENT.items())
async def test_what_will_not_pass_is_refused_at_once(
    server: ProviderServer, model: ProviderModel, waits: list[float], status: int, words: str
) -> None:
    server.plays(Status(status), Answer("never"))
    with pytest.raises(ModelRefused, match=words) as caught:
        await model.complete(asks())
    assert caught.value.fix
    assert (len(server.requests), waits) == (1, [])


async def test_a_used_up_quota_is_no_rate_limit(server: ProviderServer, opened: Open) -> None:
    server.plays(Status(429, kind="insufficient_quota"), Answer("never"))
    with pytest.raises(ModelRefused, match="quota"):
        await opened("openai").complete(asks())
    assert len(server.requests) == 1


async def test_a_conversation_too_long_for_the_model_says_so(server: ProviderServer, opened: Open) -> None:
    server.plays(Status(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"))
    with pytest.raises(ModelRefused, match="too long"):
        await opened("openai").complete(asks())


async def test_a_conversation_too_long_for_ones_own_server_says_by_how_much(
    server: ProviderServer, opened: Open
) -> None:
    said = b'{"error":{"code":400,"message":"request (6019 tokens) exceeds the available context size (4096 tokens)"'
    server.plays(Raw(said + b',"type":"exceed_context_size_error","n_prompt_tokens":6019,"n_ctx":4096}}', status=400))
    with pytest.raises(ModelRefused, match="too long") as caught:
        await opened("openai").complete(asks())
    assert "6019" in caught.value.fix


async def test_the_time_a_call_may_take_can_be_in_the_models_name(server: ProviderServer, opened: Open) -> None:
    server.plays(Silent())
    with pytest.raises(ModelUnavailable, match=r"in time \(0\.2 s\)") as caught:
        await opened("openai", ";timeout=0.2").complete(asks())
    assert ";timeout=" in caught.value.fix


async def test_waits_grow_and_differ(server: ProviderServer, opened: Open, waits: list[float]) -> None:
    model = opened("openai", tries=5)
    for _ in range(2):
        server.plays(*[Status(500)] * 4, Answer("at last"))
        await model.complete(asks())
    first, second = waits[:4], waits[4:]
    assert all(0.5 * 2**n <= wait <= 0.5 * 2**n + 0.5 for n, wait in enumerate(first))
    assert first != second


@pytest.mark.parametrize(("header", "waited"), [("2", 2.0), ("0", 0.0), ("3600", 30.0)])
async def test_retry_after_in_seconds_is_obeyed_up_to_half_a_minute(
    server: ProviderServer, model: ProviderModel, waits: list[float], header: str, waited: float
) -> None:
    server.plays(Status(429, headers={"retry-after": header}), Answer("now"))
    assert (await model.complete(asks())).text == "now"
    assert waits == [waited]


async def test_retry_after_as_a_date_is_obeyed(
    server: ProviderServer, model: ProviderModel, waits: list[float]
) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    server.plays(Status(503, headers={"retry-after": soon}), Answer("now"))
    assert (await model.complete(asks())).text == "now"
    assert 5 < waits[0] <= 20


@pytest.mark.parametrize("header", ["soon", "-5", "", "99999999999999999999999", "NaN"])
async def test_a_retry_after_that_makes_no_sense_is_ignored_or_capped(
    server: ProviderServer, model: ProviderModel, waits: list[float], header: str
) -> None:
    server.plays(Status(429, headers={"retry-after": header}), Answer("now"))
    assert (await model.complete(asks())).text == "now"
    assert 0 <= waits[0] <= 30


async def test_a_wait_that_would_outlast_the_call_is_not_begun(
    server: ProviderServer, opened: Open, provider: str, waits: list[float]
) -> None:
    server.plays(Status(429, headers={"retry-after": "20"}), Answer("never"))
    with pytest.raises(ModelUnavailable, match="too many requests"):
        await opened(provider, timeout=10.0).complete(asks())
    assert waits == []


@pytest.mark.parametrize("act", [Silent(), Drip(Answer("slow"), every=0.01)], ids=["silent", "dripping"])
async def test_a_call_ends_in_time_even_when_bytes_keep_dripping(
    server: ProviderServer, opened: Open, provider: str, act: Act
) -> None:
    server.plays(act, act, act)
    with pytest.raises(ModelUnavailable, match="in time"):
        await opened(provider, timeout=0.3).complete(asks())


async def test_a_try_that_takes_too_long_is_tried_again(server: ProviderServer, opened: Open, provider: str) -> None:
    server.plays(Silent(), Answer("quick this time"))
    reply = await opened(provider, try_timeout=2.0).complete(asks())
    assert (reply.text, reply.usage.attempts) == ("quick this time", 2)


async def test_nobody_at_the_address(waits: list[float], provider: str) -> None:
    async def wait(seconds: float) -> None:
        waits.append(seconds)

    async with ProviderServer() as gone:
        url = gone.url
    model = open_model(f"{provider}:some-model@{url}/v1", settings=ProviderSettings(sleep=wait))
    assert isinstance(model, ProviderModel)
    with pytest.raises(ModelUnavailable, match="the connection failed") as caught:
        await model.complete(asks())
    assert "server runs" in caught.value.fix
    assert len(waits) == 2
    await model.aclose()


async def test_the_sdks_do_not_retry_on_their_own(server: ProviderServer, opened: Open, provider: str) -> None:
    server.plays(Status(500, headers={"x-should-retry": "true"}))
    with pytest.raises(ModelUnavailable):
        await opened(provider, tries=1).complete(asks())
    assert len(server.requests) == 1


async def test_a_cancelled_call_is_not_tried_again(server: ProviderServer, model: ProviderModel) -> None:
    server.plays(Silent(), Answer("never"))
    call = asyncio.create_task(model.complete(asks()))
    while not server.requests:
        await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(server.requests) == 1


# --- tool calls that cannot be read ---------------------------------------------------------------------------------

UNREADABLE = {
    "cut off": '{"order_id": "123',
    "no JSON": "order_id=12345",
    "single quotes": "{'order_id': '12345'}",
    "trailing comma": '{"order_id": "12345",}',
    "a list": '["12345"]',
    "a word": '"12345"',
    "the same key twice": '{"order_id": "1", "order_id": "2"}',
    "not a number": '{"amount": NaN}',
    "two objects": '{"order_id": "1"}{"order_id": "2"}',
    "too deep": '{"a":' * 5000 + "1" + "}" * 5000,
}


@pytest.mark.parametrize("arguments", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_arguments_are_never_repaired(
    server: ProviderServer, opened: Open, arguments: str, waits: list[float]
) -> None:
    model = opened("openai")
    server.plays(*[Answer("", (Call("cancel_order", arguments),))] * 3)
    with pytest.raises(ModelGarbled, match="cancel_order"):
        await model.complete(asks("cancel 12345", tools=(CANCEL,)))
    assert len(server.requests) == 2


async def test_anthropics_arguments_that_are_no_object_are_garbled_too(server: ProviderServer, opened: Open) -> None:
    server.plays(*[Answer("", (Call("cancel_order", "order 12345"),))] * 2)
    with pytest.raises(ModelGarbled):
        await opened("anthropic").complete(asks(tools=(CANCEL,)))


async def test_a_second_try_may_have_better_arguments(server: ProviderServer, model: ProviderModel) -> None:
    bad, good = (
        Answer("", (Call("cancel_order", text),), usage=(100, 10)) for text in ("order 1", '{"order_id": "1"}')
    )
    server.plays(bad, good)
    reply = await model.complete(asks("cancel 1", tools=(CANCEL,)))
    assert dict(reply.calls[0].arguments) == {"order_id": "1"}
    assert (reply.usage.attempts, reply.usage.input_tokens, reply.usage.output_tokens) == (2, 200, 20)


async def test_a_call_cut_off_at_the_length_limit_is_no_call(server: ProviderServer, model: ProviderModel) -> None:
    whole_by_accident = Answer("", (Call("refund", '{"amount": 1}'),), finish="length")
    server.plays(whole_by_accident, whole_by_accident)
    with pytest.raises(ModelGarbled, match="cut off"):
        await model.complete(asks(tools=(CANCEL,)))


async def test_a_request_that_cannot_be_written_is_refused(model: ProviderModel) -> None:
    with pytest.raises(ModelRefused, match="cannot be written"):
        await model.complete(asks(schema={"type": "object", "properties": {"n": {"const": float("nan")}}}))


# --- secrets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["sk-live-abcdef123456", "hunter2hunter2"])
@pytest.mark.parametrize("status", [400, 401, 422, 500])
async def test_no_error_shows_a_key(
    server: ProviderServer, opened: Open, provider: str, status: int, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="circumspect")
    server.plays(*[Status(status, f"Incorrect API key provided: {key}. Also Bearer {key}")] * 3)
    with pytest.raises(ModelError) as caught:
        await opened(provider, api_key=key).complete(asks())
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert key not in shown


async def test_a_rejected_request_says_what_the_provider_said(server: ProviderServer, model: ProviderModel) -> None:
    server.plays(Status(400, "Invalid schema for function 'cancel_order': " + "x" * 5000))
    with pytest.raises(ModelRefused, match="Invalid schema for function 'cancel_order'") as caught:
        await model.complete(asks())
    assert len(str(caught.value)) < 500


async def test_a_key_of_the_environment_is_not_sent_to_another_address(
    server: ProviderServer, opened: Open, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-mine")
    await opened(provider).complete(asks())
    assert "sk-mine" not in str(server.requests[0].headers)
    monkeypatch.setenv("THEIR_KEY", "sk-theirs")
    await opened(provider, ";key=THEIR_KEY").complete(asks())
    assert "sk-theirs" in str(server.requests[1].headers)
