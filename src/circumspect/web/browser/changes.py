"""What differs between two snapshots of a page: (before, after) -> Changes.

Elements are matched by their stable id. What a page does by itself (a clock, a log, a cookie banner) is kept apart, so
that it is not taken for the effect of an action.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from circumspect.language.sentences import split_sentences
from circumspect.web.browser.addresses import same_place
from circumspect.web.browser.commit_clicks import around
from circumspect.web.browser.page_words import complains, has_common_word, is_wholly, mentions
from circumspect.web.page import Element, Page

_SELF_MOVING = frozenset(("timer", "marquee", "log", "progressbar", "meter"))
_SPEAKING = frozenset(("alert", "status", "alertdialog"))
ROWS = frozenset(("row", "listitem", "article"))
_DIGITS = re.compile(r"\d+")
_FEW_WORDS = 300
MESSAGE = 160
"""A line that is longer is no message about what was just done."""
_MANY = 3
"""So many elements coming or going at once are no accident."""


@dataclass(frozen=True)
class Changes:
    before: Page
    after: Page

    @cached_property
    def has_new_address(self) -> bool:
        """The address changed."""
        return not same_place(self.before.url, self.after.url)

    @cached_property
    def new_elements(self) -> tuple[Element, ...]:
        return tuple(one for one in self.after.elements if one.id not in self.before.by_id and not _by_itself(one))

    @cached_property
    def removed_elements(self) -> tuple[Element, ...]:
        return tuple(one for one in self.before.elements if one.id not in self.after.by_id and not _by_itself(one))

    @cached_property
    def changed_elements(self) -> tuple[tuple[Element, Element], ...]:
        """Elements that are in both, and not the same in both."""
        both = ((one, self.after.by_id.get(one.id)) for one in self.before.elements)
        changed = ((one, now) for one, now in both if now is not None and one != now and _steady(one) != _steady(now))
        return tuple((one, now) for one, now in changed if not _by_itself(one))

    @cached_property
    def new_lines(self) -> tuple[str, ...]:
        """What can be read now and could not be read before. Other digits alone are nothing new: clocks go."""
        return _lines_beyond(self.after, self.before)

    @cached_property
    def new_headlines(self) -> tuple[str, ...]:
        """The title and the headings that were not there before: many a page says there what came of a form."""
        title = (self.after.title,) if self.after.title != self.before.title else ()
        known = {one.name for one in self.before.elements if one.role == "heading"}
        return (*title, *(one.name for one in self.after.elements if one.role == "heading" and one.name not in known))

    @property
    def new_text(self) -> str:
        return " ".join(self.new_lines)

    @cached_property
    def is_empty(self) -> bool:
        """Nothing changed that a person would notice. A cursor that moved is not noticed."""
        return not (
            self.has_new_address
            or self.new_elements
            or self.removed_elements
            or any(_still(one) != _still(now) for one, now in self.changed_elements)
            or self.before.title != self.after.title
            or _without_digits(self.before.text) != _without_digits(self.after.text)
            or self.before.scroll != self.after.scroll
        )

    @cached_property
    def messages(self) -> tuple[Element, ...]:
        """What the page says now, in so many words, and did not say before."""
        return tuple(one for one in self.after.elements if one.role in _SPEAKING and self._is_new(one))

    def _is_new(self, message: Element) -> bool:
        was = self.before.by_id.get(message.id)
        return bool(text_of(message)) and (was is None or text_of(was) != text_of(message)) and not _by_itself(message)

    def find_after(self, element: str) -> Element | None:
        """The element as it is after: by its id, else the only one with its role and name."""
        was = self.before.by_id.get(element)
        if element in self.after.by_id or was is None:
            return self.after.by_id.get(element)
        alike = [one for one in self.after.elements if (one.role, one.name) == (was.role, was.name)]
        return alike[0] if len(alike) == 1 else None

    def describe_related(self, element: str) -> list[str]:
        """What changed and has to do with the element: in words. Anything else may have changed by itself."""
        return list(dict.fromkeys(self._find_related(element)))

    def _find_related(self, element: str) -> Iterator[str]:
        was = self.before.by_id.get(element)
        name = was.name if was else ""
        near = self._near(element)
        appeared, gone = (
            self._mine(element, self.new_elements, self.after),
            self._mine(element, self.removed_elements, self.before),
        )
        altered = [(old, now) for old, now in self.changed_elements if self._mine(element, (old,), self.before)]
        for one in appeared:
            if one.role in ("dialog", "alertdialog"):
                yield f'the {one.role} "{one.name}" opened'
            elif one.id in near or has_common_word(text_of(one), name):
                yield f"{_describe_element(one)} appeared"
        for one in gone:
            if one.id != element and (one.id in near or has_common_word(one.name, name)):
                yield f"{_describe_element(one)} is gone"
        for old, now in altered:
            # A field that was only emptied says nothing: what was in it may be lost.
            emptied = old.value and replace(old, value="") == _as_before(now, old) and not is_wholly("empties", name)
            if not emptied and (old.id == element or old.id in near or has_common_word(text_of(now), name)):
                yield f"{_describe_element(old)} changed"
        for line in (*(text_of(one) for one in self.messages), *self.new_lines):
            if mentions("turns over", name) or (
                len(line) < MESSAGE and (mentions("succeeded", line) or has_common_word(line, name))
            ):
                yield f'the page says "{line[:MESSAGE]}"'
        yield from (f'"{text}" is now on the page' for text in self._find_entered_text(near))
        if self.before.title != self.after.title:
            yield f'the page is now called "{self.after.title[:80]}"'
        for group, word in ((appeared, "appeared"), (gone, "are gone")):
            if len(group) >= _MANY:
                yield f"{len(group)} elements {word}"
        if self._is_reordered:
            yield "the same things are in another order"

    def _find_entered_text(self, near: frozenset[str]) -> Iterator[str]:
        """What a field beside the element held, and what can now be read elsewhere."""
        held = [one.value for one in self.before.elements if one.id in near and len(one.value) > 2]
        shown = [text_of(one) for one in self.new_elements] + list(self.new_lines)
        yield from (value for value in held if any(value in text for text in shown))

    @property
    def _is_reordered(self) -> bool:
        lines = [[" ".join(one.split()) for one in page.text.splitlines()] for page in (self.before, self.after)]
        ids = [[one.id for one in page.elements] for page in (self.before, self.after)]
        return any(old != new and sorted(old) == sorted(new) for old, new in (lines, ids))

    def _mine(self, element: str, changed: Iterable[Element], page: Page) -> list[Element]:
        """Without what is in another row than the element: what changed there is another row's."""
        was = self.before.by_id.get(element)
        row = row_of(was, self.before) if was else None
        if row is None:
            return list(changed)
        homes = ((one, one if one.role in ROWS else row_of(one, page)) for one in changed)
        return [one for one, home in homes if home is None or home.id == row.id]

    def _near(self, element: str) -> frozenset[str]:
        """Ids of what stands beside the element, before or after: in the same container, or next to it in the text."""
        near: set[str] = set()
        for page in (self.before, self.after):
            mine = page.by_id.get(element)
            at = self._place(element, page)
            if at is not None:
                near |= {one.id for one in page.elements[max(0, at - 2) : at + 3]}
            if mine is not None:
                home = {mine.inside, mine.form, mine.controls, mine.id} - {""}
                near |= {one.id for one in page.elements if one.id in home or home & {one.inside, one.form}}
                near |= {one.id for one in page.elements if any(other.id == element for other in around(one, page))}
        return frozenset(near)

    def _place(self, element: str, page: Page) -> int | None:
        """Where it stands; where it is gone, the place after what stood before it: something may have replaced it."""
        places = {one.id: place for place, one in enumerate(page.elements)}
        if element in places:
            return places[element]
        known = [one.id for one in self.before.elements]
        before = known[: known.index(element)] if element in known else []
        return next((places[one] + 1 for one in reversed(before) if one in places), None)


