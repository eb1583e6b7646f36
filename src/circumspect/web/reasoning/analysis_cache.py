"""AnalysisCache: where the information for a request was found to be, kept for a while, in memory.

What is kept belongs to one person of one tenant, or to one conversation where nobody knows who speaks, and to exactly
what the model was shown: the words before it, the page, the documents and the prompt. Anything else is another request.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from cachetools import TTLCache

from circumspect.hashing import digest
from circumspect.values import Incoming, ModelRequest
from circumspect.web.reasoning.reasoned import ContextAnalysis

CONFIDENT = 0.6


def find_analysis_key(incoming: Incoming, request: ModelRequest) -> str:
    whose = ["person", incoming.person] if incoming.person else ["conversation", incoming.conversation]
    shown = [request.prompt_id, request.instructions, repr(request.messages), repr(request.blocks), request.language]
    return digest([incoming.tenant, whose, shown])


class AnalysisCache:
    def __init__(self, *, seconds: float = 600.0, most: int = 500, now: Callable[[], float] = time.monotonic) -> None:
        self._kept: TTLCache[str, ContextAnalysis] = TTLCache(most, seconds, timer=now)

    def __len__(self) -> int:
        self._kept.expire()
        return len(self._kept)

    def get(self, key: str) -> ContextAnalysis | None:
        return self._kept.get(key)

    def keep(self, key: str, analysis: ContextAnalysis) -> None:
        """Not one that the model was unsure of, or that had to be mended to be read."""
        if analysis.confidence >= CONFIDENT and not analysis.warnings:
            self._kept[key] = analysis
