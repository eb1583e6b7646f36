"""The fake provider is honest: the providers' own SDKs can talk to it, and it refuses what the real ones refuse."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
import pytest
from tests.models.provider_server import Cut, Drip, Hangup, ProviderServer, Raw, Silent, Status
from tests.models.wire_formats import Answer, Call

USER = [{"role": "user", "content": "hello"}]
PARAMETERS = {"type": "object", "properties": {"order_id": {"type": "string"}}}
OPENAI_TOOL = {"type": "function", "function": {"name": "cancel_order", "parameters": PARAMETERS}}
ANTHROPIC_TOOL = {"name": "cancel_order", "input_schema": PARAMETERS}
CALL = Answer("One moment.", (Call("cancel_order", '{"order_id": "12345"}', "call_7"),))


def chatgpt(server: ProviderServer, **options: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", **{"api_key": "any", "max_retries": 0, **options})


def claude(server: ProviderServer, **options: Any) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=server.url, **{"api_key": "any", "max_retries": 0, **options})


async def test_openai_sdk_chats_and_calls_tools(server: ProviderServer) -> None:
    server.plays(CALL)
    async with chatgpt(server) as client:
        got = await client.chat.completions.create(model="gpt-4o", messages=USER, tools=[OPENAI_TOOL])
    openai.types.chat.ChatCompletion.model_validate(got.model_dump())
    assert got.choices[0].message.content == "One moment."
    assert got.choices[0].message.tool_calls[0].function.arguments == '{"order_id": "12345"}'
    assert (got.choices[0].finish_reason, got.usage.total_tokens) == ("tool_calls", 15)


async def test_openai_sdk_streams(server: ProviderServer) -> None:
    server.plays(CALL)
    async with (
        chatgpt(server) as client,
        client.chat.completions.stream(
            model="gpt-4o", messages=USER, tools=[OPENAI_TOOL], stream_options={"include_usage": True}
        ) as stream,
    ):
        got = await stream.get_final_completion()
    assert got.choices[0].message.content == "One moment."
    assert json.loads(got.choices[0].message.tool_calls[0].function.arguments) == {"order_id": "12345"}
    assert got.usage.total_tokens == 15


async def test_openai_sdk_gets_a_json_schema_reply(server: ProviderServer) -> None:
    server.plays(Answer('{"decision":"ASK_USER"}'))
    schema = {"name": "critique", "schema": {"type": "object", "properties": {"decision": {"type": "string"}}}}
    async with chatgpt(server) as client:
        got = await client.chat.completions.create(
            model="gpt-4o", messages=USER, response_format={"type": "json_schema", "json_schema": schema}
        )
    assert json.loads(got.choices[0].message.content) == {"decision": "ASK_USER"}
    assert server.last["response_format"]["json_schema"] == schema


async def test_anthropic_sdk_chats_and_calls_tools(server: ProviderServer) -> None:
    server.plays(CALL)
    async with claude(server) as client:
        got = await client.messages.create(
            model="claude-opus-4-8", max_tokens=100, messages=USER, tools=[ANTHROPIC_TOOL]
        )
    anthropic.types.Message.model_validate(got.model_dump())
    text, call = got.content
    assert (text.text, call.name, call.input) == ("One moment.", "cancel_order", {"order_id": "12345"})
    assert (got.stop_reason, got.usage.output_tokens) == ("tool_use", 5)


async def test_anthropic_sdk_streams(server: ProviderServer) -> None:
    server.plays(CALL)
    async with (
        claude(server) as client,
        client.messages.stream(
            model="claude-opus-4-8", max_tokens=100, messages=USER, tools=[ANTHROPIC_TOOL]
        ) as stream,
    ):
        words = [piece async for piece in stream.text_stream]
        got = await stream.get_final_message()
    assert "".join(words) == "One moment."
    assert got.content[1].input == {"order_id": "12345"}
    assert got.usage.output_tokens == 5


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "BadRequestError"), (401, "AuthenticationError"), (404, "NotFoundError"), (429, "RateLimitError"),
     (500, "InternalServerError")],
)  # fmt: skip
async def test_both_sdks_know_its_errors(server: ProviderServer, status: int, kind: str) -> None:
    server.plays(Status(status), Status(status))
    async with chatgpt(server) as client:
        with pytest.raises(getattr(openai, kind)):
            await client.chat.completions.create(model="gpt-4o", messages=USER)
    async with claude(server) as client:
        with pytest.raises(getattr(anthropic, kind)):
            await client.messages.create(model="claude-opus-4-8", max_tokens=100, messages=USER)


async def test_a_wrong_key_is_refused() -> None:
    async with ProviderServer(key="right") as server:
        async with chatgpt(server, api_key="wrong") as client:
            with pytest.raises(openai.AuthenticationError):
                await client.chat.completions.create(model="gpt-4o", messages=USER)
        async with claude(server, api_key="wrong") as client:
            with pytest.raises(anthropic.AuthenticationError):
                await client.messages.create(model="claude-opus-4-8", max_tokens=100, messages=USER)
        async with chatgpt(server, api_key="right") as client:
            assert await client.chat.completions.create(model="gpt-4o", messages=USER)


async def test_a_tool_result_without_its_call_is_refused(server: ProviderServer) -> None:
    orphan = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
    async with chatgpt(server) as client:
        with pytest.raises(openai.BadRequestError, match="must be a response to a preceding message"):
            await client.chat.completions.create(model="gpt-4o", messages=[*USER, orphan])
    block = {"type": "tool_result", "tool_use_id": "call_1", "content": "done"}
    async with claude(server) as client:
        with pytest.raises(anthropic.BadRequestError, match="tool_result"):
            await client.messages.create(
                model="claude-opus-4-8", max_tokens=100, messages=[{"role": "user", "content": [block]}]
            )


async def test_a_connection_is_used_again(server: ProviderServer) -> None:
    async with chatgpt(server) as client:
        for _ in range(3):
            await client.chat.completions.create(model="gpt-4o", messages=USER)
    assert (len(server.requests), server.connections) == (3, 1)


@pytest.mark.parametrize("act", [Hangup(), Cut(Answer("hello"), 20)], ids=["hangup", "cut"])
async def test_sdks_notice_a_broken_connection(server: ProviderServer, act: Hangup | Cut) -> None:
    server.plays(act, act)
    async with chatgpt(server) as client:
        with pytest.raises(openai.APIConnectionError):
            await client.chat.completions.create(model="gpt-4o", messages=USER)
    async with claude(server) as client:
        with pytest.raises(anthropic.APIConnectionError):
            await client.messages.create(model="claude-opus-4-8", max_tokens=100, messages=USER)


@pytest.mark.parametrize("act", [Silent(), Raw(b"{", "application/json")], ids=["silent", "malformed"])
async def test_openai_sdk_fails_on_silence_and_on_nonsense(server: ProviderServer, act: Silent | Raw) -> None:
    server.plays(act)
    async with chatgpt(server, timeout=0.2) as client:
        with pytest.raises((openai.APITimeoutError, json.JSONDecodeError)):
            await client.chat.completions.create(model="gpt-4o", messages=USER)


async def test_a_drip_arrives_in_the_end(server: ProviderServer) -> None:
    server.plays(Drip(Answer("hi"), every=0.0))
    async with chatgpt(server) as client:
        got = await client.chat.completions.create(model="gpt-4o", messages=USER)
    assert got.choices[0].message.content == "hi"
