"""Every parameter of OpenAI's chat API: passed on to the model, honoured here, or named as ignored."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from pydantic import BaseModel
from tests.clients.shop_tools import TOOLS
from tests.clients.upstream import Upstream, call
from tests.models.wire_formats import Answer, Call
from tests.server.house import House

HELLO = [{"role": "user", "content": "hello"}]
STRICT = [{**one, "function": {**one["function"], "strict": True}} for one in TOOLS]
WHERE = [{"role": "user", "content": "where is order 12345?"}]


@pytest.fixture
def client(house: House) -> openai.OpenAI:
    key, http = house.token("shop", "chat"), house.client()
    return openai.OpenAI(base_url=f"{house.url}/v1", api_key=key, http_client=http, max_retries=0)


def ask(client: openai.OpenAI, **options: Any) -> Any:
    return client.chat.completions.create(**{"model": "gpt-4o", "messages": HELLO, **options})


@pytest.mark.parametrize(
    ("name", "value", "sent"),
    [
        ("temperature", 1.25, {"temperature": 1.25}),
        ("temperature", 0, {"temperature": 0}),
        ("top_p", 0.5, {"top_p": 0.5}),
        ("seed", 7, {"seed": 7}),
        ("frequency_penalty", 0.5, {"frequency_penalty": 0.5}),
        ("presence_penalty", -0.5, {"presence_penalty": -0.5}),
        ("logit_bias", {"50256": -100}, {"logit_bias": {"50256": -100}}),
        ("verbosity", "low", {"verbosity": "low"}),
    ],
)
def test_what_the_client_asks_of_the_model_reaches_it(
    client: openai.OpenAI, upstream: Upstream, name: str, value: Any, sent: dict[str, Any]
) -> None:
    upstream.plays(Answer("Hello."))
    assert ask(client, **{name: value}).choices[0].message.content == "Hello."
    assert sent.items() <= upstream.asked[0].items()


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_limit_leaves_room_for_the_assessment_and_its_end_is_told(
    client: openai.OpenAI, upstream: Upstream, name: str
) -> None:
    upstream.plays(Answer("Once upon a time", finish="length"))
    done = ask(client, **{name: 2000})
    assert done.choices[0].finish_reason == "length"
    assert upstream.asked[0]["max_tokens"] > 2000


@pytest.mark.parametrize("stop", ["END", ["###", "END"]])
def test_a_stop_ends_the_reply_and_not_the_assessment_behind_it(
    client: openai.OpenAI, upstream: Upstream, stop: Any
) -> None:
    upstream.plays(Answer("First. END Second. ###"))
    assert ask(client, stop=stop).choices[0].message.content == "First."
    assert "stop" not in upstream.asked[0]


def test_what_makes_no_difference_is_taken_and_named(client: openai.OpenAI, upstream: Upstream) -> None:
    upstream.plays(Answer("Hello."))
    raw = client.chat.completions.with_raw_response.create(
        model="gpt-4o",
        messages=HELLO,  # type: ignore[arg-type]
        store=True,
        metadata={"team": "billing"},
        service_tier="flex",
        logprobs=True,
        top_logprobs=2,
        prompt_cache_key="k",
        safety_identifier="s",
    )
    named = "logprobs, metadata, prompt_cache_key, safety_identifier, service_tier, store, top_logprobs"
    assert raw.headers["x-circumspect-ignored"] == named
    assert raw.parse().choices[0].message.content == "Hello."
    upstream.plays(Answer("Hello."))
    plain = client.chat.completions.with_raw_response.create(model="gpt-4o", messages=HELLO, n=1, store=False)  # type: ignore[arg-type]
    assert "x-circumspect-ignored" not in plain.headers


# --- tools ----------------------------------------------------------------------------------------------------------


def test_the_models_own_tool_calling_gets_the_clients_tools_and_results_as_they_are(
    client: openai.OpenAI, upstream: Upstream
) -> None:
    upstream.plays(call("get_order_status", order_id="12345"))
    asked = ask(client, messages=WHERE, tools=TOOLS)
    (proposed,) = asked.choices[0].message.tool_calls
    assert json.loads(proposed.function.arguments) == {"order_id": "12345"}
    sent = [one["function"] for one in upstream.asked[0]["tools"]]
    assert [(one["name"], one["description"]) for one in sent] == [
        (one["function"]["name"], one["function"]["description"]) for one in TOOLS
    ]
    upstream.plays(Answer("It is on its way."))
    result = {"role": "tool", "tool_call_id": proposed.id, "content": '{"status": "shipped"}'}
    done = ask(client, messages=[*WHERE, asked.choices[0].message, result], tools=TOOLS)
    assert done.choices[0].message.content == "It is on its way."
    *_, called, returned = upstream.asked[0]["messages"]
    assert called["tool_calls"][0]["function"]["name"] == "get_order_status"
    assert (returned["role"], returned["content"]) == ("tool", '{"status": "shipped"}')


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", "required"),
        (
            {"type": "function", "function": {"name": "get_order_status"}},
            {"type": "function", "function": {"name": "get_order_status"}},
        ),
    ],
)
def test_a_choice_of_tools_reaches_the_model(client: openai.OpenAI, upstream: Upstream, choice: Any, sent: Any) -> None:
    upstream.plays(call("get_order_status", order_id="12345"))
    done = ask(client, messages=WHERE, tools=TOOLS, tool_choice=choice)
    assert done.choices[0].message.tool_calls
    assert upstream.asked[0]["tool_choice"] == sent


def test_only_allowed_tools_are_offered(client: openai.OpenAI, upstream: Upstream) -> None:
    upstream.plays(call("get_order_status", order_id="12345"))
    only = [{"type": "function", "function": {"name": "get_order_status"}}]
    ask(
        client,
        messages=WHERE,
        tools=TOOLS,
        tool_choice={"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": only}},
    )
    asked = upstream.asked[0]
    offered = {one["function"]["name"] for one in asked["tools"]}
    limited = isinstance(asked["tool_choice"], dict) and asked["tool_choice"]["allowed_tools"]["tools"] == only
    assert offered == {"get_order_status"} or limited


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "function", "function": {"name": "get_odrer"}},
        {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "get_odrer"}}]},
        },
    ],
)
def test_a_choice_of_a_tool_that_is_not_there_is_refused(
    client: openai.OpenAI, upstream: Upstream, choice: Any
) -> None:
    """To the model it would be a demand for any tool at all."""
    upstream.plays(Answer("Hello."))
    for more in ({"tools": TOOLS}, {}):
        with pytest.raises(openai.UnprocessableEntityError, match="get_odrer"):
            ask(client, messages=WHERE, tool_choice=choice, **more)
    assert not upstream.asked


def test_one_call_at_a_time_is_one_call(client: openai.OpenAI, upstream: Upstream) -> None:
    looks = (
        Call("get_order_status", '{"order_id": "12345"}', "a"),
        Call("get_order_status", '{"order_id": "12346"}', "b"),
    )
    said = [{"role": "user", "content": "where are orders 12345 and 12346?"}]
    upstream.plays(Answer(calls=looks))
    assert len(ask(client, messages=said, tools=TOOLS).choices[0].message.tool_calls) == 2
    upstream.plays(Answer(calls=looks))
    done = ask(client, messages=said, tools=TOOLS, parallel_tool_calls=False)
    assert len(done.choices[0].message.tool_calls) == 1
    assert upstream.asked[0]["parallel_tool_calls"] is False


# --- structured output ----------------------------------------------------------------------------------------------


class Weather(BaseModel):
    city: str
    degrees: int


def test_data_comes_as_data(client: openai.OpenAI, upstream: Upstream) -> None:
    upstream.plays(Answer('{"city": "Haifa", "degrees": 21}'))
    done = client.chat.completions.parse(model="gpt-4o", messages=HELLO, response_format=Weather)  # type: ignore[arg-type]
    assert done.choices[0].message.parsed == Weather(city="Haifa", degrees=21)
    wanted = upstream.asked[0]["response_format"]["json_schema"]["schema"]
    assert wanted["properties"].keys() == {"city", "degrees"}


def test_data_that_does_not_fit_and_words_are_a_refusal(client: openai.OpenAI, upstream: Upstream) -> None:
    upstream.plays(Answer('{"city": "Haifa", "degrees": "warm"}'))
    done = client.chat.completions.parse(model="gpt-4o", messages=HELLO, response_format=Weather)  # type: ignore[arg-type]
    assert done.choices[0].message.parsed is None
    assert done.choices[0].message.refusal == '{"city": "Haifa", "degrees": "warm"}'
    upstream.plays(call("cancel_order", order_id="12345"))
    said: list[Any] = [{"role": "user", "content": "cancel order 12345"}]
    held = client.chat.completions.parse(model="gpt-4o", messages=said, tools=STRICT, response_format=Weather)  # type: ignore[arg-type]
    question = held.choices[0].message.refusal
    assert question is not None
    assert "12345" in question
    upstream.plays()
    said += [held.choices[0].message, {"role": "user", "content": "yes"}]
    agreed = client.chat.completions.create(model="gpt-4o", messages=said, tools=TOOLS)  # type: ignore[arg-type]
    (confirmed,) = agreed.choices[0].message.tool_calls or ()
    assert confirmed.function.name == "cancel_order", "a question that came as a refusal is a question all the same"


def test_streamed_data_is_parsed_by_the_official_helper(client: openai.OpenAI, upstream: Upstream) -> None:
    upstream.plays(Answer('{"city": "Haifa", "degrees": 21}'))
    with client.chat.completions.stream(model="gpt-4o", messages=HELLO, response_format=Weather) as stream:  # type: ignore[arg-type]
        done = stream.get_final_completion()
    assert done.choices[0].message.parsed == Weather(city="Haifa", degrees=21)


def test_an_object_of_any_shape_may_be_asked_for(client: openai.OpenAI, upstream: Upstream) -> None:
    upstream.plays(Answer('{"anything": [1, 2]}'))
    done = ask(client, response_format={"type": "json_object"})
    assert json.loads(done.choices[0].message.content) == {"anything": [1, 2]}
    upstream.plays(Answer("no object"))
    assert ask(client, response_format={"type": "json_object"}).choices[0].message.refusal


def test_what_is_no_schema_is_refused(client: openai.OpenAI) -> None:
    wrong = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "no such type"}}}
    with pytest.raises(openai.UnprocessableEntityError, match="not a valid JSON schema"):
        ask(client, response_format=wrong)


# --- messages as clients keep them -----------------------------------------------------------------------------------


def test_messages_that_libraries_have_added_to_are_read(client: openai.OpenAI, upstream: Upstream) -> None:
    upstream.plays(Answer("Fine."))
    done = ask(
        client,
        messages=[
            {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
            {"role": "user", "content": [{"type": "text", "text": "hi"}], "name": "ann"},
            {
                "role": "assistant",
                "content": [{"type": "refusal", "refusal": "I cannot."}],
                "annotations": [],
                "reasoning_content": "They said hi.",
                "provider_specific_fields": {"x": 1},
                "function_call": None,
            },
            {"role": "user", "content": "how are you?"},
        ],
    )
    assert done.choices[0].message.content == "Fine."


def test_an_image_is_refused_with_a_reason(client: openai.OpenAI) -> None:
    picture = [{"type": "image_url", "image_url": {"url": "https://example.org/x.png"}}]
    with pytest.raises(openai.UnprocessableEntityError, match="only text can be read here"):
        ask(client, messages=[{"role": "user", "content": picture}])
