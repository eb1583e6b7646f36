"""Users who want something done, and the colleague who approves: they send, wait, send again, and are told things.

A message has a key and is sent with it until it is answered. Whoever is asked says yes or no; whoever reads that nothing
was done asks again. So an order is to be changed at most once, and only after somebody agreed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from tests.simulation.shop import WORDS
from tests.simulation.statements import read_statements
from tests.simulation.workers import Worker
from tests.simulation.world import CALM_AFTER, Told, World

from circumspect.errors import CircumspectError
from circumspect.values import (
    ConversationId,
    Errand,
    Incoming,
    OutsideCall,
    PersonDecision,
    TenantId,
    ToolCall,
    TurnId,
    TurnResult,
)

Door = Literal["words", "gate"]
MESSAGES = 6
"""How many messages a user spends on one wish."""
GIVE_UP = CALM_AFTER + 1800.0
PATIENCE = (2.0, 100.0)


@dataclass(frozen=True)
class Wish:
    tool: str
    order: str
    door: Door
    agrees: bool

    @property
    def call(self) -> ToolCall:
        return ToolCall(self.tool, {"order_id": self.order})


@dataclass
class User:
    world: World
    workers: list[Worker]
    tenant: str
    conversation: str
    wishes: list[Wish]
    has_pressed_twice: bool = False

    async def talk(self) -> None:
        for wish in self.wishes:
            await self.pursue(wish)

    async def pursue(self, wish: Wish) -> None:
        wanted: tuple[str, Errand | None] = (WORDS[wish.tool].format(wish.order), None)
        if wish.door == "gate":
            wanted = ("", OutsideCall(wish.call, can_ask=True))
        said = wanted
        self.world.spoken_of.add((self.conversation, wish.order))
        if wish.tool == "annotate_order":
            self.agree(wish)
        for _ in range(MESSAGES):
            answer = await self.send(said, wish)
            if answer is None:
                return
            if answer.pending and answer.pending.call.hash == wish.call.hash:
                said = self.decide(wish, answer)
            elif self.asks_again(wish, answer):
                said = wanted
            else:
                return
            await self.world.wait(3.0)

    def decide(self, wish: Wish, asked: TurnResult) -> tuple[str, Errand | None]:
        pending = asked.pending
        assert pending is not None
        if wish.agrees:
            self.agree(wish)
        if pending.kind == "approval":
            return "", PersonDecision(pending.id, "approve" if wish.agrees else "deny", "dana")
        if wish.door == "gate" or self.world.draws.random() < 0.3:
            return "", PersonDecision(pending.id, "approve" if wish.agrees else "deny", "user")
        return "yes" if wish.agrees else "no", None

    def asks_again(self, wish: Wish, answer: TurnResult) -> bool:
        """Whoever pressed a button twice has two answers, of which one may say that it is done."""
        unmet = answer.pending is not None or answer.outcome == "failed"
        return unmet and wish.agrees and not self.has_pressed_twice and not _reads_done(answer, wish)

    def agree(self, wish: Wish) -> None:
        self.world.consents.setdefault((wish.tool, wish.order), self.world.now)

    async def send(self, said: tuple[str, Errand | None], wish: Wish) -> TurnResult | None:
        """The same message until it is answered."""
        world, key = self.world, self.world.new("key")
        world.note(self.conversation, f"{said[0] or said[1]} [{key}]")
        if isinstance(said[1], PersonDecision) and world.happens("button is pressed twice"):
            world.note(self.conversation, "button is pressed twice")
            self.deliver(said, world.new("key")).add_done_callback(partial(self.overhear, wish))
            self.has_pressed_twice = True
        while world.now < GIVE_UP:
            sent = self.deliver(said, key)
            if world.happens("message comes twice"):
                world.note(self.conversation, f"{key} comes twice")
                self.deliver(said, key).add_done_callback(partial(self.overhear, wish))
            await asyncio.wait([sent], timeout=world.draws.uniform(*PATIENCE))
            if sent.done() and _is_answer(sent) and not world.happens("answer gets lost"):
                answer: TurnResult = sent.result()
                self.hear(answer, wish)
                return answer
            await world.wait(5.0)
        world.given_up.append(f"{self.conversation}: {said} [{key}]")
        return None

    def deliver(self, said: tuple[str, Errand | None], key: str) -> asyncio.Future[Any]:
        world, (text, errand) = self.world, said
        live = [one for one in self.workers if one.alive] or self.workers
        worker = world.draws.choice(live)
        incoming = Incoming(
            TenantId(self.tenant), ConversationId(self.conversation), TurnId(world.new("turn")), text,
            worker.clock.now(), key=key, errand=errand,
        )  # fmt: skip
        return worker.answer(incoming)

    def overhear(self, wish: Wish, sent: asyncio.Future[Any]) -> None:
        """In another window, whenever it comes there."""
        if _is_answer(sent):
            self.hear(sent.result(), wish)

    def hear(self, answer: TurnResult, wish: Wish) -> None:
        if any(one.turn == answer.turn and one.text == answer.reply for one in self.world.told):
            return  # said again to whoever sent the message again, and judged when it was first said
        told = Told(
            self.conversation, answer.turn, wish.order, answer.reply, answer.reason_codes, self.world.now,
            self.has_pressed_twice,
        )  # fmt: skip
        self.world.told.append(told)
        self.world.note(self.conversation, f"is told ({answer.outcome}): {answer.reply}")


def _reads_done(answer: TurnResult, wish: Wish) -> bool:
    said = read_statements(answer.reply, wish.order)
    return any(one.kind == "done" and one.order == wish.order for one in said)


def _is_answer(sent: asyncio.Future[Any]) -> bool:
    """What the server answers with 409 or 503 is none: the same message is to come again."""
    problem = sent.exception()
    if problem is None:
        return not sent.result().lost
    if isinstance(problem, ConnectionError | CircumspectError):
        return False
    raise problem
