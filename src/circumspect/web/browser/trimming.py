"""A long page -> the part that matters for what was asked, in the order it stands on the page.

What the page says of itself comes before what was asked: an open dialog, menu or list must be dealt with, and a message
must be read, whatever the query. Then come the elements whose words the query has, rare words first (in a table of five
hundred rows with an "Open" each, it is the name that tells), then forms, then what can be pressed, then the rest.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from circumspect.web.page import Element, Page

READ = 2_000
"""How many characters of the page's text the model reads (`Page.listing`)."""
_WORD = re.compile(r"\w+")
_STEM = 4
_DIALOGS = ("dialog", "alertdialog")
_MESSAGES = ("alert", "status")
_POPUPS = ("menu", "listbox", "tree", "grid", "treegrid")
_FIELDS = ("textbox", "searchbox", "combobox", "checkbox", "radio", "switch", "slider", "spinbutton", "form", "search")
_PRESSED = ("button", "tab", "heading", "menuitem", "switch")


def trim_page(page: Page, query: str, most: int = 200) -> Page:
    """At most so many elements; what an element is inside of stays with it. `dropped` counts the rest."""
    text = _relevant(page.text, query)
    if len(page.elements) <= most:
        return replace(page, text=text)
    scores = _scores(page, query)
    ranked = sorted(
        enumerate(page.elements), key=lambda pair: (_rank(pair[1], page, scores), -scores[pair[1].id], pair[0])
    )
    kept: set[str] = set()
    for _, element in ranked:
        needed = {element.id, *_around(element, page)} - kept
        if len(kept) + len(needed) <= most:
            kept |= needed
        if len(kept) == most:
            break
    chosen = tuple(one for one in page.elements if one.id in kept)
    return replace(page, elements=chosen, text=text, dropped=page.dropped + len(page.elements) - len(chosen))


def _rank(element: Element, page: Page, scores: Mapping[str, float]) -> int:
    around = [page.by_id[one].role for one in _around(element, page)]
    if element.id == page.focused or element.role in (*_DIALOGS, *_MESSAGES) or element.invalid:
        return 0
    if any(role in _DIALOGS for role in around) or element.expanded:
        return 1
    if element.role in _POPUPS or any(role in _POPUPS for role in around):
        return 2
    if scores[element.id] > 0:
        return 3
    if element.role in _FIELDS or (element.form and element.type == "submit"):
        return 4 if element.required or element.role in ("form", "search") else 5
    return 6 if element.role in _PRESSED else 7


def _around(element: Element, page: Page) -> list[str]:
    """What it is inside of, the nearest first."""
    found: list[str] = []
    inside = element.inside
    while inside in page.by_id and inside not in found:
        found.append(inside)
        inside = page.by_id[inside].inside
    return found


def _scores(page: Page, query: str) -> dict[str, float]:
    """How much of the query each element has; one in a row has what its row has, too."""
    wanted = _stems([query])
    said = {one.id: _stems([one.name, one.value, one.description, *one.options]) for one in page.elements}
    often = Counter(stem for stems in said.values() for stem in stems & wanted)
    weights = {stem: math.log(1 + len(said) / count) for stem, count in often.items()}
    scores: dict[str, float] = {}
    for one in page.elements:
        shared = set(said[one.id])
        if one.inside in page.by_id and page.by_id[one.inside].role == "row":
            shared |= said[one.inside]
        scores[one.id] = sum(weights[stem] for stem in shared & wanted)
    return scores


def _stems(texts: Iterable[str]) -> set[str]:
    """Words, and their beginnings too: `patients` finds `patient` in every language that bends its words' ends, and the
    very word counts twice."""
    words = {word for text in texts for word in _WORD.findall(text.casefold()) if len(word) > 1}
    return words | {word[:_STEM] for word in words}


def _relevant(text: str, query: str) -> str:
    """The lines that share words with the query first, when not all can be read; in their order, with what is left out
    marked."""
    if len(text) <= READ:
        return text
    wanted = _stems([query])
    lines = text.split("\n")
    ranked = sorted(range(len(lines)), key=lambda place: (-len(_stems([lines[place]]) & wanted), place))
    kept: set[int] = set()
    left = READ
    for place in ranked:
        left -= len(lines[place]) + 3
        if left < 0:
            break
        kept.add(place)
    if not kept:
        return text[:READ]
    said = (lines[place] if place in kept else "…" for place in range(len(lines)))
    return "\n".join(line for line, before in _pairs(said) if line != "…" or before != "…")


def _pairs(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    before = ""
    for line in lines:
        yield line, before
        before = line
