"""Sentences that the rest of the program makes in English, in the visitor's language.

What a policy says, what is wrong with it and what differs between two of them is said where each key is defined, in
English, with names and conditions in it. Our own English words for such a sentence are also its form: `{ $name }` is
whatever stands there, and a name that begins with `said` is a sentence of its own. One of no known form is shown as it
is, and marked as English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from fluent.syntax.ast import Placeable, StringLiteral, TextElement, VariableReference

from circumspect.policy.rules import RULES
from circumspect.server.console.i18n import Translator, find_texts
from circumspect.web.page_rules import PAGE_RULES

SentenceFamily = Literal["told", "lint", "altered", "step"]
"""What happens to a call; what is wrong with a policy; what differs between two; what a step says of itself."""
RULE_NAMES = frozenset(rule.name for rule in (*RULES, *PAGE_RULES))
NOTED = ("confidence_is_capped", "the_model_is_sure", "a_second_opinion_agrees", "a_second_opinion_was_had")
"""Names in a ruling that are no rule's; their sentences are among our words."""
_WITHIN = "said"
_HOLE = "\ue000"
_WORD = r"[^\s,]+"
_VALUES = {"names": rf"{_WORD}(?:(?:,| and| or) {_WORD})*", "number": r"[\d.]+"}


@dataclass(frozen=True, slots=True)
class TranslatedSentence:
    text: str
    english: bool = False
    """Nobody has put it into the visitor's language."""


def translate_sentence(sentence: str, family: SentenceFamily, words: Translator) -> TranslatedSentence:
    if words.language == "en" or not sentence:
        return TranslatedSentence(sentence)
    said = _translate(" ".join(sentence.split()), family, words)
    return TranslatedSentence(sentence, english=True) if said is None else TranslatedSentence(said)


def describe_rule(name: str, words: Translator) -> TranslatedSentence:
    """What the rule of that name claims; of one that is not ours, its name."""
    if name in NOTED or name in RULE_NAMES:
        return TranslatedSentence(words.t(f"{'noted' if name in NOTED else 'rule'}-{name}"))
    return TranslatedSentence(name.replace("_", " "), english=True)


def _translate(sentence: str, family: SentenceFamily, words: Translator) -> str | None:
    for key, form in _list_forms(family):
        if found := form.fullmatch(sentence):
            return _fill(key, found.groupdict(), family, words)
    return _translate(sentence, "altered", words) if family == "lint" else None


def _fill(key: str, values: dict[str, str], family: SentenceFamily, words: Translator) -> str:
    """Values are set apart from a text that runs the other way; sentences within it are not."""
    within = {name: value for name, value in values.items() if name.startswith(_WITHIN)}
    holes = {name: f"{_HOLE}{at}{_HOLE}" for at, name in enumerate(within)}
    text = words.t(key, **{**values, **holes})
    for name, value in within.items():
        known = _translate(value, family, words) if value else ""
        apart = f"\u2068{holes[name]}\u2069"
        text = text.replace(apart, holes[name]) if known is not None else text
        text = text.replace(holes[name], value if known is None else known)
    return text


@cache
def _list_forms(family: SentenceFamily) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Those that say most of themselves first."""
    found = []
    for key, elements in find_texts("en", f"{family}-"):
        form, own, seen = "", 0, set[str]()
        for element in elements:
            match element:
                case TextElement(value=text) | Placeable(expression=StringLiteral(value=text)):
                    form, own = form + re.escape(text), own + len(text)
                case Placeable(expression=VariableReference(id=name)):
                    form += _write_value(name.name, again=name.name in seen)
                    seen.add(name.name)
                case _:
                    raise TypeError(f"{key} is no form: it holds more than texts and values")
        found.append((own, key, re.compile(form, re.DOTALL)))
    return tuple((key, form) for _, key, form in sorted(found, key=lambda one: -one[0]))


def _write_value(name: str, *, again: bool) -> str:
    if again:
        return f"(?P={name})"
    return f"(?P<{name}>{'.*' if name.startswith(_WITHIN) else _VALUES.get(name, '.+?')})"
