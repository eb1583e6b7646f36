"""A conversation as a page shows it: stored rows in, what was said and (for a debug view) what was thought, in order.

The chat is what the user saw. Steps are the journal's entries, in place. A long conversation is told in pieces: the
newest first, earlier ones when asked for, new ones as they come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from circumspect.journal import CritiqueEvent, Event, PersonReplyEvent, RulingEvent, read_event
from circumspect.lab.replay.past_calls import Record
from circumspect.policy.rules import RULES
from circumspect.policy.understanding.journal_events import AnalysisMessageEvent
from circumspect.server.console.charts import Chart, WaterfallSpan, waterfall
from circumspect.stores import admin, codec
from circumspect.stores.people import StoredConversation
from circumspect.stores.tables import VISIBLE, messages, turns
from circumspect.values import Message, ToolSpec, TurnResult
from circumspect.web.page_rules import PAGE_RULES
from circumspect.web.reasoning.reasoning_events import ReasonedEvent

PIECE = 60
"""Visible messages at a time."""
WHOLE = 1500
"""Rows up to which the whole conversation is read to find where arguments came from."""
SENTENCES: Mapping[str, str] = {rule.name: rule.sentence for rule in (*RULES, *PAGE_RULES)}
NOTED = ("confidence_is_capped", "the_model_is_sure", "a_second_opinion_agrees", "a_second_opinion_was_had")
"""Names in a ruling that are no rule's; their sentences are among our words."""
SETTLED = ("run", "ask_again", "drop", "nothing", "edit")
"""What can become of a yes or a no."""
_THOUGHT = ("assessment", "model", "critique")
KNOWN_EVENTS: tuple[type[Event], ...] = (AnalysisMessageEvent, ReasonedEvent)
"""Declared outside the journal, and told from others by the template: they can be read once they are imported."""


@dataclass(frozen=True, slots=True)
class StoryItem:
    """A bubble of the chat, or a step of the journal."""

    message: Message
    by: str
    """user, agent, person or step."""
    event: Event
    """What the message tells beside its words."""
    why: Mapping[str, Any] | None = None
    """Set on a reply whose turn held a call: the tool, the verdict and the reason that decided."""
    cost: Mapping[str, Any] | None = None
    """Set on the last item of a turn: what its model calls took."""


@dataclass(frozen=True, slots=True)
class StoryView:
    items: tuple[StoryItem, ...]
    first: int
    """The number of the first row told."""
    last: int
    earlier: bool
    """There is more before."""
    record: Record | None = None
    specs: Mapping[str, ToolSpec] = field(default_factory=dict)


def read_story(
    connection: sa.Connection,
    conversation: StoredConversation,
    *,
    debug: bool,
    before: int | None = None,
    after: int | None = None,
) -> StoryView:
    """The newest piece; the one before a row; or all that came after one."""
    where = (messages.c.tenant == conversation.tenant, messages.c.conversation == conversation.id)
    begin, end = -1 if after is None else after, before
    if after is None:
        numbers = sa.select(messages.c.seq).where(*where, sa.text(VISIBLE))
        numbers = numbers.where(messages.c.seq < before) if before is not None else numbers
        shown = connection.execute(numbers.order_by(messages.c.seq.desc()).limit(PIECE + 1)).scalars().all()
        begin = shown[PIECE - 1] - 1 if len(shown) > PIECE else -1
    query = sa.select(messages).where(*where, messages.c.seq > begin)
    query = query.where(messages.c.seq < end) if end is not None else query
    rows = [codec.message(row) for row in connection.execute(query.order_by(messages.c.seq).limit(5000))]
    results = _results(connection, rows)
    items = tuple(_items(rows, results, debug))
    record, specs = None, {}
    if debug and rows and conversation.messages <= WHOLE:
        record, specs = (
            _record(connection, conversation, results),
            dict(admin.get_tools(connection, conversation.tenant)),
        )
    last = rows[-1].seq if rows else begin
    return StoryView(items, rows[0].seq if rows else 0, last, begin >= 0 and after is None, record, specs)


