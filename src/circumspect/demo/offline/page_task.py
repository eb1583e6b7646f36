"""What a request is after: ModelRequest -> `Task`, with the page, the conversation, documents and results read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from circumspect.demo.offline.given_values import LOCAL_PHONE, UserMessages
from circumspect.demo.offline.lexicon import concepts, fold_letters, lexicons, mentions, read, stem
from circumspect.demo.offline.page_view import Screen, find_block, keys_of, screen_of
from circumspect.demo.offline.slot_values import values
from circumspect.language.sentences import split_sentences
from circumspect.values import ModelRequest

_RESULT = re.compile(r"^\[(\d{1,2})\] (.*)$")
_TITLE_CASE = re.compile(r"(?<=\S )[A-Z][a-z]{2,}\b")


@dataclass(frozen=True)
class PageWish:
    """A request about a page: the page, and what the user said."""

    request: ModelRequest

    @cached_property
    def screen(self) -> Screen:
        return screen_of(self.request)

    @cached_property
    def talk(self) -> UserMessages:
        return UserMessages(tuple(said.text for said in self.request.messages if said.role == "user"))


@dataclass(frozen=True)
class ReasoningTask(PageWish):
    """The request, read: what is wanted, and what there is to go by."""

    @cached_property
    def text(self) -> str:
        """What is wanted: the newest message, together with the wish that it answers a question about."""
        said = self.request.messages
        newest = next((at for at in range(len(said) - 1, -1, -1) if said[at].role == "user"), None)
        if newest is None:
            return ""
        text = said[newest].text
        for at in range(newest - 1, 0, -2):
            asked, wish = said[at], said[at - 1]
            if asked.role != "assistant" or "?" not in asked.text or wish.role != "user" or _is_wish(text):
                break
            # Values belong to the talk, not to what is wanted: "born 12 April 1980, phone 555-0134" is about no topic.
            text = wish.text if _is_values(text) else f"{wish.text}\n{text}"
        return text

    @cached_property
    def keys(self) -> frozenset[str]:
        """What the newest message is about. Words that ask for a measure or tell to click are not part of that."""
        return keys_of(self.wish_text) or keys_of(self.text)

    @cached_property
    def wish_text(self) -> str:
        listed = (lists.pages[kind] for lists in lexicons() for kind in ("measures", "screen_verbs"))
        spare = {fold_letters(word.rstrip("*")) for words in listed for word in words}
        utterance = read(_without_values(self.text))
        return " ".join(utterance.text[one.start : one.end] for one in utterance.tokens if one.text not in spare)

    @cached_property
    def topic(self) -> frozenset[str]:
        """The same without names: a manual does not know who the new patient is."""
        if self.asks:
            return self.keys
        names = {stem(fold_letters(hit[0])) for hit in _TITLE_CASE.finditer(self.text) if not read(hit[0]).mentions}
        return frozenset(key for key in self.keys if key not in names and not key.startswith("#")) or self.keys

    @cached_property
    def asks(self) -> bool:
        utterance = read(self.text)
        return utterance.asks and not (utterance.has("request") and "?" not in self.text)

    @cached_property
    def uses_screen(self) -> bool:
        return mentions(self.text, "screen_verbs")

    @cached_property
    def documents(self) -> tuple[str, ...]:
        return _sentences(find_block(self.request, "documents"))

    @cached_property
    def results(self) -> tuple[str, ...]:
        """The sentences of all results, each with its title, which says what the sentence is about."""
        found: list[str] = []
        title = ""
        for line in find_block(self.request, "results").splitlines():
            if headed := _RESULT.match(line):
                title = headed[2].rpartition(" (")[0]
            else:
                found += [f"{title}: {sentence}" for sentence in _sentences(line)]
        return tuple(found)

    @cached_property
    def titles(self) -> tuple[str, ...]:
        lines = (_RESULT.match(line) for line in find_block(self.request, "results").splitlines())
        return tuple(found[2].rpartition(" (")[0] for found in lines if found)


def _is_wish(text: str) -> bool:
    utterance = read(text)
    known = concepts()
    return utterance.asks or mentions(text, "screen_verbs") or utterance.has(*known.write, *known.destructive)


def _is_values(text: str) -> bool:
    """Nothing but data that somebody asked for."""
    found = values(read(text), None)
    return bool(found.moments.dates or found.phones or found.emails) or bool(LOCAL_PHONE.search(text))


def _without_values(text: str) -> str:
    """What is wanted without its data: "Add patient Ann Lee, born 12 April 1980, phone 555-0134" is about patients."""
    parts = re.split(r"[,;]\s+", text)
    return ", ".join(part for part in parts if not _is_values(part)) or text


def _sentences(text: str) -> tuple[str, ...]:
    lines = "\n".join(line.removeprefix(">").strip() for line in text.splitlines())
    return tuple(one for one in split_sentences(lines) if not one.startswith("("))
