"""Is the record in a call the one that the user's order names? "Cancel A-771" is no order to cancel B-812.

In come what was said, a call and where values come from; out comes what contradicts the order, or "". Three things have
to come together: the user's newest order for what the tool does names an id, the call has another one instead, and the
two are records of one kind, because one field of a result, or the user in a question, has both.

What may surprise: this errs towards seeing nothing. Once the user has stated the id in the call, or answered where the
assistant spoke of it, or said what is no plain answer, it may be the one that is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, lru_cache

from circumspect.language.folding import fold
from circumspect.language.pack import compile_words, packs
from circumspect.language.sentences import split_sentences
from circumspect.language.wanted import WantedAct, find_mentions, find_moods, is_question, takes_back
from circumspect.language.written_values import find_word
from circumspect.language.yes_no import classify
from circumspect.policy.grounding.actions import actions_of, objects_of
from circumspect.policy.grounding.described_records import strip_markdown
from circumspect.policy.grounding.fields import IndexedResult
from circumspect.policy.grounding.tracing import OriginLedger, kind_of, list_values
from circumspect.policy.understanding.open_wishes import acts_of
from circumspect.values import PastCall, ToolCall, Utterance

_WORD = re.compile(r"[#№\w@.+/-]+")
_ADDRESS_OR_FILE = re.compile(r"(?<![\w.+@/-])(?:[\w.+-]+@[\w.-]+|[\w./-]+\.[a-zA-Z]\w{1,4})")
_GIVES_ANOTHER: Set[WantedAct] = frozenset(("change", "exchange"))
_LAST = 100
"""So many of the last messages are looked at: an order from further back has had its answer."""
_LONGEST_KEPT = 10_000
_LETTERS, _DIGITS = re.compile(r"[^\W\d_]"), re.compile(r"\d")


def find_named_instead(talk: Sequence[Utterance], call: ToolCall, ledger: OriginLedger) -> str:
    """Which id the user named and which one the call has instead; "" where it is not certain."""
    records, talk = list_records(call), talk[-_LAST:]
    if not records or not (order := _find_order(talk, call.tool)):
        return ""
    at, clauses = order
    if takes_back(talk[at].text):  # "cancel A-771, no, I meant the one to Berlin"
        return ""
    if not all(map(find_ids, clauses)):  # "cancel A-771 and cancel the chair as well"
        return ""
    words = "\n".join(clauses)
    carried = {key_of(str(one)) for _, _, one in list_values(call)}
    named = {key: one for key, one in find_ids(words).items() if key not in carried}
    for value in records if named and not _points_on().search(fold(words)) else ():
        key = key_of(value)
        if _is_between(key, named) or _may_be_meant(value, talk, at, call.tool):
            continue
        other = next((named[one] for one in named if _are_of_one_kind(ledger, key, one)), "")
        if other:
            return f"The user named '{other}', not '{value}'."
    return ""


def can_be_ordered(tool: str) -> bool:
    """There are words in which somebody could order what the tool does, as far as its name tells."""
    return bool(acts_of(tool)) or "pay" in actions_of(tool)


def list_records(call: ToolCall) -> list[str]:
    """The ids in the call that each say which record it is done to."""
    nouns = objects_of(call.tool)
    found = {
        name: str(value)
        for name, value in call.arguments.items()
        if kind_of(name, value, {}) == "id" or (isinstance(value, str) and value.isdigit() and name in nouns)
    }
    if _GIVES_ANOTHER & acts_of(call.tool):
        # With nothing beside it to say what changes, it is what is wanted instead, which nobody named.
        return [*found.values()] if len(found) == 1 < len(call.arguments) else []
    texts = (one for name, one in call.arguments.items() if isinstance(one, str) and name not in found)
    return [*found.values(), *(one for one in texts if _ADDRESS_OR_FILE.fullmatch(one))]


def _find_order(talk: Sequence[Utterance], tool: str) -> tuple[int, list[str]] | None:
    """The newest message that asks for what the tool does: where it stands, and what of it asks for that."""
    acts, pays = acts_of(tool), "pay" in actions_of(tool)
    for at in range(len(talk) - 1, -1, -1) if can_be_ordered(tool) else ():
        if talk[at].speaker == "user" and (clauses := list(_find_clauses(talk[at].text, acts, pays))):
            return at, clauses
    return None


def _find_clauses(text: str, acts: Set[WantedAct], pays: bool) -> Iterator[str]:
    for one in find_mentions(text):
        if one.act in acts and one.mood == "wish":
            yield strip_markdown(one.clause)
    if pays and "wish" in find_moods(text, "pay"):
        yield from (strip_markdown(one) for one in split_sentences(text) if "wish" in find_moods(one, "pay"))


def find_ids(text: str) -> Mapping[str, str]:
    """What may be an id, as it is written; of a text that is not very long remembered for a while."""
    return _read_ids(text) if len(text) <= _LONGEST_KEPT else _list_ids(text)


@lru_cache(maxsize=512)
def _read_ids(text: str) -> Mapping[str, str]:
    return _list_ids(text)


def _list_ids(text: str) -> Mapping[str, str]:
    words = (hit.group().strip("-./+") for hit in _WORD.finditer(text))
    ids = (one for one in words if any(map(str.isdigit, one)) or _ADDRESS_OR_FILE.fullmatch(one))
    return {key_of(one): one for one in ids if len(one) >= 3}


def key_of(value: str) -> str:
    """As people write it: without the sign for a number, and in whichever case."""
    return value.lstrip("#№").strip("/").lower()


def _is_said(value: str, text: str) -> bool:
    return find_word(fold(value.lstrip("#")), fold(text)) >= 0


@cache
def _points_on() -> re.Pattern[str]:
    spoken = [one.requests for one in packs()]
    return compile_words(lines for one in spoken for lines in (one.whole, one.other, one.others))


def _is_between(value: str, named: Iterable[str]) -> bool:
    """Of a row that was named by its ends: "snap-101 through snap-104"."""
    alike = [one for one in named if _build(one) == _build(value)]
    return len(alike) > 1 and min(alike) < value < max(alike)


def _may_be_meant(value: str, talk: Sequence[Utterance], at: int, tool: str) -> bool:
    """The user stated the id at any time, or spoke after the assistant had put it to them, the order being at `at`; or
    what they said since may point at it."""
    last = max(number for number, one in enumerate(talk) if one.speaker == "user")
    if any(one.speaker == "assistant" and _is_said(value, strip_markdown(one.text)) for one in talk[at:last]):
        return True
    if any(one.speaker == "user" and _is_stated(value, strip_markdown(one.text)) for one in talk):
        return True
    return not all(_is_plain(one.text, tool) for one in talk[at + 1 :] if one.speaker == "user")


def _is_stated(value: str, text: str) -> bool:
    return _is_said(value, text) and any(_is_said(value, one) and not is_question(one) for one in split_sentences(text))


def _is_plain(text: str, tool: str) -> bool:
    """It asks, says yes or gives a value: it points at nothing."""
    return is_question(text) or classify(text, values={tool}) == "confirm" or any(map(str.isdigit, text)) or "@" in text


def _are_of_one_kind(ledger: OriginLedger, value: str, other: str) -> bool:
    alike = _build(value) == _build(other)
    results = [
        (event, one)
        for event, one in reversed(ledger.results)
        if event.ok and event.trusted and one.holds(value) and one.holds(other)
    ]
    if any(_leads_to(event, result, value, other) for event, result in results):
        return False
    if alike and _is_said(value, ledger.user_text):
        return True
    return any(_has_both(result, value, other, alike) for _, result in results)


def _build(value: str) -> str:
    return _LETTERS.sub("a", _DIGITS.sub("0", value))


def _leads_to(event: PastCall, result: IndexedResult, value: str, other: str) -> bool:
    """What was looked up by the one id names the other: the order that replaces it."""
    asked = {key_of(str(one)) for _, _, one in list_values(event.call)}
    return other in asked and any(key_of(text) == value for _, text in result.leaves)


def _has_both(result: IndexedResult, value: str, other: str, alike: bool) -> bool:
    """In one field of several records, in one list, as keys to records of one mapping, or in a text that lists them."""
    fields = {path for path, text in result.leaves if key_of(text) == value}
    if any(path in fields and key_of(text) == other for path, text in result.leaves):
        return True
    if alike and any(_is_said(value, text) and _is_said(other, text) for text in result.prose):
        return True
    return any({value, other} <= {key_of(key) for key in records} for records in result.choices.values())
