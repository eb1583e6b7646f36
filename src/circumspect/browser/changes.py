"""What differs between two snapshots of a page: (before, after) -> Changes.

Elements are matched by their stable id. What a page does by itself (a clock, a log, a cookie banner) is kept apart, so
that it is not taken for the effect of an action.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from circumspect.browser.addresses import same_place
from circumspect.browser.committing import around
from circumspect.browser.words import content, is_wholly, mentions
from circumspect.page import Element, Page

_SELF_MOVING = frozenset(("timer", "marquee", "log", "progressbar", "meter"))
_SPEAKING = frozenset(("alert", "status", "alertdialog"))
_DIGITS = re.compile(r"\d+")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_MANY = 3
"""So many elements coming or going at once are no accident."""


@dataclass(frozen=True)
class Changes:
    before: Page
    after: Page

    @cached_property
    def moved(self) -> bool:
        """The address changed."""
        return not same_place(self.before.url, self.after.url)

    @cached_property
    def appeared(self) -> tuple[Element, ...]:
        return tuple(one for one in self.after.elements if one.id not in self.before.by_id and not _by_itself(one))

    @cached_property
    def gone(self) -> tuple[Element, ...]:
        return tuple(one for one in self.before.elements if one.id not in self.after.by_id and not _by_itself(one))

    @cached_property
    def altered(self) -> tuple[tuple[Element, Element], ...]:
        """Elements that are in both, and not the same in both."""
        both = ((one, self.after.by_id.get(one.id)) for one in self.before.elements if not _by_itself(one))
        return tuple((one, now) for one, now in both if now is not None and _steady(one) != _steady(now))

    @cached_property
    def new_text(self) -> str:
        """What can be read now and could not be read before."""
        known = {" ".join(one.split()) for one in _SENTENCE.split(self.before.text)}
        said = (" ".join(one.split()) for one in _SENTENCE.split(self.after.text))
        return " ".join(one for one in said if one and one not in known)

    @cached_property
    def nothing(self) -> bool:
        """Nothing changed that a person would notice. A cursor that moved is not noticed."""
        return not (
            self.moved
            or self.appeared
            or self.gone
            or any(_still(one) != _still(now) for one, now in self.altered)
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

    def now(self, element: str) -> Element | None:
        """The element as it is after: by its id, else the only one with its role and name."""
        was = self.before.by_id.get(element)
        if element in self.after.by_id or was is None:
            return self.after.by_id.get(element)
        alike = [one for one in self.after.elements if (one.role, one.name) == (was.role, was.name)]
        return alike[0] if len(alike) == 1 else None

    def related(self, element: str) -> list[str]:
        """What changed and has to do with the element: in words. Anything else may have changed by itself."""
        return list(dict.fromkeys(self._related(element)))

    def _related(self, element: str) -> Iterator[str]:
        was = self.before.by_id.get(element)
        mine = content(was.name) if was else frozenset()
        near = self._near(element)
        for one in self.appeared:
            if one.role in ("dialog", "alertdialog"):
                yield f'the {one.role} "{one.name}" opened'
            elif one.id in near or content(text_of(one)) & mine:
                yield f"{_told(one)} appeared"
        for one in self.gone:
            if one.id != element and (one.id in near or content(one.name) & mine):
                yield f"{_told(one)} is gone"
        for one, now in self.altered:
            if one.id == element or one.id in near or content(text_of(now)) & mine:
                yield f"{_told(one)} changed"
        for one in self.messages:
            if mentions("succeeded", text_of(one)) or content(text_of(one)) & mine:
                yield f'the page says "{text_of(one)[:120]}"'
        if self.before.title != self.after.title:
            yield f'the page is now called "{self.after.title[:80]}"'
        if mine & content(self.new_text):
            yield f'the page says "{self.new_text[:120]}"'
        for group, word in ((self.appeared, "appeared"), (self.gone, "are gone")):
            if len(group) >= _MANY:
                yield f"{len(group)} elements {word}"

    def _near(self, element: str) -> frozenset[str]:
        """Ids of what stands beside the element, before or after: in the same container, or next to it in the text."""
        near: set[str] = set()
        for page in (self.before, self.after):
            at = next((place for place, one in enumerate(page.elements) if one.id == element), None)
            if at is None:
                continue
            mine = page.elements[at]
            home = {mine.inside, mine.form, mine.controls, mine.id} - {""}
            near |= {one.id for one in page.elements if one.id in home or home & {one.inside, one.form}}
            near |= {one.id for one in page.elements[max(0, at - 2) : at + 3]}
            near |= {one.id for one in page.elements if any(other.id == element for other in around(one, page))}
        return frozenset(near)


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
    if said or page.status >= 400:
        alerts = [text_of(one) for one in page.elements if one.role == "alert" and text_of(one)]
        return (alerts or [said or page.title or f"The server answered with {page.status}."])[0]
    return ""


def _steady(element: Element) -> Element:
    """As far as it can be seen on the element itself."""
    return replace(element, inside="", form="", controls="")


def _still(element: Element) -> Element:
    """Without the digits of its name: counters and clocks move by themselves."""
    return replace(_steady(element), name=_without_digits(element.name))


def _by_itself(element: Element) -> bool:
    return element.role in _SELF_MOVING or (element.role != "button" and mentions("background", text_of(element)))


def _without_digits(text: str) -> str:
    return _DIGITS.sub("0", " ".join(text.split()))


def _told(element: Element) -> str:
    name = " ".join((element.name or element.value).split())[:60].replace('"', "'")
    return f'the {element.role} "{name}"' if name else f"the {element.role} {element.id}"
