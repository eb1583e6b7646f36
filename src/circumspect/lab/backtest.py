"""backtest: stored conversations and a changed policy -> what would have been decided otherwise. No model, no effects.

    async for visited in backtest(store, policy, tenant=TenantId("shop"), specs=specs):
        for case in visited.cases: ...

Every ruling is made again under the new policy (`replay.py`) and held against the one that was stored. Conversations
are read a few at a time, the newest first; nothing is written.

What may surprise: a difference counts as a flip only if it can be the policy's doing. Where rules that no policy
governs come out differently than they are stored, or where the stored policy itself, made to rule again, does not
repeat itself, the call is reported as one that cannot be replayed, with the reason.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Literal

import sqlalchemy as sa

from circumspect.lab.replay import SECOND_OPINION, Again, Record, Ruling, rule_again, rulings
from circumspect.policy.file import Policy
from circumspect.policy.judge import Rule
from circumspect.policy.rules import RULES
from circumspect.profiles import PROFILES
from circumspect.reasons import ReasonCode
from circumspect.stores import SqlStore, codec
from circumspect.stores.tables import conversations, intents, messages, tool_executions, turns
from circumspect.turn import (
    SEVERITY,
    Confirm,
    ConversationId,
    Deny,
    Execution,
    Finding,
    Intent,
    IntentId,
    Json,
    Mode,
    Profile,
    TenantId,
    ToolCall,
    ToolSpec,
    TurnId,
    Verdict,
)

Said = Literal["allow", "confirm", "approve", "ask", "escalate", "deny"]
Change = Literal["let_through", "looser", "held", "stricter", "opinion_dropped", "opinion_asked"]
"""Would run with nobody asked; would be held more mildly; ran, and would be held or asked about; would be held more
strictly, and did not run anyway; would be let through as before, but without or with a second opinion."""
Fate = Literal["confirmed", "approved", "ran", "refused", "failed", "unknown", "unanswered", "held"]

STRICTNESS: Mapping[Said, int] = {"allow": 0, "confirm": 1, "approve": 2, "ask": 3, "escalate": 4, "deny": 5}
LOOSENED: tuple[Change, ...] = ("let_through", "looser")
TIGHTENED: tuple[Change, ...] = ("held", "stricter")
CHANGES: tuple[Change, ...] = (*LOOSENED, *TIGHTENED, "opinion_dropped", "opinion_asked")
RAN: tuple[Fate, ...] = ("confirmed", "approved", "ran", "failed", "unknown")
LOOK_UP_FIRST = (ReasonCode.FACT_NEEDED, ReasonCode.REQUIREMENT_NOT_MET)
QUESTIONS: tuple[Said, ...] = ("confirm", "approve", "ask")

PAGE = 20
"""How many conversations are read at once."""
KEPT = 3
"""How many cases a summary remembers for each kind of change and rule."""

_SPEC_RULES = frozenset(
    (
        "the_tool_exists",
        "the_tool_is_configured",
        "required_arguments_are_present",
        "arguments_have_the_right_form",
    )
)
_UNGOVERNED = _SPEC_RULES | {
    "the_assessment_can_be_read",
    "the_model_proposes_one_thing",
    "nothing_runs_twice_in_a_turn",
}
"""Rules whose answer no policy file can change."""


@dataclass(frozen=True, slots=True)
class Side:
    """What was, or would be, decided, and who had the last word."""

    verdict: Said
    rule: str = ""
    reason: ReasonCode | None = None
    sentence: str = ""
    """What the rule wants to be so."""
    problem: str = ""
    """What the policy file, or the rule, says about this very call; only denials have it, and only new ones."""

    def to_json(self) -> dict[str, Json]:
        return {
            "verdict": self.verdict,
            "rule": self.rule,
            "reason_code": None if self.reason is None else str(self.reason),
            "sentence": self.sentence,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class Case:
    """One ruling under both policies."""

    tenant: TenantId
    conversation: ConversationId
    turn: TurnId
    seq: int
    """Of the journal's entry in the conversation."""
    at: datetime
    call: ToolCall
    after_yes: bool
    """It was ruled on once more after the user's yes."""
    then: Side
    now: Side | None
    """None when it cannot be replayed."""
    change: Change | None
    fate: Fate
    open: bool = False
    """A second opinion would be asked for now, and none is stored."""
    verified: bool = False
    """Under the policy it was made with, replay gives what is stored."""
    problem: str = ""
    """Why it cannot be replayed."""

    @property
    def detour(self) -> bool:
        """It would be held only until the model has looked something up: no person is asked, and it can go on."""
        return self.change in TIGHTENED and self.now is not None and self.now.reason in LOOK_UP_FIRST

    @property
    def needless(self) -> Literal["known", "presumed"] | None:
        """A right call would be held: a person had said so, or it ran unasked and nothing speaks against it."""
        if self.change not in TIGHTENED or self.detour:
            return None
        return "known" if self.fate in ("confirmed", "approved") else "presumed" if self.fate == "ran" else None

    @property
    def spoke(self) -> Side:
        """Whoever made the difference: the new objection, or the old one that is gone."""
        return self.then if self.change in LOOSENED or self.now is None else self.now

    def to_json(self) -> dict[str, Json]:
        return {
            "tenant": self.tenant,
            "conversation": self.conversation,
            "turn": self.turn,
            "seq": self.seq,
            "at": self.at.isoformat(),
            "tool": self.call.tool,
            "arguments": shortened(self.call.arguments),
            "after_yes": self.after_yes,
            "change": self.change,
            "then": self.then.to_json(),
            "now": None if self.now is None else self.now.to_json(),
            "second_opinion_open": self.open,
            "fate": self.fate,
            "needless": self.needless,
            "detour": self.detour,
            **({"cannot_be_replayed": self.problem} if self.problem else {}),
        }


