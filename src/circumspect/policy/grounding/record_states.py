"""States of orders and bookings: a reply and the calls that ran -> sentences that the looked-up record contradicts.

"It has already been shipped" is contradicted where the record that was looked up says `paid`, and nothing that came
back says anything of shipping. The words are those of `states.txt`.

What may surprise: only a record whose status field is one word of that closed list says anything, and only until
something changes it. Of several records all must contradict a sentence that does not say which one it means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from circumspect.language.folding import fold
from circumspect.language.pack import LanguagePack, compile_words, join_patterns, join_words, packs
from circumspect.language.sentences import split_sentences
from circumspect.policy.grounding.actions import words_of
from circumspect.policy.grounding.call_texts import CallText, list_leaves
from circumspect.policy.grounding.ran_calls import RanCalls, holds, may_change
from circumspect.policy.grounding.stated_figures import find_ids
from circumspect.values import Json

_NOT_SENT = ("open", "pending", "paid", "unpaid", "processing", "unconfirmed", "cancelled")
_CONTRADICTED_BY: Mapping[str, frozenset[str]] = {
    # A state that comes later than what the record says, or that it has left behind.
    "shipped": frozenset(_NOT_SENT),
    "delivered": frozenset((*_NOT_SENT, "shipped")),
    "paid": frozenset(("unpaid",)),
    "confirmed": frozenset(("pending", "unconfirmed", "cancelled")),
    "waiting": frozenset(("shipped", "delivered", "cancelled", "refunded", "returned")),
    "unshipped": frozenset(("shipped", "delivered", "returned")),
    "undelivered": frozenset(("delivered", "returned")),
}
_BORNE_BY: Mapping[str, tuple[str, ...]] = {
    # Anything that came back and says so bears it out, wherever it stands: a tracking event, a field of its own.
    "shipped": ("shipped", "delivered", "returned"),
    "delivered": ("delivered", "returned"),
    "paid": ("paid",),
}
_FIELDS = frozenset(("status", "state", "stage"))
_OF_MONEY = frozenset(("payment", "invoice", "refund", "billing"))
_LONGEST_VALUE = 40
_DEPTH = 6
_QUOTED = re.compile(r"\"[^\"]{0,300}\"")
_MARKS = re.compile(r"[*_`#>|]+")
_STOPS = re.compile(r"[,;:()]| - ")
_LIST = re.compile(r"^\s*(?:[-+]|\d{1,2}[.)])\s+")


@dataclass(frozen=True, slots=True)
class StateClaim:
    """A sentence of a reply that says in what state something is."""

    sentence: str
    clause: str
    state: str


@dataclass(frozen=True, slots=True)
class _Record:
    """What a field of a result says of its record's state, and all that stands beside it."""

    state: str
    text: str


@dataclass(frozen=True, slots=True)
class _StatePatterns:
    letters: re.Pattern[str]
    any_state: re.Pattern[str]
    by_state: Mapping[str, re.Pattern[str]]
    record: re.Pattern[str]
    booking: re.Pattern[str]
    pronoun: re.Pattern[str]
    not_of: re.Pattern[str]
    clause: re.Pattern[str]
    supposed: re.Pattern[str]
    """Anywhere before it in the sentence."""
    denied: re.Pattern[str]
    """In its clause."""
    general: re.Pattern[str]


def find_contradicted_states(reply: str, ran: RanCalls) -> list[str]:
    """The sentences that say of a record what the look-ups contradict."""
    if not ran.succeeded:
        return []
    return list(dict.fromkeys(one.sentence for one in read_states(reply) if _is_contradicted(one, ran)))


@lru_cache(maxsize=256)
def read_states(reply: str) -> tuple[StateClaim, ...]:
    """What the sentences of a reply say about the states of records."""
    return tuple(claim for piece in split_sentences(reply) for claim in _read_sentence(piece))


def _read_sentence(piece: str) -> Iterator[StateClaim]:
    if piece.rstrip(" \"')").endswith("?"):
        return
    text = _QUOTED.sub(" ", fold(_LIST.sub("", piece)).replace("\u0451", "\u0435"))
    text = " ".join(_MARKS.sub(" ", text).split())
    for words in _find_patterns():
        if not words.letters.search(text) or not words.any_state.search(text):
            continue
        for state, pattern in words.by_state.items():
            for hit in pattern.finditer(text):
                start = _find_beginning(text, hit.start(), words)
                if _is_stated(text, start, hit, state, words):
                    yield StateClaim(piece, text[start : hit.end()], state)
                    break


def _find_beginning(text: str, end: int, words: _StatePatterns) -> int:
    """Where the clause begins that goes on up to there."""
    marks = (*_STOPS.finditer(text, 0, end), *words.clause.finditer(text, 0, end))
    return max((hit.end() for hit in marks), default=0)


def _is_stated(text: str, start: int, hit: re.Match[str], state: str, words: _StatePatterns) -> bool:
    """It is said of a record, as something that is so."""
    before = text[start : hit.start()].strip()
    clause = text[start : hit.end()]
    of = words.booking if state == "confirmed" else words.record
    named = of.search(before) or of.search(hit[0]) or (state != "confirmed" and find_ids(clause))
    if not named and not words.pronoun.search(before):
        return False
    if words.not_of.search(clause) or words.supposed.search(text, 0, hit.start()):
        return False
    if words.general.search(before):
        return False
    return state in ("waiting", "unshipped", "undelivered") or not words.denied.search(clause)


