"""A stage for one door: persons before their tabs, a conversation with strangers in it, faults, time. Every step ends
with the reference looking at what really happened."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal, TypeVar

from tests.promises.doors import Console, Door, Shown, Tab
from tests.promises.reference import Effect, Question, Reference
from tests.promises.shop import Killed
from tests.promises.site import STAFF, Site

from circumspect.errors import StoreError
from circumspect.server.sweeping import Sweeper
from circumspect.steps.sweep import sweep
from circumspect.values import Mode, ToolCall

T = TypeVar("T")
LOST = Shown(refused=True)
CONFIRMATION = timedelta(minutes=5)
APPROVAL = timedelta(days=7)


class Violation(AssertionError):
    """Something ran that nobody allowed, or somebody was told what is not theirs."""


@dataclass
class Tally:
    steps: int = 0
    yeses: int = 0
    effects: int = 0
    crashes: int = 0


@dataclass(frozen=True)
class Sent:
    """A message with its key, as it went out."""

    tab: Tab
    text: str
    key: str
    yes: bool = False
    seen: str | None = None
    history: Sequence[dict[str, str]] = ()
    """What stood before its sender when it was written; it goes out again with the same."""


@dataclass
class Play:
    site: Site
    door: Door
    tally: Tally
    reference: Reference = field(default_factory=Reference)
    tabs: list[Tab] = field(default_factory=list)
    before: dict[int, Question | None] = field(default_factory=dict)
    """The question that each tab displays, as the last thing in it."""
    asked: list[Question] = field(default_factory=list)
    turns: set[str | None] = field(default_factory=set)
    sent: list[Sent] = field(default_factory=list)
    looked: dict[str, tuple[str, Question]] = field(default_factory=dict)
    """What each operator has open: the hash that the page names, and what it displays."""

    async def open(self, people: Sequence[str | None], mode: Mode) -> None:
        """The first person begins; whoever comes after sits before the same conversation, as its owner or not."""
        owner = people[0]
        # What the last talk left in doubt is settled first: whose yes it was, is forgotten with that talk.
        self.site.clock.advance(minutes=3)
        await self._sweep_everywhere()
        conversation = await self.door.begin(owner, mode)
        self.site.model.script = []
        self.tabs = [Tab(person, conversation, mode) for person in people]
        self.owner = owner
        hello = await self.door.say(self.tabs[0], "hello", self._key())
        for tab in self.tabs:
            if tab.person == owner:
                self._display(tab, hello)
        del self.site.backend.effects[:]

    # --- what people do ---------------------------------------------------------------------------------------------

    async def say(
        self, at: int, text: str, proposed: Sequence[Sequence[ToolCall]], meant: Literal["yes", "no", ""] = ""
    ) -> None:
        """Type it. A yes or no is one to what this tab displays, and to nothing else."""
        tab = self._tab(at)
        question, crashes = self._displayed(tab), self.tally.crashes
        if meant == "yes":
            self._hear_yes(tab.person, question)
        await self._send(Sent(tab, text, self._key(), meant == "yes", tab.seen, tab.history), proposed)
        if meant == "no" and question and crashes == self.tally.crashes and question.asks == tab.person:
            self.reference.hear_no(question)

    async def say_again(self, which: int, by: int | None) -> None:
        """The same message with the same key, from its sender or from somebody who has got hold of the key."""
        if self.sent and self.door.keyed:
            first = self.sent[which % len(self.sent)]
            tab = first.tab if by is None else self._tab(by)
            if tab.person in STAFF:
                return  # the playground knows no keys
            if first.yes and tab.person != first.tab.person:
                self._hear_yes(tab.person, self._displayed(tab))  # with somebody else's key, but their own words
            same = tab is first.tab
            await self._send(first if same else replace(first, tab=tab, seen=tab.seen, history=tab.history), ())

    async def press(self, at: int, which: int, yes: bool) -> None:
        """A button of any question there ever was, pressed by anybody."""
        if not self.asked:
            return
        tab, question = self._tab(at), self.asked[which % len(self.asked)]
        if question.colleague and self.door.believes:
            return
        if yes and not question.colleague:
            self._hear_yes(tab.person, question)
        crashes, self.site.model.script = self.tally.crashes, []
        await self._receive(tab, self.door.press(tab, question.id, yes, self._key()))
        if not yes and question.asks == tab.person and crashes == self.tally.crashes:
            self.reference.hear_no(question)

    async def hurry(self, at: int, text: str, proposed: Sequence[Sequence[ToolCall]]) -> None:
        """A wish, and a yes before its question can have been read."""
        tab = self._tab(at)
        self.site.model.script = list(proposed)
        before = self._displayed(tab)
        wish = asyncio.ensure_future(self._guarded(self.door.say(tab, text, self._key()), LOST))
        await asyncio.sleep(0)
        self._hear_yes(tab.person, before)
        shown = await asyncio.gather(wish, self._guarded(self.door.say(tab, "yes", self._key()), LOST))
        for one in shown:
            self._display(tab, one)
        await self._end()

    async def answer_twice(self, at: int, other: int) -> None:
        """The same button from two places at once."""
        question = self._displayed(self._tab(at))
        if question is None or question.colleague:
            return
        tabs = (self._tab(at), self._tab(other))
        for tab in tabs:
            self._hear_yes(tab.person, question)
        self.site.model.script = []
        pressed = [self._guarded(self.door.press(tab, question.id, True, self._key()), LOST) for tab in tabs]
        for tab, one in zip(tabs, await asyncio.gather(*pressed), strict=True):
            self._display(tab, one)
        await self._end()

    # --- what operators do ------------------------------------------------------------------------------------------

    async def look(self, who: str, which: int) -> None:
        waiting = [one for one in self.asked if one.colleague]
        if waiting and isinstance(self.door, Console):
            question = waiting[which % len(waiting)]
            found = await self.door.look(who, question.id)
            if found:
                text = f"{found['tool'].replace('_', ' ')} {' '.join(map(str, found['arguments'].values()))}"
                seen = Question(question.id, text, None, question.until, True, question.hands)
                self.looked[who] = (found["hash"], seen)

    async def decide(self, who: str, verb: str, by_page: bool, amount: str) -> None:
        if who not in self.looked or not isinstance(self.door, Console):
            return
        hash_, question = self.looked[who]
        if verb == "approve":
            self._hear_yes(who, question)
        more = {"arguments": {"account": "777", "amount": amount}} if verb == "edit" else {}
        anew = await self._guarded(self.door.decide(who, question.id, verb, by_page, hash=hash_, **more), None)
        if anew:
            until = self.site.clock.now() + APPROVAL
            self.asked.append(Question(anew, "", None, until, True, question.hands | {who}))
        await self._end()

    # --- what happens to everybody ----------------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        self.tally.steps += 1
        self.site.clock.advance(seconds=seconds)

    def break_next(self, kind: str, after: int) -> None:
        self.tally.steps += 1
        self.site.faults.arm(kind, after)

    async def sweep(self) -> None:
        """What a worker does while nobody asks."""

        await self._guarded(self._sweep_everywhere(), None)
        await self._end()

    async def _sweep_everywhere(self) -> None:
        async with Sweeper(self.site.services) as sweeper:
            await asyncio.gather(*await sweeper.start_due())
        for agent in self.site.agents.values():
            ports = (await agent.open()).ports
            await sweep(agent.tenant.id, ports.tools, ports.store, ports.clock, ports.ids)

    # --- underneath -------------------------------------------------------------------------------------------------

    def _tab(self, at: int) -> Tab:
        return self.tabs[at % len(self.tabs)]

    def _key(self) -> str:
        return f"key-{next(self.site.numbers)}"

    def _displayed(self, tab: Tab) -> Question | None:
        return self.before.get(id(tab))

    def _hear_yes(self, who: str | None, question: Question | None) -> None:
        self.tally.yeses += self.reference.hear_yes(who, question, self.site.clock.now())

    async def _send(self, sent: Sent, proposed: Sequence[Sequence[ToolCall]]) -> None:
        self.site.model.script = list(proposed)
        self.sent.append(sent)
        sent.tab.seen, sent.tab.history = sent.seen, list(sent.history)
        await self._receive(sent.tab, self.door.say(sent.tab, sent.text, sent.key))

    async def _receive(self, tab: Tab, going: Awaitable[Shown]) -> None:
        shown = await self._guarded(going, LOST)
        self._display(tab, shown)
        await self._end()

    async def _guarded(self, going: Awaitable[T], otherwise: T) -> T:
        """Whatever breaks on the way, the person sees no answer."""
        try:
            return await asyncio.ensure_future(going)
        except (Killed, asyncio.CancelledError, StoreError):
            return otherwise
        except BaseExceptionGroup as group:
            if group.split((Killed, asyncio.CancelledError, StoreError))[1]:
                raise
            return otherwise

    def _display(self, tab: Tab, shown: Shown) -> None:
        if shown.refused:
            return  # an error is no reply: what stood there before still does
        again = shown.turn in self.turns
        self.turns.add(shown.turn)
        if self.door.knows_people and self.owner != tab.person and not self.door.apart:
            if self.owner is not None:
                raise Violation(f"{tab.person} was let into the conversation of {self.owner}")
            # Nobody's until somebody says their name with a message of their own.
            self.owner = self.owner if again else tab.person
        tab.seen = shown.turn or tab.seen
        question = None
        if shown.asks:
            question = next((one for one in self.asked if one.id == shown.asks), None)
            if question is None:
                until = self.site.clock.now() + (APPROVAL if shown.colleague else CONFIRMATION)
                hands = frozenset({tab.person} if tab.person else ())
                question = Question(shown.asks, shown.text, tab.person, until, shown.colleague, hands)
                self.asked.append(question)
        self.before[id(tab)] = question

    async def _end(self) -> None:
        crashed = self.site.faults.fired
        self.site.faults.fired = 0
        if self.site.faults.dead or crashed:
            await self.site.restart()
            self.tally.crashes += crashed
        self.tally.steps += 1
        ran: list[Effect] = self.site.backend.effects[:]
        self.tally.effects += len(ran)
        del self.site.backend.effects[:]
        for effect in ran:
            if problem := self.reference.judge(effect):
                raise Violation(problem)
        # After a crash a yes may still be carried out, once, by whoever picks the call up.
        if not crashed and not self._in_doubt:
            self.reference.forget_unused()
        self._in_doubt = bool(crashed or (self._in_doubt and self.reference.yeses))

    _in_doubt: bool = False

    def close(self) -> None:
        self.site.faults.disarm()


def describe(calls: Sequence[ToolCall]) -> str:
    return " and ".join(_describe(one) for one in calls) or "hello"


def _describe(call: ToolCall) -> str:
    given: dict[str, Any] = dict(call.arguments)
    match call.tool:
        case "cancel_order":
            said = f"cancel order {given['order_id']}"
            return f"{said}, the reason is: {given['reason']}" if given.get("reason") else said
        case "refund":
            return f"refund {given['amount']} for order {given['order_id']}"
        case _:
            return f"wire {given['amount']} to account {given['account']}"
