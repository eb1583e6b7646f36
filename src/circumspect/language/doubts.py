"""Whether a reply says by itself that it may be wrong: text -> yes or no. The words are in `assessment.txt`."""

from __future__ import annotations

import re
from functools import cache

from circumspect.language.folding import fold_words
from circumspect.language.pack import join_words, packs


def admits_doubt(text: str) -> bool:
    return _doubts().search(fold_words(text)) is not None


@cache
def _doubts() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){join_words(one.assessment.doubt for one in packs())}(?!\w)")
