"""Words that only imply a destructive wish."""

from __future__ import annotations

import re

_WISH = re.compile(
    r"\b(don'?t (?:want|need)|no longer (?:want|need)|get rid of|remove|undo|refund)\b|לא רוצ|תסיר|תבטל|בטל|מחק|החזר|не хочу|не нужен|не нужна|убер|верн",
    re.IGNORECASE,
)


def implies_destruction(text: str) -> str | None:
    found = _WISH.search(text)
    return found[0] if found else None
