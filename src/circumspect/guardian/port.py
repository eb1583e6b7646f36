"""What a guardian is asked and what it answers: text in, `Screening` out.

`screen` says which kinds of harm a message is about. It decides nothing: routing is code's, elsewhere. A guardian that
cannot answer raises `GuardianUnavailable`; whether the turn then goes on is configuration, never the adapter's choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from circumspect.errors import ModelError
from circumspect.values import Language, ModelUsage

HarmCategory = Literal[
    "violence",
    "weapons",
    "crime",
    "sex_crime",
    "child_abuse",
    "sexual",
    "self_harm",
    "hate",
    "harassment",
    "privacy",
    "defamation",
    "advice",
    "copyright",
    "elections",
    "code_abuse",
    "injection",
    "other",
]
CATEGORIES: tuple[HarmCategory, ...] = get_args(HarmCategory)


@dataclass(frozen=True, slots=True)
class Screening:
    """What a guardian found. `scores` are 0 to 1, by category, and `spam`, which is no category: it is not harm."""

    categories: tuple[HarmCategory, ...] = ()
    flagged: bool = False
    """True when at least one category counts. Categories that the tenant chose to ignore are listed and do not."""
    source: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    usage: ModelUsage | None = None

    @property
    def spam(self) -> float:
        return self.scores.get("spam", 0.0)


class GuardianUnavailable(ModelError):
    """The guardian could not be reached, refused, or answered something that cannot be read."""

    code = "guardian_unavailable"


class Guardian(Protocol):
    """Screens one message. No side effects; the text is data. Raises `GuardianUnavailable` and nothing else."""

    async def screen(self, text: str, language: Language) -> Screening: ...


def screening(
    categories: tuple[HarmCategory, ...],
    *,
    source: str,
    ignore: frozenset[HarmCategory] = frozenset(),
    scores: Mapping[str, float] | None = None,
    usage: ModelUsage | None = None,
) -> Screening:
    """Each category once, in the order of the list; flagged by those that are not ignored."""
    once = tuple(category for category in CATEGORIES if category in categories)
    return Screening(once, any(one not in ignore for one in once), source, scores or {}, usage)
