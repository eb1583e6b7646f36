"""A model that says what it was told to say: for tests of an agent, and for measuring what our own code costs.

In: replies, in order: a text, a whole `ModelReply`, an exception to raise, or a function of the request that gives one
of these; or one such function for all requests. Out: each once, with every request kept in `.requests`.

The one choice that may surprise: running out is an error, and an error is not retried into something else. A test that
asks the model once more than it was written for should fail there, not later.

    model = ScriptedModel([says("Shall I cancel it?", tool="cancel_order", params={"order_id": "12345"})])
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from circumspect.errors import ModelRefused
from circumspect.values import Json, JsonObject, ModelReply, ModelRequest, ModelUsage, ToolCall

Plain: TypeAlias = str | ModelReply | Exception
ReplyFunction: TypeAlias = Callable[[ModelRequest], Plain]
Scripted: TypeAlias = Plain | ReplyFunction

_CHOICE = '{"wanted":'
_NAME = "scripted"


class ScriptedModel:
    """The `Model` port, played from a script. Costs nothing and waits for nothing."""

    def __init__(self, replies: Iterable[Scripted] | ReplyFunction = (), *, name: str = _NAME) -> None:
        self._always = replies if callable(replies) else None
        self._replies = [] if callable(replies) else list(replies)
        self._name = name
        self.requests: list[ModelRequest] = []
        """Every request, in order, the failed ones too."""

    @property
    def name(self) -> str:
        return self._name

    @property
    def left(self) -> int:
        """How many replies nobody has asked for yet."""
        return max(0, len(self._replies) - len(self.requests))

    async def complete(self, request: ModelRequest) -> ModelReply:
        if request.purpose == "choose" and not self._is_choice_next():
            return ModelReply(chooses("none"), self._usage(request, ""))
        reply = self._next(request)
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, ModelReply) else ModelReply(reply, self._usage(request, reply))

    def _is_choice_next(self) -> bool:
        """Whoever scripts no choice chooses nothing."""
        following = self._replies[len(self.requests) : len(self.requests) + 1]
        return any(isinstance(one, str) and one.startswith(_CHOICE) for one in following)

    def _next(self, request: ModelRequest) -> Scripted:
        index = len(self.requests)
        self.requests.append(request)
        if self._always is not None:
            return self._always
        if index >= len(self._replies):
            raise ModelRefused(
                f"The scripted model was asked {index + 1} times and has {len(self._replies)} replies"
                f" (the last request is a {request.purpose!r}).",
                fix="Add a reply to its script, or find out why it is asked again.",
            )
        return self._replies[index]

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        """The same reply, word by word, and then whole."""
        reply = await self.complete(request)
        for piece in _words(reply.text):
            yield piece
        yield reply

    def _usage(self, request: ModelRequest, text: str) -> ModelUsage:
        asked = sum(len(said.text) for said in request.messages) + len(request.instructions)
        return ModelUsage(self._name, input_tokens=asked // 4, output_tokens=len(text) // 4, estimated=True)


def chooses(tool: str) -> str:
    """What the model takes a message for that nobody else could place."""
    return f'{_CHOICE} "{tool}"}}'


def says(
    text: str,
    *,
    confidence: int = 9,
    tool: str | None = None,
    params: Mapping[str, Json] | None = None,
    missing: Sequence[str] = (),
    destructive: bool = False,
    needs_confirmation: bool = False,
    context: Sequence[str] = (),
) -> str:
    """A reply with its self-assessment, as a model writes it: on the wire, confidence is 1 to 10."""
    assessment = {
        "confidence": confidence,
        "tool_call": tool,
        "tool_params": dict(params or {}),
        "missing_params": list(missing),
        "is_destructive": destructive,
        "needs_confirmation": needs_confirmation,
        "needs_more_context": list(context),
    }
    return f"{text}\n\n<assessment>{json.dumps(assessment, ensure_ascii=False)}</assessment>"


def calls(tool: str, params: JsonObject | None = None, text: str = "", *, id: str = "call_1") -> ModelReply:  # noqa: A002
    """A reply with one native tool call, as a provider's function calling gives it."""
    return ModelReply(text, ModelUsage(_NAME), (ToolCall(tool, params or {}, id),), "tool_calls")


def _words(text: str) -> Iterable[str]:
    start = 0
    while start < len(text):
        end = text.find(" ", start) + 1 or len(text)
        yield text[start:end]
        start = end