@dataclass(frozen=True, slots=True)
class Visited:
    """A conversation that was looked at, with every ruling in it."""

    conversation: ConversationId
    cases: tuple[Case, ...]


async def backtest(
    store: SqlStore,
    policy: Policy,
    *,
    tenant: TenantId,
    specs: Mapping[str, ToolSpec],
    since: datetime | None = None,
    limit: int | None = None,
    verify: Policy | None = None,
    rules: Sequence[Rule] = RULES,
    profiles: Mapping[Mode, Profile] = PROFILES,
) -> AsyncIterator[Visited]:
    """A tenant's conversations under `policy`, the newest first; rulings since then, of at most `limit` conversations.

    `specs` are the tools enabled for the tenant. `verify` is the policy that the conversations were played under: what
    was ruled under it is ruled under it again, and must come out the same.
    """
    lens = _Lens(policy, verify, specs, rules, _Elsewhere(store, tenant))
    async for record in _records(store, tenant, since, limit):
        yield Visited(record.conversation, tuple([case async for case in _cases(record, lens, since, profiles)]))


async def tenants_of(store: SqlStore) -> tuple[TenantId, ...]:
    """Everyone who has stored conversations."""
    return await store.tx(_tenants)


async def count(store: SqlStore, tenant: TenantId, since: datetime | None = None, limit: int | None = None) -> int:
    """How many conversations a backtest will visit."""
    found = await store.tx(_count, tenant, since)
    return found if limit is None else min(found, limit)


def shortened(value: Json, most: int = 200) -> Json:
    """The same shape with long texts and long lists cut."""
    match value:
        case str():
            return value if len(value) <= most else value[: most - 1] + "…"
        case Mapping():
            return {key: shortened(item, most) for key, item in list(value.items())[:50]}
        case Sequence():
            return [shortened(item, most) for item in value[:20]]
    return value


