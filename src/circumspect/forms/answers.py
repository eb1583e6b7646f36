"""The answers in a text: prose, fences, tags and broken JSON in; objects out, with how each was come by.

An object that could be read without a guess is taken as it is, wherever it stands. Only where there is none, one is
guessed from what is broken, and only where there is no brace at all, lines such as `DECISION: …` are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from circumspect.forms.loose_json import parse_exact, parse_intact, repair_json
from circumspect.values import Json

AnswerForm: TypeAlias = Literal["plain", "found", "cut", "guessed", "lines"]

# A word in braces is a placeholder, as templates have them.
_BRACE = re.compile(r"\{(?!\w*\})")
_LABELLED = re.compile(r"^[\s>*#_•-]*+(?P<label>[^\W\d][\w /-]{1,40}?)[\s*_]*+[:=：][\s*_]*+(?P<value>.*)$")
_LONGEST, _LONGEST_LINES, _MOST = 50_000, 8_000, 20


@dataclass(frozen=True, slots=True)
class Answer:
    """One object that a text holds."""

    members: dict[str, Json]
    form: AnswerForm
    doubted: frozenset[str] = frozenset()
    """Keys that were said twice, and differently."""


def find_answers(text: str) -> tuple[Answer, ...]:
    """All that are not inside another. Lines with labels are one answer, which the first of each label makes."""
    text = text.strip("\ufeff \n\t")
    if (whole := parse_exact(text)) is not None:
        return (Answer(whole, "plain"),)
    if len(text) > _LONGEST:
        return ()
    if _BRACE.search(text):
        return tuple(_find_objects(text))
    labels = read_labels(text)
    return (Answer(dict(reversed(labels)), "lines"),) if labels else ()


def read_labels(text: str) -> Sequence[tuple[str, Json]]:
    """Every line `label: value`, in their order."""
    lines = (_LABELLED.match(line) for line in text[:_LONGEST_LINES].splitlines())
    return [(line["label"].strip(), line["value"].strip().strip("*`").strip()) for line in lines if line]


def _find_objects(text: str) -> Iterator[Answer]:
    at = 0
    for _ in range(_MOST):
        brace = _BRACE.search(text, at)
        if brace is None:
            return
        rest = text[brace.start() :]
        found = parse_intact(rest)
        if found.end is None:
            # It broke somewhere: what follows cannot be told from its inside.
            yield _mend_broken(rest, found.members)
            return
        yield Answer(found.members, "found", found.doubted)
        at = brace.start() + found.end
    yield Answer({}, "cut")


def _mend_broken(text: str, members: dict[str, Json]) -> Answer:
    guess = repair_json(text)
    if guess is None:
        return Answer(members, "cut")
    if guess and text.rstrip()[-1:] in "0123456789.":
        # A number at the very end may have gone on.
        guess.pop(next(reversed(guess)))
    twice = frozenset(key for key in guess if len(re.findall(rf"[\"'“]?{re.escape(key)}[\"'”]?\s*:", text)) > 1)
    return Answer(guess | members, "guessed", twice)
