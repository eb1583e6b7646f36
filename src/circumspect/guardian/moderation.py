"""Moderation: a service that speaks OpenAI's moderation format, `POST /v1/moderations`.

Its own yes or no per category is taken, or your `thresholds` on its scores where you set them. Moderation is not billed
by tokens, so a screening carries no usage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from circumspect.guardian.port import HarmCategory, Screening, screening
from circumspect.guardian.remote import GuardianAnswer, Remote, ask, make_garbled_error
from circumspect.values import Language

CATEGORIES: Mapping[str, tuple[HarmCategory, ...]] = {
    "harassment": ("harassment",),
    "harassment/threatening": ("harassment", "violence"),
    "hate": ("hate",),
    "hate/threatening": ("hate", "violence"),
    "illicit": ("crime",),
    "illicit/violent": ("crime", "violence"),
    "self-harm": ("self_harm",),
    "self-harm/intent": ("self_harm",),
    "self-harm/instructions": ("self_harm",),
    "sexual": ("sexual",),
    "sexual/minors": ("child_abuse",),
    "violence": ("violence",),
    "violence/graphic": ("violence",),
}
"""The service's names in our words. One that is not here becomes `other`."""


@dataclass(frozen=True, slots=True)
class Moderation:
    remote: Remote
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """By the service's category name: from this score on the category counts, whatever the service itself says."""

    async def screen(self, text: str, language: Language) -> Screening:
        answer = await ask(self.remote, "/moderations", {"model": self.remote.model, "input": text})
        result = _result(self.remote, answer)
        scores = _scores(result)
        found: list[HarmCategory] = []
        for name, verdict in result["categories"].items():
            limit = self.thresholds.get(name)
            if verdict is True if limit is None else scores.get(name, 0.0) >= limit:
                found += CATEGORIES.get(name, ("other",))
        if not found and result.get("flagged") is True and not self.thresholds:
            found.append("other")
        ours: dict[str, float] = {}
        for name, score in scores.items():
            for category in CATEGORIES.get(name, ("other",)):
                ours[category] = max(score, ours.get(category, 0.0))
        source = f"moderation:{self.remote.model}"
        return screening(tuple(found), source=source, ignore=self.remote.ignore, scores=ours)


def _result(remote: Remote, answer: GuardianAnswer) -> Mapping[str, Any]:
    results = answer.body.get("results")
    first = results[0] if isinstance(results, list) and results else None
    if not isinstance(first, dict) or not isinstance(first.get("categories"), dict):
        raise make_garbled_error(remote, "no result")
    # A verdict that is neither yes nor no would otherwise read as "nothing found".
    if any(verdict not in (True, False, None) for verdict in first["categories"].values()):
        raise make_garbled_error(remote, "categories are not yes or no")
    return first


def _scores(result: Mapping[str, Any]) -> dict[str, float]:
    scores = result.get("category_scores")
    if not isinstance(scores, dict):
        return {}
    return {name: float(score) for name, score in scores.items() if isinstance(score, (int, float))}
