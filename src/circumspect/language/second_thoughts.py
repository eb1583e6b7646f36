"""What a message that is neither a yes nor a no means for a question that waits: left open, corrected or withdrawn.

A question stays open for words that change nothing about it: a question of the user's own, a "hmm", a "thank you". One
new value in words that we know all of corrects it. Anything else withdraws it: whatever the user wants now, it is not
certain to be what they were asked.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from circumspect.language.answer_words import (
    AnswerTable,
    UnknownWord,
    find_parts,
    find_tables,
    is_question,
    read_value,
)
from circumspect.language.folding import fold_words
from circumspect.language.pack import packs
from circumspect.language.phrases import BREAK, words
from circumspect.normal_forms import normalise
from circumspect.values import Language

_CODE = re.compile(r"(?:(?<![A-Za-z])[A-Za-z]+-?)?\d[\w-]*(?:[.,:/]\d\w*)*", re.ASCII)
_CHANGES_NOTHING = frozenset((BREAK, "filler", "value", "doubt", "yes", "ok", "go", "sign"))
_MAY_CORRECT = frozenset((BREAK, "filler", "value", "doubt", "yes", "ok", "go", "no", "nope", "not", "halt"))
_TURNS = frozenset(("blocker", "no", "nope", "not", "halt", "keep", "correction", "doubt", "unsure", "only", "want"))
_MAY_CORRECT |= {"correction", "act", "thing", "want"}


def find_new_values(text: str, values: Collection[str]) -> tuple[str, ...]:
    """Numbers and codes in the message that the question did not name."""
    known = {read_value(part.casefold()) for value in values for part in (value, *_CODE.findall(value))}
    found = dict.fromkeys(_CODE.findall(normalise("NFKC", text)))
    return tuple(one for one in found if read_value(one.casefold()) not in known)


def leaves_open(text: str, language: Language, values: Collection[str]) -> bool:
    """The message changes nothing about the question."""
    if find_new_values(text, values):
        return False
    first = next(iter(re.findall(r"\w+", fold_words(text))), "")
    if is_question(text) or any(first in one.about.question_words for one in packs()):
        return True
    parts = _read_parts(text, language, values)
    return parts is not None and all(kind in _CHANGES_NOTHING for kind, _ in parts[0])


def begins_with_yes(text: str, language: Language, values: Collection[str]) -> bool:
    """A yes, and then words that we do not know, though no new value and nothing that could turn it."""
    if is_question(text) or find_new_values(text, values):
        return False
    said = [word for word in words(fold_words(text)) if word != BREAK]
    for table in find_tables(language):
        kinds = [table.longest(said, at)[1] for at in range(len(said))]
        if kinds and kinds[0] == "yes":
            return _TURNS.isdisjoint(kinds)
    return False


def corrects(text: str, language: Language, values: Collection[str], new: str) -> bool:
    """The message says nothing but that the new value was meant, in words that we know all of."""
    if is_question(text):
        return False
    # Some languages write a small word together with what follows it.
    text = re.sub(rf"(?<!\w)[^\W\d_]{{1,2}}-?(?={re.escape(new)})", " ", text)
    if (read := _read_parts(text, language, (*values, new))) is None:
        return False
    parts, table = read
    negated = False
    for kind, name in parts:
        negated = kind in ("not", "nope") or (negated and kind != BREAK)
        if kind not in _MAY_CORRECT or (negated and name == read_value(new.casefold())):
            return False
        if kind in ("act", "thing"):
            pending = table.find_groups_of_call(kind, values)
            if pending and not pending & table.find_groups(kind, name):
                return False
    return True


def _read_parts(
    text: str, language: Language, values: Collection[str]
) -> tuple[list[tuple[str, str]], AnswerTable] | None:
    """The parts of the message in the first language that knows them all."""
    for table in find_tables(language):
        try:
            parts = find_parts(text, values, table)
        except UnknownWord:
            continue
        return None if parts is None else (parts, table)
    return None
