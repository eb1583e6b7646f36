"""Which lists of words can be found in a text at all: one look at its words, so that most patterns are never tried.

A `Watch` is made once, of all patterns that are held against the same texts. What may surprise: it only says where a
pattern cannot be found, from the words that its notation needs; one that it cannot read may be found anywhere. What a
word can begin is remembered, for what stands between two blanks as a whole, too: most of it comes again.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, Protocol, TypeVar

from circumspect.language.first_words import TOKEN, FirstWords, WordIndex, find_first_words, find_needed_words

Name = TypeVar("Name")
KNOWN_TOKENS = 16_384
"""Of so many words it is remembered what begins with them."""
_LONGEST_KNOWN = 64
"""A longer word is read anew each time, so that nobody's text is kept."""


class TextWords(NamedTuple):
    """A folded text, and which of the lists of one script have a line that can begin at one of its words."""

    text: str
    begins: int


@dataclass(frozen=True, slots=True)
class WordList:
    """The lines of a list as one pattern, which is only searched for where a word of the text can begin a line."""

    pattern: re.Pattern[str]
    bit: int
    watch: Watch | None = None
    """Where there is one, it knows the words that every match begins with."""

    def may_be_in(self, words: TextWords) -> bool:
        return words.begins & self.bit != 0

    def search(self, words: TextWords) -> bool:
        if self.watch is not None:
            return self.find(words) is not None
        return words.begins & self.bit != 0 and self.pattern.search(words.text) is not None

    def match(self, words: TextWords) -> bool:
        return words.begins & self.bit != 0 and self.pattern.match(words.text) is not None

    def count(self, words: TextWords) -> int:
        return len(self.pattern.findall(words.text)) if words.begins & self.bit else 0

    def find(self, words: TextWords) -> re.Match[str] | None:
        return next(self.find_all(words), None)

    def find_all(self, words: TextWords) -> Iterator[re.Match[str]]:
        """What `pattern.finditer` finds, tried only where it can begin."""
        if not words.begins & self.bit:
            return
        if self.watch is None:
            yield from self.pattern.finditer(words.text)
            return
        read = 0
        for start, _ in self.watch.find_places(words.text, self.bit):
            if start >= read and (hit := self.pattern.match(words.text, start)):
                read = hit.end()
                yield hit

    def replace(self, words: TextWords, by: str) -> str:
        return self.pattern.sub(by, words.text) if words.begins & self.bit else words.text


class WordLists(Generic[Name]):
    """Lists that are looked for together, each with its name. What one finds does not keep another from its own."""

    def __init__(self, lists: Mapping[Name, WordList]) -> None:
        self._placed = {one.bit: (name, one.pattern) for name, one in lists.items() if one.watch}
        self._others = [(name, one) for name, one in lists.items() if not one.watch]
        self._bits = sum(self._placed)
        self._watch = next((one.watch for one in lists.values() if one.watch), None)

    def find_all(self, words: TextWords) -> Iterator[tuple[Name, re.Match[str]]]:
        for name, one in self._others:
            yield from ((name, hit) for hit in one.find_all(words))
        if self._watch is None or not words.begins & self._bits:
            return
        read: dict[int, int] = {}
        for start, found in self._watch.find_places(words.text, self._bits):
            while found:
                bit = found & -found
                found ^= bit
                name, pattern = self._placed[bit]
                if start >= read.get(bit, 0) and (hit := pattern.match(words.text, start)):
                    read[bit] = hit.end()
                    yield name, hit


class ManyLists(Protocol):
    """Lists that share a bit and know themselves what they begin with."""

    bit: int

    def begins_with(self, token: str) -> bool: ...


class Watch:
    """What is looked for in the words of texts in one script, each with its bit."""

    def __init__(self) -> None:
        self.begins: list[FirstWords] = []
        self.signs: list[ManyLists] = []
        self._words = _Known(self.begin_with)
        self._pieces = _Known(self.begin_within)

    def add(self, pattern: str) -> int:
        """The bit of texts that have a word which the pattern needs."""
        return self._note(find_needed_words(pattern))

    def place(self, pattern: re.Pattern[str]) -> WordList:
        """The list of a pattern that begins with no sign within a word: it is tried at the words that it can begin
        with, where these can be told."""
        words = find_first_words(pattern.pattern)
        if words is None:
            return WordList(pattern, self.add(pattern.pattern))
        return WordList(pattern, self._note(words), self)

    def _note(self, words: FirstWords) -> int:
        self.begins.append(words)
        return 1 << (len(self.begins) - 1)

    def read(self, text: str) -> TextWords:
        """A folded text with what can be found in it."""
        begins = functools.reduce(operator.or_, map(self._pieces.__getitem__, text.split(" ")), self._anywhere)
        return TextWords(text, begins)

    def find_places(self, text: str, bits: int) -> Iterator[tuple[int, int]]:
        """Where the words stand that some list of those bits can begin with, and what each of them can begin."""
        at = 0
        for piece in text.split(" "):
            if self._pieces[piece] & bits:
                for token in TOKEN.finditer(f"{piece} "):
                    if found := self._words[token[0]] & bits:
                        yield at + token.start(), found
            at += len(piece) + 1

    def begin_within(self, piece: str) -> int:
        """What can begin at the words of what stands between two blanks, and at the blank behind it."""
        return functools.reduce(operator.or_, map(self._words.__getitem__, TOKEN.findall(f"{piece} ")), 0)

    def begin_with(self, token: str) -> int:
        signs = sum(one.bit for one in self.signs if one.begins_with(token))
        return signs | sum(1 << place for place in self._index.look_up(token))

    @cached_property
    def _index(self) -> WordIndex:
        return WordIndex(self.begins)

    @cached_property
    def _anywhere(self) -> int:
        return sum(1 << place for place in self._index.anywhere)


class _Known(dict[str, int]):
    """What can begin with the words that were seen."""

    def __init__(self, look_up: Callable[[str], int]) -> None:
        super().__init__()
        self._look_up = look_up

    def __missing__(self, word: str) -> int:
        found = self._look_up(word)
        if len(word) <= _LONGEST_KNOWN:
            if len(self) >= KNOWN_TOKENS:
                self.clear()
            self[word] = found
        return found
