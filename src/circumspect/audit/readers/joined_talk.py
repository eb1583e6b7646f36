"""Pieces of conversations from many records -> whole conversations.

A log of requests holds a conversation once for every request, a trace holds it in spans. Pieces of one thread are kept
until the end, sorted by time and put together: a piece that begins with all that another one says goes on from it, one
that says nothing new is dropped, anything else is a conversation of its own (another agent of the same trace, a reply
that was asked for twice). Calls that an earlier conversation of the thread has are not ruled on a second time.

What may surprise: results and instructions are not compared, since writers shorten the former and change the latter.
What is kept is bounded: when it is too much, the thread that was longest without a new piece is given out, and if more
of it comes later, that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from circumspect.audit.message_formats import steps
from circumspect.audit.readers.talk_pieces import TalkPiece
from circumspect.audit.transcript_steps import TranscriptCall, TranscriptText, Unknown

HELD = 1 << 25
"""Bytes of records that wait for the rest of their conversation."""
REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class FoundPiece:
    piece: TalkPiece
    path: str
    line: int


@dataclass(slots=True)
class JoinedTalk:
    """A conversation that was put together. Calls before message `since` are another one's."""

    id: str
    messages: list[Any]
    tools: Any
    path: str
    line: int
    since: int = 0
    split: bool = False
    """An earlier part of the thread was given out already."""
    key: str = ""
    heard: int = 0
    """Stands for everything that was said and called so far."""
    steps: list[tuple[int, list[Any]]] = field(default_factory=list)
    """Calls that were seen as they ran, and after how many messages."""


class TalkJoiner:
    def __init__(self, limit: int = HELD) -> None:
        self.limit = limit
        self.held = 0
        self.threads: dict[str, tuple[list[FoundPiece], int]] = {}
        self.thread_of: dict[str, str] = {}
        """The thread that holds the piece of a key."""
        self.gone: dict[str, None] = {}

    def add(self, piece: TalkPiece, path: str, line: int, size: int) -> Iterator[JoinedTalk]:
        """Take a piece in; out come conversations that there is no more room for."""
        thread = self.thread_of.get(piece.after, piece.thread) if piece.after else piece.thread
        if piece.key:
            self.thread_of[piece.key] = thread
        pieces, before = self.threads.pop(thread, ([], 0))
        pieces.append(FoundPiece(piece, path, line))
        self.threads[thread] = (pieces, before + size)
        self.held += size
        while self.held > self.limit and len(self.threads) > 1:
            yield from self._give_out(next(iter(self.threads)))

    def finish(self) -> Iterator[JoinedTalk]:
        """Everything that is left, in the order in which it was last added to."""
        for thread in list(self.threads):
            yield from self._give_out(thread)

    def _give_out(self, thread: str) -> Iterator[JoinedTalk]:
        pieces, size = self.threads.pop(thread)
        self.held -= size
        for one in pieces:
            self.thread_of.pop(one.piece.key, None)
        split = thread in self.gone
        self.gone[thread] = None
        if len(self.gone) > REMEMBERED:
            self.gone.pop(next(iter(self.gone)))
        for number, talk in enumerate(join(pieces)):
            talk.split = split
            talk.id = talk.id if not number else f"{talk.id} ({number + 1})"
            yield talk


def join(pieces: Sequence[FoundPiece]) -> Sequence[JoinedTalk]:
    """The conversations of one thread."""
    thread = _Thread()
    for one in sorted(pieces, key=lambda found: found.piece.at):
        thread.add(one)
    return thread.finish()


class _Thread:
    def __init__(self) -> None:
        self.talks: list[JoinedTalk] = []
        self.current: JoinedTalk | None = None
        self.by_heard: dict[int, JoinedTalk] = {}
        """Each conversation by all that is said in it."""
        self.heard: set[int] = set()
        """All that was said at any point of any of them."""
        self.calls: set[str] = set()
        self.tools: Any = None

    def add(self, found: FoundPiece) -> None:
        piece = found.piece
        self.tools = piece.tools or self.tools
        if piece.kind == "whole":
            self._add_whole(found)
        elif piece.kind == "next":
            talk = next((one for one in self.talks if piece.after and one.key == piece.after), self.current)
            self._go_on(talk or self._begin(found), [*(talk.messages if talk else ()), *piece.messages], found)
        else:
            talk = self.current or self._begin(found)
            talk.steps.append((len(talk.messages), piece.messages))

    def _add_whole(self, found: FoundPiece) -> None:
        marks = _mark(found.piece.messages)
        if marks and marks[-1] in self.heard:
            return
        before = next((self.by_heard[mark] for mark in reversed(marks) if mark in self.by_heard), None)
        talk = before or self._begin(found)
        if before is None and len(self.talks) > 1:
            talk.since = self._count_known(found.piece.messages)
        self._go_on(talk, list(found.piece.messages), found)

    def _begin(self, found: FoundPiece) -> JoinedTalk:
        piece = found.piece
        name = piece.id or piece.thread.split(" ", 1)[-1].strip() or f"{found.path}:{found.line}"
        talk = JoinedTalk(name, [], None, found.path, found.line)
        self.talks.append(talk)
        self.current = talk
        return talk

    def _go_on(self, talk: JoinedTalk, messages: list[Any], found: FoundPiece) -> None:
        if self.by_heard.get(talk.heard) is talk:
            del self.by_heard[talk.heard]
        talk.messages, talk.key = messages, found.piece.key or talk.key
        marks = _mark(messages)
        talk.heard = marks[-1] if marks else 0
        self.heard.update(marks)
        if marks:
            self.by_heard[talk.heard] = talk
        self.calls.update(name for message in messages for name in _name_calls(message))
        self.current = talk

    def _count_known(self, messages: Sequence[Any]) -> int:
        """How many messages come before the first call that no other conversation of the thread has."""
        for index, message in enumerate(messages):
            if any(name not in self.calls for name in _name_calls(message)):
                return index
        return len(messages)

    def finish(self) -> Sequence[JoinedTalk]:
        known = {name.rpartition("\n")[0] for name in self.calls}
        for talk in self.talks:
            for at, messages in reversed(talk.steps):
                if not all(name.rpartition("\n")[0] in known for name in _name_calls(messages[0])):
                    talk.messages[at:at] = messages
            talk.tools = self.tools
        return [talk for talk in self.talks if talk.messages]


def _mark(messages: Sequence[Any]) -> list[int]:
    """One mark after everything that is said or called: the same marks, the same conversation up to there."""
    marks: list[int] = []
    mark = 0
    for message in messages:
        for said in _read_said(message):
            mark = hash((mark, said))
            marks.append(mark)
    return marks


def _read_said(message: Any) -> Iterator[object]:
    try:
        found = steps(message)
    except Unknown:
        yield "?"
        return
    for step in found:
        if isinstance(step, TranscriptText) and step.speaker != "system":
            yield step.speaker, step.text.strip()
        elif isinstance(step, TranscriptCall):
            yield _name_call(step)


def _name_calls(message: Any) -> list[str]:
    """Each call of a message, its id last."""
    try:
        found = steps(message)
    except Unknown:
        return []
    return [f"{_name_call(step)}\n{step.call.id}" for step in found if isinstance(step, TranscriptCall)]


def _name_call(step: TranscriptCall) -> str:
    arguments: Mapping[str, Any] = step.call.arguments
    try:
        return f"{step.call.tool} {orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode()}"
    except TypeError:
        return f"{step.call.tool} {len(arguments)}"
