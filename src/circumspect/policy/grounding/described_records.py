"""Which of several records was described: "the Visa ending in 1111", "my gift card", "the second one for a refund".

In come the call and the exchange that it rests on; out comes whether another record, or another choice for this one,
was meant than the one in the call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from circumspect.language.folding import fold
from circumspect.language.written_values import find_word
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.actions import words_of
from circumspect.policy.grounding.exchanges import Exchange
from circumspect.policy.grounding.fields import IndexedResult
from circumspect.policy.grounding.tracing import ledger_of, names_an_id
from circumspect.values import History, Json


def record_ids(call_arguments: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """The arguments that each name one record: a single id, not a list of them."""
    for name, given in call_arguments.items():
        value = str(given) if isinstance(given, int) and not isinstance(given, bool) else given
        if isinstance(value, str) and names_an_id(name) and any(map(str.isdigit, value)) and len(value) >= 4:
            yield name, value


def is_another_meant(facts: Facts, name: str, value: str, exchange: Exchange) -> bool:
    """The id is one of several, and another of them was described, or this one is not the record's own."""
    marks = _siblings(facts.session, value)
    return len(marks) > 1 and (_other_is_meant(marks, value, exchange) or _departs(facts, marks, name, value, exchange))


def _other_is_meant(marks: Mapping[str, frozenset[str]], value: str, exchange: Exchange) -> bool:
    """Another record than this one was described: "the card ending in 8484", "my gift card"."""
    for text in (exchange.answer, exchange.question):
        words = _fold_words(text)
        said = {
            key: {mark for mark in own if mark in words and find_word(mark, words) >= 0} for key, own in marks.items()
        }
        mentioned = {key for key, own in said.items() if own - _common(said, key)}
        if mentioned:
            return value not in mentioned and not said[value]
    return False


def _common(said: Mapping[str, set[str]], key: str) -> set[str]:
    """What does not tell this one apart from the others."""
    return {mark for mark in said[key] if all(mark in own for own in said.values())}


def _departs(facts: Facts, marks: Mapping[str, frozenset[str]], name: str, value: str, exchange: Exchange) -> bool:
    """The record has a value of its own here, this is another one of the choices, and nobody asked for that.

    An order knows what it was paid with: "the same payment method" is that one, and so is silence.
    """
    own = _own(facts, value)
    if own is None or own.holds(value.lower()) or not any(own.holds(key.lower()) for key in marks if key != value):
        return False
    kind = next((word for word in words_of(name) if len(word) > 3), "")
    words = _fold_words(f"{exchange.answer}\n{exchange.question}")
    if kind and re.search(rf"\b(?:same|original|initial) (?:[a-z]+ )?{re.escape(kind)}", words):
        return True
    mine = (*marks[value], value.lower().replace("_", " "))
    return not any(mark in _fold_words(one.text) for one in facts.session.utterances for mark in mine)


def _own(facts: Facts, value: str) -> IndexedResult | None:
    """The newest result of looking up another record that the call names."""
    others = {other for _, other in record_ids(facts.call.arguments) if other != value}
    for event, result in reversed(ledger_of(facts.session).results):
        if (
            event.ok
            and event.trusted
            and any(one in others for one in event.call.arguments.values() if isinstance(one, str))
        ):
            return result
    return None


def is_listed_otherwise(facts: Facts, exchange: Exchange) -> bool:
    """In the list that was agreed to, another choice stands beside this id than the one in the call."""
    if facts.spec is None:
        return False
    ids = tuple(record_ids(facts.call.arguments))
    words = strip_markdown(f"{exchange.answer}\n{exchange.question}")
    for name, chosen in facts.call.arguments.items():
        choices = facts.spec.properties.get(name, {}).get("enum")
        if not isinstance(choices, Sequence) or isinstance(choices, str) or not isinstance(chosen, str):
            continue
        for _, value in ids:
            beside = fold(find_beside(value, words))
            if not beside:
                continue
            others = [one for one in choices if isinstance(one, str) and one != chosen]
            if find_word(fold(chosen), beside) < 0 and any(find_word(fold(one), beside) >= 0 for one in others):
                return True
    return False


def find_beside(value: str, words: str) -> str:
    """What is said of an id: from each place where it stands to the next id of its kind."""
    places = [(match.start(), match.group().lstrip("#")) for match in shape_of(value).finditer(words)]
    if len({one for _, one in places}) < 2:
        return ""  # With one id there is no list: what is offered there is offered, not agreed.
    ends = [*(at for at, _ in places[1:]), len(words)]
    return " ".join(words[at:end] for (at, one), end in zip(places, ends, strict=True) if one == value.lstrip("#"))


def _siblings(session: History, value: str) -> Mapping[str, frozenset[str]]:
    """The records among which this id is one choice, each with what it is called: of the newest result that has it."""
    for event, result in reversed(ledger_of(session).results):
        if event.ok and event.trusted and result.holds(value.lower()) and value in result.choices:
            return result.marks(value)
    return {}


# --- the words ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _fold_words(text: str) -> str:
    return fold(strip_markdown(text).replace("_", " "))


@lru_cache(maxsize=256)
def strip_markdown(text: str) -> str:
    """Without the signs of Markdown, which stand inside ids."""
    return text.replace("\\_", "_").replace("*", "").replace("`", "")


@lru_cache(maxsize=512)
def shape_of(value: str) -> re.Pattern[str]:
    """Whatever is built like this id: `#W1234567`, `AB12C3`, `gift_card_77`."""
    if re.fullmatch(r"(?=\w*\d)[a-z]+_\w*+", value):
        return re.compile(r"(?<![\w])(?:[a-z]+_)+\d{3,}(?!\w)")
    if "@" in value:
        return re.compile(r"(?<![\w.+\-])[\w.+\-]+@[\w\-]+\.[\w.\-]*\w")
    if re.fullmatch(r"#?[0-9]+", value):
        # As long as this one; neither a price nor a part of a longer number.
        return re.compile(rf"(?<![\w.,$€£₪₽:/-])#?\d{{{len(value.lstrip('#'))}}}(?![\w%]|[.,:/-]\d)")
    if re.fullmatch(r"#?[A-Z0-9]+", value):
        bare = value.lstrip("#")
        return re.compile(rf"(?<![\w#])#?(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{{{len(bare)}}}(?!\w)")
    pattern = re.sub(r"\d+", lambda run: rf"\d{{{len(run.group())}}}", re.escape(value))
    return re.compile(rf"(?<!\w){pattern}(?!\w)")
