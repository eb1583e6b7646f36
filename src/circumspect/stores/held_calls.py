"""Calls that were held, and what became of each: what a turn leaves behind in, rows and the sums of a day out.

Plain functions on a connection, in the transaction that finishes the turn. What is held today may be answered tomorrow:
the row and the sum of the day on which it was held then change together, so that a month is a few rows to read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
import sqlalchemy as sa

from circumspect.holds import Hold, HoldAnswerKind, TurnHolds
from circumspect.ports import Closing
from circumspect.reasons import ReasonCode
from circumspect.stores import codec
from circumspect.stores.codec import clean, dumps, epoch
from circumspect.stores.day_tables import held_days
from circumspect.stores.search_tables import held_calls
from circumspect.stores.statements import Rows, SqlValues, insert, run, sql
from circumspect.values import ConversationId, TenantId, ToolCall

MOST_FOLLOWED = 50
"""Calls of a conversation that a turn may still change something about; the newest ones."""

_OPEN = Rows(
    held_calls,
    f"""
    WHERE tenant = :tenant AND conversation = :conversation AND fate <> 'done'
    ORDER BY seq DESC LIMIT {MOST_FOLLOWED}
    """,
)
_RAN = sql("""
    SELECT tool, CAST(arguments AS TEXT), turn, started_at FROM tool_executions
    WHERE tenant = :tenant AND conversation = :conversation AND started_at >= :since AND effect <> 'read'
""")
_ASKED = sql("SELECT hash FROM intents WHERE id = :intent AND tenant = :tenant AND conversation = :conversation")
_CHANGE = sql("""
    UPDATE held_calls SET fate = :fate WHERE tenant = :tenant AND conversation = :conversation AND seq = :seq
""")
_ADD_NUMBER = """
    ON CONFLICT (tenant, day, reason_code, fate) DO UPDATE SET number = held_days.number + excluded.number
"""


def put_holds(connection: sa.Connection, closing: Closing, found: TurnHolds, first_seq: int) -> None:
    """What this turn held, and what it did about calls that were held before. `first_seq` is that of its journal."""
    if not (found.held or found.proposed or found.answers):
        return
    incoming = closing.incoming
    where: SqlValues = {"tenant": incoming.tenant, "conversation": incoming.conversation}
    earlier = [(row, _read_row(row)) for row in _OPEN.read(connection, where)]
    sums: Counter[tuple[str, str, str]] = Counter()
    if earlier:
        _follow(connection, where, earlier, found)
    for row, hold in earlier:
        if hold.fate != row.fate:
            run(connection, _CHANGE, {**where, "seq": row.seq, "fate": hold.fate})
            sums[_day(row.at), row.reason_code, row.fate] -= 1
            sums[_day(row.at), row.reason_code, hold.fate] += 1
    began = epoch(incoming.at)
    fresh = [one for one in found.held if not _is_known(one, closing, earlier)]
    if fresh:
        common: SqlValues = {**where, "turn": incoming.turn, "at": began}
        insert(connection, held_calls, *(_write_row(one, first_seq) for one in fresh), common=common)
        sums.update((_day(began), str(one.reason), one.fate) for one in fresh)
    _count(connection, incoming.tenant, sums)


def uncount_holds(connection: sa.Connection, tenant: TenantId, conversation: ConversationId) -> None:
    """As if nothing had been held in this conversation."""
    own = (held_calls.c.tenant == tenant, held_calls.c.conversation == conversation)
    rows: Iterable[Any] = connection.execute(sa.select(held_calls).where(*own))
    sums = Counter((_day(row.at), row.reason_code, row.fate) for row in rows)
    _count(connection, tenant, Counter({key: -number for key, number in sums.items()}))
    connection.execute(sa.delete(held_calls).where(*own))


def _follow(connection: sa.Connection, where: SqlValues, earlier: Iterable[tuple[Any, Hold]], found: TurnHolds) -> None:
    answers = _read_answers(connection, where, found)
    since = min(row.at for row, _ in earlier)
    rows: Any = run(connection, _RAN, {**where, "since": since}).fetchall()
    ran = [(ToolCall(tool, orjson.loads(arguments)), turn, at) for tool, arguments, turn, at in rows]
    for row, hold in earlier:
        if not hold.is_settled and any(
            at >= row.at and turn != row.turn and hold.is_part_of(call) for call, turn, at in ran
        ):
            hold.fate = "done"
        found.follow(hold, answers.get(row.hash))


def _read_answers(connection: sa.Connection, where: SqlValues, found: TurnHolds) -> Mapping[str, HoldAnswerKind]:
    """By the call that was asked about."""
    answers: dict[str, HoldAnswerKind] = {}
    for one in found.answers:
        if asked := run(connection, _ASKED, {**where, "intent": one.intent}).fetchone():
            answers[asked[0]] = one.kind
    return answers


def _is_known(hold: Hold, closing: Closing, earlier: Iterable[tuple[Any, Hold]]) -> bool:
    """The same call still waits, and is asked about once more; or somebody has said no to it, and that is repeated."""
    said_no = {ReasonCode.DENIED_BY_USER, ReasonCode.DENIED_BY_COLLEAGUE} & set(closing.result.reason_codes)
    fates = {one.fate for _, one in earlier if one.call.hash == hold.call.hash}
    return "waiting" in fates or ("refused" in fates and bool(said_no))


def _count(connection: sa.Connection, tenant: TenantId, sums: Counter[tuple[str, str, str]]) -> None:
    # In one order, so that no two turns wait for each other.
    rows: list[SqlValues] = [
        {"day": day, "reason_code": reason, "fate": fate, "number": number}
        for (day, reason, fate), number in sorted(sums.items())
        if number
    ]
    insert(connection, held_days, *rows, common={"tenant": tenant}, otherwise=_ADD_NUMBER)


def _day(at: float) -> str:
    return f"{codec.moment(at):%Y-%m-%d}"


def _read_row(row: Any) -> Hold:
    reason = codec.reason(row.reason_code) or ReasonCode.RULE_FAILED
    return Hold(row.seq, ToolCall(row.tool, row.arguments), row.verdict, row.rule, reason, row.policy, row.fate)


def _write_row(hold: Hold, first_seq: int) -> SqlValues:
    return {
        "seq": first_seq + hold.seq,
        "tool": clean(hold.call.tool),
        "arguments": dumps(hold.call.arguments),
        "hash": hold.call.hash,
        "verdict": hold.verdict,
        "rule": hold.rule,
        "reason_code": str(hold.reason),
        "policy": hold.policy,
        "fate": hold.fate,
    }
