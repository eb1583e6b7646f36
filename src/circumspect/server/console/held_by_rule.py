"""State-changing calls that were held in the last month, by the rule that held them, and the lines of a policy's text.

held = await read(services, count_held, tenant, now)
marks = mark_lines(text, policy, tenant, held)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from circumspect.holds import FATES, HoldFate, read_opinion
from circumspect.journal import RulingEvent, read_event
from circumspect.policy.amend import HeldCall
from circumspect.policy.policy_file import Policy
from circumspect.policy.rule_lines import LineFinder, PolicyLine
from circumspect.reasons import ReasonCode
from circumspect.stores import codec
from circumspect.stores.codec import epoch, moment
from circumspect.stores.search_tables import held_calls
from circumspect.stores.tables import messages, policies
from circumspect.values import SEVERITY, ConversationId, TenantId, ToolCall, VerdictKind

DAYS = 30
MOST_COUNTED = 20_000
"""The newest; a page stays as fast however much is held."""

HeldCounts = Mapping[tuple[str, str], Counter[HoldFate]]
"""By tool and rule, what became of them."""


@dataclass(frozen=True, slots=True)
class LineMark:
    """What a rule held of a tool's calls, and the line of a policy that it reads."""

    line: PolicyLine | None
    """None where the rule holds whatever the text says."""
    tool: str
    rule: str
    fates: Counter[HoldFate] = field(hash=False)

    @property
    def total(self) -> int:
        return self.fates.total()


@dataclass(frozen=True, slots=True)
class HeldRow:
    conversation: ConversationId
    seq: int
    at: datetime
    call: ToolCall
    verdict: VerdictKind
    reason: str
    fate: HoldFate


@dataclass(frozen=True, slots=True)
class RulingFound:
    """A ruling of the journal that held a call, and the policy that it was made under."""

    conversation: ConversationId
    seq: int
    at: datetime
    held: HeldCall
    verdict: VerdictKind
    reason: ReasonCode | None
    policy: str


def count_held(connection: sa.Connection, tenant: TenantId, now: datetime) -> HeldCounts:
    table = held_calls.c
    newest = (
        sa.select(table.tool, table.rule, table.fate)
        .where(table.fate.in_(FATES), table.tenant == tenant, table.at >= epoch(now - timedelta(days=DAYS)))
        .limit(MOST_COUNTED)
        .subquery()
    )
    counts: dict[tuple[str, str], Counter[HoldFate]] = {}
    query = sa.select(newest.c.tool, newest.c.rule, newest.c.fate, sa.func.count()).group_by(*newest.c)
    for tool, rule, fate, number in connection.execute(query):
        counts.setdefault((tool, rule), Counter())[fate] += number
    return counts


def list_held(
    connection: sa.Connection, tenant: TenantId, tool: str, rule: str, now: datetime, limit: int
) -> list[HeldRow]:
    """The newest first."""
    table = held_calls.c
    query = (
        sa.select(held_calls)
        .where(
            table.tenant == tenant,
            table.tool == tool,
            table.rule == rule,
            table.at >= epoch(now - timedelta(days=DAYS)),
        )
        .order_by(table.at.desc())
        .limit(limit)
    )
    return [_read_row(row) for row in connection.execute(query)]


def mark_lines(text: str, policy: Policy, tenant: TenantId, counts: HeldCounts) -> list[LineMark]:
    """Every call once, so that they add up to what was held: in the order of the lines, then what has none."""
    finder = LineFinder(text, policy)
    marks = [LineMark(finder.find(rule, tool, tenant), tool, rule, fates) for (tool, rule), fates in counts.items()]
    return sorted(marks, key=_place)


def _place(mark: LineMark) -> tuple[bool, int, int, str, str]:
    return mark.line is None, mark.line.number if mark.line else 0, -mark.total, mark.rule, mark.tool


def find_ruling(
    connection: sa.Connection, tenant: TenantId, conversation: ConversationId, seq: int
) -> RulingFound | None:
    """The ruling at this place of the journal, if it held its call, or a second opinion did after it."""
    of = (messages.c.tenant == tenant, messages.c.conversation == conversation)
    row = connection.execute(sa.select(messages).where(*of, messages.c.seq == seq)).one_or_none()
    ruling = codec.message(row) if row is not None else None
    event = read_event(ruling) if ruling else None
    if ruling is None or not isinstance(event, RulingEvent):
        return None
    call = ToolCall(event.tool, event.arguments)
    if event.verdict != "allow":
        last = max(event.findings, key=lambda one: SEVERITY[one.verdict], default=None)
        held = HeldCall(call, last.rule if last else "", event.problem, event.missing or ())
        return RulingFound(conversation, seq, ruling.at, held, event.verdict, ruling.reason, event.policy)
    later = sa.select(messages).where(
        *of, messages.c.turn == ruling.turn, messages.c.seq > seq, messages.c.kind == "critique"
    )
    said = [codec.message(one) for one in connection.execute(later.order_by(messages.c.seq).limit(5))]
    opinion = next((one for one in said if one.reason), None)
    if opinion is None:
        return None
    rule, verdict = read_opinion(read_event(opinion))
    return RulingFound(conversation, seq, ruling.at, HeldCall(call, rule), verdict, opinion.reason, event.policy)


def find_version(connection: sa.Connection, tenant: TenantId, hash_: str, at: datetime) -> int | None:
    """The version that held then: texts that differ in their comments alone have one hash."""
    table = policies.c
    query = sa.select(table.version).where(table.tenant == tenant, table.hash == hash_)
    then = query.where(table.created_at <= epoch(at)).order_by(table.version.desc()).limit(1)
    found = connection.scalar(then)
    return found if found is not None else connection.scalar(query.order_by(table.version).limit(1))


def order_fates(fates: Counter[HoldFate]) -> Sequence[tuple[HoldFate, int]]:
    return [(fate, fates[fate]) for fate in FATES if fates[fate]]


def _read_row(row: Any) -> HeldRow:
    call = ToolCall(row.tool, row.arguments)
    return HeldRow(row.conversation, row.seq, moment(row.at), call, row.verdict, row.reason_code, row.fate)
