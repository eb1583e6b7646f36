"""The format of `POST /v1/responses`: what a client of OpenAI's Responses API sends -> our words.

A talk comes as items: messages, calls and what they returned, or only what is new together with the id of the response
that it goes on from. An assistant's words and the calls that came with them are several items here and one message for
us. Tools that would run at OpenAI are refused: nobody here could rule on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag

from circumspect.server.client_talk import ClientTalk, read_arguments, split_talk
from circumspect.server.openai_format import NAME
from circumspect.server.reply_forms import ReplyForm
from circumspect.server.set_aside import EchoedPart, ForeignRequest
from circumspect.values import ChatMessage, Json, JsonObject, ModelOptions, ToolCall, ToolSpec

CALL_ID = Field(min_length=1, max_length=200)
RESPONSE, MESSAGE, CALL = "resp_", "msg_", "fc_"
"""What ids of a response and of its items begin with. What follows is the turn's id, or the call's."""


class ResponseText(EchoedPart):
    type: Literal["input_text", "output_text", "text"]
    text: str


class ResponseRefusal(EchoedPart):
    type: Literal["refusal"]
    refusal: str


ResponseContent = str | list[Annotated[ResponseText | ResponseRefusal, Field(discriminator="type")]]


class ResponseMessage(EchoedPart):
    role: Literal["user", "assistant", "system", "developer"]
    content: ResponseContent


class ResponseCall(EchoedPart):
    type: Literal["function_call"]
    call_id: str = CALL_ID
    name: str = Field(pattern=NAME)
    arguments: str


class ResponseCallOutput(EchoedPart):
    type: Literal["function_call_output"]
    call_id: str = CALL_ID
    output: str | list[ResponseText]


class ResponseReasoning(EchoedPart):
    """A model's thoughts, sent back. They are nobody's words, and none of ours."""

    type: Literal["reasoning"]


class ResponseReference(EchoedPart):
    """An item that we have: the client sends its id only."""

    type: Literal["item_reference"] = "item_reference"
    id: str = CALL_ID


def _name_kind(item: Any) -> str:
    """Messages, and references in some clients, come without a type."""
    fields = item if isinstance(item, dict) else vars(item) if isinstance(item, EchoedPart) else {}
    return str(fields.get("type") or ("message" if "role" in fields else "item_reference"))


ResponseItem = Annotated[
    Annotated[ResponseMessage, Tag("message")]
    | Annotated[ResponseCall, Tag("function_call")]
    | Annotated[ResponseCallOutput, Tag("function_call_output")]
    | Annotated[ResponseReasoning, Tag("reasoning")]
    | Annotated[ResponseReference, Tag("item_reference")],
    Discriminator(_name_kind),
]


class ResponseTool(EchoedPart):
    type: str = Field(max_length=100)
    name: str | None = Field(default=None, pattern=NAME)
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ResponseNamedTool(EchoedPart):
    type: Literal["function"]
    name: str = Field(pattern=NAME)


class ResponseAllowedTools(EchoedPart):
    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"] = "auto"
    tools: list[ResponseNamedTool]


class ResponseTextFormat(EchoedPart):
    type: Literal["text", "json_object", "json_schema"]
    name: str | None = None
    description: str | None = None
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    strict: bool | None = None


class ResponseTextOptions(EchoedPart):
    format: ResponseTextFormat | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ResponseReasoningOptions(EchoedPart):
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None


class ResponseConversation(EchoedPart):
    id: str = Field(min_length=1, max_length=128)


class ResponsesRequest(ForeignRequest):
    """A request of OpenAI's Responses API. With `tools` of its own the client runs them, and gets a call only after it
    was ruled on; without, the tenant's tools are used."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"model": "circumspect", "input": "Where is order 12345?"}]}
    )

    HARMLESS: ClassVar[Mapping[str, Sequence[Json]]] = {
        "access_programs": (),
        "background": (False,),
        "context_management": (),
        "image": (),
        "include": (["reasoning.encrypted_content"],),
        "max_tool_calls": (),
        "prompt_cache_key": (),
        "prompt_cache_options": (),
        "prompt_cache_retention": (),
        "safety_identifier": (),
        "service_tier": ("auto", "default"),
        "stream_options": ({"include_obfuscation": False},),
        "top_logprobs": (0,),
        "truncation": ("disabled", "auto"),
    }

    model: str = Field(max_length=200)
    input: str | list[ResponseItem] = Field(max_length=1_000_000)
    instructions: str | None = None
    previous_response_id: str | None = Field(default=None, max_length=200)
    conversation: str | ResponseConversation | None = None
    tools: list[ResponseTool] | None = Field(default=None, max_length=128)
    tool_choice: Literal["auto", "none", "required"] | ResponseNamedTool | ResponseAllowedTools | None = None
    parallel_tool_calls: bool | None = None
    text: ResponseTextOptions | None = None
    reasoning: ResponseReasoningOptions | None = None
    max_output_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    store: bool | None = None
    stream: bool | None = None
    metadata: dict[str, str] | None = Field(
        default=None,
        description="`conversation_id` names the conversation. `answers` and `seen` as in a message of a conversation.",
    )
    user: str | None = Field(
        default=None, max_length=128, pattern=r"^[^\x00]*$", description="Your id of the end user."
    )

    @property
    def ignored(self) -> list[str]:
        """Whatever is said here is kept, as every conversation is."""
        return [*super().ignored, "store"] if self.store is False else super().ignored

    @property
    def named_conversation(self) -> str | None:
        return self.conversation.id if isinstance(self.conversation, ResponseConversation) else self.conversation

    @property
    def items(self) -> Sequence[ResponseItem]:
        return [ResponseMessage(role="user", content=self.input)] if isinstance(self.input, str) else self.input


