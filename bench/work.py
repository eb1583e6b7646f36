"""The work every contestant does: the same words in, the same tool, the same words out.

A plain turn is a question and an answer. A guarded action is a wish, a held call that is on disk before anybody sees
it, an approval that finds it there, the call itself, and a reply. The order's number is all that the tool is given.
"""

from __future__ import annotations

from typing import Protocol

INSTRUCTIONS = "You are the support assistant of a small shop. Answer briefly. Cancel an order only when asked to."
ASKED = "When do you open on Friday?"
DAYS = ("Friday", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Saturday")
ANSWERS = tuple(f"On {day} we open at nine in the morning and close at two in the afternoon." for day in DAYS)
"""Of the same length, more or less. Ours takes them in turn: it says so when it has said something before."""
ANSWERED = ANSWERS[0]
WISHED = "Please cancel order 12345."
ORDER = "12345"
PROPOSED = "I can cancel order 12345 for you."
APPROVED = "yes"
DONE = "Order 12345 is cancelled."


class Orders:
    """The shop's side of the tool: remembers what was cancelled, so that a run can be checked and not only timed."""

    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def cancel(self, order_id: str) -> str:
        self.cancelled.append(order_id)
        return f"order {order_id} cancelled"


class Contestant(Protocol):
    """One framework, set up once. A conversation is a name; its state lives in a file between any two calls.

    `propose` returns when the call is held and stored, with nothing run; `approve` starts from what was stored.
    """

    orders: Orders

    async def plain(self, conversation: str) -> str: ...

    async def propose(self, conversation: str) -> None: ...

    async def approve(self, conversation: str) -> str: ...

    async def close(self) -> None: ...
