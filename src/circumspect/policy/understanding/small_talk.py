"""Is there nothing in this message but courtesy, agreement or a look back at the talk? Text -> what kind, or None.

Such a message needs no search and no analysis: what was said is enough to answer it. The one choice that may surprise:
every word must be known, as with a yes. "Thanks, and how much is it?" is a question, not thanks.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

from circumspect.language.phrases import BREAK
from circumspect.language.word_lists import as_matchable, patterns, pick_languages
from circumspect.values import Language

SmallTalk = Literal["thanks", "greeting", "bye", "acknowledged", "recap"]
KINDS: tuple[SmallTalk, ...] = get_args(SmallTalk)

LONGEST = 300
_SIGN = re.compile(r"[^\w\s]+")


def small_talk(text: str, language: Language) -> SmallTalk | None:
    """The first kind that occurs, where nothing else does."""
    if not text.strip() or len(text) > LONGEST:
        return None
    heard, found = as_matchable(text), list[tuple[int, SmallTalk]]()
    languages = pick_languages(text, language)
    left = heard
    for one in languages:
        lists = patterns("understanding", one)
        for kind in KINDS:
            first = lists[kind].search(heard)
            if first:
                found.append((first.start(), kind))
                left = lists[kind].sub(" ", left)
    for one in languages:
        left = patterns("understanding", one)["filler"].sub(" ", f" {' '.join(left.split())} ")
    rest = [word for word in left.split() if word != BREAK and not _SIGN.fullmatch(word)]
    if not found or rest:
        return None
    kinds = {kind for _, kind in found}
    asked = "?" in text and not kinds & {"recap", "greeting"}
    return None if asked else "recap" if "recap" in kinds else min(found)[1]
