"""recall: what the conversation has established so far -> History, the ground that rules stand on.

`recall_from_turn` uses what the turn already holds. `recall` reads the store, and is asked only when a rule needs more:
a policy with conditions, tools whose results strangers can write, or a value or claim that nothing at hand explains.
Limits over a span of time count the tenant's calls in all conversations; their `per` narrows that.
What a client says that it ran vouches for nothing when the call that is ruled on is one of ours: anybody can write it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from circumspect.journal import Journal
from circumspect.policy.keys.call_limit import length
from circumspect.policy.keys.tool_policy import ToolPolicy
from circumspect.ports import Store
from circumspect.values import Execution, History, Message, PastCall, Screened, ToolSpec, TurnId, Utterance

REACH = 400
"""How many messages back a conversation is read."""


def recall_from_turn(screened: Screened, tools: Mapping[str, ToolSpec], notes: Journal) -> History:
    return _build_history(screened.opened.history, (), screened, tools, notes)


async def recall(
    screened: Screened,
    tool: str,
    policy: ToolPolicy | None,
    tools: Mapping[str, ToolSpec],
    notes: Journal,
    store: Store,
) -> History:
    incoming = screened.incoming
    first = max(-1, screened.opened.next_seq - REACH)
    messages = await store.messages(incoming.tenant, incoming.conversation, after=first, limit=REACH)
    before = [message for message in messages if message.turn != incoming.turn]
    spec = tools.get(tool)
    session = _build_history(
        before,
        await store.executions(incoming.tenant, incoming.conversation),
        screened,
        tools,
        notes,
        by_client=spec is not None and spec.client,
    )
    if spans := [(span, limit) for limit in (policy.limits if policy else ()) if (span := length(limit.window))]:
        counted = {tool, *(name for _, limit in spans for name in limit.across)}
        since = incoming.at - max(span for span, _ in spans)
        recent = await store.recent_executions(incoming.tenant, counted, since)
        others = [one for one in recent if one.conversation != incoming.conversation and one.runner != "import"]
        session = replace(session, elsewhere=tuple(to_past_call(one, tools, 0) for one in others))
    return session


def needs_more(policy: ToolPolicy | None, tools: Mapping[str, ToolSpec]) -> bool:
    """What is at hand can never be enough: rules look at earlier calls, or strangers may have had a word."""
    written = policy is not None and (policy.conditional or bool(policy.params))
    return written or any(spec.open_world for spec in tools.values())


def _build_history(
    messages: Sequence[Message],
    ran: Sequence[Execution],
    screened: Screened,
    tools: Mapping[str, ToolSpec],
    notes: Journal,
    *,
    by_client: bool = False,
) -> History:
    """Turn by turn: what the user said, what ran, what was answered; this turn last. `by_client`: the client runs the
    call that this is for, so that its own results are its own risk."""
    seen = [one for one in ran if one.turn != screened.incoming.turn]
    by_turn: dict[TurnId, list[Execution]] = {}
    for one in seen:
        by_turn.setdefault(one.turn, []).append(one)
    spoken = {message.turn for message in messages}
    # Of turns in which nothing was said (a client's results, a colleague's decision) only the time tells the place.
    silent = deque(sorted((one for one in seen if one.turn not in spoken), key=lambda one: one.started_at))
    order: list[Message | Execution] = []
    for message in messages:
        while silent and silent[0].started_at < message.at:
            order.append(silent.popleft())
        if message.role == "assistant":
            order += by_turn.pop(message.turn, [])
        order.append(message)
    rest: list[Execution] = [one for left in by_turn.values() for one in left if one.turn in spoken]
    rest += silent
    rest.sort(key=lambda one: one.started_at)
    order += rest
    events: list[Utterance | PastCall] = []
    for item in order:
        if isinstance(item, Execution):
            events.append(to_past_call(item, tools, len(events), by_client=by_client))
        elif item.role != "internal":
            events.append(Utterance("user" if item.role == "user" else "assistant", item.content, len(events)))
    events.append(Utterance("user", screened.incoming.text, len(events)))
    for one in notes.ran:
        events.append(to_past_call(one, tools, len(events), by_client=by_client))
    return History(tuple(events))


def to_past_call(one: Execution, tools: Mapping[str, ToolSpec], index: int, *, by_client: bool = False) -> PastCall:
    spec = tools.get(one.call.tool)
    trusted = not (spec and spec.open_world)
    at: datetime = one.finished_at or one.started_at
    vouched = by_client or one.runner == "us"
    unknown = one.state == "indeterminate"
    return PastCall(one.call, one.result, one.state == "succeeded", trusted, index, at, vouched, unknown)