def _is_contradicted(claim: StateClaim, ran: RanCalls) -> bool:
    if ids := find_ids(claim.clause):
        return any(_is_otherwise(claim.state, one, ran) for one in ids)
    # It is one of those that the sentence names, or whatever was looked up.
    ids = find_ids(fold(claim.sentence))
    return all(_is_otherwise(claim.state, one, ran) for one in ids or ("",))


def _is_otherwise(state: str, about: str, ran: RanCalls) -> bool:
    """Whatever was looked up about it says another state, and nothing that came back says this one."""
    found: list[_Record] = []
    for text in ran.succeeded:
        call = text.event.call
        if ran.tell_deeds(call) or (not ran.is_only_read(call) and may_change(call.tool)):
            # Whatever was changed may be in another state since.
            found = [one for one in found if about and not holds(text.flat, about)]
        found += (one for one in _read_records(text) if not about or holds(one.text, about))
    if not found or not all(one.state in _CONTRADICTED_BY[state] for one in found):
        return False
    missed = (text for same in ran.missed for text in same.texts)
    return not any(_bears(state, about, one) for one in (*ran.succeeded, *missed))


def _bears(state: str, about: str, text: CallText) -> bool:
    """Something in it says the same, whatever the field is called."""
    if state not in _BORNE_BY:
        return False
    parts = (one for one in _list_parts(text) if not about or holds(one, about))
    return any(map(_saying(state).search, parts))


@lru_cache(maxsize=512)
def _read_records(text: CallText) -> tuple[_Record, ...]:
    return tuple(_walk(text.event.result, fold(" ".join(list_leaves(dict(text.event.call.arguments))))))


@lru_cache(maxsize=512)
def _list_parts(text: CallText) -> tuple[str, ...]:
    """What can be told apart in a result, with its names: each item of a list, and all else together."""
    about = fold(" ".join(list_leaves(dict(text.event.call.arguments))))
    result = text.event.result
    items = result if isinstance(result, list) else [result]
    return tuple(f"{_spell(one)} {about}" for one in items)


def _walk(value: Json, about: str, whole: str | None = None, depth: int = 0) -> Iterator[_Record]:
    """The records of a result that say in what state they are. What holds for all of it is said of each, but items of
    a list are told apart."""
    if depth >= _DEPTH:
        return
    if isinstance(value, list):
        for each in value:
            yield from _walk(each, about, None, depth + 1)
    elif isinstance(value, Mapping):
        text = whole or f"{_spell(value)} {about}"
        for name, each in value.items():
            if isinstance(each, str) and (state := _read_field(name, each)):
                yield _Record(state, text)
            elif isinstance(each, Mapping):
                yield from _walk(each, about, text, depth + 1)
            elif isinstance(each, list):
                yield from _walk(each, about, None, depth + 1)


def _read_field(name: str, value: str) -> str | None:
    """The state that a field says, where it is such a field and says a word of the list."""
    called = words_of(name)
    if len(value) > _LONGEST_VALUE or not called or called[-1] not in _FIELDS:
        return None
    said = " ".join(re.split(r"[\s_-]+", fold(value)))
    state = next((state for state, pattern in _values().items() if pattern.fullmatch(said)), None)
    if _OF_MONEY.intersection(called):
        # Whether it was paid says nothing of where it is.
        return "unpaid" if state in ("unpaid", "pending", "open") else None
    return state


def _spell(value: Json, depth: int = 0) -> str:
    """All that it says, with the names of what has a value."""
    if isinstance(value, Mapping) and depth < _DEPTH:
        pieces = (f"{name.replace('_', ' ')} {_spell(each, depth + 1)}" for name, each in value.items() if each)
        return " ".join(pieces)
    if isinstance(value, list) and depth < _DEPTH:
        return " ".join(_spell(each, depth + 1) for each in value)
    return fold(str(value)).replace("_", " ") if value not in (None, "") else ""


@cache
def _values() -> Mapping[str, re.Pattern[str]]:
    names = dict.fromkeys(name for one in packs() for name in one.states.value)
    return {name: re.compile(join_words(one.states.value.get(name, ()) for one in packs())) for name in names}


@cache
def _saying(state: str) -> re.Pattern[str]:
    return compile_words(lines for one in packs() for name in _BORNE_BY[state] if (lines := one.states.value.get(name)))


@cache
def _find_patterns() -> tuple[_StatePatterns, ...]:
    return tuple(map(_compile_language, packs()))


def _compile_language(one: LanguagePack) -> _StatePatterns:
    words, said = one.states, one.statements
    adverbs = rf"(?:{join_patterns(words.adverbs)} ){{0,3}}"
    states = {
        name: tuple(line.replace("{adverbs}", adverbs).replace("{end}", r"(?=\W*(?:$|[.,;:!)]))") for line in lines)
        for name, lines in words.state.items()
    }
    return _StatePatterns(
        letters=one.script.letter,
        any_state=compile_words(states.values()),
        by_state={name: compile_words((lines,)) for name, lines in states.items()},
        record=compile_words((words.record,)),
        booking=compile_words((words.booking,)),
        pronoun=re.compile(rf"(?<!\w){join_patterns(words.pronoun)}(?: {join_patterns(words.adverbs)}){{0,3}}$"),
        not_of=compile_words((words.not_of,)),
        clause=compile_words((words.clause,)),
        supposed=compile_words((said.condition, said.reported)),
        denied=compile_words((said.negation, said.modal, said.future)),
        # Some lines begin with any signs: they are tried where a word begins, not at each of its signs.
        general=re.compile(rf"(?<!\S){join_words((said.general,))}(?!\w)"),
    )
