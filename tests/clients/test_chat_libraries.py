"""Libraries that speak OpenAI's chat format, as they are: one held call each, its yes, its result, and what they add."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from tests.clients.shop_tools import TOOLS
from tests.clients.upstream import Upstream, call
from tests.models.wire_formats import Answer
from tests.patience import PATIENCE
from tests.server.house import House
from tests.server.node_client import run_in_node

CANCEL = call("cancel_order", order_id="4711")
DONE = Answer("Order 4711 is cancelled.")


class Weather(BaseModel):
    city: str
    degrees: int


WEATHER = Answer('{"city": "Haifa", "degrees": 21}')


class Shop:
    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def cancel_order(self, order_id: str) -> str:
        """Cancel an order.

        Args:
            order_id: The order's number.
        """
        self.cancelled.append(order_id)
        return "cancelled"


@pytest.fixture
def key(house: House) -> str:
    return house.token("brief", "chat")


@pytest.fixture
async def openai(house: House, key: str) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{house.url}/v1", api_key=key, max_retries=0) as client:
        yield client


MODELS = pytest.mark.parametrize("model", ["gpt-4o", "passthrough/gpt-4o"])


# --- OpenAI's own ---------------------------------------------------------------------------------------------------


@MODELS
async def test_the_asynchronous_client_asks_streams_and_gets_the_confirmed_call(
    openai: AsyncOpenAI, upstream: Upstream, model: str
) -> None:
    upstream.plays(CANCEL)
    messages: list[Any] = [{"role": "user", "content": "cancel order 4711"}]
    asked = await openai.chat.completions.create(model=model, messages=messages, tools=TOOLS)  # type: ignore[call-overload]
    messages += [asked.choices[0].message, {"role": "user", "content": "yes"}]
    async with openai.chat.completions.stream(model=model, messages=messages, tools=STRICT) as stream:
        done = await stream.get_final_completion()
    (confirmed,) = done.choices[0].message.tool_calls or ()
    assert json.loads(confirmed.function.arguments) == {"order_id": "4711"}


STRICT: Any = [{**one, "function": {**one["function"], "strict": True}} for one in TOOLS]  # type: ignore[dict-item]


async def test_text_is_streamed_sentence_by_sentence(openai: AsyncOpenAI, upstream: Upstream) -> None:
    upstream.plays(Answer("Good morning! We open at nine. Come in.", pieces=12))
    pieces = [
        chunk.choices[0].delta.content
        async for chunk in await openai.chat.completions.create(
            model="passthrough/gpt-4o", messages=[{"role": "user", "content": "hello"}], stream=True
        )
        if chunk.choices and chunk.choices[0].delta.content
    ]
    assert "".join(pieces) == "Good morning! We open at nine. Come in."
    assert len(pieces) > 1


# --- LangChain and LangGraph ----------------------------------------------------------------------------------------


@pytest.fixture
async def langchain_model(house: House, key: str) -> AsyncIterator[Callable[[str], ChatOpenAI]]:
    # Its own client outlives the event loop of a test.
    async with DefaultAsyncHttpxClient() as http:
        to: dict[str, Any] = {"base_url": f"{house.url}/v1", "api_key": key, "http_async_client": http}
        yield lambda model: ChatOpenAI(model=model, temperature=0.3, max_retries=0, **to)


@MODELS
async def test_langchains_model_talks_streams_and_gives_data(
    langchain_model: Callable[[str], ChatOpenAI], upstream: Upstream, model: str
) -> None:
    chat = langchain_model(model)
    upstream.plays(Answer("Good morning!"))
    assert (await chat.ainvoke("hello")).content == "Good morning!"
    assert upstream.asked[0]["temperature"] == 0.3
    upstream.plays(Answer("Good morning!"))
    assert "".join([piece.text async for piece in chat.astream("hello")]) == "Good morning!"
    upstream.plays(WEATHER)
    assert await chat.with_structured_output(Weather).ainvoke("how is it?") == Weather(city="Haifa", degrees=21)


@MODELS
async def test_langgraphs_agent_runs_its_tool_after_the_yes_and_once(
    langchain_model: Callable[[str], ChatOpenAI], upstream: Upstream, model: str
) -> None:
    shop = Shop()
    agent = create_agent(langchain_model(model), [shop.cancel_order], system_prompt="You work in a shop.")
    upstream.plays(CANCEL)
    asked = await agent.ainvoke({"messages": [{"role": "user", "content": "cancel order 4711"}]})
    assert ("4711" in asked["messages"][-1].text, shop.cancelled) == (True, [])
    upstream.plays(DONE)
    done = await agent.ainvoke({"messages": [*asked["messages"], {"role": "user", "content": "yes"}]})
    assert (done["messages"][-1].text, shop.cancelled) == ("Order 4711 is cancelled.", ["4711"])


# --- pydantic-ai ----------------------------------------------------------------------------------------------------


@MODELS
async def test_an_agent_of_pydantic_ai_runs_its_tool_after_the_yes_and_once(
    openai: AsyncOpenAI, upstream: Upstream, model: str
) -> None:
    shop, chat = Shop(), OpenAIChatModel(model, provider=OpenAIProvider(openai_client=openai))
    agent = Agent(chat, instructions="You work in a shop.", tools=[shop.cancel_order])
    upstream.plays(CANCEL)
    asked = await agent.run("cancel order 4711")
    assert ("4711" in asked.output, shop.cancelled) == (True, [])
    upstream.plays(DONE)
    done = await agent.run("yes", message_history=asked.all_messages())
    assert (done.output, shop.cancelled) == ("Order 4711 is cancelled.", ["4711"])


async def test_an_agent_of_pydantic_ai_gets_data(openai: AsyncOpenAI, upstream: Upstream) -> None:
    chat = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=openai))
    upstream.plays(WEATHER)
    done = await Agent(chat, output_type=NativeOutput(Weather)).run("how is it?")
    assert done.output == Weather(city="Haifa", degrees=21)


# --- LiteLLM --------------------------------------------------------------------------------------------------------


LITELLM = """
import json, os, litellm
to = dict(model="openai/" + os.environ["MODEL"], api_base=os.environ["URL"] + "/v1", api_key=os.environ["KEY"],
          tools=json.loads(os.environ["TOOLS"]), temperature=0.3, num_retries=0)
