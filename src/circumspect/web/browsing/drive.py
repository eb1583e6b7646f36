"""drive: an address and a task -> steps in a real browser, until there is an answer or nobody to ask.

Each round is one `interact`: the page goes in, an action comes out, the browser carries it out, and the page as it is
then tells what came of it. Questions go to whoever `ask` is; None from there ends the drive.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from circumspect.journal import RulingEvent, find_events
from circumspect.reasons import ReasonCode
from circumspect.setup import TurnSetup
from circumspect.values import Language, ToolCall
from circumspect.web.browsing.interaction import Interaction, PageRequest, interact
from circumspect.web.page import Page

MOST_STEPS = 40
DriveEnd = Literal["done", "not_done", "needs_answer"]
_NOT_DONE = frozenset((ReasonCode.DENIED_BY_USER, ReasonCode.UNSUPPORTED_CLAIM))
_MOVING = frozenset(("scroll", "wait"))
"""What changes nothing on the page, and so leaves nothing undone."""


class ActionAttempt(Protocol):
    @property
    def error(self) -> str: ...


class Browser(Protocol):
    """A window: what `browser.chromium.Chromium` is."""

    async def goto(self, url: str) -> Page: ...

    async def snapshot(self) -> Page: ...

    async def perform(self, call: ToolCall, page: Page) -> ActionAttempt: ...


@dataclass(frozen=True, slots=True)
class DriveStep:
    """One round: the page, the words of the user if any, and what was decided about them."""

    number: int
    page: Page
    query: str
    interaction: Interaction
    in_vain: bool = False
    """The last action that was to change something on the page did not work."""

    @property
    def end(self) -> DriveEnd:
        """How the drive ended, if it ended with this step. An answer after a no, a claim that had to be taken back or
        an action that did not work is an answer, and the task is not done."""
        made = self.interaction
        if made.status == "needs_user_input" and made.result.outcome in ("asked", "answered"):
            return "needs_answer"
        undone = self.in_vain or not _NOT_DONE.isdisjoint(made.result.reason_codes)
        return "done" if made.status == "answer" and not undone else "not_done"

    @property
    def password_field(self) -> str:
        """Id of the field that wants a password, where that is what the question is about."""
        if ReasonCode.PASSWORD_FIELD not in self.interaction.result.reason_codes:
            return ""
        held = [*find_events(self.interaction.result.entries, RulingEvent)]
        return str(held[-1].arguments.get("element", "")) if held else ""


async def drive(
    browser: Browser,
    setup: TurnSetup,
    url: str,
    task: str,
    *,
    ask: Callable[[DriveStep], Awaitable[str | None]],
    watch: Callable[[DriveStep], Awaitable[None]],
    language: Language | None = None,
    most: int = MOST_STEPS,
) -> DriveStep:
    """The last step: its interaction is an answer, a question that nobody answered, or an action too many."""
    page, query, session, error = await browser.goto(url), task, None, ""
    number, in_vain, tool = 1, False, ""
    while True:
        asked = PageRequest(page, query=query, session=session, error=error, language=language)
        made = await interact(setup, asked)
        session, error = made.session, ""
        if made.verified and tool not in _MOVING:
            in_vain = not made.verified.success
        step = DriveStep(number, page, query, made, in_vain)
        await watch(step)
        if made.status == "answer" or number >= most:
            return step
        if made.action is None:
            reply = await ask(step)
            if reply is None:
                return step
            query = reply
        else:
            tool = made.action.call.tool
            query, error = "", (await browser.perform(made.action.call, page)).error
        page, number = await browser.snapshot(), number + 1
