"""A search query as a model wrote it -> as it may be sent, and -> what tells it from another.

The one choice that may surprise: addresses and long numbers are taken out without a word. They are somebody's, and no
search engine finds a procedure by them.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 200
_PRIVATE = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<!\w)\+?\d(?:[\s().-]?\d){6,}(?!\w)")
_WORD = re.compile(r"\w+")


def remove_private_data(query: str) -> str:
    """Empty where nothing is left to search for."""
    kept = " ".join(_PRIVATE.sub(" ", query).split())[:LONGEST].strip()
    return kept if _WORD.search(kept) else ""


def normalise_query(query: str) -> tuple[str, ...]:
    """Neither capitals, signs nor the order of the words make another query."""
    return tuple(sorted(set(_WORD.findall(unicodedata.normalize("NFKC", query).casefold()))))
