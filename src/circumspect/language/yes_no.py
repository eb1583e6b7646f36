"""Is this message a yes, a no, or something else? Text -> Answer, with no model, in all languages at once.

The one choice that may surprise: every word must be known. A yes runs something that cannot be undone, so a message is
a yes only if all of it is assent, courtesy, the pending action in other words, or a value of the pending call. One word
beyond that ("yes, but", "yes, the other one", "yes?") makes it `other`, and the user is asked again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache

from circumspect.language.folding import fold_words
from circumspect.language.pack import LanguagePack, join_patterns, pack, packs, packs_read_with
from circumspect.language.phrases import BREAK, shorten_word, words
from circumspect.values import LANGUAGES, Language, YesNo

_Phrase = tuple[str, ...]
_QUOTED = re.compile(r"[\"“”„«»]\s*([^\"“”„«»]*?)\s*[\"“”„«»]|(?<!\w)'([^']*)'(?!\w)")
_LONGEST = 600
_SIGNS = re.compile(r"[#№$€£₪₽%+]")
_WORD_PARTS = re.compile(r"[_\W]+|(?<=[a-z])(?=[A-Z])")
_NEEDS_A_MATCH = frozenset(("change", "send", "transfer"))
"""Too vague to be taken for the pending action when we do not know that one: "yes, change it"."""


@dataclass(slots=True)
class _Heard:
    yes: bool = False
    go: bool = False
    ok: bool = False
    no: bool = False
    keep: bool = False
    held: bool = False
    """The action itself was refused: "do not cancel it"."""
    value: bool = False
    acts: list[frozenset[str]] = field(default_factory=list)
    things: list[frozenset[str]] = field(default_factory=list)


class _Unknown(Exception):
    """A word of the message is in no list of the languages that it is read in."""


def classify(text: str, language: Language | None = None, *, values: Collection[str] = ()) -> YesNo:
    """How the message answers a pending question.

    `values` is what the pending call is about, and so may be repeated in the answer: its arguments, and its tool's
    name, which also tells which action a yes may name. Languages of different scripts are mixed freely. Those that
    share one are tried in turn, the conversation's `language` first, because a word of one may be another in the next:
    the first that knows every word decides.
    """
    if len(text) > _LONGEST or "?" in text or "？" in text or "؟" in text:
        return "other"
    for table in _tables(language or LANGUAGES[0]):
        try:
            heard = _hear(text, values, table)
        except _Unknown:
            continue
        return _answer(heard, values, table) if heard else "other"
    return "other"


def _answer(heard: _Heard, values: Collection[str], table: _Table) -> YesNo:
    if heard.no or heard.keep:
        named = (heard.things or heard.value) and not (heard.held or heard.keep)
        return "other" if heard.yes or heard.go or heard.acts or named else "deny"
    if not (heard.yes or heard.go or heard.ok):
        return "other"
    if heard.go and heard.things and not heard.acts:
        # "Go ahead with my order" is no yes to cancelling it.
        return "other"
    pending = frozenset(part for value in values for part in _WORD_PARTS.split(value) if part)
    return "confirm" if _about(heard, frozenset(fold_words(part) for part in pending), table) else "other"


def _hear(text: str, values: Collection[str], table: _Table) -> _Heard | None:
    """What the message says, clause by clause; None as soon as a part of it is neither a yes nor a no."""
    known = {tuple(_value(word) for word in words(fold_words(value)) if word != BREAK) for value in values}
    known.discard(())
    plain = _strip_quotes(_inner_quotes().sub("", fold_words(text)), known)
    if plain is None:
        return None
    heard = _Heard()
    turned = open_ended = wanting = late = False
    acts, went = 0, False
    last = ""
    for kind, name in (*_parts(words(plain), known, table), (BREAK, "")):
        match kind:
            case "|":
                if open_ended and wanting:
                    return None
                if open_ended and late and (len(heard.acts) > acts or heard.go != went):
                    del heard.acts[acts:]
                    heard.go, heard.held = went, True
                heard.no |= open_ended
                turned = open_ended = wanting = late = False
                acts, went = len(heard.acts), heard.go
                continue
            case "filler":
                pass
            case "value":
                heard.value = True
            case "want":
                wanting = True
            case "not" | "nope":
                if turned:
                    return None
                turned = open_ended = True
                late = name in table.not_last
            case "go" | "sign" | "act" if turned:
                heard.no = heard.held = True
                open_ended = False
            case "yes" | "no" | "ok" | "keep" if turned:
                return None
            case "act":
                heard.acts.append(table.find_groups("act", name))
            case "thing":
                heard.things.append(table.find_groups("thing", name))
            case "sign":
                heard.go = True
            case "yes" | "no" | "ok" | "go" | "keep":
                setattr(heard, kind, True)
            case _:
                return None
        last = name
    return None if last in table.dangling else heard


def _parts(said: list[str], values: Collection[_Phrase], table: _Table) -> Iterator[tuple[str, str]]:
    """The message as known phrases and values, longest first: (kind, name) for each."""
    said = [table.find_spelling(word) for word in said]
    at = 0
    while at < len(said):
        if said[at] == BREAK:
            yield BREAK, ""
            at += 1
            continue
        length, kind, name = table.longest(said, at)
        value = _longest_value(said, at, values)
        if value > max(length, 1) or (value and kind in ("", "filler", "act", "thing", "want")):
            length, kind, name = value, "value", ""
        if not kind:
            raise _Unknown
        yield kind, name
        at += length


def _longest_value(said: list[str], at: int, values: Collection[_Phrase]) -> int:
    """How many words from here on are exactly one of the values."""
    best = 0
    for value in values:
        place, matched = at, 0
        while matched < len(value) and place < len(said):
            if said[place] != BREAK:
                if _value(said[place]) != value[matched]:
                    break
                matched += 1
            place += 1
        if matched == len(value):
            best = max(best, place - at)
    return best


def _value(word: str) -> str:
    """A value without the signs around it: #12345 is 12345, $20.50 and 20,50 € are 20.5."""
    bare = _SIGNS.sub("", word) or word
    if not bare[0].isdigit():
        return bare
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", bare):
        bare = bare.replace(",", "")
    elif re.fullmatch(r"(\d+|\d{1,3}(\.\d{3})+),\d{1,2}", bare):
        bare = bare.replace(".", "").replace(",", ".")
    return re.sub(r"\.0+$|(\.\d*?[1-9])0+$", r"\1", bare)


