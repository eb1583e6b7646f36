"""The format of `POST /v1/chat/completions`: what a client sends -> our words, and a turn's result -> what it expects.

Every field of OpenAI's is honoured, or passed on to the model, or named in `X-Circumspect-Ignored` where leaving it out
changes nothing but a bill or a log. What would change the meaning of the answer, and what nobody knows, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from circumspect.reasons import ReasonCode
from circumspect.server.client_talk import ClientTalk, read_arguments, split_talk
from circumspect.server.problems import with_error
from circumspect.server.reply_forms import ReplyForm
from circumspect.server.responses import encode_json
from circumspect.server.set_aside import EchoedPart, ForeignRequest
from circumspect.stores.codec import dumps
from circumspect.values import ChatMessage, Json, JsonObject, ModelOptions, ToolCall, ToolSpec, TurnId, TurnResult

NAME = r"^[A-Za-z0-9_.-]{1,64}$"


def _refuse_other_parts(part: Any) -> Any:
    kind = part.get("type") if isinstance(part, dict) else None
    if isinstance(kind, str) and kind not in ("text", "refusal"):
        raise ValueError("only text can be read here, no images, sound or files")
    return part


class TextPart(EchoedPart):
    type: Literal["text"]
    text: str


class RefusalPart(EchoedPart):
    type: Literal["refusal"]
    refusal: str


Part = Annotated[Annotated[TextPart | RefusalPart, Field(discriminator="type")], BeforeValidator(_refuse_other_parts)]
Content = str | list[Part] | None


class CalledFunction(EchoedPart):
    name: str = Field(pattern=NAME)
    arguments: str


class Called(EchoedPart):
    id: str = Field(min_length=1, max_length=200)
    type: Literal["function"] = "function"
    function: CalledFunction


class Instructions(EchoedPart):
    role: Literal["system", "developer"]
    content: str | list[Part]


class FromUser(EchoedPart):
    role: Literal["user"]
    content: str | list[Part]


class FromAssistant(EchoedPart):
    role: Literal["assistant"]
    content: Content = None
    refusal: str | None = None
    tool_calls: list[Called] | None = None


class FromTool(EchoedPart):
    role: Literal["tool"]
    content: Content
    tool_call_id: str = Field(min_length=1, max_length=200)


RequestMessage = Annotated[Instructions | FromUser | FromAssistant | FromTool, Field(discriminator="role")]


class Function(EchoedPart):
    name: str = Field(pattern=NAME)
    description: str | None = None
    parameters: dict[str, Any] | None = None


class ToolGiven(EchoedPart):
    type: Literal["function"]
    function: Function


class FunctionName(EchoedPart):
    name: str = Field(pattern=NAME)


class NamedTool(EchoedPart):
    type: Literal["function"] = "function"
    function: FunctionName


class AllowedTools(EchoedPart):
    mode: Literal["auto", "required"]
    tools: list[NamedTool] = Field(min_length=1)


class AllowedChoice(EchoedPart):
    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


class NamedChoice(NamedTool):
    type: Literal["function"]


ToolChoice = (
    Literal["auto", "none", "required"] | Annotated[AllowedChoice | NamedChoice, Field(discriminator="type")] | None
)


class JsonSchema(EchoedPart):
    name: str = Field(pattern=NAME)
    schema_: dict[str, Any] = Field(default_factory=dict, alias="schema")
    strict: bool | None = None


class SchemaFormat(EchoedPart):
    type: Literal["json_schema"]
    json_schema: JsonSchema


class PlainFormat(EchoedPart):
    type: Literal["text", "json_object"]


ResponseFormat = Annotated[PlainFormat | SchemaFormat, Field(discriminator="type")]


class StreamOptions(EchoedPart):
    include_usage: bool | None = None


class ChatRequest(ForeignRequest):
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
    tool_choice: ToolChoice = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    stop: str | list[str] | None = None
    seed: int | None = None
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    logit_bias: dict[str, int] | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    n: Literal[1] | None = None
    modalities: list[Literal["text"]] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: str | None = Field(
        default=None, max_length=128, pattern=r"^[^\x00]*$", description="Your id of the end user."
    )
    metadata: dict[str, str] | None = Field(
        default=None,
        description="`conversation_id` names the conversation; without it, it is recognised by its talk. `answers` and "
        "`seen` as in a message of a conversation. Other names are for your own books, and not used here.",
    )

    HARMLESS: ClassVar[Mapping[str, Sequence[Json]]] = {
        "logprobs": (False,),
        "moderation": (),
        "prediction": (),
        "prompt_cache_key": (),
        "prompt_cache_options": (),
        "prompt_cache_retention": (),
        "safety_identifier": (),
        "service_tier": ("auto",),
        "store": (False,),
        "top_logprobs": (0,),
    }

    @property
    def ignored(self) -> list[str]:
        """What was asked for and makes no difference here."""
        foreign = (self.metadata or {}).keys() - {*KNOWN_METADATA}
        return [*super().ignored, "metadata"] if foreign else super().ignored

    @property
    def content(self) -> JsonObject:
        """What was asked for, however the answer is to be sent."""
        sent = {"stream", "stream_options"}
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=sent)


KNOWN_METADATA = ("conversation_id", "answers", "seen")


# --- what was sent --------------------------------------------------------------------------------------------------


def read_talk(request: ChatRequest) -> ClientTalk:
    opening = [*takewhile(lambda one: isinstance(one, Instructions), request.messages)]
    said = [_to_chat_message(one) for one in request.messages[len(opening) :]]
    return split_talk([_text(one.content) for one in opening], said)


def _to_chat_message(message: RequestMessage) -> ChatMessage:
    match message:
        case Instructions():
            return ChatMessage("system", _text(message.content))
        case FromUser():
            return ChatMessage("user", _text(message.content))
        case FromTool():
            return ChatMessage("tool", _text(message.content), call_id=message.tool_call_id)
        case FromAssistant():
            calls = tuple(
                ToolCall(one.function.name, read_arguments(one.function.arguments), one.id)
                for one in message.tool_calls or ()
            )
            return ChatMessage("assistant", _text(message.content) or message.refusal or "", calls)


def _text(content: Content) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.text if isinstance(part, TextPart) else part.refusal for part in content or ())


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


def read_options(request: ChatRequest) -> ModelOptions:
    choice = request.tool_choice
    match choice:
        case AllowedChoice():
            allowed = tuple(one.function.name for one in choice.allowed_tools.tools)
            must_call = choice.allowed_tools.mode == "required"
        case NamedChoice():
            allowed, must_call = (choice.function.name,), True
        case _:
            allowed, must_call = (), choice == "required"
    return ModelOptions(
        temperature=request.temperature,
        top_p=request.top_p,
        max_tokens=request.max_completion_tokens or request.max_tokens,
        stop=(request.stop,) if isinstance(request.stop, str) else tuple(request.stop or ()),
        seed=request.seed,
        frequency_penalty=request.frequency_penalty,
        presence_penalty=request.presence_penalty,
        logit_bias=request.logit_bias or {},
        effort=request.reasoning_effort,
        verbosity=request.verbosity,
        must_call=must_call,
        choices=allowed,
        one_call=request.parallel_tool_calls is False,
    )


def read_form(request: ChatRequest) -> ReplyForm | None:
    """What the reply has to look like, where the client wants data."""
    match request.response_format:
        case SchemaFormat(json_schema=wanted):
            return ReplyForm(wanted.schema_ or {"type": "object"})
        case PlainFormat(type="json_object"):
            return ReplyForm({"type": "object"})
    return None


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
    if result.calls:
        return "tool_calls"
    return "length" if is_cut_off(result) else "stop"


def is_cut_off(result: TurnResult) -> bool:
    """The reply reached the length that the client allowed."""
    return ReasonCode.REPLY_CUT_OFF in result.reason_codes


def completion(result: TurnResult, given: ChatRequest, created: int) -> dict[str, Any]:
    form = read_form(given)
    message: dict[str, Any] = {"role": "assistant", "content": result.reply or None, "refusal": None}
    if result.calls:
        message["tool_calls"] = tool_calls(result)
    elif form and not form.fits(result.reply):
        message |= {"content": None, "refusal": result.reply}
    elif message["content"] is None:
        message["content"] = ""
    return {
        "id": f"chatcmpl-{result.turn}",
        "object": "chat.completion",
        "created": created,
        "model": given.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(result), "logprobs": None}],
        "usage": usage(result),
        "circumspect": extension(result),
    }


class ChunkFormat:
    """The `StreamFormat` of chat completions."""

    def __init__(self, turn: TurnId, given: ChatRequest, created: int) -> None:
        self._head = {
            "id": f"chatcmpl-{turn}",
            "object": "chat.completion.chunk",
            "created": created,
            "model": given.model,
        }
        self._with_usage = bool(given.stream_options and given.stream_options.include_usage)
        self._form = read_form(given)

    def begin(self) -> Iterator[bytes]:
        yield self._write({"role": "assistant", "content": ""})

    def add_text(self, piece: str) -> Iterator[bytes]:
        if self._form is None:
            yield self._write({"content": piece})

    def finish(self, result: TurnResult) -> Iterator[bytes]:
        if self._form and result.reply:
            # Whether it is data or words is known now.
            fits = bool(result.calls) or self._form.fits(result.reply)
            yield self._write({"content" if fits else "refusal": result.reply})
        for place, call in enumerate(tool_calls(result)):
            yield self._write({"tool_calls": [{"index": place, **call}]})
        yield self._write({}, finish_reason=finish(result), circumspect=extension(result))
        if self._with_usage:
            yield _write_event({**self._head, "choices": [], "usage": usage(result)})
        yield DONE

    def fail(self, problem: Mapping[str, Any]) -> Iterator[bytes]:
        yield _write_event({"error": {**problem, **with_error(problem, 503)["error"]}})
        yield DONE

    def _write(self, delta: Mapping[str, Any], finish_reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return _write_event({**self._head, "choices": [choice], **more})


DONE = b"data: [DONE]\n\n"


def _write_event(item: Mapping[str, Any]) -> bytes:
    return b"data: " + encode_json(item).strip() + b"\n\n"
