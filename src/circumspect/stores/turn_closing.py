"""close_turn: all that a turn leaves behind, and the conversation given back. One transaction.

Giving back comes first and is the guard: it finds the row only under the turn's own token, numbers the messages, and
says whether there are calls to look at. Whoever was taken over finds nothing and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC

import sqlalchemy as sa

from circumspect.hashing import digest
from circumspect.holds import read_holds
from circumspect.journal import ReplyEvent
from circumspect.ports import Closing
from circumspect.reasons import ReasonCode
from circumspect.stores import action_log, codec, database_time
from circumspect.stores.codec import clean, dumps, epoch
from circumspect.stores.day_counts import count_turn
from circumspect.stores.held_calls import put_holds
from circumspect.stores.ledger import escalate, execution_row, finish_call, lease_lost
from circumspect.stores.rehearsals import is_rehearsal
from circumspect.stores.statements import SqlValues, insert, run, sql, synced_later
from circumspect.stores.tables import LOOKED_AT, intents, messages, tool_executions
from circumspect.stores.turn_marks import list_marks, mark_tool, put_marks
from circumspect.values import Execution, Incoming, Intent, JsonObject, ModelUsage, OutsideCall, PersonDecision

_RENEW = sql("""
    UPDATE conversations SET lease_until = :until
    WHERE tenant = :tenant AND id = :conversation AND lease_token = :token
""")

_LET_GO = sql("""
    UPDATE conversations SET lease_token = NULL WHERE tenant = :tenant AND id = :conversation AND lease_token = :token
""")

_GIVE_BACK = sql("""
    UPDATE conversations SET
        next_seq = next_seq + :written, language = :language, intent = COALESCE(:intent, intent),
        wishes = :wishes, lease_token = NULL, turn = NULL
    WHERE tenant = :tenant AND id = :conversation AND lease_token = :token
    RETURNING next_seq, calls
""")

_DONE = sql("""
    UPDATE turns SET status = :status, outcome = :outcome, language = :language, result = :result, finished_at = :now
    WHERE id = :turn
""")

_DENY = sql("""
    UPDATE intents SET state = 'denied', settled_at = :now
    WHERE id = :intent AND tenant = :tenant AND conversation = :conversation AND state = 'pending'
""")

_SETTLED_BY = sql("""
    UPDATE intents SET settled_by = :by
    WHERE id = :intent AND tenant = :tenant AND conversation = :conversation AND state <> 'pending'
      AND settled_by IS NULL
""")

_APPROVAL = sa.select(intents).where(
    intents.c.id == sa.bindparam("intent"),
    intents.c.tenant == sa.bindparam("tenant"),
    intents.c.conversation == sa.bindparam("conversation"),
    intents.c.kind == "approval",
)

# Every turn that somebody took part in by an account; who only decided on an approval is not among them.
_ACCOUNTS = sql("""
    SELECT DISTINCT account FROM turns
    WHERE tenant = :tenant AND conversation = :conversation AND account IS NOT NULL ORDER BY account
""")

_SUPERSEDE = sql("""
    UPDATE intents SET state = 'superseded', settled_at = :now
    WHERE tenant = :tenant AND conversation = :conversation AND state = 'pending' AND kind = :kind AND id <> :intent
""")

_ASK = sql("""
    INSERT INTO intents (id, tenant, conversation, kind, state, call, hash, tool_version, policy_version, principal,
                         nonce, question, question_hash, question_seq, created_at, expires_at,
                         proposed_by, edited_by, keys_approve, facts)
    VALUES (:id, :tenant, :conversation, :kind, 'pending', :call, :hash, :tool_version, :policy_version, :principal,
            :nonce, :question, :question_hash, :question_seq, :created_at, :expires_at,
            :proposed_by, :edited_by, :keys_approve, :facts)
    ON CONFLICT (id) DO UPDATE SET question_seq = excluded.question_seq