def _strip_quotes(text: str, values: Collection[_Phrase]) -> str | None:
    """The text with quotation marks taken off the values. Any other words in quotation marks are somebody else's."""
    for quoted in _QUOTED.finditer(text):
        inside = quoted[1] or quoted[2] or ""
        if tuple(_value(word) for word in words(inside) if word != BREAK) not in values:
            return None
    return _QUOTED.sub(lambda quoted: quoted[1] or quoted[2] or "", text)


def _about(heard: _Heard, pending: Collection[str], table: _Table) -> bool:
    """Does what was named fit the pending call, as far as we know it, and if we do not, is it one thing?"""
    acts, things = (
        frozenset(group for word in pending for group in table.find_groups(kind, word)) for kind in ("act", "thing")
    )
    if not acts and any(act <= _NEEDS_A_MATCH for act in heard.acts):
        return False
    return _fits(heard.acts, acts) and _fits(heard.things, things)


def _fits(named: list[frozenset[str]], pending: frozenset[str]) -> bool:
    if not named:
        return True
    if pending:
        return all(groups & pending for groups in named)
    return bool(frozenset.intersection(*named))


@dataclass(frozen=True, slots=True)
class _Table:
    """The phrases of the languages that a message is read in by their first word, longest first."""

    by_first: dict[str, list[tuple[_Phrase, str]]]
    groups: dict[tuple[str, str], frozenset[str]]
    words: frozenset[str]
    dangling: frozenset[str]
    not_last: frozenset[str]
    """A "not" that may stand at the end of its clause and turn what went before."""
    drawn_out: frozenset[str]
    """Words that may be written with their letters repeated. Not all: "too" is not "to", "off" is not "of"."""
    joined: tuple[str, ...]
    """What an "and" looks like that is written together with the next word."""

    def find_spelling(self, word: str) -> str:
        """The known word that this one stands for, drawn out or with an "and" before it; or itself."""
        if word in self.words:
            return word
        if short := next((way for way in shorten_word(word) if way in self.drawn_out), None):
            return short
        bare = (word.removeprefix(small) for small in self.joined if word.startswith(small))
        return next((rest for rest in bare if rest in self.words), word)

    def find_groups(self, kind: str, phrase: str) -> frozenset[str]:
        """The actions or things that a phrase may name."""
        return self.groups.get((kind, phrase), frozenset())

    def longest(self, said: list[str], at: int) -> tuple[int, str, str]:
        for phrase, kind in self.by_first.get(said[at], ()):
            if tuple(said[at : at + len(phrase)]) == phrase:
                return len(phrase), kind, " ".join(phrase)
        return 0, "", ""


