"""recall: what the conversation has established so far -> Session, the ground that rules stand on.

`at_hand` uses what the turn already holds. `recall` reads the store, and is asked only when a rule needs more: a policy
with conditions, tools whose results strangers can write, or a value or claim that nothing at hand explains. Limits over
a span of time count the tenant's calls in all conversations; their `per` narrows that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from circumspect.policy.limits import length
from circumspect.policy.policy_file import ToolPolicy
from circumspect.ports import Store
from circumspect.values import Execution, Happened, Heard, Message, Notes, Screened, Session, ToolSpec, TurnId

REACH = 400
"""How many messages back a conversation is read."""


def at_hand(screened: Screened, tools: Mapping[str, ToolSpec], notes: Notes) -> Session:
    return _session(screened.opened.history, (), screened, tools, notes)


async def recall(
    screened: Screened,
    tool: str,
    policy: ToolPolicy | None,
    tools: Mapping[str, ToolSpec],
    notes: Notes,
    store: Store,
) -> Session:
    incoming = screened.incoming
    first = max(-1, screened.opened.next_seq - REACH)
    messages = await store.messages(incoming.tenant, incoming.conversation, after=first, limit=REACH)
    before = [message for message in messages if message.turn != incoming.turn]
    session = _session(before, await store.executions(incoming.tenant, incoming.conversation), screened, tools, notes)
    if spans := [(span, limit) for limit in (policy.limits if policy else ()) if (span := length(limit.window))]:
        counted = {tool, *(name for _, limit in spans for name in limit.across)}
        since = incoming.at - max(span for span, _ in spans)
        recent = await store.recent_executions(incoming.tenant, counted, since)
        others = [one for one in recent if one.conversation != incoming.conversation]
        session = replace(session, elsewhere=tuple(happened(one, tools, 0) for one in others))
    return session


def needs_more(policy: ToolPolicy | None, tools: Mapping[str, ToolSpec]) -> bool:
    """What is at hand can never be enough: rules look at earlier calls, or strangers may have had a word."""
    written = policy is not None and (policy.conditional or bool(policy.params))
    return written or any(spec.open_world for spec in tools.values())


def _session(
    messages: Sequence[Message],
    ran: Sequence[Execution],
    screened: Screened,
    tools: Mapping[str, ToolSpec],
    notes: Notes,
) -> Session:
    """Turn by turn: what the user said, what ran, what was answered; this turn last."""
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
    events: list[Heard | Happened] = []
    for item in order:
        if isinstance(item, Execution):
            events.append(happened(item, tools, len(events)))
        elif item.role != "internal":
            events.append(Heard("user" if item.role == "user" else "assistant", item.content, len(events)))
    events.append(Heard("user", screened.incoming.text, len(events)))
    for one in notes.ran:
        events.append(happened(one, tools, len(events)))
    return Session(tuple(events))


def happened(one: Execution, tools: Mapping[str, ToolSpec], index: int) -> Happened:
    spec = tools.get(one.call.tool)
    trusted = not (spec and spec.open_world)
    at: datetime = one.finished_at or one.started_at
    return Happened(one.call, one.result, one.state == "succeeded", trusted, index, at)
