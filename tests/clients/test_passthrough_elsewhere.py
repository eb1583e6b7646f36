"""An agent that is left as it is, at OpenAI's Responses and at Anthropic's Messages."""

from __future__ import annotations

import anthropic
import openai
import pytest
from tests.clients.upstream import Upstream, call
from tests.models.wire_formats import Answer
from tests.server.house import House

PROMPT = "You are Basil, who runs a hotel.\nNever mention the war."
ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
CANCEL = {"name": "cancel_order", "description": "Cancel an order that has not been sent yet."}


@pytest.fixture
def token(house: House) -> str:
    return house.token("plain", "chat")


def test_an_agent_of_the_responses_api_stays_as_it_is(house: House, upstream: Upstream, token: str) -> None:
    client = openai.OpenAI(base_url=f"{house.url}/v1", api_key=token, http_client=house.client(), max_retries=0)
    upstream.plays(Answer("Good night."))
    between = [{"role": role, "content": role} for role in ("user", "assistant", "developer", "user")]
    client.responses.create(model="passthrough/gpt-5", input=between, instructions=PROMPT)
    assert [one["role"] for one in upstream.asked[0]["messages"]] == ["system", "user", "assistant", "system", "user"]
    tools = [{"type": "function", **CANCEL, "parameters": ORDER, "strict": False}]
    asked = {"model": "passthrough/gpt-5", "instructions": PROMPT, "tools": tools, "temperature": 1.5}
    upstream.plays(call("cancel_order", order_id="4711"))
    held = client.responses.create(input="cancel order 4711", **asked)
    (sent,) = upstream.asked
    assert sent["messages"] == [{"role": "system", "content": PROMPT}, {"role": "user", "content": "cancel order 4711"}]
    assert (sent["tools"][0]["function"]["description"], sent["temperature"]) == (CANCEL["description"], 1.5)
    assert "4711" in held.output_text
    upstream.plays()
    confirmed = client.responses.create(input="yes", previous_response_id=held.id, **asked)
    (run,) = confirmed.output
    upstream.plays(Answer("Consider it gone."))
    output = {"type": "function_call_output", "call_id": run.call_id, "output": "cancelled"}
    done = client.responses.create(input=[output], previous_response_id=confirmed.id, **asked)
    assert done.output_text == "Consider it gone."
    assert [one["role"] for one in upstream.asked[0]["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
    ]


def test_an_agent_of_the_messages_api_stays_as_it_is(house: House, upstream: Upstream, token: str) -> None:
    client = house.lend(anthropic.Anthropic(base_url=house.url, api_key=token, max_retries=0))
    asked = {"model": "passthrough/claude", "max_tokens": 17, "system": PROMPT, "stop_sequences": ["STOP"]}
    tools = [{**CANCEL, "input_schema": ORDER}]
    messages = [{"role": "user", "content": "cancel order 4712"}]
    upstream.plays(call("cancel_order", order_id="4712"))
    held = client.messages.create(messages=messages, tools=tools, **asked)
    (sent,) = upstream.asked
    assert sent["messages"] == [{"role": "system", "content": PROMPT}, *messages]
    assert (sent["max_tokens"], sent["stop"]) == (17, ["STOP"])
    assert "4712" in held.content[0].text
    upstream.plays()
    messages += [{"role": "assistant", "content": held.content}, {"role": "user", "content": "yes"}]
    between = [*messages[:2], {"role": "system", "content": "It is late."}, messages[2]]
    upstream.plays(Answer("Good night."))
    client.messages.create(messages=between, **{**asked, "metadata": {"user_id": "somebody-else"}})
    assert [one["role"] for one in upstream.asked[0]["messages"]] == ["system", "user", "assistant", "system", "user"]
    (run,) = client.messages.create(messages=messages, tools=tools, **asked).content
    assert (run.name, run.input) == ("cancel_order", {"order_id": "4712"})
