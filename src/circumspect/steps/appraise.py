"""appraise: a call that waits for a yes, with a value left open -> the same, with what that comes to.

"Refund order 12330" says no sum; whoever says yes to it should read one. The look is made only where the model might
make it too: what it tells is shown to whoever asks. What cannot be found out is said in words.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from circumspect import running
from circumspect.journal import Journal, NoticeEvent
from circumspect.policy.facts import Facts
from circumspect.policy.whole_values import find_open_value, read_whole
from circumspect.ports import Clock, Ids, Tools
from circumspect.values import Confirm, Enforced, Incoming, ToolCall


async def appraise(
    enforced: Enforced,
    facts: Facts,
    incoming: Incoming,
    permits: Callable[[ToolCall], Awaitable[bool]],
    notes: Journal,
    tools: Tools,
    clock: Clock,
    ids: Ids,
) -> Enforced:
    found = find_open_value(facts) if isinstance(enforced.verdict, Confirm) else None
    if found is None:
        return enforced
    whole, look = found
    if not await permits(look):
        notes.write(NoticeEvent(f"{whole.param} is left open; {look.tool} may not be called for it"))
        return enforced
    spec = tools.specs().get(look.tool)
    seen = await running.look(look, incoming, tools, clock, ids, spec.timeout if spec else 30.0, again=False)
    amount = read_whole(whole, facts, seen.result) if seen.state == "succeeded" else ""
    notes.write(NoticeEvent(f"{whole.param} is left open; {look.tool} tells: {amount or 'nothing'}"))
    return enforced.with_whole(whole.param, amount) if amount else enforced