# --- one conversation -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lens:
    """What the conversations are looked at through."""

    policy: Policy
    verify: Policy | None
    specs: Mapping[str, ToolSpec]
    rules: Sequence[Rule]
    elsewhere: _Elsewhere

    @cached_property
    def sentences(self) -> Mapping[str, str]:
        return {SECOND_OPINION: "A second opinion agrees.", **{one.name: one.sentence for one in self.rules}}

    async def again(self, ruling: Ruling, policy: Policy) -> Again:
        return await rule_again(ruling, policy, self.specs, rules=self.rules, elsewhere=self.elsewhere)

    def side(self, verdict: Verdict, findings: Sequence[Finding]) -> Side:
        kind: Said = "approve" if isinstance(verdict, Confirm) and verdict.by == "colleague" else verdict.kind
        if kind == "allow":
            return Side(kind)
        first = max(findings, key=lambda finding: SEVERITY[finding.verdict.kind], default=None)
        if first is None:
            return Side(kind)
        problem = first.verdict.problem if isinstance(first.verdict, Deny) else ""
        return Side(kind, first.rule, first.reason, self.sentences.get(first.rule, ""), problem)


async def _cases(
    record: Record, lens: _Lens, since: datetime | None, profiles: Mapping[Mode, Profile]
) -> AsyncIterator[Case]:
    story = _Story(record, tuple(rulings(record, profiles)))
    for ruling in story.rulings:
        if since is None or ruling.at >= since:
            yield await _case(ruling, story, lens)


async def _case(ruling: Ruling, story: _Story, lens: _Lens) -> Case:
    then, fate = lens.side(ruling.then, ruling.said), story.fate(ruling)
    now, change, is_open, verified, problem = None, None, False, False, ruling.problem
    if not problem:
        again = await lens.again(ruling, lens.policy)
        if ruling.policy_version == lens.policy.hash:
            problem, verified = _difference(ruling, again, everything=True), True
        else:
            problem = _difference(ruling, again, everything=False)
            if not problem and lens.verify and ruling.policy_version == lens.verify.hash:
                problem, verified = _difference(ruling, await lens.again(ruling, lens.verify), everything=True), True
        if not problem:
            now, is_open = lens.side(again.enforced.verdict, again.enforced.findings), again.open
            change = _change(then.verdict, now.verdict, fate, ruling.criticised, again.criticised)
    return Case(
        tenant=ruling.tenant,
        conversation=ruling.conversation,
        turn=ruling.turn,
        seq=ruling.seq,
        at=ruling.at,
        call=ruling.call,
        after_yes=ruling.confirmed is not None,
        then=then,
        now=now,
        change=change if story.would_get_here(ruling, then, now) else None,
        fate=fate,
        open=is_open,
        verified=verified and not problem,
        problem=problem,
    )


def _change(then: Said, now: Said, fate: Fate, criticised_then: bool, criticised_now: bool) -> Change | None:
    if STRICTNESS[now] > STRICTNESS[then]:
        return "held" if then == "allow" or fate in RAN else "stricter"
    if STRICTNESS[now] < STRICTNESS[then]:
        return "let_through" if now == "allow" else "looser"
    if criticised_then == criticised_now or then != "allow":
        return None
    return "opinion_asked" if criticised_now else "opinion_dropped"


def _difference(ruling: Ruling, again: Again, *, everything: bool) -> str:
    """How a replay departs from what is stored; empty when it does not. Without `everything`, only where no policy
    could be the reason."""
    then = {finding.rule: finding.verdict.kind for finding in ruling.findings}
    now = {finding.rule: finding.verdict.kind for finding in again.enforced.findings if finding.rule != SECOND_OPINION}
    for rule in (*then, *now):
        if (everything or rule in _UNGOVERNED) and then.get(rule) != now.get(rule):
            said = f"{rule} says {now.get(rule, 'nothing')} on replay and said {then.get(rule, 'nothing')} then"
            return said + (": the tools have changed since." if rule in _SPEC_RULES else ".")
    if everything and ruling.verdict.kind != again.alone.kind:
        return f"It comes out as {again.alone.kind} on replay and was {ruling.verdict.kind} then."
    if everything and ruling.criticised != again.criticised:
        return f"A second opinion {'would' if again.criticised else 'would not'} be asked for on replay."
    return ""


