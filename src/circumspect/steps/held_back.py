"""held_back: the calls that a draft proposed beside the one that was asked about -> those that wait for their own yes.

A question is about one call. What else the draft wanted, and the rules would ask the user about, is taken up when that
question is settled: none is forgotten because another came first. Nothing here has effects.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from circumspect.journal import RulingEvent, find_events
from circumspect.ports import Store
from circumspect.values import Assessment, Draft, Execution, Intent, Screened, ToolCall

_REACHES = (12, 60)
"""So many entries before a question belong to the turn that asked it, as a rule and at most."""


async def find_held_back(
    settled: Intent, screened: Screened, store: Store, list_ran: Callable[[], Awaitable[Sequence[Execution]]]
) -> list[ToolCall]:
    """In the order in which the draft proposed them, each once. What ran is asked for only where there is one."""
    here, asked_at = screened.incoming, settled.question_seq
    for reach in _REACHES:
        entries = await store.messages(
            here.tenant, here.conversation, internal=True, after=asked_at - reach, limit=reach
        )
        asked_in = next((one.turn for one in entries if one.seq == asked_at), None)
        if asked_in is None or entries[0].turn != asked_in:
            break
    rulings = find_events((one for one in entries if one.turn == asked_in and one.role == "internal"), RulingEvent)
    confirmed = (ToolCall(one.tool, one.arguments) for one in rulings if one.verdict == "confirm")
    proposed = {call.hash: call for call in confirmed if call.hash != settled.hash}
    if not proposed:
        return []
    tools = {call.tool for call in proposed.values()}
    done = {one.call.hash for one in await list_ran() if one.call.tool in tools}
    return [call for call in proposed.values() if call.hash not in done]


def propose_again(call: ToolCall) -> Draft:
    """That it is sure of itself decides nothing: the rules do, and they ask the user."""
    return Draft("", (call,), Assessment(1.0, tool_call=call.tool, tool_params=call.arguments))
