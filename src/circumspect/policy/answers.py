"""Is a message a yes, a no, or something else?"""

from __future__ import annotations

import re
from collections.abc import Collection

from circumspect.turn import Answer

_YES = re.compile(r"(yes|yeah|yep|sure|ok|okay|confirm(ed)?|go ahead|כן|בטח|אישור|да|конечно|подтверждаю)\b", re.IGNORECASE)
_NO = re.compile(r"(no|nope|don'?t|stop|לא|אל|нет|не надо)\b", re.IGNORECASE)
_MORE = re.compile(r"\b(but|and also|if|instead|אבל|אם|но|если)\b|\?|[\"“«]", re.IGNORECASE)


def classify(text: str, *, values: Collection[str] = ()) -> Answer:
    said = text.strip()
    numbers = set(re.findall(r"\d+", said)) - set(values)
    if _MORE.search(said) or numbers or len(said.split()) > 12:
        return "other"
    if _YES.match(said):
        return "confirm"
    return "deny" if _NO.match(said) else "other"
