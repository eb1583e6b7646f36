"""The model for tests of an agent: says what it was told, remembers what it was asked."""

from __future__ import annotations

import json

import pytest
from tests.models.conftest import asks

from circumspect.errors import ModelRefused, ModelUnavailable
from circumspect.models import ScriptedModel, calls, says
from circumspect.values import ModelReply, ModelRequest, ModelUsage, ToolCall


async def test_replies_come_in_order_and_requests_are_kept() -> None:
    whole = ModelReply("two", ModelUsage("mine", 3, 4))
    model = ScriptedModel(["one", whole, lambda request: f"three: {request.messages[0].text}"])
    replies = [await model.complete(asks(f"message {n}")) for n in range(3)]
    assert [reply.text for reply in replies] == ["one", "two", "three: message 2"]
    assert replies[1] is whole
    assert [request.messages[0].text for request in model.requests] == ["message 0", "message 1", "message 2"]
    assert model.left == 0


async def test_an_exception_is_raised_and_the_script_goes_on() -> None:
    model = ScriptedModel([ModelUnavailable("down"), lambda request: ModelRefused("no"), "fine"])
    with pytest.raises(ModelUnavailable):
        await model.complete(asks())
    with pytest.raises(ModelRefused):
        await model.complete(asks())
    assert (await model.complete(asks())).text == "fine"


async def test_running_out_says_how_many_were_wanted() -> None:
    model = ScriptedModel(["one"])
    await model.complete(asks())
    with pytest.raises(ModelRefused, match=r"asked 2 times and has 1 replies.*'critique'"):
        await model.complete(asks(purpose="critique"))


async def test_one_function_answers_everything() -> None:
    def echo(request: ModelRequest) -> str:
        return request.messages[-1].text

    model = ScriptedModel(echo)
    assert [(await model.complete(asks(text))).text for text in ("a", "b")] == ["a", "b"]


async def test_it_streams_word_by_word() -> None:
    *pieces, reply = [piece async for piece in ScriptedModel(["one  two three"]).stream(asks())]
    assert "".join(piece for piece in pieces if isinstance(piece, str)) == "one  two three"
    assert len(pieces) > 1
    assert isinstance(reply, ModelReply)


def test_says_writes_the_assessment_of_the_wire() -> None:
    text = says(
        "בטוח?",
        confidence=4,
        tool="cancel_order",
        params={"order_id": "12345"},
        missing=["reason"],
        destructive=True,
        needs_confirmation=True,
        context=["faqs"],
    )
    reply, _, rest = text.partition("<assessment>")
    assert reply.strip() == "בטוח?"
    assert json.loads(rest.removesuffix("</assessment>")) == {
        "confidence": 4,
        "tool_call": "cancel_order",
        "tool_params": {"order_id": "12345"},
        "missing_params": ["reason"],
        "is_destructive": True,
        "needs_confirmation": True,
        "needs_more_context": ["faqs"],
    }


def test_says_is_sure_and_calls_nothing_by_default() -> None:
    assessment = json.loads(says("hi").split("<assessment>")[1].removesuffix("</assessment>"))
    assert (assessment["confidence"], assessment["tool_call"], assessment["tool_params"]) == (9, None, {})


def test_calls_is_a_native_call() -> None:
    reply = calls("cancel_order", {"order_id": "1"}, "One moment.")
    assert (reply.text, reply.finish) == ("One moment.", "tool_calls")
    assert reply.calls == (ToolCall("cancel_order", {"order_id": "1"}, "call_1"),)
