"""What the ids of a call stand for, held against the words: the record that carries an id says what it is.

In come a call and the conversation; out comes what contradicts the words that the call rests on, or "". An id is looked
up in the results of trusted tools. Four things are compared, each of them only where the words say something about it:

- a variant: "the red one" was said, and the id is that of the blue one;
- the whole of a record: only the hose was named, and the order that would be cancelled holds a chair as well;
- a part: the item belongs to another order than the one in the call;
- a price: the cheapest was asked for, and this one is not.

What may surprise: an id that stands in the words itself is not looked into. Whoever said it has seen it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from circumspect.language.folding import fold
from circumspect.language.pack import compile_words, packs
from circumspect.language.written_values import find_word
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.actions import actions_of, words_of
from circumspect.policy.grounding.described_records import find_beside, record_ids, strip_markdown
from circumspect.policy.grounding.exchanges import exchange_of
from circumspect.policy.grounding.fields import IndexedResult
from circumspect.policy.grounding.tracing import Listing, ledger_of, list_values, names_an_id
from circumspect.policy.grounding.words import bag
from circumspect.policy.judge import ALLOWED, Rule, rule
from circumspect.reasons import ReasonCode
from circumspect.values import Deny, Json, PastCall, Verdict

_NAMES = ("name", "title", "label", "product_name")
_SAYS_NOTHING = frozenset(("yes", "no", "none", "true", "false", "n/a", "other"))
_PRICE = bag("price cost fee fare rate")
_LONGEST_MARK = 40
_END = re.compile(r"[.,!?;\n]+")

Record = Mapping[str, Json]


@rule(ReasonCode.CONFLICTS_WITH_CONFIRMED)
def ids_stand_for_what_was_said(facts: Facts) -> Verdict:
    """What the ids of a change stand for is what the user was told and asked for."""
    if facts.effect not in ("write", "destructive") or facts.confirmed or not ledger_of(facts.session).results:
        return ALLOWED
    problem = find_foreign_part(facts) or find_other_variant(facts) or find_unnamed_parts(facts) or find_better(facts)
    return Deny(f"{problem} Propose what was agreed, or ask again.") if problem else ALLOWED


# --- a variant ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choice:
    """An id of the call that is one of several of a kind."""

    value: str
    record: Record
    others: tuple[Record, ...]
    kind: str
    """What all of them are called: Bluetooth Speaker."""
    had: bool
    """The record that the call names has it already: it is not what it should get."""


def find_other_variant(facts: Facts) -> str:
    """An id whose record is not what the words say, where they say what one of the others is."""
    choices = _find_choices(facts)
    if not choices:
        return ""
    question, answer = _read_exchange(facts)
    if _finds_other().search(answer := _fold_words(answer)):
        return ""  # than the one that the question describes
    words = f"{answer}\n{_fold_words(question)}"
    done = _list_done(facts)
    for one in choices:
        if find_word(_fold_words(one.value), words) >= 0:
            continue
        own = _marks_of(facts, one.record)
        replaced = {mark for other in choices if other is not one for mark in _marks_of(facts, other.record).values()}
        for other in (_marks_of(facts, record) for record in one.others if done.isdisjoint(map(str, record.values()))):
            differ = [name for name in own if name in other and own[name] != other[name]]
            said = [name for name in differ if other[name] not in replaced and _is_said(other[name], words)]
            if said and not any(own[name] in replaced or _is_said(own[name], words) for name in differ):
                return f"'{one.value}' is {own[said[0]]}, not {other[said[0]]} ({said[0]})."
    return ""


def _list_done(facts: Facts) -> frozenset[str]:
    """What the same was done to before: it is not meant again."""
    past = (event for event in ledger_of(facts.session).by_tool.get(facts.call.tool, ()) if event.ok)
    return frozenset(str(value) for event in past for _, value in record_ids(event.call.arguments))


def _find_choices(facts: Facts) -> list[Choice]:
    """Worked out once per call: two of the comparisons ask."""
    kept = facts.session.__dict__.get("choices")
    if kept is None or kept[0] is not facts.call:
        kept = facts.session.__dict__["choices"] = (facts.call, list(_make_choices(facts)))
    return list(kept[1])


def _make_choices(facts: Facts) -> Iterator[Choice]:
    named = [_find_own(facts, record) for _, record in record_ids(facts.call.arguments)]
    for value in _find_ids(facts):
        held = (one for one in named if one is not None and one.holds(value.lower()))
        parent = next((one for one in held if value in one.listed), None)
        found = parent or _find_result(facts, value)
        siblings = (found.choices.get(value) or found.listed.get(value)) if found else None
        if found is None or siblings is None:
            continue
        record = siblings[value]
        name = _name_of(record)
        kind = name or (_name_of(found.tree) if isinstance(found.tree, Mapping) else "")
        others = (one for key, one in siblings.items() if key != value and _name_of(one) == name)
        yield Choice(value, record, tuple(others), kind, parent is not None)


def _find_ids(facts: Facts) -> list[str]:
    found = (one for _, name, one in list_values(facts.call) if isinstance(one, str) and names_an_id(name))
    return [one for one in found if _fold_words(one)]


def _find_result(facts: Facts, value: str) -> IndexedResult | None:
    """The newest result in which this id is one to choose from, or else one of a list."""
    ledger, form = ledger_of(facts.session), value.lower()
    known = ledger.listing.get(value, Listing())
    choice = listed = None
    for event, result in itertools.islice(reversed(ledger.results), len(ledger.results) - known.read):
        if event.ok and event.trusted and result.holds(form):
            if value in result.choices:
                choice = result
                break
            if listed is None and value in result.listed:
                listed = result
    known = ledger.listing[value] = Listing(len(ledger.results), choice or known.choice, listed or known.listed)
    return known.choice or known.listed


def _marks_of(facts: Facts, record: Record) -> Mapping[str, str]:
    """The marks of a record, read once in a conversation."""
    known = ledger_of(facts.session).marks
    kept = known.get(id(record))
    if kept is None:
        kept = known[id(record)] = (record, _read_marks(record))
    return kept[1]


def _read_marks(record: Record, inside: str = "") -> dict[str, str]:
    """The short texts of a record by name, as they are spoken; ids are no words for a thing."""
    found: dict[str, str] = {}
    for name, value in record.items():
        if isinstance(value, str) and not names_an_id(name) and len(value) <= _LONGEST_MARK:
            found[f"{inside}{name}"] = _fold_words(value)
        elif isinstance(value, Mapping) and not inside:
            found |= _read_marks(value, f"{name}.")
    return found


def _is_said(mark: str, words: str) -> bool:
    return len(mark) > 1 and mark not in _SAYS_NOTHING and find_word(mark, words) >= 0


# --- the whole of a record ------------------------------------------------------------------------------------------


def find_unnamed_parts(facts: Facts) -> str:
    """Parts of a record that would be cancelled or deleted as a whole, where only other parts of it were named."""
    if "delete" not in actions_of(facts.call.tool) or any("[" in path for path, _, _ in list_values(facts.call)):
        return ""
    question, answer = _read_exchange(facts)
    for _, value in record_ids(facts.call.arguments):
        result = _find_own(facts, value)
        parts = _part_names(result) if result else ()
        if len(parts) < 2:
            continue
        words = fold(f"{find_beside(value, question) or question}\n{answer}")
        named = [name for name in parts if _is_called(name, words)]
        if named and len(named) < len(parts) and not _says_whole(f"{words}\n{_read_user_words(facts)}"):
            unnamed = ", ".join(name for name in parts if name not in named)
            return f"'{value}' also holds {unnamed}, which nobody named."
    return ""


def _find_own(facts: Facts, value: str) -> IndexedResult | None:
    """The newest result of looking this record up."""
    about = reversed(ledger_of(facts.session).about.get(value, ()))
    return next((result for event, result in about if event.ok and event.trusted), None)


def _is_about(event: PastCall, value: str) -> bool:
    # No value of another type that JSON knows is equal to a text.
    return value in event.call.arguments.values()


def _part_names(result: IndexedResult) -> tuple[str, ...]:
    """What the parts of a record are called, where they have names: the items of an order."""
    for records in result.parts:
        names = dict.fromkeys(_name_of(record) for record in records)
        if len(names) > 1 and "" not in names:
            return tuple(names)
    return ()


def _name_of(record: Record) -> str:
    return next((str(record[name]) for name in _NAMES if isinstance(record.get(name), str)), "")


def _is_called(name: str, words: str) -> bool:
    """By its name, or by the last word of it: "the boot" for "Hiking Boots"."""
    last = (fold(name).split() or [""])[-1]
    forms = (fold(name), last, f"{last}s", last.removesuffix("s"))
    return any(find_word(form, words) >= 0 for form in forms if len(form) > 2)


# --- a part ---------------------------------------------------------------------------------------------------------


def find_foreign_part(facts: Facts) -> str:
    """An id in a list that is known only as a part of another record, where the one in the call holds none of them."""
    listed = [str(value) for path, name, value in list_values(facts.call) if "[" in path and names_an_id(name)]
    if not listed:
        return ""
    results = [(event, one) for event, one in ledger_of(facts.session).results if event.ok and event.trusted]
    for _, record in record_ids(facts.call.arguments):
        own = [(event, one) for event, one in results if _is_about(event, record)]
        if not own or any(_has_value(one, value) for _, one in own for value in listed):
            continue
        for value in listed:
            holders = [event for event, one in results if _has_record(one, value)]
            if holders and all(event.call.tool == own[-1][0].call.tool for event in holders):
                return f"'{value}' is no part of '{record}'."
    return ""


def _has_value(result: IndexedResult, value: str) -> bool:
    return value.lower() in result.plain if result.is_structured_text else fold(value) in result.fields


def _has_record(result: IndexedResult, value: str) -> bool:
    return result.holds(value.lower()) and (value in result.listed or value in result.choices)


# --- a price --------------------------------------------------------------------------------------------------------


def find_better(facts: Facts) -> str:
    """A choice that is not the cheapest, or the dearest, where the user asked for that one."""
    choices = _find_choices(facts)
    if not choices:
        return ""
    said = _read_user_words(facts)
    cheapest, dearest = _find_wished_price(said)
    if cheapest == dearest:
        return ""
    clauses = _END.split(said)
    asked = [one for one in clauses if (_finds_cheapest() if cheapest else _finds_dearest()).search(one)]
    same = [one for one in clauses if _finds_same().search(one)]
    for one in choices:
        price = _price_of(one.record)
        if price is None or one.had or not any(_is_about_kind(one, choices, clause) for clause in asked):
            continue
        own = _marks_of(facts, one.record)
        kept = [clause for clause in same if _is_about_kind(one, choices, clause)]
        wanted = [name for name in own if _is_said(own[name], said) or _is_kept(name, kept)]
        alike = (
            other for other in one.others if all(_marks_of(facts, other).get(name) == own[name] for name in wanted)
        )
        prices = [
            found for other in alike if (found := _price_of(other)) is not None and _is_offered(one.record, other)
        ]
        best = min([price, *prices]) if cheapest else max([price, *prices])
        if best != price:
            return f"'{one.value}' costs {price:g}, and there is one for {best:g}."
    return ""


@lru_cache(maxsize=64)
def _find_wished_price(said: str) -> tuple[bool, bool]:
    """Whether the cheapest was asked for, and whether the dearest."""
    return _finds_cheapest().search(said) is not None, _finds_dearest().search(said) is not None


def _is_about_kind(one: Choice, choices: Sequence[Choice], clause: str) -> bool:
    """The words speak of this kind of thing, or of none in particular."""
    kinds = {other.kind for other in choices if other.kind}
    return not any(_is_called(kind, clause) for kind in kinds) or _is_called(one.kind, clause)


def _is_kept(name: str, clauses: Sequence[str]) -> bool:
    """It should stay as it is: "keep the size the same"."""
    noun = next(reversed(words_of(name)), "")
    return bool(noun) and any(find_word(noun, one) >= 0 for one in clauses)


def _price_of(record: Record) -> float | None:
    for name, value in record.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and _PRICE.intersection(words_of(name)):
            return float(value)
    return None


def _is_offered(record: Record, other: Record) -> bool:
    """Whatever is said of this one by yes or no, such as that it is in stock, holds of the other as well."""
    return all(other.get(name) is value for name, value in record.items() if isinstance(value, bool))


# --- the words ------------------------------------------------------------------------------------------------------


def _read_exchange(facts: Facts) -> tuple[str, str]:
    """What was put to the user last, and what they said to it: also where their newest words are not recorded yet."""
    exchange = exchange_of(facts.session)
    if not facts.words or exchange.answer.endswith(facts.words):
        return strip_markdown(exchange.question), exchange.answer
    last = next(reversed(facts.session.utterances), None)
    return strip_markdown(last.text) if last and last.speaker == "assistant" else "", facts.words


def _read_user_words(facts: Facts) -> str:
    return f"{ledger_of(facts.session).user_text}\n{fold(facts.words)}"


@lru_cache(maxsize=1024)
def _fold_words(text: str) -> str:
    return fold(strip_markdown(text).replace("_", " "))


def _says_whole(words: str) -> bool:
    return _finds_whole().search(words) is not None


@cache
def _finds_whole() -> re.Pattern[str]:
    return compile_words(one.requests.whole for one in packs())


@cache
def _finds_other() -> re.Pattern[str]:
    return compile_words(one.requests.other for one in packs())


@cache
def _finds_same() -> re.Pattern[str]:
    return compile_words(one.requests.same for one in packs())


@cache
def _finds_cheapest() -> re.Pattern[str]:
    return compile_words(one.requests.cheapest for one in packs())


@cache
def _finds_dearest() -> re.Pattern[str]:
    return compile_words(one.requests.dearest for one in packs())


STAND_FOR_RULES: tuple[Rule, ...] = (ids_stand_for_what_was_said,)
