"""backtest: stored conversations and a changed policy -> what would have been decided otherwise. No model, no effects.

    async for visited in backtest(store, policy, tenant=TenantId("shop"), specs=specs):
        for case in visited.cases: ...

Every ruling is made again twice, under the new policy and under the one that it is compared with (`replay.py`), so that
a text that changes nothing flips nothing, whatever was in force when the call was made. With nothing to compare it with
it is held against what was decided then. Conversations are read a few at a time, the newest first; nothing is written.

What may surprise: a difference counts as a flip only if it can be the policy's doing. Where rules that no policy
governs come out differently than they are stored, or where the stored policy itself, made to rule again, does not
repeat itself, the call is reported as one that cannot be replayed, with the reason.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from circumspect.lab.replay.flips import (
    RAN,
    STRICTNESS,
    BacktestCase,
    BacktestVerdict,
    Fate,
    RulingChange,
    Side,
    Visited,
)
from circumspect.lab.replay.past_calls import Record
from circumspect.lab.replay.recorded_turns import SECOND_OPINION, Ruling, rulings
from circumspect.lab.replay.replay import ReplayedRuling, rule_again
from circumspect.lab.replay.stored_turns import StoredExecutionLookup, records
from circumspect.lab.replay.unreplayed import TOOLS_CHANGED
from circumspect.policy.judge import Rule
from circumspect.policy.policy_file import Policy
from circumspect.policy.rules import RULES
from circumspect.profiles import PROFILES
from circumspect.stores.engine import Transactions
from circumspect.values import (
    SEVERITY,
    Confirm,
    Deny,
    Execution,
    Intent,
    IntentId,
    Mode,
    Profile,
    RuleFinding,
    TenantId,
    ToolCall,
    ToolSpec,
    TurnId,
    Verdict,
)

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


async def backtest(
    store: Transactions,
    policy: Policy,
    *,
    tenant: TenantId,
    specs: Mapping[str, ToolSpec],
    since: datetime | None = None,
    limit: int | None = None,
    against: Policy | None = None,
    verify: Policy | None = None,
    rules: Sequence[Rule] = RULES,
    profiles: Mapping[Mode, Profile] = PROFILES,
) -> AsyncIterator[Visited]:
    """A tenant's conversations under `policy`, the newest first; rulings since then, of at most `limit` conversations.

    `specs` are the tools enabled for the tenant. `against` is the policy that it is compared with, such as the one in
    force. `verify` is one that conversations were played under: what was ruled under either of these is ruled under it
    again, and must come out the same.
    """
    elsewhere = StoredExecutionLookup(store, tenant)
    lens = Lens(policy, specs, elsewhere, since, verify, rules, profiles, against)
    async for record in records(store, tenant, since, limit):
        yield await lens.visit(record)


# --- one conversation -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lens:
    """What the conversations of a tenant are looked at through."""

    policy: Policy
    specs: Mapping[str, ToolSpec]
    elsewhere: StoredExecutionLookup
    since: datetime | None = None
    verify: Policy | None = None
    rules: Sequence[Rule] = RULES
    profiles: Mapping[Mode, Profile] = field(default_factory=lambda: PROFILES)
    against: Policy | None = None

    async def visit(self, record: Record) -> Visited:
        story = _Story(record, tuple(rulings(record, self.profiles)))
        wanted = (one for one in story.rulings if self.since is None or one.at >= self.since)
        return Visited(record.conversation, tuple([await _case(ruling, story, self) for ruling in wanted]))

    @cached_property
    def sentences(self) -> Mapping[str, str]:
        return {SECOND_OPINION: "A second opinion agrees.", **{one.name: one.sentence for one in self.rules}}

    async def again(self, ruling: Ruling, policy: Policy) -> ReplayedRuling:
        return await rule_again(ruling, policy, self.specs, rules=self.rules, elsewhere=self.elsewhere)

    def replayed_side(self, again: ReplayedRuling) -> Side:
        return self.side(again.enforced.verdict, again.enforced.findings)

    def side(self, verdict: Verdict, findings: Sequence[RuleFinding]) -> Side:
        kind: BacktestVerdict = (
            "approve" if isinstance(verdict, Confirm) and verdict.by == "colleague" else verdict.kind
        )
        if kind == "allow":
            return Side(kind)
        first = max(findings, key=lambda finding: SEVERITY[finding.verdict.kind], default=None)
        if first is None:
            return Side(kind)
        problem = first.verdict.problem if isinstance(first.verdict, Deny) else ""
        return Side(kind, first.rule, first.reason, self.sentences.get(first.rule, ""), problem)


async def _case(ruling: Ruling, story: _Story, lens: Lens) -> BacktestCase:
    then, fate = lens.side(ruling.then, ruling.all_findings), story.fate(ruling)
    now, change, is_open, verified, problem = None, None, False, False, ruling.problem
    if not problem:
        again = await lens.again(ruling, lens.policy)
        before = await lens.again(ruling, lens.against) if lens.against else None
        problem, verified = await _verify(ruling, again, before, lens)
        if not problem:
            now, is_open, criticised = lens.replayed_side(again), again.open, ruling.criticised
            if before is not None:
                then, criticised = lens.replayed_side(before), before.criticised
            change = _change(then.verdict, now.verdict, fate, criticised, again.criticised)
    return BacktestCase(
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


async def _verify(ruling: Ruling, again: ReplayedRuling, before: ReplayedRuling | None, lens: Lens) -> tuple[str, bool]:
    """How a replay departs from what is stored, if it does; and whether the policy of its time was asked again."""
    if ruling.policy_version == lens.policy.hash:
        return _difference(ruling, again, everything=True), True
    if problem := _difference(ruling, again, everything=False):
        return problem, False
    if before is not None and lens.against and ruling.policy_version == lens.against.hash:
        return _difference(ruling, before, everything=True), True
    if lens.verify and ruling.policy_version == lens.verify.hash:
        return _difference(ruling, await lens.again(ruling, lens.verify), everything=True), True
    return "", False


def _change(
    then: BacktestVerdict, now: BacktestVerdict, fate: Fate, criticised_then: bool, criticised_now: bool
) -> RulingChange | None:
    if STRICTNESS[now] > STRICTNESS[then]:
        return "held" if then == "allow" or fate in RAN else "stricter"
    if STRICTNESS[now] < STRICTNESS[then]:
        return "let_through" if now == "allow" else "looser"
    if criticised_then == criticised_now or then != "allow":
        return None
    return "opinion_asked" if criticised_now else "opinion_dropped"


def _difference(ruling: Ruling, again: ReplayedRuling, *, everything: bool) -> str:
    """How a replay departs from what is stored; empty when it does not. Without `everything`, only where no policy
    could be the reason."""
    then = {finding.rule: finding.verdict.kind for finding in ruling.findings}
    now = {finding.rule: finding.verdict.kind for finding in again.enforced.findings if finding.rule != SECOND_OPINION}
    for rule in (*then, *now):
        if (everything or rule in _UNGOVERNED) and then.get(rule) != now.get(rule):
            said = f"{rule} says {now.get(rule, 'nothing')} on replay and said {then.get(rule, 'nothing')} then"
            return said + (TOOLS_CHANGED if rule in _SPEC_RULES else ".")
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
                ended = _to_fate(self._by_yes.get(question.id))
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
        return _to_fate(ran)

    def _question(self, ruling: Ruling) -> Intent | None:
        return next((one for one in self._questions.get(ruling.turn, ()) if _same(one.call, ruling.call)), None)


def _same(one: ToolCall, other: ToolCall) -> bool:
    return one.tool == other.tool and one.arguments == other.arguments


def _to_fate(one: Execution | None) -> Fate:
    if one is None:
        return "held"
    return "ran" if one.state == "succeeded" else "failed" if one.state == "failed" else "unknown"