class _Story:
    """What became of each call: which question it led to, what the answer was, and how the run ended."""

    def __init__(self, record: Record, found: tuple[Ruling, ...]) -> None:
        self.rulings = found
        asked_at = {message.seq: message.turn for message in record.messages if message.role == "assistant"}
        self._questions: dict[TurnId, list[Intent]] = {}
        for intent in record.intents:
            if intent.question_seq in asked_at:
                self._questions.setdefault(asked_at[intent.question_seq], []).append(intent)
        self._ran: dict[TurnId, list[Execution]] = {}
        for one in record.executions:
            self._ran.setdefault(one.turn, []).append(one)
        self._by_yes = {one.intent: one for one in record.executions if one.intent}
        self._again = {one.confirmed.id: one for one in found if one.confirmed and one.asked_again}
        self._still_asked: dict[IntentId, bool] = {}

    def would_get_here(self, ruling: Ruling, then: Side, now: Side | None) -> bool:
        """False after a yes to a question that the new policy would not have asked: that flip is counted already."""
        here = ruling.confirmed is None or self._still_asked.get(ruling.confirmed.id, True)
        if question := self._question(ruling):
            self._still_asked[question.id] = here and now is not None and now.verdict == then.verdict
        return here

    def fate(self, ruling: Ruling) -> Fate:
        question = self._question(ruling)
        while question is not None:
            if question.state == "consumed":
                ended = _ended(self._by_yes.get(question.id))
                return ended if ended != "ran" else "approved" if question.kind == "approval" else "confirmed"
            if question.state == "denied":
                return "refused"
            later = self._again.get(question.id)
            question = self._question(later) if later else None
            if question is None:
                return "unanswered"
        if ruling.then.kind != "allow" or ruling.asked_again:
            return "held"
        ran = next((one for one in self._ran.get(ruling.turn, ()) if _same(one.call, ruling.call)), None)
        if ran is not None and ran.intent and ran.state == "succeeded":
            return "approved" if ruling.confirmed and ruling.confirmed.kind == "approval" else "confirmed"
        return _ended(ran)

    def _question(self, ruling: Ruling) -> Intent | None:
        return next((one for one in self._questions.get(ruling.turn, ()) if _same(one.call, ruling.call)), None)


def _same(one: ToolCall, other: ToolCall) -> bool:
    return one.tool == other.tool and one.arguments == other.arguments


def _ended(one: Execution | None) -> Fate:
    if one is None:
        return "held"
    return "ran" if one.state == "succeeded" else "failed" if one.state == "failed" else "unknown"


# --- what it came to ------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """A kind of change by one rule."""

    change: Change
    rule: str
    reason: ReasonCode | None
    sentence: str
    calls: int = 0
    needless: int = 0
    cases: list[Case] = field(default_factory=list)

    def to_json(self) -> dict[str, Json]:
        reason = None if self.reason is None else str(self.reason)
        return {
            "change": self.change,
            "rule": self.rule,
            "reason_code": reason,
            "calls": self.calls,
            "needless": self.needless,
        }


