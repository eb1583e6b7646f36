"""A request's conversation as every provider wants it: turns of two sides, each call with its result right behind it.

In: a `ModelRequest`. Out: `Turn`s that begin and end with the user's side, to be written in whatever format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from circumspect.models.wire_text import clean, clean_json, compact
from circumspect.values import ChatMessage, Json, JsonObject, ModelRequest, ToolCall

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EARLIER = "(The conversation began earlier.)"
_GO_ON = "(Go on: answer my last message.)"
"""Providers want a conversation to begin with the user; a shortened history may begin with a reply, or be empty."""


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    system: bool = False
    """A note of ours between the user's words."""


@dataclass(frozen=True, slots=True)
class Called:
    id: str
    tool: str
    arguments: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Returned:
    id: str
    tool: str
    text: str


TurnPart: TypeAlias = Said | Called | Returned


@dataclass(slots=True)
class Turn:
    """What one side says before the other does."""

    by_model: bool
    parts: list[TurnPart]


def list_turns(request: ModelRequest) -> list[Turn]:
    """The conversation. Every call has its result right behind it: providers refuse anything else.

    A call that got no result is left out, a result without a call is told as a message of the user's side. A request
    that offers no tools tells calls and results as text: some providers refuse tool parts where no tool is defined.
    """
    found: list[Turn] = []
    for exchange in _exchanges(request.messages if request.tools else _as_text(request.messages)):
        said = exchange.said
        if said.role == "assistant":
            words: list[TurnPart] = [Said(clean(said.text))] if said.text.strip() else []
            words += [Called(id_, call.tool, copy_plain(call.arguments)) for id_, call, _ in exchange.answered]
            _append(found, True, words)
        else:
            _append(found, False, _list_words(said))
        if exchange.answered:
            results = [Returned(id_, call.tool, clean(result.text)) for id_, call, result in exchange.answered]
            _append(found, False, results)
        for result in exchange.orphans:
            _append(found, False, _list_words(result))
    if not found or found[0].by_model:
        found.insert(0, Turn(False, [Said(_EARLIER)]))
    if found[-1].by_model:
        # Left as the last one, some providers would take it for the beginning of the reply, and some refuse it.
        found.append(Turn(False, [Said(_GO_ON)]))
    return found


def copy_plain(value: JsonObject) -> dict[str, Json]:
    """A deep copy in plain dicts and lists, which is all that can be written, and which an SDK is free to change."""
    return {clean(key): clean_json(item) for key, item in value.items()}


def _as_text(messages: Sequence[ChatMessage]) -> Iterator[ChatMessage]:
    for said in messages:
        if not said.calls:
            yield said
            continue
        calls = "\n".join(f"[call of {call.tool}] {compact(copy_plain(call.arguments))}" for call in said.calls)
        yield ChatMessage("assistant", f"{said.text}\n{calls}".strip())


def _list_words(said: ChatMessage) -> list[TurnPart]:
    if not said.text.strip():
        return []
    if said.role == "system":
        return [Said(clean(said.text), system=True)]
    text = f"[result of {said.tool or 'a tool'}]\n{said.text}" if said.role == "tool" else said.text
    return [Said(clean(text))]


def _append(found: list[Turn], by_model: bool, parts: Sequence[TurnPart]) -> None:
    if not parts:
        return
    if found and found[-1].by_model == by_model:
        found[-1].parts += parts
    else:
        found.append(Turn(by_model, list(parts)))


@dataclass(slots=True)
class _Exchange:
    """A message and the tool results that follow it."""

    said: ChatMessage
    answered: list[tuple[str, ToolCall, ChatMessage]]
    orphans: list[ChatMessage]


def _exchanges(said: Iterable[ChatMessage]) -> Iterator[_Exchange]:
    """Results are matched with the calls right before them. An id is kept when a provider would take it and it is the
    first of its kind; else the call's position takes its place."""
    used: set[str] = set()
    waiting: list[tuple[str, ToolCall]] = []
    current = _Exchange(ChatMessage("user", ""), [], [])
    for index, message in enumerate(said):
        if message.role == "tool":
            match = next((pair for pair in waiting if _answers(message, pair[1])), None)
            if match is None:
                current.orphans.append(message)
            else:
                waiting.remove(match)
                current.answered.append((*match, message))
            continue
        yield current
        current, waiting = _Exchange(message, [], []), []
        for position, call in enumerate(message.calls):
            kept = _ID.fullmatch(call.id) and call.id not in used
            id_ = call.id if kept else f"call_{index}_{position}"
            used.add(id_)
            waiting.append((id_, call))
    yield current


def _answers(result: ChatMessage, call: ToolCall) -> bool:
    return result.call_id == call.id if result.call_id or call.id else result.tool == call.tool
