"""What a conversation left behind, read from the store: what the reply alone does not show. And how tests are counted.

`chat` is the `Conversation` of the common fixtures.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from circumspect.ports import OutboxItem
from circumspect.stores import EscalationRow, SqlStore, UsageRow
from circumspect.values import Intent, Message, ModelReply, ModelRequest, ModelUsage

META = "test_the_list_is_complete"


def counted(module: Mapping[str, Any]) -> dict[str, int]:
    """Test functions by class; those outside of any class under ''. Variants of a parametrised test count once."""
    found = {"": len([name for name in module if name.startswith("test_") and name != META])}
    for name, kind in module.items():
        if name.startswith("Test") and inspect.isclass(kind):
            found[name] = len([method for method in vars(kind) if method.startswith("test_")])
    return {name: count for name, count in found.items() if count}


async def store_of(chat: Any) -> SqlStore:
    store = (await chat.agent.open()).ports.store
    assert isinstance(store, SqlStore)
    return store


async def thoughts(chat: Any, kind: str | None = None) -> list[Message]:
    """The internal messages of the conversation, oldest first."""
    found = await chat.messages(internal=True)
    return [message for message in found if message.role == "internal" and kind in (None, message.kind)]


async def intents(chat: Any) -> Sequence[Intent]:
    return await (await store_of(chat)).intents(chat.agent.tenant.id, chat.name)


async def usage(chat: Any) -> Sequence[UsageRow]:
    return await (await store_of(chat)).usage(chat.agent.tenant.id)


async def escalations(chat: Any) -> Sequence[EscalationRow]:
    return await (await store_of(chat)).escalations(chat.agent.tenant.id)


async def notifications(chat: Any) -> Sequence[OutboxItem]:
    store = await store_of(chat)
    return await store.claim_outbox("a-reader", 60, 100)


def requests(chat: Any) -> list[ModelRequest]:
    """What the scripted model was asked, in order."""
    found: list[ModelRequest] = chat.agent.model.requests
    return found


def purposes(chat: Any) -> list[str]:
    return [request.purpose for request in requests(chat)]


def opinion(decision: str, reasoning: str = "as the checks say", message: str = "") -> str:
    """A critique as a model writes it."""
    return json.dumps({"decision": decision, "reasoning": reasoning, "message": message})


def counting(reply: str | ModelReply, tokens_in: int, tokens_out: int, cost: float = 0.0) -> ModelReply:
    """The reply with the usage a provider would report for it."""
    spent = ModelUsage("counted", tokens_in, tokens_out, cost_usd=cost)
    if isinstance(reply, str):
        return ModelReply(reply, spent)
    return ModelReply(reply.text, spent, reply.calls, reply.finish)