""")

# A call of this turn, or one whose end this turn could see when it began, has now been spoken of. What failed by itself
# was never unreported.
_REPORT = sql("""
    UPDATE tool_executions SET reported = TRUE
    WHERE tenant = :tenant AND conversation = :conversation AND NOT reported AND state IN ('succeeded', 'failed')
      AND (turn = :turn OR finished_at <= :opened)
""")

_ANY_CALLS = sql(f"""
    UPDATE conversations SET calls = EXISTS (
        SELECT 1 FROM tool_executions WHERE tenant = :tenant AND conversation = :conversation AND {LOOKED_AT})
    WHERE tenant = :tenant AND id = :conversation
""")  # noqa: S608

_STATE = sql("SELECT state FROM tool_executions WHERE id = :id AND tenant = :tenant")

_COUNT = sql("""
    INSERT INTO usage (tenant, period, mode, model, messages, critiques, context_fetches, escalations, model_calls,
                       input_tokens, output_tokens, cost, billed)
    VALUES (:tenant, :period, :mode, :model, :messages, :critiques, :context_fetches, :escalations, :model_calls,
            :input_tokens, :output_tokens, :cost, :billed)
    ON CONFLICT (tenant, period, mode, model) DO UPDATE SET
        messages = usage.messages + excluded.messages,
        critiques = usage.critiques + excluded.critiques,
        context_fetches = usage.context_fetches + excluded.context_fetches,
        escalations = usage.escalations + excluded.escalations,
        model_calls = usage.model_calls + excluded.model_calls,
        input_tokens = usage.input_tokens + excluded.input_tokens,
        output_tokens = usage.output_tokens + excluded.output_tokens,
        cost = usage.cost + excluded.cost,
        billed = usage.billed + excluded.billed
""")


@synced_later
def renew(connection: sa.Connection, incoming: Incoming, token: str, lease_seconds: float) -> None:
    until = database_time.read(connection) + lease_seconds
    where = {"tenant": incoming.tenant, "conversation": incoming.conversation}
    if not run(connection, _RENEW, {**where, "token": token, "until": until}).rowcount:
        raise lease_lost()


@synced_later
def give_back(connection: sa.Connection, incoming: Incoming, token: str) -> None:
    where = {"tenant": incoming.tenant, "conversation": incoming.conversation}
    run(connection, _LET_GO, {**where, "token": token})


def close_turn(connection: sa.Connection, closing: Closing) -> None:
    incoming, result = closing.incoming, closing.result
    written = len(closing.entries) + closing.speaks
    turn: SqlValues = {
        "tenant": incoming.tenant,
        "conversation": incoming.conversation,
        "turn": incoming.turn,
        "language": closing.language,
        "now": epoch(closing.at),
    }
    intent = result.pending.id if result.pending else None
    wishes = None if closing.wishes is None else dumps(closing.wishes)
    given = {**turn, "token": closing.token, "written": written, "intent": intent, "wishes": wishes}
    kept = run(connection, _GIVE_BACK, given).fetchone()
    if kept is None:
        raise lease_lost()
    next_seq, calls = kept
    if written:
        insert(connection, messages, *_build_message_rows(closing, next_seq - written), common=_common(closing))
    holds = read_holds(closing.entries)
    marks = list_marks(closing.entries, result.reason_codes, holds) | {
        mark_tool(one.call.tool) for one in closing.executions
    }
    put_marks(connection, incoming.tenant, incoming.conversation, incoming.turn, epoch(closing.at), marks)
    if result.pending:
        asked = _with_proposers(connection, replace(result.pending, question_seq=next_seq - 1), turn)
        result = replace(result, pending=asked)
        if not closing.beside:
            run(connection, _SUPERSEDE, {**turn, "intent": intent, "kind": asked.kind})
        run(connection, _ASK, _intent_values(asked))
    if closing.denied:  # unless a newer question has just taken its place
        run(connection, _DENY, {**turn, "intent": closing.denied})
    if isinstance(incoming.errand, PersonDecision):
        run(connection, _SETTLED_BY, {**turn, "intent": incoming.errand.intent, "by": clean(incoming.errand.by)})
    if closing.executions:
        insert(connection, tool_executions, *(execution_row(one, reported=True) for one in closing.executions))
    for one in closing.unwritten:
        if not finish_call(connection, one) and one.state != "succeeded" and _is_known_otherwise(connection, one):
            raise lease_lost()
    if calls and not closing.interrupted and not closing.silent:
        run(connection, _REPORT, {**turn, "opened": epoch(incoming.at)})
        run(connection, _ANY_CALLS, turn)
    if closing.escalation:
        escalate(connection, incoming.tenant, incoming.conversation, incoming.turn, closing.escalation, closing.at)
    status = "interrupted" if closing.interrupted else "done"
    document = dumps(codec.result_document(result))
    run(connection, _DONE, {**turn, "status": status, "outcome": result.outcome, "result": document})
    # Last, because all turns of a tenant share these rows; in one order, so that no two of them wait for each other.
    for row in _usage_rows(closing):
        run(connection, _COUNT, row)
    if not closing.interrupted and _is_customers(incoming):
        count_turn(connection, incoming.tenant, incoming.at, result.outcome, result.usage, result.reason_codes)
    if not closing.interrupted and not is_rehearsal(incoming.conversation):  # there nothing is prevented, or run
        put_holds(connection, closing, holds, next_seq - written)
    if isinstance(incoming.errand, PersonDecision):
        _log(connection, closing, incoming.errand)  # the very last: all who write the log wait for each other


def _is_known_otherwise(connection: sa.Connection, call: Execution) -> bool:
    """Somebody took the call over and may have made it: the turn's answer says that nothing happened, and is not so."""
    state = run(connection, _STATE, {"id": call.id, "tenant": call.tenant}).fetchone()
    return state is not None and state[0] != call.state


