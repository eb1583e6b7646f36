"""What an audit came to, counted as it goes: constant in memory however many conversations there are.

`Summary.add` takes every row of `audit`. It keeps counts, and for each reason the few calls that tell most: the ones a
report shows with the words and values behind them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import get_args

from circumspect.audit.rulebook import AUDIT_RULES
from circumspect.audit.rulings import AuditedCall, AuditRow, Unsupported
from circumspect.audit.transcript_files import TranscriptProblem
from circumspect.policy.who_acts import PlainVerdict
from circumspect.reasons import ReasonCode
from circumspect.values import Json

VERDICTS: tuple[PlainVerdict, ...] = get_args(PlainVerdict)
KEPT_PROBLEMS = 20
NOTHING_PROPOSED = "no call was proposed in what was read, and no reply claims what was not done"
_SENTENCES: Mapping[str, str] = {one.name: one.sentence for one in AUDIT_RULES}
_DOUBTFUL = frozenset(("nowhere", "echo", "stranger", "stranger_field"))
_TELLS: Mapping[str, int] = {
    ReasonCode.UNTRUSTED_SOURCE: 9,
    ReasonCode.CONFLICTS_WITH_CONFIRMED: 8,
    ReasonCode.PRECONDITION_FAILED: 8,
    ReasonCode.LIMIT_REACHED: 7,
    ReasonCode.CONFIRMATION_REUSED: 7,
    ReasonCode.UNGROUNDED_PARAM: 6,
    ReasonCode.REPEATED_CALL: 6,
    ReasonCode.DESTRUCTIVE_NO_CONFIRM: 5,
    ReasonCode.CONFIRMATION_REQUIRED: 5,
    ReasonCode.APPROVAL_REQUIRED: 4,
    ReasonCode.REQUIREMENT_NOT_MET: 4,
    ReasonCode.FACT_NEEDED: 3,
}


@dataclass
class AuditSummary:
    keep: int = 4
    """How many calls to remember for each reason; a page shows more of them than a terminal."""
    calls: int = 0
    changes: int = 0
    """Calls of tools that change something."""
    conversations: int = 0
    """Those in which a call was proposed."""
    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    tools: dict[str, Counter[str]] = field(default_factory=dict)
    claims: list[Unsupported] = field(default_factory=list)
    claim_count: int = 0
    problems: list[TranscriptProblem] = field(default_factory=list)
    problem_counts: Counter[str] = field(default_factory=Counter)
    cases: dict[str, list[tuple[int, AuditedCall]]] = field(default_factory=dict)
    ruled_files: set[str] = field(default_factory=set)
    """Those in which there was something to rule on."""
    first_problems: dict[str, TranscriptProblem] = field(default_factory=dict)
    """What was the matter first, by file."""
    silent_files: dict[str, TranscriptProblem] = field(default_factory=dict)
    """Files of which it was said that nothing was read, though older calls may stand in them."""
    undefined: list[AuditedCall] = field(default_factory=list)
    """The first call of some conversations without tool definitions, and how many of these there are."""
    undefined_count: int = 0
    _last: tuple[str, int, str] = ("", -1, "")

    def add(self, row: AuditRow) -> None:
        match row:
            case AuditedCall():
                self._add_call(row)
            case Unsupported():
                self.ruled_files.add(row.path)
                self.claim_count += 1
                self.reasons[str(ReasonCode.UNSUPPORTED_CLAIM)] += 1
                if len(self.claims) < self.keep * 3:
                    self.claims.append(row)
            case TranscriptProblem():
                self.problem_counts[row.kind] += 1
                if row.kind == "nothing_read":
                    self.silent_files[row.path] = row
                self.first_problems.setdefault(row.path, row)
                if len(self.problems) < KEPT_PROBLEMS:
                    self.problems.append(row)

    def _add_call(self, row: AuditedCall) -> None:
        here = (row.path, row.line, row.id)
        if here != self._last:
            self.conversations += 1
            self._last = here
            self.ruled_files.add(row.path)
        if row.unchecked:
            self.undefined_count += 1
            self.undefined += [row] if len(self.undefined) < KEPT_PROBLEMS else []
        self.calls += 1
        self.changes += row.effect in ("write", "destructive")
        self.verdicts[row.verdict] += 1
        self.tools.setdefault(row.tool[:80], Counter())[row.verdict] += 1
        if row.verdict == "allow":
            return
        self.rules.update(dict.fromkeys(row.rules, 1))
        codes = [str(code) for code in row.reason_codes]
        self.reasons.update(codes)
        if codes:
            self._keep(max(codes, key=lambda code: _TELLS.get(code, 1)), row)

    def _keep(self, code: str, row: AuditedCall) -> None:
        """The most telling few, different tools first; of equals the earliest."""
        kept = self.cases.setdefault(code, [])
        same = sum(other.tool == row.tool for _, other in kept)
        kept.append((_telling(row) - 3 * same, row))
        kept.sort(key=lambda one: -one[0])
        del kept[self.keep :]

    @property
    def unread_files(self) -> dict[str, TranscriptProblem]:
        """Files that could not all be read and in which there was nothing to rule on, or only what was ruled on when
        it was proposed: no answer in them could be read."""
        unread = {path: one for path, one in self.first_problems.items() if path not in self.ruled_files}
        return {**self.silent_files, **unread}

    @property
    def held_calls(self) -> int:
        return self.calls - self.verdicts["allow"]

    def telling(self, most: int = 10) -> tuple[AuditedCall, ...]:
        """The cases to show: round after round one of each reason, the gravest reasons first."""
        order = sorted(self.cases, key=lambda code: (-_TELLS.get(code, 1), code))
        rounds = (self.cases[code][at][1] for at in range(self.keep) for code in order if at < len(self.cases[code]))
        return tuple(islice(rounds, most))

    def to_json(self) -> dict[str, Json]:
        return {
            "conversations": self.conversations,
            "calls": self.calls,
            "changes": self.changes,
            "held": self.held_calls,
            "verdicts": {verdict: self.verdicts[verdict] for verdict in VERDICTS},
            "reason_codes": dict(self.reasons.most_common()),
            "rules": dict(self.rules.most_common()),
            "tools": {name: dict(counts) for name, counts in sorted(self.tools.items())},
            "unsupported_claims": self.claim_count,
            "problems": dict(self.problem_counts.most_common()),
            "without_definitions": self.undefined_count,
        }


def _telling(row: AuditedCall) -> int:
    severity = VERDICTS.index(row.verdict)
    effect = {"destructive": 3, "write": 2}.get(row.effect, 0)
    return 10 * max((_TELLS.get(str(code), 1) for code in row.reason_codes), default=0) + severity + effect


def evidence(row: AuditedCall) -> Iterator[tuple[str, str]]:
    """Why, in words: what each rule said, and where the values that it is about come from."""
    for finding in row.findings:
        problem = getattr(finding.verdict, "problem", "")
        invalid = getattr(finding.verdict, "invalid", None) or {}
        missing = getattr(finding.verdict, "missing", None) or ()
        said = problem or "; ".join(
            (*(f"{name} is missing" for name in missing), *(f"{name}: {what}" for name, what in invalid.items()))
        )
        yield str(finding.reason or ""), said or f"does not hold: {_SENTENCES.get(finding.rule, finding.rule)}"
    for traced in row.grounding:
        if traced.origin in ("nowhere", "echo", "stranger", "stranger_field") and traced.kind in (
            "id",
            "destination",
            "words",
        ):
            where = {
                "nowhere": "nobody said it and no tool returned it",
                "echo": f"the model brought it up, and a tool only repeated it (message {traced.index})",
                "stranger": f"only in a text that strangers can write (message {traced.index})",
                "stranger_field": f"a field of a result that strangers can write (message {traced.index})",
            }[traced.origin]
            yield traced.argument, f"{traced.value!s:.80}: {where}"
