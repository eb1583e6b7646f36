"""Circumspect doing the work: an agent in adaptive mode with a model that answers at once, its database a file."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import cycle
from pathlib import Path

from bench.work import ANSWERS, APPROVED, ASKED, DONE, ORDER, PROPOSED, WISHED, Orders
from circumspect import Agent, tool
from circumspect.models.scripted import says
from circumspect.values import ModelReply, ModelRequest, ModelUsage

USAGE = ModelUsage("fake", 600, 120)
ANSWERED = cycle(ModelReply(says(one), USAGE) for one in ANSWERS)
PROPOSAL = ModelReply(says(PROPOSED, tool="cancel_order", params={"order_id": ORDER}, destructive=True), USAGE)
OPINION = ModelReply(
    json.dumps({"decision": "PROCEED", "reasoning": "Asked for in so many words.", "message": ""}), USAGE
)
PHRASED = ModelReply(DONE, USAGE)


class Quick:
    """The model port with no time in it."""

    name = "fake"

    async def complete(self, request: ModelRequest) -> ModelReply:
        match request.purpose:
            case "critique":
                return OPINION
            case "phrase":
                return PHRASED
        return PROPOSAL if request.messages[-1].text == WISHED else next(ANSWERED)

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        yield await self.complete(request)


class Circumspect:
    def __init__(self, folder: Path) -> None:
        self.orders = orders = Orders()

        @tool(effect="destructive")
        async def cancel_order(order_id: str) -> str:
            """Cancel an order."""
            return orders.cancel(order_id)

        self.agent = Agent(
            "support", tools=[cancel_order], model=Quick(), database=f"sqlite:///{folder / 'ours.db'}", mode="adaptive"
        )

    async def plain(self, conversation: str) -> str:
        return (await self.agent.turn(ASKED, conversation=conversation)).reply

    async def propose(self, conversation: str) -> None:
        turn = await self.agent.turn(WISHED, conversation=conversation)
        assert turn.outcome == "asked", turn

    async def approve(self, conversation: str) -> str:
        turn = await self.agent.turn(APPROVED, conversation=conversation)
        assert turn.outcome == "acted", turn
        return turn.reply

    async def close(self) -> None:
        await self.agent.close()


async def contestant(folder: Path) -> Circumspect:
    return Circumspect(folder)
