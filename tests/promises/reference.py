"""What may run, said once and without looking at how it is done: an effect needs the right person's yes to a question
that displayed exactly that call, after it was delivered, in time, and uses that yes up."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

OPERATORS = frozenset({"noa", "omar"})
WORDS = {"cancel_order": "cancel order", "refund": "refund", "wire": "wire"}
"""What a question about a tool must say, whichever door displays it."""


@dataclass(frozen=True)
class Effect:
    tool: str
    arguments: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Question:
    """As a door displayed it: to whom, until when it can be answered, and who had a hand in what it asks about."""

    id: str
    text: str
    asks: str | None
    until: datetime
    colleague: bool = False
    hands: frozenset[str] = frozenset()

    def may_be_answered_by(self, who: str | None) -> bool:
        return who in OPERATORS - self.hands if self.colleague else who == self.asks


@dataclass
class Reference:
    yeses: list[Question] = field(default_factory=list)
    """Given, and not used up yet."""
    answered: set[str] = field(default_factory=set)

    def hear_yes(self, who: str | None, to: Question | None, now: datetime) -> bool:
        if to is None or not to.may_be_answered_by(who) or now >= to.until or to.id in self.answered:
            return False
        self.yeses.append(to)
        return True

    def hear_no(self, to: Question) -> None:
        self.answered.add(to.id)

    def judge(self, effect: Effect) -> str | None:
        """What is wrong with it; None when somebody's yes covers it, which is then used up."""
        for given in self.yeses:
            if displays(given.text, effect):
                self.yeses.remove(given)
                self.answered.add(given.id)
                return None
        return f"{effect} ran, and the yeses that were given are to {[one.text for one in self.yeses]}"

    def forget_unused(self) -> None:
        """The turn that heard them is over: what it did not do with a yes, nothing does later."""
        self.yeses.clear()


def displays(text: str, effect: Effect) -> bool:
    plain = _letters(text)
    return WORDS[effect.tool] in plain and all(_stands_in(_letters(value), plain) for _, value in effect.arguments)


def _stands_in(value: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def _letters(text: str) -> str:
    """Without what may be spelled in other ways: space, quotes, characters that have no shape of their own."""
    spelled = re.sub(r"⟨U\+[0-9A-F]+⟩", " ", text)
    shaped = "".join(one if one.isprintable() else " " for one in spelled)
    return " ".join(re.sub(r"[\"'“”„«»‘’`\\]", " ", shaped).split()).lower()