@dataclass
class Summary:
    """Counts, and a few cases of each kind: constant in memory however many conversations there are."""

    conversations: int = 0
    calls: int = 0
    verified: int = 0
    unreplayed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """Why calls could not be replayed."""
    changes: Counter[Change] = field(default_factory=Counter)
    needless: Counter[str] = field(default_factory=Counter)
    """`known` and `presumed`."""
    questions: Counter[str] = field(default_factory=Counter)
    """`then`, `now`, `dropped` and, of those, `dropped_yes`: the ones that had been answered with yes."""
    tallies: dict[tuple[Change, str, ReasonCode | None], Tally] = field(default_factory=dict)
    first: datetime | None = None
    last: datetime | None = None

    def add(self, visited: Visited) -> None:
        self.conversations += 1
        for case in visited.cases:
            self._add(case)

    def _add(self, case: Case) -> None:
        self.calls += 1
        self.first = min(self.first or case.at, case.at)
        self.last = max(self.last or case.at, case.at)
        self.verified += case.verified
        if case.problem:
            self.unreplayed += 1
            self.reasons[case.problem] += 1
        self.questions["then"] += case.then.verdict in QUESTIONS
        self.questions["now"] += (case.now or case.then).verdict in QUESTIONS
        if case.change is None:
            return
        self.changes[case.change] += 1
        if case.needless:
            self.needless[case.needless] += 1
        if case.then.verdict in QUESTIONS and case.change == "let_through":
            self.questions["dropped"] += 1
            self.questions["dropped_yes"] += case.fate in ("confirmed", "approved")
        self._keep(case, case.change)

    def _keep(self, case: Case, change: Change) -> None:
        spoke = case.spoke
        key = (change, spoke.rule, spoke.reason)
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = Tally(*key, spoke.sentence)
        tally.calls += 1
        tally.needless += case.needless is not None
        if len(tally.cases) < KEPT:
            tally.cases.append(case)

    @property
    def days(self) -> float:
        """From the first ruling to the last; at least one."""
        if self.first is None or self.last is None:
            return 1.0
        return max(1.0, (self.last - self.first) / timedelta(days=1))

    @property
    def flips(self) -> int:
        return sum(self.changes[change] for change in (*LOOSENED, *TIGHTENED))

    def ranked(self) -> list[Tally]:
        """What lets more through first; within a kind, the most frequent."""
        return sorted(self.tallies.values(), key=lambda one: (CHANGES.index(one.change), -one.calls, one.rule))

    def cases(self) -> Iterator[Case]:
        return (case for tally in self.ranked() for case in tally.cases)

    def to_json(self) -> dict[str, Json]:
        needless = sum(self.needless.values())
        return {
            "summary": True,
            "conversations": self.conversations,
            "calls": self.calls,
            "from": self.first.isoformat() if self.first else None,
            "to": self.last.isoformat() if self.last else None,
            "days": round(self.days, 2),
            "changes": {change: self.changes[change] for change in CHANGES},
            "needless": {"known": self.needless["known"], "presumed": self.needless["presumed"]},
            "needless_per_day": round(needless / self.days, 2),
            "questions": {name: self.questions[name] for name in ("then", "now", "dropped", "dropped_yes")},
            "questions_per_day": {name: round(self.questions[name] / self.days, 2) for name in ("then", "now")},
            "by_rule": [tally.to_json() for tally in self.ranked()],
            "verified": self.verified,
            "cannot_be_replayed": self.unreplayed,
            "why_not": dict(self.reasons.most_common(20)),
        }


# --- reading --------------------------------------------------------------------------------------------------------


async def _records(
    store: SqlStore, tenant: TenantId, since: datetime | None, limit: int | None
) -> AsyncIterator[Record]:
    """Page by page, from where the page before ended. One that is used meanwhile moves to the front and is left out."""
    last: tuple[float, str] | None = None
    left = limit
    while left is None or left > 0:
        page, last = await store.tx(_page, tenant, since, last, PAGE if left is None else min(PAGE, left))
        for record in page:
            yield record
        if not page:
            return
        left = None if left is None else left - len(page)


