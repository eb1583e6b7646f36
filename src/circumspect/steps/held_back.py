"""held_back: the calls that a draft proposed beside the one that was asked about -> those that wait for their own yes.

A question is about one call. What else the draft wanted, and the rules would ask the user about, is taken up when that
question is settled: none is forgotten because another came first. Nothing here has effects.
"""

from __future__ import annotations

from collections.abc import Sequence

from circumspect.journal import RulingEvent, find_events
from circumspect.ports import Store
from circumspect.values import Assessment, Draft, Execution, Intent, Screened, ToolCall

_REACH = 60
"""So many entries before a question belong to the turn that asked it, at most."""


async def find_held_back(settled: Intent, screened: Screened, ran: Sequence[Execution], store: Store) -> list[ToolCall]:
    """In the order in which the draft proposed them, each once."""
    here, first = screened.incoming, settled.question_seq - _REACH
    entries = await store.messages(here.tenant, here.conversation, internal=True, after=first, limit=2 * _REACH)
    asked_in = next((one.turn for one in entries if one.seq == settled.question_seq), None)
    rulings = find_events((one for one in entries if one.turn == asked_in and one.role == "internal"), RulingEvent)
    proposed = [ToolCall(one.tool, one.arguments) for one in rulings if one.verdict == "confirm"]
    done = {settled.hash, *(one.call.hash for one in ran)}
    return [call for call in {one.hash: one for one in proposed}.values() if call.hash not in done]


def propose_again(call: ToolCall) -> Draft:
    """That it is sure of itself decides nothing: the rules do, and they ask the user."""
    return Draft("", (call,), Assessment(1.0, tool_call=call.tool, tool_params=call.arguments))
