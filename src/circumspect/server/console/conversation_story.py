"""A conversation as a page shows it: stored rows in, what was said and (for a debug view) what was thought, in order.

The chat is what the user saw. Steps are the journal's entries, in place. A long conversation is told in pieces: the
newest first, earlier ones when asked for, new ones as they come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from circumspect.holds import read_opinion
from circumspect.journal import Event, ExecutionEvent, PersonReplyEvent, RulingEvent, read_event
from circumspect.lab.replay.past_calls import Record
from circumspect.policy.understanding.journal_events import AnalysisMessageEvent
from circumspect.server.console.turn_times import TimeLedger, TurnTimes, list_steps, read_times
from circumspect.stores import admin, codec
from circumspect.stores.people import StoredConversation
from circumspect.stores.rehearsals import Recording, find_recording, is_rehearsal
from circumspect.stores.tables import VISIBLE, messages, turns
from circumspect.values import SEVERITY, ConversationId, ExecutionId, Message, Mode, TenantId, ToolSpec, TurnResult
from circumspect.web.reasoning.reasoning_events import ReasonedEvent

PIECE = 60
"""Visible messages at a time."""
WHOLE = 1500
"""Rows up to which the whole conversation is read to find where arguments came from."""
SETTLED = ("run", "ask_again", "drop", "nothing", "edit")
"""What can become of a yes or a no."""
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
    times: TurnTimes | None = None
    """Set on the last item of a turn: what its model and tool calls took."""


@dataclass(frozen=True, slots=True)
class StoryView:
    items: tuple[StoryItem, ...]
    first: int
    """The number of the first row told."""
    last: int
    earlier: bool
    """There is more before."""
    tenant: TenantId
    conversation: ConversationId
    record: Record | None = None
    specs: Mapping[str, ToolSpec] = field(default_factory=dict)
    rehearsed: Mapping[int, Recording | None] = field(default_factory=dict)
    """Calls that were not made, by the number of their row, with the recording that stood in for each."""
    tested: frozenset[int] = frozenset()
    """Calls that were made at the tenant's test back end, by the number of their row."""


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
    ledger = read_times(connection, conversation.tenant, conversation.id, list(results)) if debug else None
    items = tuple(_items(rows, results, ledger))
    record, specs = None, {}
    if debug and rows and conversation.messages <= WHOLE:
        record, specs = (
            _record(connection, conversation, results),
            dict(admin.get_tools(connection, conversation.tenant)),
        )
    last = rows[-1].seq if rows else begin
    first, earlier = rows[0].seq if rows else 0, begin >= 0 and after is None
    rehearsed = _find_recordings(connection, items, record) if record and is_rehearsal(conversation.id) else {}
    tested = _find_tested(items, record) if record else frozenset()
    return StoryView(
        items, first, last, earlier, conversation.tenant, conversation.id, record, specs, rehearsed, tested
    )


def _find_tested(items: Sequence[StoryItem], record: Record) -> frozenset[int]:
    made = {one.id for one in record.executions if one.runner == "test"}
    return frozenset(
        one.message.seq for one in items if isinstance(one.event, ExecutionEvent) and one.event.execution in made
    )


def _find_recordings(
    connection: sa.Connection, items: Sequence[StoryItem], record: Record
) -> dict[int, Recording | None]:
    ledger = {one.id: one for one in record.executions}
    found: dict[int, Recording | None] = {}
    for item in items:
        ran = ledger.get(ExecutionId(item.event.execution)) if isinstance(item.event, ExecutionEvent) else None
        if ran is not None and ran.effect != "read" and ran.runner != "test":
            found[item.message.seq] = find_recording(connection, ran.tenant, ran.call, ran.started_at)
    return found


def _results(connection: sa.Connection, rows: Sequence[Message]) -> dict[str, TurnResult]:
    ids = list(dict.fromkeys(row.turn for row in rows))
    found: dict[str, TurnResult] = {}
    for at in range(0, len(ids), 500):
        query = sa.select(turns.c.id, turns.c.result).where(
            turns.c.id.in_(ids[at : at + 500]), turns.c.status == "done"
        )
        found |= {row.id: codec.result(row.result) for row in connection.execute(query) if row.result}
    return found


def find_newest_mode(connection: sa.Connection, conversation: StoredConversation) -> Mode | None:
    """The mode that its newest turn ran in, which need not be the one it began with; None before there is one."""
    query = (
        sa.select(turns.c.result)
        .where(turns.c.tenant == conversation.tenant, turns.c.conversation == conversation.id, turns.c.status == "done")
        .order_by(turns.c.first_seq.desc())  # by its start, SQLite would walk all turns of the tenant
        .limit(1)
    )
    found = connection.execute(query).scalar()
    return codec.result(found).usage.mode if found else None


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


def _items(rows: Sequence[Message], results: Mapping[str, TurnResult], ledger: TimeLedger | None) -> list[StoryItem]:
    """`ledger` is there where what went on inside is shown."""
    items: list[StoryItem] = []
    held: dict[str, Message] = {}
    journal: dict[str, list[Message]] = {}
    for row in rows:
        event = read_event(row)
        if row.role == "internal":
            journal.setdefault(row.turn, []).append(row)
            if row.kind == "policy":
                held[row.turn] = row
            if ledger:
                items.append(StoryItem(row, "step", event))
            continue
        if row.role == "user":
            items.append(StoryItem(row, "user", event))
            continue
        by = "person" if isinstance(event, PersonReplyEvent) else "agent"
        told = journal.get(row.turn, [])
        times = list_steps(results.get(row.turn), told, ledger) if ledger else None
        items.append(StoryItem(row, by, event, _why(held.get(row.turn), told), times))
    return items


def _why(ruling: Message | None, journal: Sequence[Message]) -> Mapping[str, Any] | None:
    """The last ruling of the turn, if it held the call; else the second opinion, if that one did."""
    event = read_event(ruling) if ruling else None
    if ruling is None or not isinstance(event, RulingEvent):
        return None
    verdict, reason = event.verdict, ruling.reason
    last = max(event.findings, key=lambda one: SEVERITY[one.verdict], default=None)
    rule = last.rule if last else ""
    opinion = next((one for one in journal if one.kind == "critique" and one.seq > ruling.seq and one.reason), None)
    if verdict == "allow" and opinion is not None:
        (rule, verdict), reason = read_opinion(read_event(opinion)), opinion.reason
    if verdict == "allow" or reason is None:
        return None
    return {"tool": event.tool, "verdict": verdict, "reason": reason, "rule": rule, "seq": ruling.seq}
