"""replay: a stored conversation -> every ruling that was made in it, ready to be made again under any policy.

What the model said is read from the journal. What code decided is decided again, by the very code that decides it in a
live turn, over the past as it was at that moment. No model, no tool, no clock: whatever asked for one would fail.

What may surprise: the conversation goes on as it was recorded, even where a call would now be held or let through. And
an opinion of the model's that was never asked for cannot be made up: `Again.open` says that one would be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import Any, Protocol

from circumspect.clock import FixedClock
from circumspect.policy.file import Policy
from circumspect.policy.judge import Rule
from circumspect.policy.rules import RULES, no_earlier_outcome_is_unknown
from circumspect.ports import Ports
from circumspect.profiles import PROFILES
from circumspect.reasons import ReasonCode
from circumspect.turn import (
    Allow,
    Ask,
    Assessment,
    Business,
    Confirm,
    ConversationId,
    Deny,
    Draft,
    Enforced,
    Escalate,
    Execution,
    Finding,
    Incoming,
    Intent,
    Json,
    JsonObject,
    Language,
    Message,
    Mode,
    Notes,
    Opened,
    Profile,
    Screened,
    Tenant,
    TenantId,
    ToolCall,
    ToolSpec,
    TurnId,
    Verdict,
    strictest,
)
from circumspect.work import Setup, Work

SECOND_OPINION = "a_second_opinion_agrees"
_NOTED = frozenset(("confidence_is_capped", "the_model_is_sure", SECOND_OPINION))
"""Names in the journal that are not a rule's."""
_VERDICTS: Mapping[str, Verdict] = {
    one.kind: one for one in (Allow(), Confirm(), Ask(), Escalate(), Deny("As it was decided then."))
}
_OPINIONS: Mapping[str, Finding] = {
    "PROCEED": Finding(SECOND_OPINION, Allow()),
    "ASK_USER": Finding(SECOND_OPINION, Confirm(), ReasonCode.CRITIQUE_ASKED),
    "ESCALATE": Finding(SECOND_OPINION, Escalate(), ReasonCode.CRITIQUE_ESCALATED),
}
_NO_OPINION = Finding(SECOND_OPINION, Escalate(), ReasonCode.CRITIQUE_FAILED)


@dataclass(frozen=True, slots=True)
class Record:
    """A stored conversation: everything that a replay reads."""

    tenant: TenantId
    conversation: ConversationId
    messages: Sequence[Message]
    """Internal ones included, in order."""
    executions: Sequence[Execution]
    intents: Sequence[Intent]
    languages: Mapping[TurnId, Language] = field(default_factory=dict)


class Elsewhere(Protocol):
    """Calls of these tools that began between two moments, in any of the tenant's conversations, oldest first."""

    async def __call__(self, tools: Collection[str], since: datetime, until: datetime) -> Sequence[Execution]: ...


async def nowhere(tools: Collection[str], since: datetime, until: datetime) -> Sequence[Execution]:
    """There is only this conversation."""
    return ()


@dataclass(frozen=True, slots=True)
class Moment:
    """What the rules could see when a call was ruled on."""

    screened: Screened
    profile: Profile
    drafted: Draft | None
    ran: tuple[Execution, ...]
    now: datetime
    past: Past


@dataclass(frozen=True, slots=True)
class Ruling:
    """What became of a proposed call, as it was written down, and what it was decided from."""

    tenant: TenantId
    conversation: ConversationId
    turn: TurnId
    seq: int
    at: datetime
    call: ToolCall
    verdict: Verdict
    """Of the rules alone; `then` has the second opinion in it."""
    findings: tuple[Finding, ...]
    effect: str
    policy_version: str
    confirmed: Intent | None = None
    asked_again: bool = False
    """The yes came too late, or for something else: it was ruled on as if confirmed, and asked about once more."""
    opinion: Finding | None = None
    """What a second opinion said, where one was had."""
    criticised: bool = False
    moment: Moment | None = None
    problem: str = ""
    """Why it cannot be made again; then there is no `moment`."""

    @property
    def then(self) -> Verdict:
        return strictest((self.verdict, self.opinion.verdict)) if self.opinion else self.verdict

    @property
    def said(self) -> tuple[Finding, ...]:
        return (*self.findings, self.opinion) if self.opinion else self.findings


@dataclass(frozen=True, slots=True)
class Again:
    """A ruling made once more. `enforced` has the stored second opinion in it where one would be asked for."""

    enforced: Enforced
    alone: Verdict
    """Of the rules alone."""
    criticised: bool
    open: bool
    """A second opinion would be asked for, and none is stored: the verdict is what it would be if it agreed."""