def row_of(element: Element, page: Page) -> Element | None:
    """The row or item of a list that it stands in."""
    return next((one for one in around(element, page) if one.role in ROWS), None)


def text_of(element: Element) -> str:
    """What a message says: the name, the description and the value of the element, whichever there are."""
    return " ".join(dict.fromkeys(part for part in (element.name, element.description, element.value) if part))


def problem_in(page: Page) -> str:
    """What an error page says, or nothing where it is none. Only its title and main heading count: any page may
    speak of errors."""
    if page.url.startswith("chrome-error:"):
        return page.text[:200] or "The page could not be reached."
    titles = [page.title.split(" · ")[0].split(" | ")[0], *(one.name for one in page.elements if one.role == "heading")]
    said = next((title for title in titles[:2] if is_wholly("error page", title)), "")
    if not said and len(page.text) < _FEW_WORDS and mentions("missing page", page.text):
        said = page.text
    if said or page.status >= 400:
        alerts = [text_of(one) for one in page.elements if one.role == "alert" and text_of(one)]
        return (alerts or [said or page.title or f"The server answered with {page.status}."])[0]
    return ""


def _as_before(now: Element, was: Element) -> Element:
    """As it is now, in the states that a script may set along with a value."""
    return replace(now, inside=was.inside, form=was.form, controls=was.controls, invalid=was.invalid)


def _steady(element: Element) -> Element:
    """As far as it can be seen on the element itself."""
    return replace(element, inside="", form="", controls="")


def _still(element: Element) -> Element:
    """Without the digits of its name: counters and clocks move by themselves."""
    return replace(_steady(element), name=_without_digits(element.name))


def _by_itself(element: Element) -> bool:
    text = text_of(element)
    return element.role in _SELF_MOVING or (mentions("background", text) and not complains(text))


def _lines_beyond(page: Page, other: Page) -> tuple[str, ...]:
    known = {_without_digits(one) for one in split_sentences(other.text)}
    said = (" ".join(one.split()) for one in split_sentences(page.text))
    return tuple(one for one in said if one and _without_digits(one) not in known)


def _without_digits(text: str) -> str:
    return _DIGITS.sub("0", " ".join(text.split()))


def _describe_element(element: Element) -> str:
    name = " ".join((element.name or element.value).split())[:60].replace('"', "'")
    return f'the {element.role} "{name}"' if name else f"the {element.role} {element.id}"