def list_references(given: ResponsesRequest) -> list[str]:
    return [one.id for one in given.items if isinstance(one, ResponseReference)]


def read_items(
    given: ResponsesRequest, past: Sequence[ChatMessage] = (), referred: Mapping[str, ChatMessage] | None = None
) -> ClientTalk:
    """`past` is what we have of the talk that this goes on from; `referred`, items by the ids that the client named."""
    instructions = [given.instructions] if given.instructions else []
    said = list(past)
    for item in given.items:
        if isinstance(item, ResponseMessage) and item.role in ("system", "developer"):
            text = _join_text(item.content)
            said.append(ChatMessage("system", text)) if said else instructions.append(text)
        elif (message := _to_message(item, referred or {})) is not None:
            _append(said, message)
    return split_talk(instructions, list(_without_repeated_results(said)))


def _to_message(item: ResponseItem, referred: Mapping[str, ChatMessage]) -> ChatMessage | None:
    match item:
        case ResponseMessage(role="assistant"):
            return ChatMessage("assistant", _join_text(item.content))
        case ResponseMessage():
            return ChatMessage("user", _join_text(item.content))
        case ResponseCall():
            call = ToolCall(item.name, read_arguments(item.arguments), item.call_id)
            return ChatMessage("assistant", "", (call,))
        case ResponseCallOutput():
            return ChatMessage("tool", _join_text(item.output), call_id=item.call_id)
        case ResponseReference():
            return referred.get(item.id)
        case ResponseReasoning():
            return None


def _append(said: list[ChatMessage], message: ChatMessage) -> None:
    """Calls belong to the assistant's words right before them."""
    if message.calls and not message.text and said and said[-1].role == "assistant":
        said[-1] = replace(said[-1], calls=(*said[-1].calls, *message.calls))
    else:
        said.append(message)


def _without_repeated_results(said: Sequence[ChatMessage]) -> Iterator[ChatMessage]:
    """What a client tells once more, because it sends the same request again, counts as it came last."""
    last = {one.call_id: place for place, one in enumerate(said) if one.role == "tool"}
    for place, one in enumerate(said):
        if one.role != "tool" or last[one.call_id] == place:
            yield one


def _join_text(content: ResponseContent | list[ResponseText]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.text if isinstance(part, ResponseText) else part.refusal for part in content)


def list_hosted_tools(given: ResponsesRequest) -> list[str]:
    """Kinds of tools that would run at OpenAI."""
    return sorted({one.type for one in given.tools or () if one.type != "function" or one.name is None})


def declare_tools(given: ResponsesRequest) -> dict[str, ToolSpec] | None:
    """The client's own; None where it leaves them to the tenant. What they do is for the tenant's policy to say."""
    if given.tool_choice == "none":
        return {}
    declared = {
        one.name: ToolSpec(
            name=one.name,
            description=one.description or "",
            parameters=one.parameters or {"type": "object", "properties": {}},
            client=True,
        )
        for one in given.tools or ()
        if one.name is not None
    }
    return declared or None


def choose_options(given: ResponsesRequest) -> ModelOptions:
    match given.tool_choice:
        case ResponseAllowedTools(mode=mode, tools=tools):
            choices, must_call = tuple(one.name for one in tools), mode == "required"
        case ResponseNamedTool(name=name):
            choices, must_call = (name,), True
        case choice:
            choices, must_call = (), choice == "required"
    return ModelOptions(
        temperature=given.temperature,
        top_p=given.top_p,
        max_tokens=given.max_output_tokens,
        effort=given.reasoning.effort if given.reasoning else None,
        verbosity=given.text.verbosity if given.text else None,
        must_call=must_call,
        choices=choices,
        one_call=given.parallel_tool_calls is False,
    )


def find_form(given: ResponsesRequest) -> ReplyForm | None:
    """What the reply has to look like, where the client wants data."""
    wanted = given.text.format if given.text else None
    if wanted is None or wanted.type == "text":
        return None
    return ReplyForm(wanted.schema_ or {"type": "object"})


def describe_request(given: ResponsesRequest) -> JsonObject:
    """What of the request its response repeats."""
    told: dict[str, Any] = given.model_dump(
        mode="json",
        by_alias=True,
        include={
            "instructions",
            "previous_response_id",
            "temperature",
            "top_p",
            "max_output_tokens",
            "user",
        },
    )
    choice = given.tool_choice or "auto"
    return {
        **told,
        "model": given.model,
        "metadata": given.metadata or {},
        "parallel_tool_calls": given.parallel_tool_calls is not False,
        "tool_choice": choice if isinstance(choice, str) else choice.model_dump(mode="json"),
        "tools": [
            {
                "type": "function",
                "name": one.name,
                "description": one.description,
                "parameters": one.parameters,
                "strict": one.strict,
            }
            for one in given.tools or ()
        ],
        "reasoning": {"effort": given.reasoning.effort if given.reasoning else None, "summary": None},
        "text": _describe_text(given.text),
        "store": given.store is not False,
        "truncation": "disabled",
        "conversation": {"id": given.named_conversation} if given.named_conversation else None,
    }


def _describe_text(options: ResponseTextOptions | None) -> dict[str, Any]:
    if options is None:
        return {"format": {"type": "text"}}
    told = options.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"format": {"type": "text"}, **told}
