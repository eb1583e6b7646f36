"""A shop for strangers to break: tools that remember what they did, a model that proposes what it is told to, whatever
the user said, and a store that fails, dies or loses its answer at a chosen call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.promises.reference import Effect

from circumspect import IdempotencyKey, tool
from circumspect.errors import StoreError
from circumspect.models.scripted import says
from circumspect.values import Json, ModelReply, ModelRequest, ModelUsage, ToolCall

POLICY = """
version: 1
tools:
  get_order: {effect: read}
  cancel_order: {effect: destructive, confirm: always}
  refund: {effect: destructive, confirm: always}
  wire: {effect: destructive, confirm: four_eyes}
"""
FAULTS = ("killed", "killed after", "cancelled", "away", "lost")


class Killed(BaseException):
    """The process is gone: nothing below may handle this, and the store answers nobody until it is started anew."""


@dataclass
class Faults:
    """One fault, at the n-th thing that a turn does with its store or its tools."""

    kind: str | None = None
    after: int = 0
    dead: bool = False
    fired: int = 0

    def arm(self, kind: str, after: int) -> None:
        self.kind, self.after = kind, after

    def disarm(self) -> None:
        self.kind, self.dead = None, False

    def due(self) -> str | None:
        if self.dead:
            raise Killed
        if self.kind is None:
            return None
        self.after -= 1
        if self.after >= 0:
            return None
        kind, self.kind, self.fired = self.kind, None, self.fired + 1
        return kind

    def die(self) -> None:
        self.dead = True
        raise Killed

    def wrap(self, tx: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def perhaps(body: Any, *args: Any, **kwargs: Any) -> Any:
            # Who asks, and what a tenant's file says, is looked up by the second: no fault there, it would not repeat.
            due = self.due() if not body.__module__.startswith("circumspect.server") else None
            if due == "killed":
                self.die()
            if due == "away":
                raise StoreError("The database is away.", fix="Wait.")
            if due == "cancelled" and (task := asyncio.current_task()):
                task.cancel()
            done = await tx(body, *args, **kwargs)
            if due == "killed after":
                self.die()
            if due == "lost":
                raise StoreError("The database did not answer.", fix="Wait.")
            return done

        return perhaps

    async def pass_by(self) -> None:
        """A point in a tool."""
        due = self.due()
        if due in ("killed", "killed after"):
            self.die()
        if due == "cancelled" and (task := asyncio.current_task()):
            task.cancel()
        await asyncio.sleep(0)


@dataclass
class BackEnd:
    """What really happened."""

    faults: Faults
    effects: list[Effect] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)

    async def do(self, tool: str, key: str, *, keyed: bool = False, **arguments: str) -> str:
        await self.faults.pass_by()
        if not (keyed and key in self.keys):
            self.keys.add(key)
            self.effects.append(Effect(tool, tuple((name, value) for name, value in arguments.items() if value)))
        await self.faults.pass_by()
        return "done"

    def tools(self) -> list[Any]:
        @tool(effect="read")
        async def get_order(order_id: str) -> dict[str, str]:
            """Look an order up."""
            return {"order_id": order_id, "status": "open"}

        @tool(effect="destructive", phrases={"en": "cancel order {order_id}"}, timeout=60)
        async def cancel_order(order_id: str, key: IdempotencyKey, reason: str = "") -> str:
            """Cancel an order."""
            return await self.do("cancel_order", key, order_id=order_id, reason=reason)

        @tool(
            effect="destructive", recovery="keyed", phrases={"en": "refund {amount} for order {order_id}"}, timeout=60
        )
        async def refund(order_id: str, amount: str, key: IdempotencyKey) -> str:
            """Pay money back."""
            return await self.do("refund", key, keyed=True, order_id=order_id, amount=amount)

        @tool(effect="destructive", phrases={"en": "wire {amount} to account {account}"}, timeout=60)
        async def wire(account: str, amount: str, key: IdempotencyKey) -> str:
            """Send money."""
            return await self.do("wire", key, account=account, amount=amount)

        return [get_order, cancel_order, refund, wire]


@dataclass
class HostileModel:
    """Proposes what the script says, one batch a draft; waves every critique through."""

    script: list[Sequence[ToolCall]] = field(default_factory=list)
    name: str = "hostile"

    async def complete(self, request: ModelRequest) -> ModelReply:
        await asyncio.sleep(0)
        if request.purpose == "critique":
            return self._say('{"decision": "PROCEED", "reasoning": ""}')
        if request.purpose != "draft" or not self.script:
            return self._say(says("All right."))
        batch = self.script.pop(0)
        if len(batch) == 1:
            (call,) = batch
            return self._say(says("", tool=call.tool, params=call.arguments), batch)
        return self._say(says("All right."), batch)

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        yield await self.complete(request)

    def _say(self, text: str, calls: Sequence[ToolCall] = ()) -> ModelReply:
        return ModelReply(text, ModelUsage(self.name), tuple(calls), "tool_calls" if calls else "stop")


def call(tool_: str, **arguments: Json) -> ToolCall:
    return ToolCall(tool_, arguments, f"call_{tool_}")


open_shops: dict[str, BackEnd] = {}


def make_tools(context: Any) -> list[Any]:
    """For a tenant's file: the tools of the shop that is open under this name."""
    return open_shops[str(context.options["shop"])].tools()
