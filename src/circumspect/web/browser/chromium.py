"""A real Chromium, driven through Playwright: it opens pages, takes snapshots and performs the actions it is handed.

It decides nothing. What goes wrong in a page comes back as a sentence in `ChromiumAttempt`, never as a traceback: a
page is a stranger, and it may do anything. Windows that it opens with `alert` and `confirm` are answered with no and
shown in the next snapshot as alerts; downloads are refused; addresses of other kinds than `http` and `https` are not
opened, unless the first one was of that kind.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Self

from circumspect.errors import CircumspectError, ConfigError
from circumspect.values import ToolCall
from circumspect.web.browser.addresses import leads_nowhere, split, strip_secrets
from circumspect.web.browser.commit_clicks import is_holder
from circumspect.web.browser.page_problems import first_line, not_opened, sentence_of
from circumspect.web.browser.settling import MOST, Requests, wait_until_settled
from circumspect.web.page import Element, Page

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Dialog, ElementHandle, Playwright
    from playwright.async_api import Page as Tab

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
_FLAGS = ("--disable-gpu", "--disable-dev-shm-usage")
_WEB = frozenset(("http", "https"))
_ACTING = 3_000
_LOADING = 30_000
_LONGEST_WAIT = 10.0
_FROZEN = 10.0
"""Seconds after which a page that answers nothing is given up: a script of its own may never end."""
_KEYS = {"esc": "Escape", "return": "Enter", "numpadenter": "Enter", "space": "Space", " ": "Space", "up": "ArrowUp"}
_KEYS |= {"down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight", "del": "Delete", "ctrl": "Control"}
_KEYS |= {"cmd": "Meta", "command": "Meta", "option": "Alt", "pgdn": "PageDown", "pgup": "PageUp"}
_OFFERED = frozenset(("option", "menuitem", "menuitemradio", "treeitem", "gridcell"))
_DIGITS = re.compile(r"\d+")

# Scrolls the element, what scrolls around it, or the page, or, where the page itself never moves, its largest part.
_SCROLL = """
(element, way) => {
  const moves = (one) => one.scrollHeight > one.clientHeight + 1 &&
    (one === document.scrollingElement || /auto|scroll/.test(getComputedStyle(one).overflowY));
  let target = element;
  while (target && !moves(target)) target = target.parentElement;
  target ??= document.scrollingElement;
  if (!element && !moves(target)) {
    const inner = [...document.querySelectorAll("*")].filter(moves);
    target = inner.sort((one, other) => other.clientHeight * other.clientWidth - one.clientHeight * one.clientWidth)[0];
  }
  if (!target) return null;
  const before = target.scrollTop;
  target.scrollBy({ top: way * Math.max(100, Math.min(target.clientHeight, innerHeight) * 0.8), behavior: "instant" });
  return target.scrollTop !== before ? target : null;
}
"""
# What a click in the middle of an element would land on, where that is something else to be used inside it.
_HIT = """
(element) => {
  if (element.localName === "iframe") return "something inside it";
  element.scrollIntoViewIfNeeded();
  const box = element.getBoundingClientRect();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  let hit = document.elementFromPoint(x, y);
  for (let inner; (inner = hit?.shadowRoot?.elementFromPoint(x, y)) && inner !== hit; ) hit = inner;
  const used = "a[href],button,input,select,textarea,summary,label,iframe,[onclick],[tabindex],[role=button]," +
    "[role=link],[role=menuitem],[role=checkbox],[role=switch],[role=radio],[role=tab],[role=option]";
  const over = (one) => one.assignedSlot ?? one.parentElement ?? one.getRootNode().host;
  let found = "";
  for (let one = hit; one; one = over(one)) {
    if (one === element) return found;
    if (one.matches(used)) found = `"${(one.ariaLabel || one.innerText || one.localName).trim().slice(0, 80)}"`;
  }
  return "";
}
"""
_INNER_SCROLL = "one => one.isConnected && one !== document.scrollingElement ? Math.round(one.scrollTop) : 0"


class PageUnreachable(CircumspectError):
    """A page could not be opened. The sentence says why."""

    code = "page_unreachable"


@dataclass(frozen=True, slots=True)
class ChromiumAttempt:
    error: str = ""
    """Why the action could not be tried or finished; empty when it was. What it brought about, verification says."""


class Chromium:
    """One window. `Chromium.open` makes one and closes it."""

    def __init__(self, context: BrowserContext, tab: Tab, patience: float = MOST) -> None:
        self.patience = patience
        """How many seconds a page is given to come to rest."""
        self._tabs: list[Tab] = []
        self._requests = Requests(context)
        self._said: list[Element] = []
        self._alerts = count(1)
        self._schemes = set(_WEB)
        self._started = False
        self._rested: bool | None = None
        self._scrolled: ElementHandle | None = None
        self._watch(tab)
        context.on("page", self._watch)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, *, headed: bool = False, executable: str | None = None, patience: float = MOST
    ) -> AsyncIterator[Self]:
        try:
            from playwright.async_api import Error, async_playwright
        except ImportError:
            raise ConfigError(
                "Playwright is not installed, and pages are opened through it.",
                fix="Install it: pip install 'circumspect[browser]'.",
            ) from None
        async with async_playwright() as playwright:
            path = executable or find_chromium(playwright)
            try:
                browser = await playwright.chromium.launch(
                    executable_path=path,
                    headless=not headed,
                    args=list(_FLAGS),
                    # Chromium refuses to run sandboxed as root.
                    chromium_sandbox=not hasattr(os, "geteuid") or os.geteuid() != 0,
                )
            except Error as failure:
                raise ConfigError(
                    f"Chromium at {path} did not start: {first_line(failure)}",
                    fix="Set CHROMIUM to another one, or leave out --headed where there is no screen.",
                ) from None
            context = await browser.new_context(accept_downloads=False, viewport={"width": 1280, "height": 900})
            context.set_default_timeout(_ACTING)
            try:
                yield cls(context, await context.new_page(), patience)
            finally:
                await browser.close()

    @property
    def tab(self) -> Tab:
        """The one in front: the newest that is open."""
        if not self._tabs:
            raise PageUnreachable("The browser's window was closed.", fix="Start again.")
        return self._tabs[-1]

    async def goto(self, url: str) -> Page:
        """Open an address. The first one decides whether others than `http` and `https` may be opened later."""
        if not self._started:
            self._schemes.add(split(url).scheme.lower())
            self._started = True
        if refused := self._explain_refusal(url):
            raise PageUnreachable(refused, fix="Give an address that begins with https:// or http://.")
        if failed := await self._go(url):
            raise PageUnreachable(failed, fix="Check the address, and whether the page opens in another browser.")
        return await self.snapshot()

    async def settle(self) -> bool:
        """Wait until the page has come to rest; False when it did not in time."""
        front, rested = None, False
        while front is not self.tab:
            # A new tab may come to the front meanwhile.
            front = self.tab
            rested = await wait_until_settled(front, self._requests, self.patience)
        return rested

    async def snapshot(self) -> Page:
        """What is on the screen, once the page has come to rest."""
        from playwright.async_api import Error

        from circumspect.web.browser.live_page import snapshot

        for left in (2, 1, 0):
            # An action has just been waited for; another wait would only cost time.
            rested = await self.settle() if self._rested is None else self._rested
            self._rested, front = None, self.tab
            try:
                taken = await asyncio.wait_for(snapshot(front), _FROZEN)
                inner = await self._inner_scroll()
            except TimeoutError:
                raise PageUnreachable("The page does not react any more.", fix="Open another address.") from None
            except Error as failure:
                if front.is_closed() or left == 0:
                    raise PageUnreachable(f"The page could not be read: {first_line(failure)}") from None
                continue
            busy = taken.busy or (not rested and self._requests.under_way)
            across, down = taken.scroll
            return replace(taken, busy=busy, scroll=(across, down + inner), elements=(*self._said, *taken.elements))
        raise PageUnreachable("The page went on opening others and could not be read.")

    async def _inner_scroll(self) -> int:
        """How far the part of the page is scrolled that was scrolled last: it counts as the page's own way down."""
        from playwright.async_api import Error

        try:
            return int(await self._scrolled.evaluate(_INNER_SCROLL)) if self._scrolled else 0
        except Error:
            self._scrolled = None
            return 0

    async def perform(self, call: ToolCall, page: Page) -> ChromiumAttempt:
        """Try the action on the page as it was shown. Something else in its place is not touched."""
        from playwright.async_api import Error

        self._said.clear()
        try:
            error = await asyncio.wait_for(self._perform(call, page), _LOADING / 1000 + _FROZEN)
            self._rested = await self.settle()
        except Error as failure:
            error = sentence_of(failure)
        except TimeoutError:
            error = "The page does not react any more."
        except PageUnreachable as failure:
            error = failure.problem
        scheme = split(self.tab.url).scheme if self._tabs else ""
        if self._started and scheme not in {*self._schemes, "about", "chrome-error", ""}:
            with suppress(Error):
                await self.tab.go_back()
            error = error or f"The page tried to open an address of the kind {scheme}:, which is not allowed."
        return ChromiumAttempt(error)

    async def _perform(self, call: ToolCall, page: Page) -> str:
        said = {name: str(value) for name, value in call.arguments.items() if value is not None}
        handle: ElementHandle | None = None
        element = page.by_id.get(said.get("element", ""))
        if said.get("element"):
            found = await self._find_element(said["element"], element, exactly=call.tool == "submit")
            if isinstance(found, str):
                return found
            handle = found
        match call.tool:
            case "click" | "submit" | "type" | "select":
                if handle is None or element is None:
                    return f"A {call.tool} needs an element of the page."
                return await self._use(call.tool, handle, element, said)
            case "navigate":
                url = said.get("url", "")
                return self._explain_refusal(url) or await self._go(url)
            case "press":
                await (handle.press if handle else self.tab.keyboard.press)(_key(said.get("key", "")))
            case "scroll":
                return await self._scroll(handle, -1 if said.get("direction") == "up" else 1)
            case "wait":
                await asyncio.sleep(_seconds(said.get("seconds", "1")))
            case "done":
                pass
            case _:
                return f"{call.tool} is not an action on a page."
        return ""

    async def _scroll(self, handle: ElementHandle | None, way: int) -> str:
        script = _SCROLL if handle else f"way => ({_SCROLL})(null, way)"
        moved = await (handle.evaluate_handle(script, way) if handle else self.tab.evaluate_handle(script, way))
        self._scrolled = moved.as_element() or self._scrolled
        return "" if moved.as_element() else "It cannot be scrolled any further."

    async def fill_secret(self, element: str, secret: str) -> str:
        """Put a user's secret into a field without anyone else seeing it; the sentence says why that failed."""
        from playwright.async_api import Error

        from circumspect.web.browser.live_page import locate

        handle = await locate(self.tab, element)
        if handle is None:
            return f"The element {element} is not on the page any more."
        try:
            await handle.fill(secret)
        except Error:  # its text may hold what was typed
            return "The field did not take it."
        return ""

    async def _use(self, action: str, handle: ElementHandle, element: Element, said: Mapping[str, str]) -> str:
        match action:
            case "type" if await handle.get_attribute("readonly") is not None:
                return f'"{element.name}" can only be read.'
            case "type":
                await handle.fill(said.get("text", ""))
            case "select":
                return await self._select(handle, element, said.get("option", ""))
            case "submit" if said.get("key"):
                await handle.press(_key(said["key"]))
            case _:
                if not leads_nowhere(element.href) and (refused := self._explain_refusal(element.href)):
                    return refused
                if is_holder(element) and (hit := await handle.evaluate(_HIT)):
                    return f'A click on the {element.role} "{element.name}" would land on {hit}. Name that instead.'
                await self._click(handle)
        return ""

    async def _click(self, handle: ElementHandle) -> None:
        """A tab that a link opens is only there once its server has answered, so it is waited for."""
        from playwright.async_api import TimeoutError as TooSlow

        if not await handle.evaluate("one => one.closest('a')?.target === '_blank'"):
            await handle.click()
            return
        clicked = False
        try:
            async with self.tab.context.expect_page():
                await handle.click()
                clicked = True
        except TooSlow:
            # Where no tab came of the click, verification says so.
            if not clicked:
                raise

    async def _find_element(self, wanted: str, shown: Element | None, *, exactly: bool) -> ElementHandle | str:
        """The element, if it is still what was shown: a button that says something else by now is another button."""
        from circumspect.web.browser.live_page import locate, snapshot

        now = (await snapshot(self.tab)).by_id.get(wanted)
        handle = await locate(self.tab, wanted)
        if shown is None or now is None or handle is None:
            return f"The element {wanted} is not on the page any more."
        before, after = (name if exactly else _DIGITS.sub("0", name) for name in (shown.name, now.name))
        if (shown.role, before) != (now.role, after) or (exactly and shown.method != now.method):
            return f'The {shown.role} "{shown.name}" has changed: it is now the {now.role} "{now.name}".'
        if now.disabled:
            return f'The {now.role} "{now.name}" is disabled.'
        return handle

    async def _select(self, handle: ElementHandle, element: Element, option: str) -> str:
        if await handle.evaluate("one => one.localName === 'select'"):
            chosen = next((one for one in element.options if one.casefold() == option.casefold()), option)
            if element.options and chosen not in element.options:
                return f'"{element.name}" does not offer "{option}".'
            await handle.select_option(label=chosen)
            return ""
        if element.role != "listbox" and not element.expanded:
            await handle.click()
            await self.settle()
        return await self._choose(element, option)

    async def _choose(self, element: Element, option: str) -> str:
        """An option of a list that the page draws itself."""
        from circumspect.web.browser.live_page import locate, snapshot

        page = await snapshot(self.tab)
        offered = [one for one in page.elements if one.role in _OFFERED]
        owner = page.by_id.get(element.id, element)
        own = [one for one in offered if one.inside in (owner.controls, owner.id)] or offered
        chosen = next((one for one in own if one.name.casefold() == option.casefold()), None)
        handle = await locate(self.tab, chosen.id) if chosen else None
        if handle is None:
            return f'"{element.name}" does not offer "{option}".'
        await handle.click()
        return ""

    async def _go(self, url: str, again: bool = True) -> str:
        """Open an address; the sentence says why that failed."""
        from playwright.async_api import Error
        from playwright.async_api import TimeoutError as TooSlow

        try:
            await self.tab.goto(url, wait_until="domcontentloaded", timeout=_LOADING)
        except TooSlow:
            return f"{strip_secrets(url)} did not answer within {_LOADING // 1000} seconds."
        except Error as failure:
            if again and "chrome-error://" in str(failure):  # the page of an address that failed before came late
                return await self._go(url, again=False)
            return not_opened(url, failure)
        return ""

    def _explain_refusal(self, url: str) -> str:
        scheme = split(url).scheme.lower()
        if scheme in self._schemes:
            return ""
        if not scheme:
            return f"{strip_secrets(url) or 'Nothing'} is not a whole address: it begins with https:// or http://."
        return f"Addresses of the kind {scheme}: are not opened."

    def _watch(self, tab: Tab) -> None:
        self._tabs.append(tab)
        tab.on("dialog", self._answer)
        tab.on("download", lambda file: self._say(f"Error: a download was refused, {file.suggested_filename}."))
        tab.on("filechooser", lambda chooser: self._say("Error: no file can be chosen here."))
        tab.on("close", self._forget)

    def _forget(self, tab: Tab) -> None:
        self._tabs = [one for one in self._tabs if one is not tab]

    async def _answer(self, dialog: Dialog) -> None:
        """No, to whatever a page asks in a window of the browser's: nobody has seen the question."""
        asked = f'The page asked "{dialog.message}" and was answered with no.'
        self._say(dialog.message if dialog.type == "alert" else asked)
        await dialog.dismiss()

    def _say(self, text: str) -> None:
        self._said.append(Element(f"alert-{next(self._alerts)}", "alert", text[:300]))


def _key(name: str) -> str:
    return "+".join(_KEYS.get(key.lower(), key) for key in re.split(r"(?<=.)\+", name))


def find_chromium(playwright: Playwright | None = None) -> str:
    """CHROMIUM, else one that is installed, else the one that Playwright has downloaded."""
    installed = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    own = playwright.chromium.executable_path if playwright else ""
    if installed or (own and os.path.exists(own)):
        return installed or own
    raise ConfigError(
        "No Chromium was found.",
        fix="Install one (apt-get install chromium, or: playwright install chromium), or set CHROMIUM=/path/to/it.",
    )


def _seconds(said: str) -> float:
    try:
        return min(max(float(said), 0.0), _LONGEST_WAIT)
    except ValueError:
        return 1.0
