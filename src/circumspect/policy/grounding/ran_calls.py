"""Calls that ran, as sentences are held against them: by what they do and what they were about.

It grows along with a conversation, so that the thousandth reply costs what the first did: calls of the same tool with
the same parameters are judged as one, and what they and their results say is one text, in which a value is looked up.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from circumspect.language.pack import compile_words, packs
from circumspect.policy.grounding.actions import READING, actions_of, only_looks, past_forms_of, words_of
from circumspect.policy.grounding.call_texts import CallText, text_of
from circumspect.values import PastCall, ToolCall, ToolSpec

SUPPORTS: Mapping[str, frozenset[str]] = {
    # A call of one of these kinds makes the statement true: booking sends a confirmation.
    "delete": frozenset(("delete",)),
    "close": frozenset(("delete",)),
    "pay": frozenset(("pay",)),
    "charge": frozenset(("pay", "book", "create", "change")),
    "send": frozenset(("send", "invite", "create", "delete", "change", "book", "pay")),
    "book": frozenset(("book", "create", "change")),
    "change": frozenset(("change", "create", "book")),
    "create": frozenset(("create", "book", "change", "delete", "pay", "send", "invite")),
    "invite": frozenset(("invite", "create", "send")),
}


class GrowingText:
    """Pieces, and all of them in one text. No value reaches over a line's end."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._text, self._joined = "", 0

    def hold_all(self, values: Iterable[str]) -> bool:
        if self._joined < len(self.pieces):
            self._text = "\n".join((self._text, *self.pieces[self._joined :]))
            self._joined = len(self.pieces)
        return all(holds(self._text, one) for one in values)


class SameCalls:
    """Calls of one tool with the same parameters, all with the same fate."""

    def __init__(self, call: ToolCall, does: frozenset[str]) -> None:
        self.call, self.does = call, does
        """The first of them, and what it does: nothing, where it only reads."""
        self.texts: list[CallText] = []
        self._flat = GrowingText()
        self._said: dict[str, tuple[int, GrowingText]] = {}

    def read(self) -> GrowingText:
        """What they were about and what came back."""
        pieces = self._flat.pieces
        pieces.extend(one.flat for one in self.texts[len(pieces) :])
        return self._flat

    def read_saying(self, action: str) -> GrowingText:
        """The records of their results that tell of such a deed; a sum may be charged by any."""
        read, found = self._said.get(action) or (0, GrowingText())
        for one in self.texts[read:]:
            found.pieces.extend(each for each in one.records if action == "charge" or _says(each, action))
        self._said[action] = len(self.texts), found
        return found

    def any_holds(self, values: Collection[str]) -> bool:
        """One of them has all the values."""
        if not values:
            return bool(self.texts)
        return self.read().hold_all(values) and any(all(holds(one.flat, each) for each in values) for one in self.texts)


class RanCalls:
    """Calls by their fate."""

    def __init__(self, ran: Iterable[PastCall] = (), tools: Mapping[str, ToolSpec] | None = None) -> None:
        self.tools: Mapping[str, ToolSpec] = tools or {}
        self.succeeded: list[CallText] = []
        self.wrote = 0
        """How many of those changed something."""
        self._done: dict[_Shape, SameCalls] = {}
        self._missed: dict[_Shape, SameCalls] = {}
        self._unknown: dict[_Shape, SameCalls] = {}
        for one in ran:
            self.add(one)

    def add(self, event: PastCall) -> None:
        if not event.trusted:  # that a stranger's mail was read is so; what stands in it bears nothing out
            event = replace(event, result=None)
        if event.ok:
            same = self._note(event, self._done)
            self.succeeded.append(same.texts[-1])
            self.wrote += bool(same.does)
        if event.unknown:
            self._note(event, self._unknown)
        elif not event.ok:
            self._note(event, self._missed)

    def _note(self, event: PastCall, fate: dict[_Shape, SameCalls]) -> SameCalls:
        shape = event.call.tool, frozenset(event.call.arguments)
        same = fate.get(shape)
        if same is None:
            same = fate[shape] = SameCalls(event.call, self.tell_deeds(event.call))
        same.texts.append(text_of(event))
        return same

    @property
    def done(self) -> Collection[SameCalls]:
        return self._done.values()

    @property
    def missed(self) -> Collection[SameCalls]:
        return self._missed.values()

    @property
    def unknown(self) -> Collection[SameCalls]:
        return self._unknown.values()

    def list_tools(self) -> Iterator[str]:
        """The names of the tools that were called, some of them more than once."""
        for fate in (self._done, self._missed, self._unknown):
            for tool, _ in fate:
                yield tool

    def tell_deeds(self, call: ToolCall) -> frozenset[str]:
        spec = self.tools.get(call.tool)
        actions = actions_of(call.tool)
        if (spec and spec.effect == "read") or actions == {"open"} or (not spec and _reads(call.tool)):
            return frozenset()
        # A tool that changes something in a way that its name does not tell may have done any of it.
        return frozenset(actions) or (frozenset(SUPPORTS) if spec and spec.effect else frozenset())

    def is_only_read(self, call: ToolCall) -> bool:
        spec = self.tools.get(call.tool)
        return spec is not None and spec.effect == "read"


def may_change(tool: str) -> bool:
    """Nothing in its name says that it only looks."""
    return not only_looks(tool) and actions_of(tool) != {"open"}


def is_named_by(tool: str, clause: str, action: str | None) -> bool:
    """What the clause says was done is what the tool's name says: "extended" after `extend_loan`. `action` is the kind
    of deed that the clause was read as; None is a verb that nobody listed."""
    forms = past_forms_of(tool)
    said = (hit[0] for hit in _saying_done(action).finditer(clause)) if action else (clause,)
    return any(not forms.isdisjoint(_WORD.findall(one)) for one in said)


def is_deed_by_name(tool: str) -> bool:
    """A word of the tool's name is a verb that claims are made with, of whatever kind."""
    return any(_any_deed().fullmatch(one) for one in past_forms_of(tool))


def holds(text: str, value: str) -> bool:
    """As a word of its own."""
    return value in text and bool(re.search(rf"(?<![\w]){re.escape(value)}(?![\w])", text))


def _reads(tool: str) -> bool:
    return words_of(tool)[:1] != () and words_of(tool)[0] in READING


@cache
def _saying_done(action: str) -> re.Pattern[str]:
    return compile_words(
        lines
        for one in packs()
        for lists in (one.statements.done, one.statements.framed)
        if (lines := lists.get(action))
    )


@cache
def _any_deed() -> re.Pattern[str]:
    said = [one.statements for one in packs()]
    lists = [lines for one in said for lines in (*one.done.values(), *one.framed.values(), one.finished, one.ended)]
    return compile_words(lists)


@cache
def _saying(action: str) -> re.Pattern[str]:
    return compile_words(
        lines
        for one in packs()
        for lists in (one.statements.done, one.statements.framed, one.statements.deed, one.statements.status)
        if (lines := lists.get(action))
    )


def _says(record: str, action: str) -> bool:
    return bool(_saying(action).search(record))


_WORD = re.compile(r"[a-z]+")
_Shape = tuple[str, frozenset[str]]
