"""Servers that ignore `tools`: the choice is made by a JSON schema and read back as if it were native."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.models.conftest import CANCEL, Open, asks
from tests.models.provider_server import ProviderServer
from tests.models.wire_formats import Answer

from circumspect.errors import ModelGarbled
from circumspect.models import ModelTraits
from circumspect.models.schema_driven import choice_schema, restore_reply, rewrite_request
from circumspect.policy.parsing.assessment import read
from circumspect.values import Block, ChatMessage, Json, ModelReply, ModelUsage, ToolCall, ToolSpec

STATUS = ToolSpec("get_status", "Where is it?", CANCEL.parameters)


def said(**fields: Json) -> Answer:
    return Answer(json.dumps(fields))


async def test_the_schema_has_the_tools_and_the_request_has_none(server: ProviderServer, opened: Open) -> None:
    server.plays(said(reply="Hello!", tool=None, arguments={}))
    reply = await opened("openai", ";tools=json_schema").complete(asks("hi", tools=(CANCEL, STATUS)))
    assert (reply.text, reply.calls, reply.finish) == ("Hello!", (), "stop")
    assert "tools" not in server.last
    schema = server.last["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["tool"]["enum"] == ["cancel_order", "get_status", None]
    assert schema["required"] == ["reply", "tool", "arguments"]
    assert schema["properties"]["arguments"]["additionalProperties"] is True
    system = server.last["messages"][0]["content"]
    assert "cancel_order: Cancel an order." in system
    assert '"order_id"' in system


async def test_a_choice_becomes_a_call(server: ProviderServer, opened: Open) -> None:
    server.plays(said(reply="I will.", tool="cancel_order", arguments={"order_id": "12345"}))
    reply = await opened("openai", ";tools=json_schema").complete(asks("cancel 12345", tools=(CANCEL,)))
    assert reply.text == "I will."
    assert [(call.tool, dict(call.arguments)) for call in reply.calls] == [("cancel_order", {"order_id": "12345"})]
    assert reply.calls[0].id
    assert reply.finish == "tool_calls"


async def test_a_name_outside_the_list_is_passed_on_for_policy_to_refuse(server: ProviderServer, opened: Open) -> None:
    server.plays(said(reply="", tool="delete_everything", arguments={}))
    reply = await opened("openai", ";tools=json_schema").complete(asks(tools=(CANCEL,)))
    assert reply.calls[0].tool == "delete_everything"


@pytest.mark.parametrize(
    "text",
    ['{"reply": "x", "tool": "cancel_order", "arguments": "12345"}', "[]", '{"reply": "x', "",
     '{"reply": "x", "tool": 7, "arguments": {}}', '{"tool": "cancel_order", "tool": "refund", "arguments": {}}',
     '{"tool": "cancel_order", "arguments": {"order_id": "1"}} {"tool": "cancel_order", "arguments": {"order_id": "2"}}',
     '{"tool": "cancel_order", "arguments": {"order_id": "123'],
)  # fmt: skip
async def test_an_answer_that_is_no_choice_is_asked_for_once_more_and_then_garbled(
    server: ProviderServer, opened: Open, text: str
) -> None:
    model = opened("openai", ";tools=json_schema")
    server.plays(Answer(text), said(reply="Fine.", tool=None, arguments={}))
    assert (await model.complete(asks(tools=(CANCEL,)))).text == "Fine."
    server.plays(Answer(text), Answer(text), said(reply="never", tool=None, arguments={}))
    with pytest.raises(ModelGarbled):
        await model.complete(asks(tools=(CANCEL,)))


CHOSEN = '{"reply": "I will.", "tool": "cancel_order", "arguments": {"order_id": "12345"}}'


@pytest.mark.parametrize(
    "text",
    [
        f"Sure! Here is the JSON:\n```json\n{CHOSEN}\n```",
        CHOSEN[:-1] + ",}",
        CHOSEN.replace('"', "'"),
        CHOSEN.replace('"arguments": {"order_id": "12345"}', '"arguments": "{\\"order_id\\": \\"12345\\"}"'),
        CHOSEN.replace('"tool"', '"name"').replace('"arguments"', '"parameters"').replace('"reply"', '"response"'),
        f"<tool_call>\n{CHOSEN}\n</tool_call>",
    ],
)
async def test_a_choice_is_read_however_it_was_written(server: ProviderServer, opened: Open, text: str) -> None:
    server.plays(Answer(text))
    reply = await opened("openai", ";tools=json_schema").complete(asks(tools=(CANCEL,)))
    assert reply.text == "I will."
    assert [(call.tool, dict(call.arguments)) for call in reply.calls] == [("cancel_order", {"order_id": "12345"})]


async def test_words_are_a_reply_and_a_tool_without_arguments_has_none(server: ProviderServer, opened: Open) -> None:
    model = opened("openai", ";tools=json_schema")
    server.plays(Answer("We open at nine."), Answer('{"reply": "Which one?", "tool": "cancel_order"}'))
    assert (await model.complete(asks(tools=(CANCEL,)))).text == "We open at nine."
    assert (await model.complete(asks(tools=(CANCEL,)))).calls[0].arguments == {}


async def test_streaming_shows_the_reply_and_not_the_json(server: ProviderServer, opened: Open) -> None:
    server.plays(said(reply="I will.", tool="cancel_order", arguments={"order_id": "1"}))
    model = opened("openai", ";tools=json_schema")
    text, reply = [piece async for piece in model.stream(asks(tools=(CANCEL,)))]
    assert text == "I will."
    assert isinstance(reply, ModelReply)
    assert reply.calls


async def test_without_tools_nothing_is_driven(server: ProviderServer, opened: Open) -> None:
    server.plays(Answer("Just words."))
    assert (await opened("openai", ";tools=json_schema").complete(asks())).text == "Just words."
    assert "response_format" not in server.last


async def test_earlier_calls_and_results_are_plain_messages(server: ProviderServer, opened: Open) -> None:
    server.plays(said(reply="It was shipped.", tool=None, arguments={}))
    await opened("openai", ";tools=json_schema").complete(
        asks(
            "where is 12345?",
            ChatMessage("assistant", "", (ToolCall("get_status", {"order_id": "12345"}, "call_1"),)),
            ChatMessage("tool", "shipped", call_id="call_1", tool="get_status"),
            tools=(STATUS,),
        )
    )
    roles = [message["role"] for message in server.last["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert json.loads(server.last["messages"][2]["content"])["tool"] == "get_status"
    assert server.last["messages"][3]["content"] == "[result of get_status]\nshipped"


async def test_a_schema_of_the_request_goes_where_the_reply_is(server: ProviderServer, opened: Open) -> None:
    wanted = {"type": "object", "properties": {"mood": {"type": "string"}}}
    server.plays(said(reply={"mood": "good"}, tool=None, arguments={}))
    reply = await opened("openai", ";tools=json_schema").complete(asks(tools=(CANCEL,), schema=wanted))
    assert json.loads(reply.text) == {"mood": "good"}


async def test_facts_come_from_the_name_the_setting_or_the_list(opened: Open) -> None:
    assert opened("openai").facts == ModelTraits("native", "native")
    assert opened("openai", facts=ModelTraits(tools="json_schema")).facts.tools == "json_schema"
    assert opened("openai", name="Qwen/Qwen2.5-Coder-1.5B-Instruct").facts.tools == "json_schema"
    assert opened("openai", ";tools=native", name="smollm2-135m").facts.tools == "native"
    assert opened("openai", ";tools=native", facts=ModelTraits(tools="json_schema")).facts.tools == "native"


def test_arguments_stay_free_so_that_nothing_has_to_be_invented() -> None:
    schema = choice_schema(asks(tools=(CANCEL,)))
    assert "order_id" not in json.dumps(schema)


def test_driving_leaves_a_request_without_tools_as_it_is() -> None:
    request = asks("hello", ChatMessage("assistant", "hi"))
    assert rewrite_request(request) == request
    reply = ModelReply("hi", ModelUsage("m"))
    assert restore_reply(reply, request) == reply


# --- the self-assessment, and forms -----------------------------------------------------------------------------------

ASSESSED = "Be kind. End with <assessment>{…}</assessment>."
ASSESSMENT: dict[str, Json] = {
    "confidence": 8, "tool_call": "cancel_order", "tool_params": {"order_id": "12345"}, "missing_params": [],
    "is_destructive": True, "needs_confirmation": True, "needs_more_context": [],
}  # fmt: skip


async def test_a_self_assessment_comes_through_a_schema_and_is_read_as_a_block(
    server: ProviderServer, opened: Open
) -> None:
    server.plays(said(reply="Shall I cancel it?", assessment=ASSESSMENT))
    model = opened("openai", ";tools=json_schema;schema=native")
    reply = await model.complete(asks("cancel 12345", instructions=ASSESSED))
    words, assessment = read(reply.text)
    assert words == "Shall I cancel it?"
    assert (assessment.tool_call, assessment.tool_params) == ("cancel_order", {"order_id": "12345"})
    form = server.last["response_format"]["json_schema"]["schema"]["properties"]["assessment"]
    assert form["required"] == list(ASSESSMENT)


async def test_a_self_assessment_is_not_streamed_as_json(server: ProviderServer, opened: Open) -> None:
    server.plays(said(reply="Shall I?", assessment=ASSESSMENT))
    model = opened("openai", ";tools=json_schema;schema=native")
    pieces = [piece async for piece in model.stream(asks(instructions=ASSESSED))]
    assert all(not str(piece).startswith("{") for piece in pieces if isinstance(piece, str))


async def test_words_without_an_assessment_are_passed_on_and_half_an_object_is_not(
    server: ProviderServer, opened: Open
) -> None:
    server.plays(Answer("We open at nine."), *[Answer('{"reply": "We open at', finish="length")] * 2)
    model = opened("openai", ";tools=json_schema;schema=native")
    assert (await model.complete(asks(instructions=ASSESSED))).text == "We open at nine."
    with pytest.raises(ModelGarbled):
        await model.complete(asks(instructions=ASSESSED))


async def test_a_model_with_tools_of_its_own_is_asked_for_the_block_in_words(
    server: ProviderServer, opened: Open
) -> None:
    await opened("openai").complete(asks(instructions=ASSESSED))
    assert "response_format" not in server.last


async def test_what_a_form_says_about_its_fields_is_in_the_instructions(server: ProviderServer, opened: Open) -> None:
    schema = {"type": "object", "properties": {"topic": {"type": "string", "description": "Two to five words."}}}
    server.plays(said(topic="opening hours"))
    await opened("openai", ";tools=json_schema;schema=native").complete(asks(schema=schema))
    assert "- topic: Two to five words." in server.last["messages"][0]["content"]


def test_an_assessed_reply_can_name_only_tools_that_are_there_and_sees_each_call_once() -> None:
    block = Block("tools", "cancel_order(order_id)\nlist_services()")
    written = rewrite_request(replace(asks("hi"), instructions="End with <assessment>", blocks=(block,)))
    assert written.schema is not None
    form = json.loads(json.dumps(written.schema, default=dict))["properties"]["assessment"]["properties"]
    assert form["tool_call"] == {"enum": ["cancel_order", "list_services", None]}
    assert '"tool_call": "cancel_order", "tool_params": {"order_id":"…"}' in written.instructions
    assert '"tool_call": "list_services", "tool_params": {}' in written.instructions


def test_a_weak_model_is_shown_what_kind_of_value_goes_where():
    properties = {
        "date": {"type": "string", "format": "date"},
        "service": {"enum": ["knife sharpening", "boot fitting"]},
        "guests": {"type": "integer"},
        "name": {"type": "string"},
    }
    book = ToolSpec("book", "Book.", {"type": "object", "properties": properties, "required": [*properties]})
    blocks = (Block("tools", book.signature),)
    asked = replace(asks("hi"), instructions="End with <assessment>", blocks=blocks, listed=(book,))
    gaps = '{"date":"YYYY-MM-DD","service":"knife sharpening | boot fitting","guests":"(number)","name":"…"}'
    assert f'"tool_call": "book", "tool_params": {gaps}' in rewrite_request(asked).instructions
    assert "YYYY-MM-DD" not in asked.system
