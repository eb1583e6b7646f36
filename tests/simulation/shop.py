"""The other side: a shop whose orders are really cancelled, refunded and annotated, and a model that has been told what to say.

What was sent to the shop is done there whether or not the worker that sent it is still alive, now or much later, and
every effect is counted. The shop honours keys, can be asked about them, or neither, as its tools declare.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, get_args

from tests.simulation.loop import OUTSIDE
from tests.simulation.world import Effect, World

from circumspect.errors import ModelUnavailable, ToolError, ToolTimeout
from circumspect.models.scripted import calls
from circumspect.policy.keys.tool_policy import ToolPolicy
from circumspect.policy.policy_file import Policy
from circumspect.values import Json, ModelReply, ModelRequest, ModelUsage, Recovery, ToolSpec

WORDS = {
    "cancel_order": "Please cancel order {}.",
    "refund_order": "Please refund order {}.",
    "annotate_order": "Please annotate order {}.",
}
"""What a user says for each tool: the first wants their yes, the second a colleague's, the third nobody's."""
DONE = {"cancel_order": "cancelled", "refund_order": "refunded", "annotate_order": "annotated"}
RECOVERIES: tuple[Recovery, ...] = tuple(one for one in get_args(Recovery) if one != "local_tx")
POLICY = Policy(
    tools={
        "cancel_order": ToolPolicy(effect="destructive", confirm="always"),
        "refund_order": ToolPolicy(effect="destructive", confirm="four_eyes"),
        "annotate_order": ToolPolicy(effect="write", confirm="never"),
    }
)
_PARAMETERS = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
_SPECS: Mapping[Recovery, Mapping[str, ToolSpec]] = {
    recovery: {
        tool: ToolSpec(
            tool,
            f"{tool.partition('_')[0].capitalize()} an order.",
            _PARAMETERS,
            effect="write" if tool == "annotate_order" else "destructive",
            recovery=recovery,
            phrases={"en": f"{tool.partition('_')[0]} order {{order_id}}"},
        )
        for tool in WORDS
    }
    for recovery in RECOVERIES
}
_WISH = re.compile("|".join(words.format(r"(\d+)") for words in WORDS.values()))
_ORDER = re.compile(r"\d{5}")


class Shop:
    """A tenant's own system."""

    def __init__(self, world: World, tenant: str, recovery: Recovery) -> None:
        self.world, self.tenant, self.recovery = world, tenant, recovery
        self.specs = _SPECS[recovery]
        self.results: dict[str, Json] = {}

    def work(self, tool: str, order: str, key: str, answer: asyncio.Future[Json] | None, lost: bool) -> None:
        """What was sent arrives."""
        if self.recovery != "keyed" or key not in self.results:
            self.results[key] = {"order_id": order, "status": DONE[tool]}
            self.world.effects.append(Effect(self.tenant, tool, order, key, self.world.now))
            self.world.note(self.tenant, f"EFFECT {tool} {order} under {key}")
        if answer is None or answer.done():
            return
        if lost:
            answer.set_exception(ToolTimeout("The connection broke before the answer came."))
        else:
            answer.set_result(self.results[key])


class SimulatedTools:
    """The `Tools` port of one worker: the way to the shop, on which things get lost."""

    def __init__(self, shop: Shop, worker: Any) -> None:
        self.shop, self.worker, self.world = shop, worker, shop.world

    def specs(self) -> Mapping[str, ToolSpec]:
        return self.shop.specs

    async def call(self, name: str, arguments: Mapping[str, Json], key: str) -> Json:
        world, shop, order = self.world, self.shop, str(arguments["order_id"])
        world.note(self.worker.name, f"calls {name} {order} under {key}")
        await self.worker.take_chances()
        if world.happens("tool refuses"):
            world.note(self.worker.name, f"the shop refuses {name} {order}")
            raise ToolError("The order is locked.")
        answer: asyncio.Future[Json] | None = world.loop.create_future()
        delay, lost = world.draw_delay(0.5), world.happens("tool loses its answer")
        if world.happens("tool hangs"):
            delay, answer = world.draws.uniform(0.0, 150.0), None
        if answer or world.draws.random() < 0.5:
            world.loop.call_later(delay, shop.work, name, order, key, answer, lost, context=OUTSIDE)
        result = await (answer or world.loop.create_future())
        await self.worker.take_chances()
        return result

    async def lookup(self, name: str, arguments: Mapping[str, Json], key: str) -> Json | None:
        world = self.world
        await self.worker.take_chances()
        await world.wait(0.5)
        if world.happens("tool hangs"):
            await world.loop.create_future()
        if world.happens("tool refuses"):
            raise ToolError("No look-ups at the moment.")
        found = self.shop.results.get(key)
        world.note(self.worker.name, f"looks {key} up: {'found' if found else 'not found'}")
        return found


class SimulatedModel:
    """Proposes what the user wished for. A lying one says that it is done, and does nothing."""

    name = "simulated"

    def __init__(self, world: World, worker: Any) -> None:
        self.world, self.worker = world, worker

    async def complete(self, request: ModelRequest) -> ModelReply:
        world = self.world
        await self.worker.take_chances()
        await world.wait(30.0 if world.happens("model is slow") else 0.8)
        if world.happens("model fails"):
            world.note(self.worker.name, "the model fails")
            raise ModelUnavailable("The model did not answer.")
        lies = world.happens("model lies")
        if lies:
            world.note(self.worker.name, f"the model lies in its {request.purpose}")
        return _complete(request, lies)

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        yield await self.complete(request)


def _complete(request: ModelRequest, lies: bool) -> ModelReply:
    last = request.messages[-1]
    if request.purpose == "critique":
        return _say(json.dumps({"decision": "PROCEED", "reasoning": "", "message": ""}))
    order = next((hit[0] for one in reversed(request.messages) if (hit := _ORDER.search(one.text))), "12345")
    if lies:
        return _say(f"Order {order} has been cancelled.")
    if last.role == "user" and (hit := _WISH.search(last.text)):
        tool = tuple(WORDS)[(hit.lastindex or 1) - 1]
        return calls(tool, {"order_id": hit[hit.lastindex or 1]})
    if last.role == "tool" and not last.text.startswith("ERROR"):
        return _say(f"Order {order} is {DONE.get(last.tool, 'annotated')}.")
    return _say("" if request.purpose == "phrase" else "What can I do for you?")


def _say(text: str) -> ModelReply:
    return ModelReply(text, ModelUsage(SimulatedModel.name))
