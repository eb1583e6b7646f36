"""The format of `POST /v1/chat/completions`: what a client sends -> our words, and a turn's result -> what it expects.

Nothing is silently dropped: a field that we do not honour is refused by name, unless its value is the one that changes
nothing (null, `n: 1`, and the like, which client libraries send unasked).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from circumspect.server.client_talk import ClientTalk, read_arguments, split_talk
from circumspect.server.responses import encode_json
from circumspect.stores.codec import dumps
from circumspect.values import ChatMessage, Json, JsonObject, ToolCall, ToolSpec, TurnId, TurnResult

NEUTRAL: Mapping[str, Json] = {
    "n": 1,
    "logprobs": False,
    "parallel_tool_calls": True,
    "store": False,
    "response_format": {"type": "text"},
    "service_tier": "auto",
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "modalities": ["text"],
}
NAME = r"^[A-Za-z0-9_.-]{1,64}$"


ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def with_error(body: Mapping[str, Any], status: int) -> dict[str, Any]:
    """A problem as we say it, and once more where OpenAI's clients look for words."""
    kind = ERROR_TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")
    message = f"{body['problem']} {body['fix']}".strip()
    return {**body, "error": {"message": message, "type": kind, "param": None, "code": body["code"]}}


class Lenient(BaseModel):
    """Unknown fields are refused, except where their value says nothing."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_what_says_nothing(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {
            name: value
            for name, value in given.items()
            if name in cls.model_fields or not (value is None or value == [] or NEUTRAL.get(name, _NOTHING) == value)
        }


_NOTHING = object()


class TextPart(Lenient):
    type: Literal["text"]
    text: str


Content = str | list[TextPart] | None


class CalledFunction(Lenient):
    name: str = Field(pattern=NAME)
    arguments: str


class Called(Lenient):
    id: str = Field(min_length=1, max_length=200)
    type: Literal["function"] = "function"
    function: CalledFunction


class Instructions(Lenient):
    role: Literal["system", "developer"]
    content: str | list[TextPart]
    name: str | None = None


class FromUser(Lenient):
    role: Literal["user"]
    content: str | list[TextPart]
    name: str | None = None


class FromAssistant(Lenient):
    role: Literal["assistant"]
    content: Content = None
    tool_calls: list[Called] | None = None
    name: str | None = None


class FromTool(Lenient):
    role: Literal["tool"]
    content: str | list[TextPart]
    tool_call_id: str = Field(min_length=1, max_length=200)


RequestMessage = Annotated[Instructions | FromUser | FromAssistant | FromTool, Field(discriminator="role")]


class Function(Lenient):
    name: str = Field(pattern=NAME)
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolGiven(Lenient):
    type: Literal["function"]
    function: Function


class StreamOptions(Lenient):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class ChatRequest(Lenient):
    """An OpenAI chat completion request. With `tools` of its own the client runs them, and gets a call only after it
    was ruled on; without, the tenant's tools are used."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"model": "circumspect", "messages": [{"role": "user", "content": "Where is order 12345?"}]}]
        },
    )

    model: str = Field(max_length=200)
    messages: list[RequestMessage] = Field(min_length=1, max_length=2_000)
    tools: list[ToolGiven] | None = Field(default=None, max_length=128)
    tool_choice: Literal["auto", "none"] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: str | None = Field(
        default=None, max_length=128, pattern=r"^[^\x00]*$", description="Your id of the end user."
    )
    metadata: dict[str, str] | None = Field(
        default=None,
        description="`conversation_id` names the conversation; without it, it is recognised by its talk. `answers` and "
        "`seen` as in a message of a conversation.",
    )

    @property
    def content(self) -> JsonObject:
        """What was asked for, however the answer is to be sent."""
        return self.model_dump(mode="json", exclude={"stream", "stream_options"})


# --- what was sent --------------------------------------------------------------------------------------------------


def read_talk(request: ChatRequest) -> ClientTalk:
    instructions = [_text(one.content) for one in request.messages if isinstance(one, Instructions)]
    said = [_to_chat_message(one) for one in request.messages if not isinstance(one, Instructions)]
    return split_talk(instructions, said)