def _with_proposers(connection: sa.Connection, asked: Intent, turn: SqlValues) -> Intent:
    """An approval with all who took part in the conversation that led to it: none of them approves it."""
    if asked.kind != "approval":
        return asked
    accounts = (str(account) for (account,) in run(connection, _ACCOUNTS, turn).fetchall())
    return replace(asked, proposed_by=tuple(dict.fromkeys((*asked.proposed_by, *accounts))))


def _log(connection: sa.Connection, closing: Closing, decided: PersonDecision) -> None:
    """What a colleague decided, for the operators' log. A turn that was broken off before anything was settled has
    decided nothing, and may run again under the same id."""
    incoming = closing.incoming
    where = {"intent": decided.intent, "tenant": incoming.tenant, "conversation": incoming.conversation}
    row = connection.execute(_APPROVAL, where).one_or_none()
    if row is None or (closing.interrupted and row.state == "pending"):
        return
    id_ = f"act_{incoming.turn}"
    if action_log.is_logged(connection, id_):
        return  # when it was broken off after the decision had been taken
    action_log.log_action(
        connection,
        id=id_,
        at=closing.at,
        operator=decided.by,
        action=decided.decision,
        tenant=incoming.tenant,
        subject=decided.intent,
        detail={"tool": codec.intent(row).call.tool, "outcome": closing.result.outcome, "turn": incoming.turn},
        result="done" if _is_carried_out(closing, decided, row.state) else "refused",
    )


def _is_carried_out(closing: Closing, decided: PersonDecision, state: str) -> bool:
    """Did what they decided come about? Not where it was not theirs to decide, where somebody else had decided, or
    where the rules, asked again, held the call."""
    if ReasonCode.PENDING_INTENT_MISSING in closing.result.reason_codes:
        return False
    match decided.decision:
        case "approve":
            return state not in ("pending", "denied", "superseded")
        case "deny":
            return state == "denied"
        case "edit":
            return closing.result.pending is not None