_DRAWN_OUT = ("yes", "ok", "go", "no", "nope")
_KINDS = ("yes", "ok", "go", "sign", "no", "nope", "not", "keep", "want", "unsure", "blocker", "filler")


@cache
def _inner_quotes() -> re.Pattern[str]:
    """A sign that is a quotation mark elsewhere, between two letters of a language that writes it there."""
    return re.compile(
        join_patterns(
            f"(?<=[{one.script.letters}]){re.escape(sign)}(?=[{one.script.letters}])"
            for one in packs()
            for sign in one.about.quote_inside_words
        )
    )


@cache
def _tables(language: Language) -> tuple[_Table, ...]:
    """One table for each language of the conversation's script, its own first, with all of other scripts in each."""
    first = packs_read_with(language)
    script = pack(language).script
    rest = (packs_read_with(one.code) for one in packs() if one.script is script and one.code != language)
    return tuple(map(_table, (first, *rest)))


@cache
def _table(languages: tuple[LanguagePack, ...]) -> _Table:
    kinds: dict[_Phrase, str] = {}
    groups: dict[tuple[str, str], frozenset[str]] = {}
    for language in packs():
        for heading, phrases in language.phrases.items():
            kind, _, group = heading.partition(" ")
            if not (kind in ("act", "thing") if group else kind in _KINDS):
                continue
            for line in phrases:
                parts = tuple(line.split())
                if language in languages:
                    kinds.setdefault(parts, kind)
                if group:
                    # Of all languages: a tool's name is English whatever the answer is in.
                    key = (kind, " ".join(parts))
                    groups[key] = groups.get(key, frozenset()) | {group}
    by_first: dict[str, list[tuple[_Phrase, str]]] = {}
    for phrase in sorted(kinds, key=len, reverse=True):
        by_first.setdefault(phrase[0], []).append((phrase, kinds[phrase]))
    answers = (phrase[0] for phrase, kind in kinds.items() if len(phrase) == 1 and kind in _DRAWN_OUT)
    courtesies = (phrase[0] for phrase, kind in kinds.items() if kind == "filler" and len(phrase[0]) > 3)
    return _Table(
        by_first,
        groups,
        words=frozenset(word for phrase in kinds for word in phrase),
        dangling=frozenset(phrase for language in languages for phrase in language.phrases["dangling"]),
        not_last=frozenset(phrase for language in languages for phrase in language.phrases["not last"]),
        drawn_out=frozenset((*answers, *courtesies)),
        joined=tuple(small for language in languages for small in language.about.glued_and),
    )
