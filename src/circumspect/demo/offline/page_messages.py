"""What a page says of a deed: Screen -> the words that say it worked, or nothing.

Only where a page speaks to whoever has just done something: in a message, a heading, or a short text. A long text may
speak of anything.
"""

from __future__ import annotations

import re
from functools import cache

from circumspect.demo.offline.page_view import Screen
from circumspect.language.pack import packs
from circumspect.language.sentences import split_sentences
from circumspect.language.word_lists import as_matchable, as_written, compile_phrases

_SHORT_TEXT = 300
"""Letters."""


def find_confirmation(screen: Screen) -> str:
    messages = [one.name for one in screen.elements if one.role in ("alert", "status")]
    headings = [one.name for one in screen.elements if one.role == "heading"]
    text = split_sentences(screen.text) if len(screen.text) <= _SHORT_TEXT else []
    said = [one.strip() for one in (*messages, *headings, *text)]
    if any(_compile("failed").search(as_matchable(one)) for one in (screen.title, *messages, *headings)):
        return ""
    return next((one for one in said if one and _confirms(one)), "")


def _confirms(text: str) -> bool:
    said = as_matchable(text)
    return bool(_compile("succeeded").search(said)) and not _compile("failed").search(said)


@cache
def _compile(heading: str) -> re.Pattern[str]:
    return compile_phrases(tuple(as_written(line) for one in packs() for line in one.pages.says[heading]))
