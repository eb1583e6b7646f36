"""recall: what the conversation has established so far -> History, the ground that rules stand on.

`recall_from_turn` uses what the turn already holds. `recall` reads the store, and is asked only when a rule needs more:
a policy with conditions, tools whose results strangers can write, or a value or claim that nothing at hand explains.
Limits over a span of time count the tenant's calls in all conversations; their `per` narrows that.
What a client says that it ran vouches for nothing when the call that is ruled on is one of ours: anybody can write it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from circumspect.journal import Journal
from circumspect.policy.keys.call_limit import Party, length, party_of
from circumspect.policy.keys.tool_policy import ToolPolicy
from circumspect.ports import Store
from circumspect.values import Execution, History, Message, PastCall, Screened, ToolSpec, TurnId, Utterance

REACH = 400
"""How many messages back a conversation is read."""


def recall_turn(screened: Screened, tools: Mapping[str, ToolSpec], notes: Journal) -> History:
    """The newest message, and what ran for it."""
    return _build_history((), (), screened, tools, notes)


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
    messages, ran = await store.past(incoming.tenant, incoming.conversation, after=first, limit=REACH)
    before = [message for message in messages if message.turn != incoming.turn]
    spec = tools.get(tool)
    session = _build_history(
        before,
        ran,
        screened,
        tools,
        notes,
        by_client=spec is not None and spec.client,
    )
    limits = [(span, party_of(one)) for one in (policy.limits if policy else ()) if (span := length(one.window))]
    spans = [span for span, party in limits if party != "conversation"]
    if policy and spans:
        counted = {tool, *(name for limit in policy.limits for name in limit.across)}
        parties, since = {party for _, party in limits}, incoming.at - max(spans)
        calls = await _find_calls_elsewhere(screened, counted, since, parties, store)
        elsewhere = (replace(to_past_call(one, tools, 0), same_person=theirs) for one, theirs in calls)
        session = replace(session, elsewhere=tuple(elsewhere))
    return session


async def _find_calls_elsewhere(
    screened: Screened, tools: Collection[str], since: datetime, parties: Collection[Party], store: Store
) -> list[tuple[Execution, bool]]:
    """Calls of the tenant's other conversations, as far as a limit counts them, and whether this person made them."""
    tenant, here = screened.incoming.tenant, screened.incoming.conversation
    own: Sequence[Execution] = ()
    if "person" in parties:
        own = await store.recent_executions(tenant, tools, since, person=screened.person or "")
    found = await store.recent_executions(tenant, tools, since) if "tenant" in parties else own
    theirs = {one.id for one in own}
    return [(one, one.id in theirs) for one in found if one.conversation != here and one.runner != "import"]


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
    vouched = by_client or one.runner in ("us", "test")
    unknown = one.state == "indeterminate"
    return PastCall(one.call, one.result, one.state == "succeeded", trusted, index, at, vouched, unknown)
