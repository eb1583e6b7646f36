"""Flips: what a changed policy would have decided otherwise. One ruling is a `Case`; `Summary` counts them.

In come cases, out come figures and a few telling cases of each kind; both say themselves as JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from circumspect.lab.replay.unreplayed import FIXES, UnreplayedKind, find_kind
from circumspect.reasons import ReasonCode
from circumspect.values import ConversationId, Json, TenantId, ToolCall, TurnId

BacktestVerdict = Literal["allow", "confirm", "approve", "ask", "escalate", "deny"]
RulingChange = Literal["let_through", "looser", "held", "stricter", "opinion_dropped", "opinion_asked"]
"""Would run with nobody asked; would be held more mildly; ran, and would be held or asked about; would be held more
strictly, and did not run anyway; would be let through as before, but without or with a second opinion."""
Fate = Literal["confirmed", "approved", "ran", "refused", "failed", "unknown", "unanswered", "held"]

STRICTNESS: Mapping[BacktestVerdict, int] = {"allow": 0, "confirm": 1, "approve": 2, "ask": 3, "escalate": 4, "deny": 5}
LOOSENED: tuple[RulingChange, ...] = ("let_through", "looser")
TIGHTENED: tuple[RulingChange, ...] = ("held", "stricter")
CHANGES: tuple[RulingChange, ...] = (*LOOSENED, *TIGHTENED, "opinion_dropped", "opinion_asked")
RAN: tuple[Fate, ...] = ("confirmed", "approved", "ran", "failed", "unknown")
LOOK_UP_FIRST = (ReasonCode.FACT_NEEDED, ReasonCode.REQUIREMENT_NOT_MET)
QUESTIONS: tuple[BacktestVerdict, ...] = ("confirm", "approve", "ask")

KEPT = 3
"""How many cases a summary remembers for each kind of change and rule."""


@dataclass(frozen=True, slots=True)
class Side:
    """What was, or would be, decided, and who had the last word."""

    verdict: BacktestVerdict
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
class BacktestCase:
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
    """Under the policy that it is compared with; as it was decided, where there is none or it cannot be replayed."""
    now: Side | None
    """None when it cannot be replayed."""
    change: RulingChange | None
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
            "arguments": shorten_value(self.call.arguments),
            "after_yes": self.after_yes,
            "change": self.change,
            "then": self.then.to_json(),
            "now": None if self.now is None else self.now.to_json(),
            "second_opinion_open": self.open,
            "fate": self.fate,
            "needless": self.needless,
            "detour": self.detour,
            **({"cannot_be_replayed": self.problem, "how_to": FIXES[find_kind(self.problem)]} if self.problem else {}),
        }


@dataclass(frozen=True, slots=True)
class Visited:
    """A conversation that was looked at, with every ruling in it."""

    conversation: ConversationId
    cases: tuple[BacktestCase, ...]


def shorten_value(value: Json, most: int = 200) -> Json:
    """The same shape with long texts and long lists cut."""
    match value:
        case str():
            return value if len(value) <= most else value[: most - 1] + "…"
        case Mapping():
            return {key: shorten_value(item, most) for key, item in list(value.items())[:50]}
        case Sequence():
            return [shorten_value(item, most) for item in value[:20]]
    return value


@dataclass
class ChangeTally:
    """A kind of change by one rule."""

    change: RulingChange
    rule: str
    reason: ReasonCode | None
    sentence: str
    calls: int = 0
    needless: int = 0
    cases: list[BacktestCase] = field(default_factory=list)

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
class BacktestSummary:
    """Counts, and a few cases of each kind: constant in memory however many conversations there are."""

    conversations: int = 0
    calls: int = 0
    verified: int = 0
    unreplayed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """Why calls could not be replayed."""
    changes: Counter[RulingChange] = field(default_factory=Counter)
    needless: Counter[str] = field(default_factory=Counter)
    """`known` and `presumed`."""
    questions: Counter[str] = field(default_factory=Counter)
    """`then`, `now`, `dropped` and, of those, `dropped_yes`: the ones that had been answered with yes."""
    tallies: dict[tuple[RulingChange, str, ReasonCode | None], ChangeTally] = field(default_factory=dict)
    first: datetime | None = None
    last: datetime | None = None

    def add(self, visited: Visited) -> None:
        self.conversations += 1
        for case in visited.cases:
            self._add(case)

    def _add(self, case: BacktestCase) -> None:
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

    def _keep(self, case: BacktestCase, change: RulingChange) -> None:
        spoke = case.spoke
        key = (change, spoke.rule, spoke.reason)
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = ChangeTally(*key, spoke.sentence)
        tally.calls += 1
        tally.needless += case.needless is not None
        if len(tally.cases) < KEPT:
            tally.cases.append(case)

    def count_unreplayed(self) -> Counter[UnreplayedKind]:
        """How many calls could not be replayed, by what would make them replayable."""
        found: Counter[UnreplayedKind] = Counter()
        for problem, calls in self.reasons.items():
            found[find_kind(problem)] += calls
        return found

    @property
    def days(self) -> float:
        """From the first ruling to the last; at least one."""
        if self.first is None or self.last is None:
            return 1.0
        return max(1.0, (self.last - self.first) / timedelta(days=1))

    @property
    def flips(self) -> int:
        return sum(self.changes[change] for change in (*LOOSENED, *TIGHTENED))

    def rank_tallies(self) -> list[ChangeTally]:
        """What lets more through first; within a kind, the most frequent."""
        return sorted(self.tallies.values(), key=lambda one: (CHANGES.index(one.change), -one.calls, one.rule))

    def cases(self) -> Iterator[BacktestCase]:
        return (case for tally in self.rank_tallies() for case in tally.cases)

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
            "by_rule": [tally.to_json() for tally in self.rank_tallies()],
            "verified": self.verified,
            "cannot_be_replayed": self.unreplayed,
            "why_not": dict(self.reasons.most_common(20)),
            "how_to": {FIXES[kind]: calls for kind, calls in self.count_unreplayed().most_common()},
        }
