"""The format of `POST /v1/messages`: what a client of Anthropic's API sends -> our words.

A message is made of blocks. What tools returned comes in messages of the user, before the user's own words. Tools that
would run at Anthropic are refused: nobody here could rule on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from circumspect.server.client_talk import ClientTalk, split_talk
from circumspect.server.openai_format import NAME
from circumspect.server.reply_forms import ReplyForm
from circumspect.server.set_aside import EchoedPart, ForeignRequest
from circumspect.values import ChatMessage, Json, ModelOptions, ToolCall, ToolSpec

BLOCK_ID = Field(min_length=1, max_length=200)


class TextBlock(EchoedPart):
    type: Literal["text"]
    text: str


class ThinkingBlock(EchoedPart):
    """A model's thoughts, sent back. They are nobody's words, and none of ours."""

    type: Literal["thinking", "redacted_thinking"]


class ToolUseBlock(EchoedPart):
    type: Literal["tool_use"]
    id: str = BLOCK_ID
    name: str = Field(pattern=NAME)
    input: dict[str, Any]


class ToolResultBlock(EchoedPart):
    type: Literal["tool_result"]
    tool_use_id: str = BLOCK_ID
    content: str | list[TextBlock] | None = None
    is_error: bool | None = None


MessageBlock = Annotated[TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock, Field(discriminator="type")]


class MessageGiven(EchoedPart):
    role: Literal["user", "assistant", "system"]
    content: str | list[MessageBlock]

    @property
    def blocks(self) -> Sequence[MessageBlock]:
        return [TextBlock(type="text", text=self.content)] if isinstance(self.content, str) else self.content


class MessageTool(EchoedPart):
    type: str | None = Field(default=None, max_length=100)
    name: str = Field(pattern=NAME)
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class MessageToolChoice(EchoedPart):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = Field(default=None, pattern=NAME)
    disable_parallel_tool_use: bool | None = None


class MessageOutputFormat(EchoedPart):
    type: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")


class MessageOutputOptions(EchoedPart):
    format: MessageOutputFormat | None = None
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None


class MessageMetadata(EchoedPart):
    user_id: str | None = Field(
        default=None, max_length=128, pattern=r"^[^\x00]*$", description="Your id of the end user."
    )
    conversation_id: str | None = None
    answers: str | None = None
    seen: str | None = None


class CountRequest(ForeignRequest):
    """What the number of tokens is asked of."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"model": "circumspect", "messages": [{"role": "user", "content": "Where is it?"}]}]
        },
    )

    HARMLESS: ClassVar[Mapping[str, Sequence[Json]]] = {
        "cache_control": (),
        "context_management": (),
        "diagnostics": (),
        "inference_geo": (),
        "service_tier": ("auto", "standard_only"),
        "speed": ("standard",),
        "thinking": ({"type": "disabled"},),
        "top_k": (),
        "user_profile_id": (),
        "workspace_id": (),
    }

    model: str = Field(max_length=200)
    messages: list[MessageGiven] = Field(min_length=1, max_length=2_000)
    system: str | list[TextBlock] | None = None
    tools: list[MessageTool] | None = Field(default=None, max_length=128)
    tool_choice: MessageToolChoice | None = None
    output_config: MessageOutputOptions | None = None
    output_format: MessageOutputFormat | None = None


class MessagesRequest(CountRequest):
    """A request of Anthropic's Messages API. With `tools` of its own the client runs them, and gets a call only after
    it was ruled on; without, the tenant's tools are used."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "model": "circumspect",
                    "max_tokens": 500,
                    "messages": [{"role": "user", "content": "Where is order 12345?"}],
                }
            ]
        },
    )

    max_tokens: int = Field(ge=1)
    temperature: float | None = Field(default=None, ge=0, le=1)
    top_p: float | None = Field(default=None, ge=0, le=1)
    stop_sequences: list[str] | None = Field(default=None, max_length=16)
    stream: bool | None = None
    metadata: MessageMetadata | None = Field(
        default=None,
        description="Beside the end user's id: `conversation_id` names the conversation; without it, it is recognised "
        "by its talk. `answers` and `seen` as in a message of a conversation.",
    )

    @property
    def named(self) -> MessageMetadata:
        return self.metadata or MessageMetadata()


def read_messages(given: CountRequest) -> ClientTalk:
    system = given.system or ""
    instructions = [system if isinstance(system, str) else _join_text(system)] if system else []
    said: list[ChatMessage] = []
    for message in given.messages:
        if message.role == "system":
            text = _join_text(message.blocks)
            said.append(ChatMessage("system", text)) if said else instructions.append(text)
        elif message.role == "assistant":
            calls = [ToolCall(one.name, one.input, one.id) for one in message.blocks if isinstance(one, ToolUseBlock)]
            said.append(ChatMessage("assistant", _join_text(message.blocks), tuple(calls)))
        else:
            said.extend(_read_user_message(message))
    return split_talk(instructions, said, _find_failed(given))


def _read_user_message(message: MessageGiven) -> Iterator[ChatMessage]:
    for one in message.blocks:
        if isinstance(one, ToolResultBlock):
            yield ChatMessage("tool", _join_result(one), call_id=one.tool_use_id)
    if text := _join_text(message.blocks):
        yield ChatMessage("user", text)


def _join_result(block: ToolResultBlock) -> str:
    return block.content if isinstance(block.content, str) else _join_text(block.content or ())


def _find_failed(given: CountRequest) -> frozenset[str]:
    """Calls of which the client says that they did not work."""
    blocks = (one for message in given.messages for one in message.blocks)
    return frozenset(one.tool_use_id for one in blocks if isinstance(one, ToolResultBlock) and one.is_error)


def _join_text(blocks: Sequence[MessageBlock]) -> str:
    return "\n".join(one.text for one in blocks if isinstance(one, TextBlock))


def list_hosted_tools(given: CountRequest) -> list[str]:
    """Kinds of tools that Anthropic defines and, for most, runs."""
    return sorted({one.type for one in given.tools or () if one.type not in (None, "custom")} - {None})


def declare_tools(given: CountRequest) -> dict[str, ToolSpec] | None:
    """The client's own; None where it leaves them to the tenant. What they do is for the tenant's policy to say."""
    if given.tool_choice and given.tool_choice.type == "none":
        return {}
    declared = {
        one.name: ToolSpec(
            name=one.name,
            description=one.description or "",
            parameters=one.input_schema or {"type": "object", "properties": {}},
            client=True,
        )
        for one in given.tools or ()
    }
    return declared or None


def choose_options(given: MessagesRequest) -> ModelOptions:
    choice = given.tool_choice
    return ModelOptions(
        temperature=given.temperature,
        top_p=given.top_p,
        max_tokens=given.max_tokens,
        stop=tuple(given.stop_sequences or ()),
        effort=given.output_config.effort if given.output_config else None,
        must_call=choice is not None and choice.type in ("any", "tool"),
        choices=(choice.name,) if choice and choice.type == "tool" and choice.name else (),
        one_call=choice is not None and choice.disable_parallel_tool_use is True,
    )


def find_form(given: CountRequest) -> ReplyForm | None:
    """What the reply has to look like, where the client wants data."""
    wanted = given.output_format or (given.output_config.format if given.output_config else None)
    return ReplyForm(wanted.schema_) if wanted else None
