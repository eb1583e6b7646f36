"""RuleGuardian: word lists, one a language. No network, no model, a millisecond or two.

It finds what is said plainly, also behind simple disguises, and knows no context beyond a clause. It is the default
where nothing else is configured, and worth having beside a model, because it scores spam and names prompt injection,
which safety models do not. What it catches and misses is measured by `bench/guardian.py`; `docs/guardian.md` has the
figures. It is a net with wide meshes: what may be done is decided by policy, never by this.
"""

from __future__ import annotations

from dataclasses import dataclass

from circumspect.guardian.disguise import LONGEST, plain
from circumspect.guardian.port import CATEGORIES, HarmCategory, Screening, screening
from circumspect.guardian.spam import spam_score
from circumspect.language.word_lists import as_matchable, patterns, pick_languages
from circumspect.values import Language

SOURCE = "rules"


@dataclass(frozen=True, slots=True)
class RuleGuardian:
    """`ignore` lists categories that are reported and do not flag the message."""

    ignore: frozenset[HarmCategory] = frozenset()

    async def screen(self, text: str, language: Language) -> Screening:
        found = evidence(text, language)
        scores: dict[str, float] = {"spam": spam_score(text, language)}
        scores.update(dict.fromkeys(found, 1.0))
        return screening(tuple(found), source=SOURCE, ignore=self.ignore, scores=scores)


def evidence(text: str, language: Language) -> dict[HarmCategory, tuple[str, ...]]:
    """The categories that the lists find, each with the words that were found. For the record; users never see it."""
    found: dict[HarmCategory, dict[str, None]] = {}
    for reading in plain(_ends(text)):
        heard = as_matchable(reading)
        for one in pick_languages(reading, language):
            lists = patterns("guardian", one)
            for category in CATEGORIES:
                if category in lists and (hits := lists[category].findall(heard)):
                    found.setdefault(category, {}).update(dict.fromkeys(map(str.strip, hits)))
    return {category: tuple(words) for category, words in found.items()}


def _ends(text: str) -> str:
    """Of a very long text the beginning and the end: what is hidden is seldom hidden in the middle."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