messages = [{"role": "user", "content": "cancel order 4711"}]
asked = litellm.completion(messages=messages, **to).choices[0].message
messages += [asked.model_dump(), {"role": "user", "content": "yes"}]
confirmed = litellm.completion(messages=messages, **to).choices[0].message
result = {"role": "tool", "tool_call_id": confirmed.tool_calls[0].id, "content": "cancelled"}
messages += [confirmed.model_dump(), result]
pieces = litellm.completion(messages=messages, stream=True, **to)
last = "".join(piece.choices[0].delta.content or "" for piece in pieces)
called = [confirmed.tool_calls[0].function.name, json.loads(confirmed.tool_calls[0].function.arguments)]
print(json.dumps({"question": asked.content, "called": called, "last": last}))
"""


@MODELS
def test_litellm_asks_gets_the_confirmed_call_and_streams(
    house: House, key: str, upstream: Upstream, model: str
) -> None:
    # In a process of its own: it leaves connections and tasks behind.
    upstream.plays(CANCEL, DONE)
    here = {"URL": house.url, "KEY": key, "MODEL": model, "TOOLS": json.dumps(TOOLS)}
    environment = {**os.environ, **here, "NO_PROXY": "*", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    ran = subprocess.run(
        [sys.executable, "-c", LITELLM],
        env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert ("4711" in told["question"], told["called"]) == (True, ["cancel_order", {"order_id": "4711"}])
    assert told["last"] == "Order 4711 is cancelled."


# --- Node -----------------------------------------------------------------------------------------------------------

VERCEL = """
import { generateText, streamText, stepCountIs, tool, Output } from "ai";
import { createOpenAI } from "@ai-sdk/openai";
import { z } from "zod";
const model = createOpenAI({ baseURL: process.env.URL + "/v1", apiKey: process.env.KEY }).chat(process.env.MODEL);
const ran = [];
const tools = { cancel_order: tool({ description: "Cancel an order.", inputSchema: z.object({ order_id: z.string() }),
  execute: async ({ order_id }) => { ran.push(order_id); return { status: "cancelled" }; } }) };
const messages = [{ role: "user", content: "cancel order 4711" }];
const rest = { model, tools, system: "You work in a shop.", stopWhen: stepCountIs(5), maxRetries: 0, temperature: 0.3 };
const asked = await generateText({ ...rest, messages });
const before = [...ran];
messages.push(...asked.response.messages, { role: "user", content: "yes" });
const stream = streamText({ ...rest, messages });
let last = "";
for await (const piece of stream.textStream) last += piece;
console.log(JSON.stringify({ question: asked.text, before, ran, last }));
"""
OPENAI = """
import OpenAI from "openai";
const openai = new OpenAI({ baseURL: process.env.URL + "/v1", apiKey: process.env.KEY, maxRetries: 0 });
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
const done = await openai.chat.completions.parse({ model: process.env.MODEL, seed: 1, temperature: 0.3,
  messages: [{ role: "user", content: "where?" }],
  response_format: { type: "json_schema", json_schema: { name: "place", schema, strict: true } } });
let path = null;
try { await openai.embeddings.create({ model: "x", input: "y" }); } catch (error) { path = [error.status, error.message]; }
console.log(JSON.stringify({ content: JSON.parse(done.choices[0].message.content), path }));
"""


@MODELS
def test_vercels_chat_mode_runs_its_tool_after_the_yes_and_once(
    house: House, key: str, upstream: Upstream, tmp_path: Any, model: str
) -> None:
    # The yes needs no model.
    upstream.plays(CANCEL, DONE)
    told = run_in_node(VERCEL, tmp_path, "ai", "@ai-sdk/openai", URL=house.url, KEY=key, MODEL=model)
    assert ("4711" in told["question"], told["before"], told["ran"]) == (True, [], ["4711"])
    assert told["last"] == "Order 4711 is cancelled."


@MODELS
def test_the_node_client_gets_data_and_words_for_a_path_that_is_not_there(
    house: House, key: str, upstream: Upstream, tmp_path: Any, model: str
) -> None:
    upstream.plays(Answer('{"city": "Haifa"}'))
    told = run_in_node(OPENAI, tmp_path, "openai", URL=house.url, KEY=key, MODEL=model)
    assert told["content"] == {"city": "Haifa"}
    assert told["path"][0] == 404
    assert "Not Found" in told["path"][1]
