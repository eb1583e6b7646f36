"""How far an answer keeps to its plan: what a turn planned and what it answered in, numbers between 0 and 1 out.

By words it is ROUGE-L (Lin 2004): the longest common subsequence of words, as an F-measure. By meaning it is the cosine
of two embeddings. Both say how alike two texts are and nothing about whether either is right, so they compare arms that
place the same analysis differently, and are no measure of quality.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from circumspect.journal import find_events
from circumspect.knowledge.semantic import Embedder, cosine
from circumspect.policy.understanding.journal_events import UnderstoodEvent
from circumspect.values import TurnResult

MOST_WORDS = 1_000
"""Of either text: comparing takes as many steps as one has words times the other."""
_WORD = re.compile(r"\w+")
_COUNTED = ("answered", "acted")


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    plan: str
    answer: str


def find_planned_answer(result: TurnResult) -> PlannedAnswer | None:
    """None where nothing was planned, or where the turn ended in something else than an answer."""
    if result.outcome not in _COUNTED:
        return None
    for event in find_events(reversed(result.entries), UnderstoodEvent):
        if event.analysis:
            plan = " ".join(filter(None, (event.analysis.user_intent, *event.analysis.action_plan)))
            return PlannedAnswer(plan, result.reply) if plan and result.reply else None
    return None


def by_words(plan: str, answer: str) -> float:
    one, two = ([word.lower() for word in _WORD.findall(text)[:MOST_WORDS]] for text in (plan, answer))
    if not one or not two:
        return 0.0
    row = [0] * (len(two) + 1)
    for word in one:
        before = 0
        for at, other in enumerate(two, 1):
            before, row[at] = row[at], before + 1 if word == other else max(row[at], row[at - 1])
    return 2 * row[-1] / (len(one) + len(two))


async def by_meaning(pairs: Sequence[PlannedAnswer], embedder: Embedder) -> list[float]:
    """One number for each pair. Raises `ModelError`."""
    if not pairs:
        return []
    vectors = await embedder.embed([text for pair in pairs for text in (pair.plan, pair.answer)])
    return [max(0.0, cosine(vectors[at], vectors[at + 1])) for at in range(0, len(vectors), 2)]
