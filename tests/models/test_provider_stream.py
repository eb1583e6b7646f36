"""Streaming: pieces of text, then the whole reply; another try only as long as nothing was shown."""

from __future__ import annotations

from contextlib import aclosing

import pytest
from tests.models.conftest import CANCEL, Open, asks
from tests.models.provider_server import Act, Cut, Drip, Hangup, Mangled, ProviderServer, Raw, Silent, Status
from tests.models.wire_formats import Answer, Call

from circumspect.errors import ModelGarbled, ModelRefused, ModelUnavailable
from circumspect.models.providers import ProviderModel
from circumspect.values import ModelReply, ModelRequest, ToolCall

SSE = "text/event-stream"


async def streamed(model: ProviderModel, request: ModelRequest) -> tuple[list[str], ModelReply]:
    *pieces, last = [piece async for piece in model.stream(request)]
    assert isinstance(last, ModelReply)
    return [piece for piece in pieces if isinstance(piece, str)], last


async def test_pieces_come_as_they_are_and_the_reply_last(server: ProviderServer, model: ProviderModel) -> None:
    server.plays(Answer("Good morning to you", usage=(40, 9)))
    pieces, reply = await streamed(model, asks())
    assert len(pieces) == 3
    assert "".join(pieces) == reply.text == "Good morning to you"
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.attempts) == (40, 9, 1)
    assert reply.finish == "stop"


async def test_a_streamed_call_is_whole(server: ProviderServer, model: ProviderModel) -> None:
    server.plays(Answer("One moment.", (Call("cancel_order", '{"order_id": "12345"}', "call_7"),)))
    pieces, reply = await streamed(model, asks("cancel 12345", tools=(CANCEL,)))
    assert "".join(pieces) == "One moment."
    assert reply.calls == (ToolCall("cancel_order", {"order_id": "12345"}, "call_7"),)
    assert reply.finish == "tool_calls"


@pytest.mark.parametrize(
    "act",
    [Status(500), Status(429), Hangup(), Cut(Answer("hello there"), 1), Cut(Answer("hello there"), 1, politely=True),
     Raw(b"data: {nonsense\n\n", SSE), Raw(b"", SSE), Raw(b"<html>", "text/html")],
    ids=["500", "429", "hangup", "cut", "cut politely", "malformed", "empty", "page"],
)  # fmt: skip
async def test_before_the_first_piece_it_is_tried_again(server: ProviderServer, model: ProviderModel, act: Act) -> None:
    server.plays(act, act, Answer("hello at last"))
    pieces, reply = await streamed(model, asks())
    assert ("".join(pieces), reply.usage.attempts) == ("hello at last", 3)


@pytest.mark.parametrize("politely", [False, True])
async def test_a_stream_that_breaks_off_is_no_answer(
    server: ProviderServer, model: ProviderModel, politely: bool
) -> None:
    server.plays(Cut(Answer("one two three"), 4, politely), Answer("never"))
    pieces = []

    async def read() -> None:
        async for piece in model.stream(asks()):
            pieces.append(piece)

    with pytest.raises(ModelUnavailable):
        await read()
    assert pieces
    assert all(isinstance(piece, str) for piece in pieces)
    assert len(server.requests) == 1


async def test_a_stream_that_stalls_ends_in_time(server: ProviderServer, opened: Open, provider: str) -> None:
    server.plays(Drip(Answer("one two three"), every=0.15))
    with pytest.raises(ModelUnavailable, match="in time"):
        await streamed(opened(provider, timeout=0.4), asks())
    server.plays(Silent())
    with pytest.raises(ModelUnavailable, match="in time"):
        await streamed(opened(provider, timeout=0.2), asks())


async def test_a_refusal_is_not_tried_again(server: ProviderServer, model: ProviderModel) -> None:
    server.plays(Status(401), Answer("never"))
    with pytest.raises(ModelRefused):
        await streamed(model, asks())
    assert len(server.requests) == 1


async def test_unreadable_arguments_are_tried_again_when_nothing_was_shown(
    server: ProviderServer, model: ProviderModel
) -> None:
    bad = Answer("", (Call("cancel_order", '{"order_id": '),))
    server.plays(bad, Answer("", (Call("cancel_order", '{"order_id": "1"}'),)))
    _, reply = await streamed(model, asks(tools=(CANCEL,)))
    assert (dict(reply.calls[0].arguments), reply.usage.attempts) == ({"order_id": "1"}, 2)
    server.plays(bad, bad, Answer("never"))
    with pytest.raises(ModelGarbled):
        await streamed(model, asks(tools=(CANCEL,)))


async def test_unreadable_arguments_after_words_end_the_stream(server: ProviderServer, model: ProviderModel) -> None:
    server.plays(Answer("One moment.", (Call("cancel_order", '{"order_id": '),)), Answer("never"))
    with pytest.raises(ModelGarbled):
        await streamed(model, asks(tools=(CANCEL,)))
    assert len(server.requests) == 1


async def test_broken_letters_are_replaced(server: ProviderServer, model: ProviderModel) -> None:
    server.plays(Mangled(Answer("a@@b \ud800", pieces=1), b"@@", b"\xff\xd7"))
    pieces, reply = await streamed(model, asks())
    assert "".join(pieces) == reply.text == "a\ufffd\ufffdb \ufffd"


async def test_a_reader_may_leave_in_the_middle(server: ProviderServer, model: ProviderModel) -> None:
    server.plays(Answer("one two three"))
    async with aclosing(model.stream(asks())) as pieces:  # type: ignore[type-var]
        assert await anext(pieces) == "one t"
    server.plays(Answer("still here"))
    assert (await model.complete(asks())).text == "still here"


async def test_a_long_stream_arrives_whole(server: ProviderServer, model: ProviderModel) -> None:
    server.plays(Answer("word " * 20_000, pieces=2_000))
    pieces, reply = await streamed(model, asks())
    assert len("".join(pieces)) == len(reply.text) == 100_000