def _to_chat_message(message: FromUser | FromAssistant | FromTool) -> ChatMessage:
    match message:
        case FromUser():
            return ChatMessage("user", _text(message.content))
        case FromTool():
            return ChatMessage("tool", _text(message.content), call_id=message.tool_call_id)
        case FromAssistant():
            calls = tuple(
                ToolCall(one.function.name, read_arguments(one.function.arguments), one.id)
                for one in message.tool_calls or ()
            )
            return ChatMessage("assistant", _text(message.content), calls)


def _text(content: Content) -> str:
    return content if isinstance(content, str) else "\n".join(part.text for part in content or ())


def find_tools(request: ChatRequest) -> dict[str, ToolSpec] | None:
    """The client's own; None where it leaves them to the tenant."""
    if request.tool_choice == "none":
        return {}
    return _specs_of(request.tools) if request.tools else None


def _specs_of(tools: Sequence[ToolGiven]) -> dict[str, ToolSpec]:
    """The client's tools. What they do is for the tenant's policy to say: a client's word opens no gate."""
    return {
        one.function.name: ToolSpec(
            name=one.function.name,
            description=one.function.description or "",
            parameters=one.function.parameters or {"type": "object", "properties": {}},
            client=True,
        )
        for one in tools
    }


# --- what goes back -------------------------------------------------------------------------------------------------


def tool_calls(result: TurnResult) -> list[dict[str, Any]]:
    return [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.tool, "arguments": dumps(call.arguments).strip()},
        }
        for call in result.calls
    ]


def extension(result: TurnResult) -> dict[str, Any]:
    """What was decided and why; the rest of the answer is the format's."""
    shown: dict[str, Any] = {"conversation_id": result.conversation, **result.to_json()}
    return {name: value for name, value in shown.items() if name != "reply"}


def usage(result: TurnResult) -> dict[str, int]:
    asked, said = result.usage.input_tokens, result.usage.output_tokens
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def finish(result: TurnResult) -> str:
    return "tool_calls" if result.calls else "stop"


def completion(result: TurnResult, model: str, created: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": result.reply or None, "refusal": None}
    if result.calls:
        message["tool_calls"] = tool_calls(result)
    elif message["content"] is None:
        message["content"] = ""
    return {
        "id": f"chatcmpl-{result.turn}",
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(result), "logprobs": None}],
        "usage": usage(result),
        "circumspect": extension(result),
    }


def chunk(turn: str, model: str, created: int, delta: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": more.pop("finish_reason", None), "logprobs": None}
    return {
        "id": f"chatcmpl-{turn}",
        "object": "chat.completion.chunk",
        "created": created,
        "model": model,
        "choices": [choice],
        **more,
    }


class ChunkFormat:
    """The `StreamFormat` of chat completions."""

    def __init__(self, turn: TurnId, given: ChatRequest, created: int) -> None:
        self._turn, self._model, self._created = turn, given.model, created
        self._with_usage = bool(given.stream_options and given.stream_options.include_usage)

    def begin(self) -> Iterator[bytes]:
        yield self._write({"role": "assistant", "content": ""})

    def add_text(self, piece: str) -> Iterator[bytes]:
        yield self._write({"content": piece})

    def finish(self, result: TurnResult) -> Iterator[bytes]:
        for place, call in enumerate(tool_calls(result)):
            yield self._write({"tool_calls": [{"index": place, **call}]})
        yield self._write({}, finish_reason=finish(result), circumspect=extension(result))
        if self._with_usage:
            last = chunk(self._turn, self._model, self._created, {}, usage=usage(result))
            yield _write_event({**last, "choices": []})
        yield DONE

    def fail(self, problem: Mapping[str, Any]) -> Iterator[bytes]:
        yield _write_event({"error": {**problem, **with_error(problem, 503)["error"]}})
        yield DONE

    def _write(self, delta: Mapping[str, Any], **more: Any) -> bytes:
        return _write_event(chunk(self._turn, self._model, self._created, delta, **more))


DONE = b"data: [DONE]\n\n"


def _write_event(item: Mapping[str, Any]) -> bytes:
    return b"data: " + encode_json(item).strip() + b"\n\n"