def _is_customers(incoming: Incoming) -> bool:
    """A customer is on the other side: no colleague decides in it, and it is not only rehearsed."""
    decides = isinstance(incoming.errand, PersonDecision) and not incoming.is_said
    return not (decides or is_rehearsal(incoming.conversation))


def _common(closing: Closing) -> SqlValues:
    incoming = closing.incoming
    return {
        "tenant": incoming.tenant,
        "conversation": incoming.conversation,
        "turn": incoming.turn,
        "at": epoch(closing.at),
    }


def _build_message_rows(closing: Closing, seq: int) -> Iterator[SqlValues]:
    """The journal in the order in which it was written, then the words it led to."""
    result = closing.result
    for entry in closing.entries:
        yield _row(seq, "internal", entry.kind, entry.content, entry.reason, entry.meta)
        seq += 1
    if closing.speaks:
        codes = tuple(str(code) for code in result.reason_codes)
        said = ReplyEvent(result.reply, outcome=result.outcome, reason_codes=codes, sources=result.sources)
        yield _row(seq, "assistant", said.kind, said.content, result.reason_codes[0] if codes else None, said.to_json())


def _row(seq: int, role: str, kind: str, content: str, reason: str | None, meta: JsonObject) -> SqlValues:
    return {
        "seq": seq,
        "role": role,
        "kind": kind,
        "content": clean(content),
        "reason_code": None if reason is None else str(reason),
        "meta": dumps(meta) if meta else None,
    }


def _intent_values(intent: Intent) -> SqlValues:
    return {
        "id": intent.id,
        "tenant": intent.tenant,
        "conversation": intent.conversation,
        "kind": intent.kind,
        "call": dumps(codec.call_document(intent.call)),
        "hash": intent.hash,
        "tool_version": intent.tool_version,
        "policy_version": intent.policy_version,
        "principal": clean(intent.principal),
        "nonce": intent.nonce,
        "question": clean(intent.question),
        "question_hash": digest(clean(intent.question)),
        "question_seq": intent.question_seq,
        "created_at": epoch(intent.created_at),
        "expires_at": epoch(intent.expires_at),
        "proposed_by": dumps([clean(who) for who in intent.proposed_by]),
        "edited_by": dumps([clean(who) for who in intent.edited_by]),
        "keys_approve": intent.keys_approve,
        "facts": dumps(codec.fact_documents(intent.facts)),
    }


def _usage_rows(closing: Closing) -> Iterator[SqlValues]:
    """One per model. The turn itself counts with the model that was asked first, or with none; not before it ends, and
    not beyond the plan's quota, where it was turned away or handed to a person, nor where nobody asked anything of us:
    a colleague decided, or a client brought results. Nobody pays by the message for what failed."""
    usage, incoming = closing.result.usage, closing.incoming
    asked = incoming.is_said or isinstance(incoming.errand, OutsideCall)
    by_model: dict[str, list[ModelUsage]] = {call.model: [] for call in usage.calls} or {"": []}
    first = next(iter(by_model))
    for call in usage.calls:
        by_model[call.model].append(call)
    for model, calls in sorted(by_model.items()):
        own = model == first
        ended = not closing.interrupted and ReasonCode.QUOTA_REACHED not in closing.result.reason_codes
        counts = own and asked and ended
        price = closing.message_price if counts and closing.result.outcome != "failed" else 0.0
        cost = sum(call.cost_usd for call in calls)
        yield {
            "tenant": closing.incoming.tenant,
            "period": f"{closing.at.astimezone(UTC):%Y-%m}",
            "mode": usage.mode,
            "model": clean(model),
            "messages": int(counts),
            "critiques": usage.critiques if own else 0,
            "context_fetches": usage.context_rounds if own else 0,
            "escalations": int(own and closing.escalation is not None),
            "model_calls": len(calls),
            "input_tokens": sum(call.input_tokens for call in calls),
            "output_tokens": sum(call.output_tokens for call in calls),
            "cost": cost,
            "billed": cost * closing.multiplier + price,
        }
