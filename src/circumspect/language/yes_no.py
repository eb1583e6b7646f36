"""Is this message a yes, a no, or something else? Text -> Answer, with no model, in all languages at once.

The one choice that may surprise: every word must be known. A yes runs something that cannot be undone, so a message is
a yes only if all of it is assent, courtesy, the pending action in other words, or a value of the pending call. One word
beyond that ("yes, but", "yes, the other one", "yes?") makes it `other`, and the user is asked again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache

from circumspect.language.answer_words import AnswerTable, UnknownWord, find_parts, find_tables, is_question
from circumspect.language.phrases import BREAK
from circumspect.values import LANGUAGES, Language, YesNo

_LONGEST = 600
_NEEDS_A_MATCH = frozenset(("change", "send", "transfer"))
"""Too vague to be taken for the pending action when we do not know that one: "yes, change it"."""


@dataclass(slots=True)
class _Heard:
    yes: bool = False
    go: bool = False
    ok: bool = False
    no: bool = False
    halt: bool = False
    doubt: bool = False
    keep: bool = False
    held: bool = False
    """The action itself was refused: "do not cancel it"."""
    value: bool = False
    acts: list[frozenset[str]] = field(default_factory=list)
    things: list[frozenset[str]] = field(default_factory=list)


def classify(
    text: str,
    language: Language | None = None,
    *,
    values: Collection[str] = (),
    asked: str = "",
    wished: Collection[str] = (),
) -> YesNo:
    """How the message answers a pending question.

    `values` is what the pending call is about, and so may be repeated in the answer: its arguments, and its tool's
    name, which also tells which action a yes may name. What the question that was `asked` says before them may be
    repeated with them, and so may the words in which the user `wished` for it: "yes, call it off" names the
    cancellation of somebody who asked for it in these words, and of nobody else. Languages of different scripts are
    mixed freely. Those that share one are tried in turn, the conversation's `language` first, because a word of one
    may be another in the next: the first that knows every word decides.
    """
    if len(text) > _LONGEST or is_question(text):
        return "other"
    return _classify(text, language or LANGUAGES[0], tuple(values), asked, tuple(wished))


@lru_cache(maxsize=1024)
def _classify(text: str, language: Language, values: tuple[str, ...], asked: str, wished: tuple[str, ...]) -> YesNo:
    """Remembered, since every ruling on a call listens to all that was said before it."""
    for table in find_tables(language):
        try:
            heard = _hear(text, values, table, asked, wished)
        except UnknownWord:
            continue
        return _answer(heard, values, table) if heard else "other"
    return "other"


def _answer(heard: _Heard, values: Collection[str], table: AnswerTable) -> YesNo:
    if heard.no or heard.keep or heard.halt:
        named = (heard.things or heard.value) and not (heard.held or heard.keep)
        return "other" if heard.yes or heard.go or heard.acts or named else "deny"
    if heard.doubt or not (heard.yes or heard.go or heard.ok):
        return "other"
    if heard.go and heard.things and not heard.acts:
        # "Go ahead with my order" is no yes to cancelling it.
        return "other"
    return "confirm" if _about(heard, values, table) else "other"


def _hear(text: str, values: Collection[str], table: AnswerTable, asked: str, wished: Collection[str]) -> _Heard | None:
    """What the message says, clause by clause; None as soon as a part of it is neither a yes nor a no."""
    parts = find_parts(text, values, table, asked, wished)
    if parts is None:
        return None
    heard = _Heard()
    turned = open_ended = wanting = late = False
    acts, went = 0, False
    last = before = ""
    for (kind, name), following in zip((*parts, (BREAK, "")), _find_following(parts), strict=True):
        match kind:
            case "only" if following == "value" and sum(map(_has_digits, values)) == 1:
                pass  # "yes, only 12345": there is no other number that it could leave out
            case "thing" if following == "value":
                pass  # what the value is: "yes, order 12345"
            case "|":
                if open_ended and wanting and before != "want":
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
            case "go" | "sign" | "act" | "wished" if turned:
                heard.no = heard.held = True
                open_ended = False
            case "yes" | "no" | "ok" | "keep" | "halt" if turned:
                return None
            case "act":
                heard.acts.append(table.find_groups("act", name))
            case "wished":
                heard.acts.append(table.find_groups_of_call("act", values))
            case "thing":
                heard.things.append(table.find_groups("thing", name))
            case "sign":
                heard.go = True
            case "yes" | "no" | "ok" | "go" | "keep" | "halt" | "doubt":
                setattr(heard, kind, True)
            case _:
                return None
        last, before = name, kind
    return None if last in table.dangling else heard


def _find_following(parts: list[tuple[str, str]]) -> list[str]:
    """For each part, and for the end, the kind of the next one that says something."""
    following, found = BREAK, [BREAK]
    for kind, _ in reversed(parts):
        found.append(following)
        following = following if kind == "filler" else kind
    return found[::-1]


def _about(heard: _Heard, values: Collection[str], table: AnswerTable) -> bool:
    """Does what was named fit the pending call, as far as we know it, and if we do not, is it one thing?"""
    acts, things = (table.find_groups_of_call(kind, values) for kind in ("act", "thing"))
    if not acts and any(act <= _NEEDS_A_MATCH for act in heard.acts):
        return False
    return _fits(heard.acts, acts) and _fits(heard.things, things)


def _has_digits(value: str) -> bool:
    return any(letter.isdigit() for letter in value)


def _fits(named: list[frozenset[str]], pending: frozenset[str]) -> bool:
    if not named:
        return True
    if pending:
        return all(groups & pending for groups in named)
    return bool(frozenset.intersection(*named))
