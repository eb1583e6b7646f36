"""Requests that are sent again by clients that name neither a key nor a conversation: which turn they are.

A request with the same sender, history and tools as an earlier one that never got its answer is that request again: its
worker died, or the client gave up before the answer was there. It joins the turn of the first where that one is not
ended yet, or has changed something. Once an answer went out its request is done with: the next who says the same says
it anew, and so two people who begin with the same words have a conversation each.

As long as the first is being answered nobody can tell which of the two it is, and the second waits for the end of that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from circumspect.errors import ConversationBusy
from circumspect.hashing import digest
from circumspect.server.client_chats import ChatSender
from circumspect.server.services import Services
from circumspect.server.stores import client_chats
from circumspect.server.stores.client_chats import FormerRequest
from circumspect.values import ConversationId, JsonObject, TurnId

PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 0.2
DELIVERY_SECONDS = 2.0
"""So long an answer may take on its way out before it counts as one that reached nobody."""
ANSWER_SECONDS = 600.0
"""So long a request may be sent again after its turn ended."""


def identify(owner: Sequence[str], content: JsonObject, named: str | None) -> str:
    """The key of a request that came without one. A client's own have no blanks in them, so this is none of theirs."""
    return f"same {digest([list(owner), content, named])}"


async def find_unanswered(services: Services, sender: ChatSender, key: str) -> ConversationId | None:
    """Where the same request was begun and got no answer; None where this one is a new one. Raises
    `ConversationBusy` when the first is still being answered after a while."""
    loop = asyncio.get_running_loop()
    give_up, first = loop.time() + PATIENCE_SECONDS, None
    while True:
        found = await services.store.tx(client_chats.list_former, sender.tenant, sender.person, key)
        # Whoever comes later than this one is no reason to wait.
        first = {one.turn for one in found} if first is None else first
        former = [one for one in found if one.turn in first and _matters(one)]
        if same := next((one for one in former if not _is_under_way(one)), None):
            return same.conversation
        if not former:
            return None
        if loop.time() > give_up:
            raise ConversationBusy(
                "The same request is being answered.",
                fix="Send it again later, or name an Idempotency-Key or a conversation.",
            )
        await asyncio.sleep(PAUSE_SECONDS)


async def mark_answered(services: Services, key: str, turn: TurnId) -> None:
    await services.store.tx(client_chats.release_key, turn, key)


def _matters(former: FormerRequest) -> bool:
    """What has ended and changed nothing may as well be done anew."""
    return former.ended_ago is None or (former.changed and former.ended_ago < ANSWER_SECONDS)


def _is_under_way(former: FormerRequest) -> bool:
    return former.held if former.ended_ago is None else former.ended_ago < DELIVERY_SECONDS
