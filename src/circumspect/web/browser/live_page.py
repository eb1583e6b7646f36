"""A page in a running browser -> Page, through a script that runs inside it.

Chromium's own accessibility tree was the other choice: it knows neither forms, required fields nor where things lead,
its ids do not outlive a reload, and an extension cannot read it. The tests hold our roles and names against it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from circumspect.web.browser.roles import FACTS
from circumspect.web.page import POPUP_ITEMS, Element, Page

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame
    from playwright.async_api import Page as Tab

T = TypeVar("T")
_LOOKS = 3
"""How often a frame is looked at that goes to another page while that is done."""
_STRINGS = ("name", "value", "description", "href", "type", "inside", "form", "method", "controls")
_STATES = ("expanded", "checked", "selected", "pressed")
_FLAGS = ("disabled", "required", "invalid")
_LONGEST = 2_000
_MOST = 10_000


_SOURCE = (resources.files(__package__) / "snapshot.js").read_text(encoding="utf-8")
SCRIPT: str = _SOURCE.replace("__FACTS__", json.dumps(FACTS))
"""A function for `evaluate`: with no argument it returns the document that `page_of` reads, with `{"find": id}` the
element of that id (or null)."""
_AS_TEXT = f"(options) => JSON.stringify(({SCRIPT})(options))"


def page_of(document: Mapping[str, object]) -> Page:
    """What a script said of a page. It ran among strangers: what has the wrong type is left out, not believed."""
    stored = document.get("elements")
    found = [_element(one) for one in stored[:_MOST] if isinstance(one, Mapping)] if isinstance(stored, list) else []
    scroll = document.get("scroll")
    across, down = scroll if isinstance(scroll, list) and len(scroll) == 2 else (0, 0)
    return Page(
        url=_text(document.get("url")),
        title=_text(document.get("title")),
        elements=tuple(one for one in found if one is not None),
        text=_text(document.get("text"), FACTS["most"]["text"]),
        dropped=_whole(document.get("dropped")),
        focused=_text(document.get("focused")),
        scroll=(_whole(across), _whole(down)),
        busy=document.get("busy") is True,
        status=_whole(document.get("status")),
    )


async def snapshot(page: Tab) -> Page:
    """What is on the screen now. Frames of other origins are read each by themselves and put in their place."""
    taken = replace(await _look_again(partial(_take_snapshot, page.main_frame, "")), url=page.url)
    for held in await _frames(page.main_frame, ""):
        if held.foreign:
            inner = await _unless_gone(page, partial(_take_snapshot, held.frame, held.path))
            taken = _with_frame(taken, inner, held.path) if inner else taken
    return taken


async def _take_snapshot(frame: Frame, path: str) -> Page:
    """As one text: Playwright takes seconds to carry a long list of objects across. What a page that meddles with our
    script returns instead is an empty page."""
    said = await frame.evaluate(_AS_TEXT, {"path": path})
    try:
        document = json.loads(said)
    except (TypeError, ValueError, RecursionError):
        document = None
    return page_of(document if isinstance(document, dict) else {})


async def locate(page: Tab, element: str) -> ElementHandle | None:
    """The element that a snapshot gave this id, where it is still on the page.

    Each frame is asked by itself, also those that one script could read: a handle works only in the frame it is from.
    """
    if (found := await _look_again(partial(_find, page.main_frame, element, ""))) is not None:
        return found
    for held in await _frames(page.main_frame, ""):
        found = await _unless_gone(page, partial(_find, held.frame, element, held.path))
        if found is not None:
            return found
    return None


async def _find(frame: Frame, element: str, path: str) -> ElementHandle | None:
    return (await frame.evaluate_handle(SCRIPT, {"find": element, "path": path, "alone": True})).as_element()


async def _look_again(look: Callable[[], Awaitable[T]]) -> T:
    """What `look` returns, also when what it looks at goes to another page meanwhile: then what is there next."""
    from playwright.async_api import Error

    for _ in range(_LOOKS - 1):
        with suppress(Error):
            return await look()
    return await look()


async def _unless_gone(page: Tab, look: Callable[[], Awaitable[T]]) -> T | None:
    """What `look` returns of a frame inside the page; None where that is gone, or goes on from page to page. What a
    page embeds may come and go as it likes, and the page can be read all the same."""
    from playwright.async_api import Error

    try:
        return await _look_again(look)
    except Error:
        if page.is_closed():
            raise
        return None


class _Held(NamedTuple):
    """A frame, the id of the element that shows it, and whether a script in its parent cannot enter it."""

    frame: Frame
    path: str
    foreign: bool


async def _frames(frame: Frame, path: str) -> list[_Held]:
    found: list[_Held] = []
    for child in frame.child_frames:
        held = await _unless_gone(frame.page, partial(_hold, child, frame, path))
        if held is not None and held.path:
            found += [held, *await _frames(child, held.path)]
    return found


async def _hold(child: Frame, frame: Frame, path: str) -> _Held:
    """The path is empty where nobody sees the frame."""
    holder = await child.frame_element()
    shown = await frame.evaluate(SCRIPT, {"of": holder, "path": path})
    return _Held(child, shown or "", bool(shown) and await child.evaluate("() => window.frameElement === null"))


def _with_frame(page: Page, inner: Page, path: str) -> Page:
    places = [place for place, one in enumerate(page.elements) if one.id == path]
    after = places[0] + 1 if places else len(page.elements)
    return replace(
        page,
        elements=page.elements[:after] + inner.elements + page.elements[after:],
        text=f"{page.text}\n{inner.text}".strip(),
        focused=inner.focused or page.focused,
        dropped=page.dropped + inner.dropped,
        busy=page.busy or inner.busy,
    )


def _element(said: Mapping[str, object]) -> Element | None:
    known, role = _text(said.get("id"), 64), _text(said.get("role"), 64)
    if not known or not role:
        return None
    options = said.get("options")
    rest: dict[str, Any] = {name: _text(said.get(name)) for name in _STRINGS}
    rest |= {name: said[name] for name in _STATES if isinstance(said.get(name), bool)}
    rest |= {name: said.get(name) is True for name in _FLAGS}
    if said.get("haspopup") in POPUP_ITEMS:
        rest["haspopup"] = said["haspopup"]
    if isinstance(options, list):
        rest["options"] = tuple(_text(one, 300) for one in options[:500])
    return Element(id=known, role=role, **rest)


def _text(said: object, most: int = _LONGEST) -> str:
    """Without halves of characters, which no store and no provider accepts."""
    return said[:most].encode("utf-8", "replace").decode("utf-8") if isinstance(said, str) else ""


def _whole(said: object) -> int:
    return int(said) if isinstance(said, int | float) and not isinstance(said, bool) and abs(said) < 1e9 else 0
