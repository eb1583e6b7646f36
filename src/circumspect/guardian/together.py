"""Together: several guardians as one. All are asked at once; what any of them finds is found.

A model for harm and the rules for spam and prompt injection are the usual pair. If one cannot answer, none does: half
a screening must not pass for a whole one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from circumspect.guardian.port import CATEGORIES, Guardian, Screening
from circumspect.values import Language, ModelUsage


@dataclass(frozen=True, slots=True)
class Together:
    guardians: tuple[Guardian, ...]

    async def screen(self, text: str, language: Language) -> Screening:
        found = await asyncio.gather(*(guardian.screen(text, language) for guardian in self.guardians))
        scores: dict[str, float] = {}
        for one in found:
            for name, score in one.scores.items():
                scores[name] = max(score, scores.get(name, 0.0))
        return Screening(
            categories=tuple(name for name in CATEGORIES if any(name in one.categories for one in found)),
            flagged=any(one.flagged for one in found),
            source="+".join(one.source for one in found),
            scores=scores,
            usage=_sum([one.usage for one in found if one.usage]),
        )


def _sum(spent: list[ModelUsage]) -> ModelUsage | None:
    if len(spent) < 2:
        return spent[0] if spent else None
    return ModelUsage(
        model="+".join(one.model for one in spent),
        input_tokens=sum(one.input_tokens for one in spent),
        output_tokens=sum(one.output_tokens for one in spent),
        cost_usd=sum(one.cost_usd for one in spent),
        seconds=max(one.seconds for one in spent),
        attempts=sum(one.attempts for one in spent),
        estimated=any(one.estimated for one in spent),
    )