def _results(connection: sa.Connection, rows: Sequence[Message]) -> dict[str, TurnResult]:
    ids = list(dict.fromkeys(row.turn for row in rows))
    found: dict[str, TurnResult] = {}
    for at in range(0, len(ids), 500):
        query = sa.select(turns.c.id, turns.c.result).where(
            turns.c.id.in_(ids[at : at + 500]), turns.c.status == "done"
        )
        found |= {row.id: codec.result(row.result) for row in connection.execute(query) if row.result}
    return found


def _record(connection: sa.Connection, conversation: StoredConversation, results: Mapping[str, TurnResult]) -> Record:
    tenant, id_ = conversation.tenant, conversation.id
    return Record(
        tenant,
        id_,
        admin.get_messages(connection, tenant, id_, True, -1, WHOLE),
        admin.get_executions(connection, tenant, id_),
        admin.get_intents(connection, tenant, id_),
        {result.turn: (result.usage.mode, result.language) for result in results.values()},
    )


def _items(rows: Sequence[Message], results: Mapping[str, TurnResult], debug: bool) -> list[StoryItem]:
    items: list[StoryItem] = []
    held: dict[str, Message] = {}
    journal: dict[str, list[Message]] = {}
    for row in rows:
        event = read_event(row)
        if row.role == "internal":
            journal.setdefault(row.turn, []).append(row)
            if row.kind == "policy":
                held[row.turn] = row
            if debug:
                items.append(StoryItem(row, "step", event))
            continue
        if row.role == "user":
            items.append(StoryItem(row, "user", event))
            continue
        by = "person" if isinstance(event, PersonReplyEvent) else "agent"
        cost = _cost(results.get(row.turn), journal.get(row.turn, [])) if debug else None
        items.append(StoryItem(row, by, event, _why(held.get(row.turn), journal.get(row.turn, [])), cost))
    return items


def _why(ruling: Message | None, journal: Sequence[Message]) -> Mapping[str, Any] | None:
    """The last ruling of the turn, if it held the call; else the second opinion, if that one did."""
    event = read_event(ruling) if ruling else None
    if ruling is None or not isinstance(event, RulingEvent):
        return None
    verdict, reason = event.verdict, ruling.reason
    opinion = next((one for one in journal if one.kind == "critique" and one.seq > ruling.seq and one.reason), None)
    if verdict == "allow" and opinion is not None:
        said = read_event(opinion)
        asks = isinstance(said, CritiqueEvent) and said.decision == "ASK_USER"
        verdict, reason = "confirm" if asks else "escalate", opinion.reason
    if verdict == "allow" or reason is None:
        return None
    return {"tool": event.tool, "verdict": verdict, "reason": reason}


def _cost(result: TurnResult | None, journal: Sequence[Message]) -> Mapping[str, Any] | None:
    if result is None or not result.usage.calls:
        return None
    calls = result.usage.calls
    thoughts = [one.kind for one in journal if one.kind in _THOUGHT]
    names = thoughts if len(thoughts) == len(calls) else ["model"] * len(calls)
    timed = any(call.seconds for call in calls)
    spans, begun = [], 0.0
    for name, call in zip(names, calls, strict=True):
        tokens = call.input_tokens + call.output_tokens
        length = call.seconds if timed else tokens / 1000
        look = {"assessment": "fa", "critique": "fc"}.get(name, "f6")
        counted = f"{call.input_tokens} → {call.output_tokens} tokens"
        tip = f"{call.model} · {counted} · {call.seconds:.2f} s · ${call.cost_usd:.6f}"
        spans.append(WaterfallSpan(name, begun, length, look, tip))
        begun += length
    return {
        "chart": _label_tokens(waterfall(spans), calls, timed),
        "usage": result.usage,
        "timed": timed,
        "turn": result.turn,
    }


def _label_tokens(chart: Chart, calls: Sequence[Any], timed: bool) -> Chart:
    """Where nothing was timed (the offline model takes no time to speak of) the length is the tokens'."""
    if timed:
        return chart
    labels = list(chart.labels)
    for at, call in enumerate(calls):
        labels[2 * at + 1] = replace(labels[2 * at + 1], text=f"{call.input_tokens + call.output_tokens:,} tokens")
    return replace(chart, labels=tuple(labels))
