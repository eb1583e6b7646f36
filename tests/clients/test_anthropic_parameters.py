"""Parameters of Anthropic's Messages API: passed on to the model, or honoured here."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest
from pydantic import BaseModel
from tests.clients.upstream import Upstream, call
from tests.models.wire_formats import Answer, Call
from tests.server.house import House

ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
TOOLS = [{"name": name, "input_schema": ORDER} for name in ("get_order_status", "cancel_order")]
MODEL = "claude-of-somebody-else"


@pytest.fixture
def client(house: House) -> anthropic.Anthropic:
    key = house.token("shop", "chat")
    return house.lend(anthropic.Anthropic(base_url=house.url, api_key=key, max_retries=0))


def ask(client: anthropic.Anthropic, said: str = "hello", **options: Any) -> anthropic.types.Message:
    messages = [{"role": "user", "content": said}]
    return client.messages.create(**{"model": MODEL, "max_tokens": 500, "messages": messages, **options})


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"extra_body": {"temperature": 0.75}}, {"temperature": 0.75}),
        ({"extra_body": {"top_p": 0.5}}, {"top_p": 0.5}),
    ],
)
def test_what_the_client_asks_of_the_model_reaches_it(client, upstream: Upstream, given, sent):
    upstream.plays(Answer("Hello."))
    assert ask(client, **given).content[0].text == "Hello."
    assert sent.items() <= upstream.asked[0].items()


def test_what_makes_no_difference_is_taken_and_named(client, upstream: Upstream):
    upstream.plays(Answer("Hello."))
    harmless = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}, "top_k": 5}
    raw = client.messages.with_raw_response.create(
        model=MODEL, max_tokens=500, messages=[{"role": "user", "content": "hello"}], extra_body=harmless
    )
    assert raw.headers["x-circumspect-ignored"] == "context_management, top_k"
    assert raw.parse().content[0].text == "Hello."


def test_a_choice_of_a_tool_that_is_not_there_is_refused(client, upstream: Upstream):
    upstream.plays(Answer("Hello."))
    with pytest.raises(anthropic.UnprocessableEntityError, match="get_odrer"):
        ask(client, "where is order 12345?", tools=TOOLS, tool_choice={"type": "tool", "name": "get_odrer"})
    assert not upstream.asked


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ({"type": "any"}, "required"),
        (
            {"type": "tool", "name": "get_order_status"},
            {"type": "function", "function": {"name": "get_order_status"}},
        ),
    ],
)
def test_a_choice_of_tools_reaches_the_model(client, upstream: Upstream, choice, sent):
    upstream.plays(call("get_order_status", order_id="12345"))
    done = ask(client, "where is order 12345?", tools=TOOLS, tool_choice=choice)
    assert done.stop_reason == "tool_use"
    assert upstream.asked[0]["tool_choice"] == sent


def test_one_call_at_a_time_is_one_call(client, upstream: Upstream):
    looks = tuple(Call("get_order_status", json.dumps({"order_id": one}), one) for one in ("12345", "12346"))
    for alone, calls in ((False, 2), (True, 1)):
        upstream.plays(Answer(calls=looks))
        choice = {"type": "auto", "disable_parallel_tool_use": alone}
        done = ask(client, "where are orders 12345 and 12346?", tools=TOOLS, tool_choice=choice)
        assert [one.type for one in done.content].count("tool_use") == calls


def test_no_tool_is_called_where_the_client_wants_none(client, upstream: Upstream):
    upstream.plays(Answer("I cannot look."))
    done = ask(client, "where is order 12345?", tools=TOOLS, tool_choice={"type": "none"})
    assert done.content[0].text == "I cannot look."
    assert not upstream.asked[0].get("tools")


def test_a_reply_that_was_cut_off_says_so(client, upstream: Upstream):
    upstream.plays(Answer("Once upon a time", finish="length"))
    assert ask(client, max_tokens=2000).stop_reason == "max_tokens"


class Weather(BaseModel):
    city: str
    degrees: int


def test_data_comes_as_data_and_words_are_a_refusal(client, upstream: Upstream):
    asked = {"model": MODEL, "max_tokens": 500, "messages": [{"role": "user", "content": "hello"}]}
    upstream.plays(Answer('{"city": "Haifa", "degrees": 21}'))
    done = client.messages.parse(**asked, output_format=Weather)
    assert done.parsed_output == Weather(city="Haifa", degrees=21)
    assert done.stop_reason == "end_turn"
    wanted = {"format": {"type": "json_schema", "schema": Weather.model_json_schema()}}
    upstream.plays(Answer("It is warm."))
    assert client.messages.create(**asked, output_config=wanted).stop_reason == "refusal"
    upstream.plays(Answer("It is warm."))
    with client.messages.stream(**asked, output_config=wanted) as stream:
        assert stream.get_final_message().stop_reason == "refusal"
