"""messages: a code and facts -> a sentence in the tenant's language, with its dates and amounts written its way."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, time
from typing import Literal, TypedDict

from circumspect.demo.samples.sample_files import read
from circumspect.values import Language

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

LANGUAGES_SPOKEN: tuple[Language, ...] = ("en", "he", "ru")

MessageFact = str | int | date | time | tuple[time, ...] | tuple[str, ...]


class ToolWording(TypedDict):
    """How to say a call of the tool, and what the tool does; by language."""

    phrases: Mapping[str, str]
    titles: Mapping[str, str]


def wording(tool: str) -> ToolWording:
    found = read("messages")
    return {"phrases": found["phrases"][tool], "titles": found["titles"][tool]}


def label(kind: Literal["services", "statuses"], name: str, language: Language) -> str:
    return str(read("messages")[kind][name][language])


def say(kind: Literal["answers", "refusals"], code: str, language: Language, **facts: MessageFact) -> str:
    """The sentence. `amount` and `price` are in agorot."""
    pattern: str = read("messages")[kind][code][language]
    return pattern.format(**{name: _format_fact(name, fact, language) for name, fact in facts.items()})


def _format_fact(name: str, fact: MessageFact, language: Language) -> str:
    if isinstance(fact, tuple):
        return ", ".join(_format_fact(name, item, language) for item in fact) or "–"
    if isinstance(fact, time):
        return fact.strftime("%H:%M")
    if isinstance(fact, date):
        if language == "en":
            return f"{fact.day} {_MONTHS[fact.month - 1]} {fact.year}"
        return fact.strftime("%d.%m.%Y")
    if name in ("amount", "price") and isinstance(fact, int):
        return _money(fact, language)
    return str(fact)


def _money(agorot: int, language: Language) -> str:
    amount = f"{agorot / 100:.2f}"
    if language == "en":
        return f"₪{amount}"
    return f"{amount.replace('.', ',') if language == 'ru' else amount} ₪"
