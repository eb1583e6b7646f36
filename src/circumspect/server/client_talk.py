"""A talk as a chat client sends it, whole each time: what its application says, what was there before, what is new.

Whatever the client's format is, it comes down to this; `client_turns.py` makes a turn of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import orjson

from circumspect.hashing import digest
from circumspect.values import ChatMessage, Json, TurnResult


@dataclass(frozen=True, slots=True)
class ClientTalk:
    """The messages of a request, taken apart."""

    instructions: str
    earlier: tuple[ChatMessage, ...]
    """Up to the assistant's last words."""
    newest: tuple[ChatMessage, ...]
    failed: frozenset[str] = frozenset()
    """Ids of calls of which the client says that they did not work."""
    opening: str = ""
    """What the application says before anybody has spoken."""
    as_sent: tuple[ChatMessage, ...] = ()
    """All messages after that, with what the application says in between."""

    @property
    def text(self) -> str:
        return "\n\n".join(one.text for one in self.newest if one.role == "user")

    @property
    def results(self) -> tuple[ChatMessage, ...]:
        return tuple(one for one in self.newest if one.role == "tool")

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        return (*self.earlier, *self.newest)


def split_talk(
    instructions: Iterable[str], said: Sequence[ChatMessage], failed: frozenset[str] = frozenset()
) -> ClientTalk:
    """What comes after the assistant's last words is new. A result is given the name of the tool whose call it
    answers. What the application says in between belongs to its instructions, and keeps its place in `as_sent`."""
    opening = "\n\n".join(instructions)
    names = {call.id: call.tool for one in said for call in one.calls}
    named = [replace(one, tool=names.get(one.call_id, "")) if one.role == "tool" else one for one in said]
    between = [one.text for one in named if one.role == "system"]
    spoken = [one for one in named if one.role != "system"]
    last = max((place for place, one in enumerate(spoken) if one.role == "assistant"), default=-1)
    earlier, newest = tuple(spoken[: last + 1]), tuple(spoken[last + 1 :])
    whole = "\n\n".join(filter(None, [opening, *between]))
    return ClientTalk(whole, earlier, newest, failed, opening, tuple(named))


def read_arguments(text: str) -> dict[str, Json]:
    """What cannot be read was not a call of ours; it is kept as it came."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"": text}


def read_result(text: str) -> Json:
    """A tool's answer comes as text; where that is JSON, rules can look inside."""
    try:
        value: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return value


def identify_talk(owner: Sequence[str], said: Sequence[ChatMessage]) -> str:
    """A digest of a talk, by which it is recognised when it comes back longer. The owner is part of it: the same words
    between other people are another talk."""
    lines = [
        [one.role, one.text.strip(), one.call_id, [[call.id, call.tool, call.arguments] for call in one.calls]]
        for one in said
    ]
    return digest([list(owner), lines])


def make_reply_message(result: TurnResult) -> ChatMessage:
    """The assistant's message as the client will send it back."""
    return ChatMessage("assistant", result.reply, result.calls)
