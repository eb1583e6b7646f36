"""When a page has come to rest: no requests under way, nothing being written into it, nothing that says it is busy.

A page need never come to rest (a clock, a stream), so the wait is bounded, and what is not quiet by then is busy.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Request, Response
    from playwright.async_api import Page as Tab

QUIET = 0.2
LOOKS = 4
"""So often must have been looked since something was written: a page that gets no time writes nothing either."""
MOST = 5.0
UNREAD = 0.5
"""A script that looks only at the status never reads the answer, which then never ends: it is given this long."""
_ENDLESS = frozenset(("eventsource", "websocket", "media", "ping", "manifest"))
"""Requests that are open for as long as the page is, or of which nobody sees the answer."""

# Attributes that animations write ("style", "class") are not looked at: they never stop.
_REST = """
([quiet, enough, most]) => new Promise((resolve) => {
  const started = performance.now();
  let last = started, looks = 0;
  const told = ["hidden", "open", "disabled", "value", "aria-busy", "aria-expanded", "aria-hidden", "aria-selected",
                "aria-checked", "aria-pressed", "aria-invalid", "aria-current"];
  const watch = new MutationObserver(() => { last = performance.now(); looks = 0; });
  watch.observe(document, { subtree: true, childList: true, characterData: true, attributes: true,
                            attributeFilter: told });
  const look = () => {
    const now = performance.now();
    const busy = document.readyState === "loading" || document.querySelector("[aria-busy=true]") !== null;
    const rested = now - last >= quiet && looks >= enough && !busy;
    looks += 1;
    if (rested || now - started > most) { watch.disconnect(); resolve(rested); } else setTimeout(look, 25);
  };
  look();
})
"""


class Requests:
    """What the tabs of a window have asked for and not yet got. A tab that is about to open counts already."""

    def __init__(self, window: BrowserContext) -> None:
        self._open: dict[Request, float] = {}
        self.asked = 0
        window.on("request", self._start)
        window.on("response", self._mark_answered)
        window.on("requestfinished", self._end)
        window.on("requestfailed", self._end)

    def _start(self, request: Request) -> None:
        if request.resource_type not in _ENDLESS:
            self.asked += 1
            self._open[request] = math.inf

    def _mark_answered(self, response: Response) -> None:
        if response.request in self._open:
            self._open[response.request] = time.monotonic() + UNREAD

    def _end(self, request: Request) -> None:
        self._open.pop(request, None)

    @property
    def under_way(self) -> bool:
        return any(until > time.monotonic() for until in self._open.values())


async def wait_until_settled(tab: Tab, requests: Requests, most: float = MOST) -> bool:
    """Wait for the page to come to rest; False when it did not in time."""
    from playwright.async_api import Error

    until = time.monotonic() + most
    while (left := until - time.monotonic()) > 0:
        asked = requests.asked
        try:
            await tab.wait_for_load_state("domcontentloaded", timeout=left * 1000)
            rested = await asyncio.wait_for(tab.evaluate(_REST, [QUIET * 1000, LOOKS, left * 1000]), left + 1)
        except (Error, TimeoutError):
            # The page went away under the script: the next one is waited for.
            if tab.is_closed():
                return False
            await asyncio.sleep(0.05)
            continue
        if rested and not requests.under_way and requests.asked == asked:
            return True
        await asyncio.sleep(0.05)
    return False