def _page(
    connection: sa.Connection, tenant: TenantId, since: datetime | None, last: tuple[float, str] | None, size: int
) -> tuple[list[Record], tuple[float, str] | None]:
    columns = conversations.c
    query = sa.select(columns.id, columns.updated_at).where(columns.tenant == tenant)
    if since is not None:
        query = query.where(columns.updated_at >= codec.epoch(since))
    if last is not None:
        query = query.where(sa.tuple_(columns.updated_at, columns.id) < sa.tuple_(*last))
    rows: Sequence[Any] = connection.execute(
        query.order_by(columns.updated_at.desc(), columns.id.desc()).limit(size)
    ).all()
    if not rows:
        return [], last
    which = {"tenant": tenant, "ids": [row.id for row in rows]}
    said, ran, asked, played = (
        _by_conversation(connection, query, which) for query in (_MESSAGES, _EXECUTIONS, _INTENTS, _TURNS)
    )
    records = [
        Record(
            tenant=tenant,
            conversation=ConversationId(row.id),
            messages=[codec.message(one) for one in said.get(row.id, ())],
            executions=[codec.execution(one) for one in ran.get(row.id, ())],
            intents=[codec.intent(one) for one in asked.get(row.id, ())],
            turns={one.id: (one.mode, one.language) for one in played.get(row.id, ())},
        )
        for row in rows
    ]
    return records, (rows[-1].updated_at, rows[-1].id)


def _theirs(table: sa.Table) -> sa.ColumnElement[bool]:
    some = table.c.conversation.in_(sa.bindparam("ids", expanding=True))
    return sa.and_(table.c.tenant == sa.bindparam("tenant"), some)


_MESSAGES = sa.select(messages).where(_theirs(messages)).order_by("seq")
_EXECUTIONS = sa.select(tool_executions).where(_theirs(tool_executions)).order_by("started_at", "id")
_INTENTS = sa.select(intents).where(_theirs(intents)).order_by("created_at", "id")
# By id, which is what turns are found by; in the mode that the turn ended up in, not the one it was opened with.
_TURNS = sa.select(
    turns.c.id, turns.c.conversation, turns.c.language, turns.c.result["usage"]["mode"].as_string().label("mode")
).where(
    turns.c.id.in_(sa.select(messages.c.turn).where(_theirs(messages), messages.c.kind == "policy")),
    turns.c.result.is_not(None),
)


def _by_conversation(
    connection: sa.Connection, query: sa.Select[Any], which: Mapping[str, Any]
) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in connection.execute(query, which):
        found.setdefault(row.conversation, []).append(row)
    return found


def _count(connection: sa.Connection, tenant: TenantId, since: datetime | None) -> int:
    query = sa.select(sa.func.count()).select_from(conversations).where(conversations.c.tenant == tenant)
    if since is not None:
        query = query.where(conversations.c.updated_at >= codec.epoch(since))
    return int(connection.execute(query).scalar_one())


def _tenants(connection: sa.Connection) -> tuple[TenantId, ...]:
    query = sa.select(conversations.c.tenant).distinct().order_by(conversations.c.tenant)
    return tuple(TenantId(row.tenant) for row in connection.execute(query))


class _Elsewhere:
    """Calls in all conversations within a stretch of time, for limits over one. The last stretch is kept: conversations
    come the newest first, so the next one is likely to need the same, or what came just before."""

    def __init__(self, store: SqlStore, tenant: TenantId) -> None:
        self._store = store
        self._tenant = tenant
        self._kept: dict[frozenset[str], tuple[datetime, datetime, list[Execution], list[datetime]]] = {}

    async def __call__(self, tools: Collection[str], since: datetime, until: datetime) -> Sequence[Execution]:
        key = frozenset(tools)
        kept = self._kept.get(key)
        if kept is None or since < kept[0] or until > kept[1]:
            first = since - (until - since)
            found = await self._store.tx(_between, self._tenant, key, codec.epoch(first), codec.epoch(until))
            kept = self._kept[key] = (first, until, found, [one.started_at for one in found])
        _, _, found, began = kept
        return found[bisect_left(began, since) : bisect_right(began, until)]


def _between(
    connection: sa.Connection, tenant: TenantId, tools: frozenset[str], since: float, until: float
) -> list[Execution]:
    columns = tool_executions.c
    query = (
        sa.select(tool_executions)
        .where(columns.tenant == tenant, columns.tool.in_(sorted(tools)), columns.started_at.between(since, until))
        .order_by(columns.started_at, columns.id)
    )
    return [codec.execution(row) for row in connection.execute(query)]
