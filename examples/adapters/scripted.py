"""Models that say what is written here, one for each framework, so that the examples need no key and no network."""

from __future__ import annotations

import json
from typing import Any

Said = str | list[tuple[str, dict[str, str]]]
"""A text, or calls: the tool and its arguments."""

SHIPPED: list[Said] = [
    [("get_order", {"order_id": "1002"})],
    [("cancel_order", {"order_id": "1002"})],
    "I have cancelled order 1002.",
]
PAID: list[Said] = [
    [("get_order", {"order_id": "1001"})],
    [("cancel_order", {"order_id": "1001"})],
    "Order 1001 is cancelled.",
]
"""What a careless model says to "Cancel order 1002", which was shipped, and to "Cancel order 1001", which was not."""


def langchain_model(script: list[Said]) -> Any:
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

    def write(said: Said, turn: int) -> AIMessage:
        if isinstance(said, str):
            return AIMessage(said)
        made = [{"id": f"{turn}-{at}", "name": name, "args": args} for at, (name, args) in enumerate(said)]
        return AIMessage("", tool_calls=made)

    return Scripted(messages=iter([write(said, turn) for turn, said in enumerate(script)]))


def agents_model(script: list[Said]) -> Any:
    from agents.testing import ScriptedModel, assistant_message, function_call

    return ScriptedModel(
        [assistant_message(said)]
        if isinstance(said, str)
        else [function_call(name, args, call_id=f"{turn}-{at}") for at, (name, args) in enumerate(said)]
        for turn, said in enumerate(script)
    )


def pydantic_model(script: list[Said]) -> Any:
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    left = iter(script)

    def answer(_: Any, __: Any) -> ModelResponse:
        said = next(left)
        if isinstance(said, str):
            return ModelResponse(parts=[TextPart(said)])
        return ModelResponse(parts=[ToolCallPart(name, args) for name, args in said])

    return FunctionModel(answer)


def openai_client(script: list[Said]) -> Any:
    import httpx
    from openai import AsyncOpenAI

    left = iter(enumerate(script))

    def answer(_: httpx.Request) -> httpx.Response:
        turn, said = next(left)
        message: dict[str, Any] = {"role": "assistant", "content": said if isinstance(said, str) else None}
        if not isinstance(said, str):
            message["tool_calls"] = [
                {"id": f"{turn}-{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
                for at, (name, args) in enumerate(said)
            ]
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        made = {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": choices}
        return httpx.Response(200, json=made)

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    return AsyncOpenAI(api_key="none", base_url="http://scripted/v1", http_client=http)


def anthropic_client(script: list[Said]) -> Any:
    import httpx2
    from anthropic import AsyncAnthropic

    left = iter(enumerate(script))

    def answer(_: httpx2.Request) -> httpx2.Response:
        turn, said = next(left)
        content: list[dict[str, Any]] = [{"type": "text", "text": said}]
        if not isinstance(said, str):
            content = [
                {"type": "tool_use", "id": f"{turn}-{at}", "name": name, "input": args}
                for at, (name, args) in enumerate(said)
            ]
        made = {"id": "1", "type": "message", "role": "assistant", "model": "scripted", "content": content}
        rest = {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        return httpx2.Response(200, json=made | rest)

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    return AsyncAnthropic(api_key="none", base_url="http://scripted", http_client=http)