async def rule_again(
    ruling: Ruling,
    policy: Policy,
    specs: Mapping[str, ToolSpec],
    *,
    rules: Sequence[Rule] = RULES,
    elsewhere: Elsewhere = nowhere,
) -> Again:
    """The same proposal, at the same moment, under this policy and these tools.

    What rules said that are not among `rules` (an application's own) cannot be decided again, and stays as it was.
    """
    moment = ruling.moment
    if moment is None:
        raise ValueError(f"this ruling cannot be made again: {ruling.problem}")
    nobody: Any = None
    past: Any = replace(moment.past, elsewhere=elsewhere)
    ports = Ports(model=nobody, tools=nobody, store=past, clock=FixedClock(moment.now), ids=nobody)
    notes = Notes()
    notes.ran.extend(moment.ran)
    everyone = (*rules, *_carried_over(ruling, rules))
    setup = Setup(Tenant(ruling.tenant, Business("")), policy, PROFILES, ports, everyone)
    work = Work(setup, moment.screened, moment.profile, specs, notes)
    enforced, _ = await work.rule(ruling.call, moment.drafted, confirmed=ruling.confirmed)
    wanted, alone = enforced.critique, enforced.verdict
    if wanted and ruling.opinion:
        enforced = enforced.tightened(ruling.opinion)
    return Again(enforced, alone, wanted, wanted and ruling.opinion is None)


def _carried_over(ruling: Ruling, rules: Sequence[Rule]) -> Iterator[Rule]:
    known = {one.name for one in rules} | _NOTED
    modes: frozenset[Mode] = frozenset(PROFILES)
    for finding in ruling.findings:
        if finding.rule not in known and finding.reason:
            verdict = finding.verdict
            yield Rule(finding.rule, "", finding.reason, lambda _facts, verdict=verdict: verdict, modes)


def rulings(record: Record, profiles: Mapping[Mode, Profile] = PROFILES) -> Iterator[Ruling]:
    """Every ruling of the conversation, in order."""
    conversation = _Conversation(record, profiles)
    for (turn, is_user), group in groupby(record.messages, lambda message: (message.turn, message.role == "user")):
        messages = tuple(group)
        if is_user:
            conversation.heard(messages)
        else:
            yield from conversation.closed(turn, messages)


# --- the past, as it was --------------------------------------------------------------------------------------------


def as_of(one: Execution, at: datetime) -> Execution:
    """An execution as the ledger had it then: one that ended later was still under way."""
    if one.finished_at is None or one.finished_at <= at:
        return one
    return replace(one, state="started", finished_at=None, result=None, error="", reason=None)


@dataclass(frozen=True, slots=True)
class Past:
    """The part of the store that rules are allowed to look at, as it was when a turn was ruled on."""

    visible: Sequence[Message]
    """All of the conversation's visible messages; the first `count` were there."""
    count: int
    executions_there: tuple[Execution, ...]
    until: datetime
    elsewhere: Elsewhere = nowhere

    async def messages(self, *_: str, after: int = -1, limit: int = 1000) -> Sequence[Message]:
        first = self.count
        while first and self.visible[first - 1].seq > after:
            first -= 1
        return self.visible[first : min(self.count, first + limit)]

    async def executions(self, *_: str) -> Sequence[Execution]:
        return [as_of(one, self.until) for one in self.executions_there]

    async def recent_executions(self, _: str, tools: Collection[str], since: datetime) -> Sequence[Execution]:
        found = await self.elsewhere(tools, since, self.until)
        return [as_of(one, self.until) for one in found]


@dataclass(frozen=True, slots=True)
class _Closed:
    """A turn that was brought to its end."""

    number: int
    opened: datetime
    closed: datetime


class _Conversation:
    """One pass over the messages: what has been said so far, which turns there were, and which calls were open."""

    def __init__(self, record: Record, profiles: Mapping[Mode, Profile]) -> None:
        self.record = record
        self.profiles = profiles
        self.visible: list[Message] = []
        self.asked: dict[TurnId, Message] = {}
        """The user's message of each turn, in the order in which they came."""
        self.closings: dict[TurnId, _Closed] = {}
        self.executions = {one.id: one for one in record.executions}
        self.intents = {str(one.id): one for one in record.intents}
        self.resolved: set[str] = set()

    def heard(self, messages: Sequence[Message]) -> None:
        self.visible += messages
        for message in messages:
            self.asked.setdefault(message.turn, message)

    def closed(self, turn: TurnId, messages: Sequence[Message]) -> Sequence[Ruling]:
        """The rulings of a turn, from its journal."""
        asked = self.asked.get(turn)
        found = _Journal(self, turn, asked, messages).rulings()
        self.visible += [message for message in messages if message.role != "internal"]
        if asked is not None:
            number = list(self.asked).index(turn) if turn != asked.turn else len(self.closings)
            self.closings[turn] = _Closed(number, asked.at, messages[-1].at)
        return found

    def before(self, turn: TurnId) -> tuple[Execution, ...]:
        """The calls of turns that had begun by now, but for this one."""
        return tuple(one for one in self.record.executions if one.turn in self.asked and one.turn != turn)
