"""Parameters of OpenAI's Responses API: passed on to the model, or honoured here."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter
from tests.clients.upstream import Upstream, call
from tests.models.wire_formats import Answer, Call
from tests.server.house import House

ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
TOOLS = [
    {"type": "function", "name": name, "parameters": ORDER, "strict": False}
    for name in ("get_order_status", "cancel_order")
]


@pytest.fixture
def client(house: House) -> openai.OpenAI:
    key, http = house.token("shop", "chat"), house.client()
    return openai.OpenAI(base_url=f"{house.url}/v1", api_key=key, http_client=http, max_retries=0)


def ask(client: openai.OpenAI, **options: Any) -> Response:
    return client.responses.create(**{"model": "gpt-5", "input": "hello", **options})


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"temperature": 1.25}, {"temperature": 1.25}),
        ({"top_p": 0.5}, {"top_p": 0.5}),
        ({"text": {"verbosity": "low"}}, {"verbosity": "low"}),
    ],
)
def test_what_the_client_asks_of_the_model_reaches_it(client, upstream: Upstream, given, sent):
    upstream.plays(Answer("Hello."))
    assert ask(client, **given).output_text == "Hello."
    assert sent.items() <= upstream.asked[0].items()


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", "required"),
        (
            {"type": "function", "name": "get_order_status"},
            {"type": "function", "function": {"name": "get_order_status"}},
        ),
    ],
)
def test_a_choice_of_tools_reaches_the_model(client, upstream: Upstream, choice, sent):
    upstream.plays(call("get_order_status", order_id="12345"))
    done = ask(client, input="where is order 12345?", tools=TOOLS, tool_choice=choice)
    assert done.output[-1].type == "function_call"
    assert upstream.asked[0]["tool_choice"] == sent


def test_one_call_at_a_time_is_one_call(client, upstream: Upstream):
    looks = tuple(Call("get_order_status", json.dumps({"order_id": one}), one) for one in ("12345", "12346"))
    for together, calls in ((True, 2), (False, 1)):
        upstream.plays(Answer(calls=looks))
        said = "where are orders 12345 and 12346?"
        done = ask(client, input=said, tools=TOOLS, parallel_tool_calls=together)
        assert [one.type for one in done.output].count("function_call") == calls


def test_the_model_is_sent_the_talk_that_we_keep(client, upstream: Upstream):
    upstream.plays(call("get_order_status", order_id="12345"))
    asked = ask(client, input="where is order 12345?", tools=TOOLS)
    upstream.plays(Answer("It is on its way."))
    told = [{"type": "function_call_output", "call_id": asked.output[-1].call_id, "output": '{"status": "shipped"}'}]
    done = ask(client, input=told, tools=TOOLS, previous_response_id=asked.id)
    upstream.plays(Answer("Gladly."))
    ask(client, input="thank you", tools=TOOLS, previous_response_id=done.id)
    sent = [one for one in upstream.asked[0]["messages"] if one["role"] != "system"]
    assert [one["role"] for one in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"]
    assert sent[2]["content"] == '{"status":"shipped"}'


def test_a_reply_that_was_cut_off_is_incomplete(client, upstream: Upstream):
    upstream.plays(Answer("Once upon a time", finish="length"))
    done = ask(client, max_output_tokens=2000)
    assert (done.status, done.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    upstream.plays(Answer("Once upon a time", finish="length"))
    *_, last = ask(client, max_output_tokens=2000, stream=True)
    assert last.type == "response.incomplete"


# --- structured output ----------------------------------------------------------------------------------------------


class Weather(BaseModel):
    city: str
    degrees: int


def test_data_comes_as_data(client, upstream: Upstream):
    upstream.plays(Answer('{"city": "Haifa", "degrees": 21}'))
    done = client.responses.parse(model="gpt-5", input="hello", text_format=Weather)
    assert done.output_parsed == Weather(city="Haifa", degrees=21)
    wanted = upstream.asked[0]["response_format"]["json_schema"]["schema"]
    assert wanted["properties"].keys() == {"city", "degrees"}


def test_streamed_data_is_parsed_by_the_official_helper(client, upstream: Upstream):
    upstream.plays(Answer('{"city": "Haifa", "degrees": 21}'))
    with client.responses.stream(model="gpt-5", input="hello", text_format=Weather) as stream:
        assert stream.get_final_response().output_parsed == Weather(city="Haifa", degrees=21)


def test_a_question_where_data_was_asked_for_is_a_refusal_and_its_yes_counts(client, upstream: Upstream):
    upstream.plays(call("cancel_order", order_id="12345"))
    strict = {"type": "json_schema", "name": "weather", "schema": Weather.model_json_schema(), "strict": True}
    wanted = {"tools": TOOLS, "text": {"format": strict}}
    held = ask(client, input="cancel order 12345", **wanted)
    (part,) = held.output[0].content
    assert part.type == "refusal"
    assert "12345" in part.refusal
    upstream.plays()
    items = [{"role": "user", "content": "cancel order 12345"}, held.output[0].model_dump(exclude_none=True)]
    agreed = ask(client, input=[*items, {"role": "user", "content": "yes"}], **wanted)
    assert agreed.output[-1].name == "cancel_order"


def test_a_streamed_refusal_has_the_official_events(client, house: House, upstream: Upstream):
    upstream.plays(Answer("I would rather talk."))
    body = {"model": "gpt-5", "input": "hello", "stream": True, "text": {"format": {"type": "json_object"}}}
    with house.client(house.token("shop", "chat")).stream("POST", "/v1/responses", json=body) as answer:
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: ")]
    events = [json.loads(line) for line in lines]
    for event in events:
        TypeAdapter(ResponseStreamEvent).validate_python(event)
    assert [one["type"] for one in events][3:-1] == [
        "response.content_part.added",
        "response.refusal.delta",
        "response.refusal.done",
        "response.content_part.done",
        "response.output_item.done",
    ]
