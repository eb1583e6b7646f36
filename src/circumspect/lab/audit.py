"""audit: conversations that happened -> what would have been held, and why. No model, no network, no effects.

Every call an assistant proposed becomes a `Facts` with the session as it was at that moment, and goes through the same
rules as a live call; the confirmation is read from the words. One conversation is in memory at a time.

What may surprise: a transcript has no self-assessment, so confidence plays no part; and the conversation goes on as it
was recorded, even where a call would have been held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from circumspect.lab.draft_policy import guess
from circumspect.lab.messages import Proposed, Returned, Unknown, Words, has_failed, result_value, steps
from circumspect.lab.tool_defs import Specs, Toolbox
from circumspect.lab.transcripts import Problem, ProblemKind, Transcript, read
from circumspect.policy.arguments import materialised
from circumspect.policy.claims import Claim, unsupported_claims
from circumspect.policy.facts import Facts
from circumspect.policy.file import Policy, ToolPolicy, effect_of
from circumspect.policy.grounding import Ledger, Traced, attach, trace
from circumspect.policy.judge import Rule, judge
from circumspect.policy.rules import RULES
from circumspect.policy.transcript_rules import TRANSCRIPT_RULES, exchange_of
from circumspect.reasons import ReasonCode
from circumspect.turn import Deny, Finding, Happened, Heard, Json, JsonObject, Session, ToolCall, ToolSpec, Verdict

Said = Literal["allow", "ask", "escalate", "deny"]
MESSAGE_LIMIT = 200_000
"""A longer message is read up to here, and said to be."""

_LIVE_ONLY = frozenset(
    (
        "the_assessment_can_be_read",
        "the_model_proposes_one_thing",
        "nothing_runs_twice_in_a_turn",
        "no_earlier_outcome_is_unknown",
        "what_cannot_be_undone_is_confirmed",
        "asked_for_confirmations_are_given",
        "a_wish_is_not_a_command",
        "special_calls_are_confirmed",
        "required_arguments_are_present",
    )
)
"""Rules that need what only a live turn has: an assessment, an intent, the ledger of executions."""

AUDIT_RULES: tuple[Rule, ...] = tuple(
    {one.name: one for one in (*RULES, *TRANSCRIPT_RULES) if one.name not in _LIVE_ONLY}.values()
)


@dataclass(frozen=True, slots=True)
class Ruled:
    """One proposed call and what would have become of it."""

    id: str
    index: int
    """Of the message that proposed it."""
    call: int
    """Its position in that message."""
    tool: str
    verdict: Said
    findings: tuple[Finding, ...]
    grounding: tuple[Traced, ...]
    arguments: JsonObject
    effect: str
    path: str
    line: int
    question: str = ""
    answer: str = ""
    """The last exchange before the call, in words: what a reader needs to judge the verdict."""
    label: Any = None

    @property
    def reason_codes(self) -> tuple[ReasonCode, ...]:
        return tuple(dict.fromkeys(finding.reason for finding in self.findings if finding.reason))

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(finding.rule for finding in self.findings)

    def to_json(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "index": self.index,
            "call": self.call,
            "tool": self.tool,
            "verdict": self.verdict,
            "reason_codes": [str(code) for code in self.reason_codes],
            "rules": list(self.rules),
            "grounding": {
                one.argument: {"from": one.origin, "message": one.index, **({"field": one.field} if one.field else {})}
                for one in self.grounding
            },
        }


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A reply that claims something no call did."""

    id: str
    index: int
    claim: Claim
    path: str
    line: int

    def to_json(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "index": self.index,
            "claim": self.claim.sentence,
            "action": self.claim.action,
            "reason_codes": [str(ReasonCode.UNSUPPORTED_CLAIM)],
        }


Row = Ruled | Unsupported | Problem


@dataclass(frozen=True)
class Auditor:
    """How conversations are judged. Without a policy, what each tool does is guessed from its name and schema."""

    policy: Policy | None = None
    specs: Specs | None = None
    """For transcripts that carry no tool definitions."""
    rules: Sequence[Rule] = AUDIT_RULES
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    claims: bool = True
    guessed: dict[str, ToolPolicy] = field(default_factory=dict)
    last: list[_Conversation] = field(default_factory=list)
    """The conversation before, in case the next one goes on from it."""

    def of(self, transcript: Transcript) -> Iterator[Row]:
        """Everything there is to say about one conversation, in order."""
        before = self.last[0] if self.last else None
        conversation = (before and before.resumed(transcript)) or _Conversation(self, transcript)
        self.last[:] = [conversation]
        return conversation.rows()

    def policy_of(self, tool: str, spec: ToolSpec | None) -> ToolPolicy | None:
        if self.policy is not None:
            return self.policy.of(tool, None)
        if spec is None:
            return None
        if tool not in self.guessed:
            self.guessed[tool] = guess(spec).policy
        return self.guessed[tool]


def audit(
    paths: Iterable[str | Path],
    policy: Policy | None = None,
    *,
    specs: Specs | None = None,
    rules: Sequence[Rule] = AUDIT_RULES,
    now: datetime | None = None,
    claims: bool = True,
) -> Iterator[Row]:
    """Every proposed call of every conversation with its verdict, every unsupported claim, everything unreadable."""
    auditor = Auditor(policy, specs, rules, now or datetime.now(UTC), claims)
    for one in read(paths, Toolbox()):
        if isinstance(one, Problem):
            yield one
        else:
            yield from auditor.of(one)


class _Conversation:
    """One pass over the messages, growing the session and its ledger.

    A file of proposals repeats the conversation with each of them. `resumed` goes on from where the one before stopped
    when the messages are the same so far.
    """

    def __init__(self, auditor: Auditor, transcript: Transcript) -> None:
        self.auditor = auditor
        self.transcript = transcript
        self.specs = transcript.specs if transcript.specs is not None else auditor.specs
        self.events: list[Heard | Happened] = []
        self.ledger = Ledger()
        self.open: dict[str, ToolCall] = {}
        self.words = ""
        self.read = 0
        self.problems: list[tuple[ProblemKind, str, int]] = []

    def resumed(self, transcript: Transcript) -> _Conversation | None:
        """Itself, for a transcript that goes on from here; None when it is another conversation."""
        before = self.transcript
        if (
            before.proposal is None
            or transcript.proposal is None
            or before.specs is not transcript.specs
            or before.untrusted != transcript.untrusted
            or before.messages != transcript.messages[: self.read]
        ):
            return None
        self.transcript = transcript
        return self

    def rows(self) -> Iterator[Row]:
        for kind, problem, index in self.problems:
            yield self._problem(kind, problem, index)
        only, messages = self.transcript.proposal, self.transcript.messages
        while self.read < len(messages):
            index = self.read
            self.read += 1
            try:
                found = steps(messages[index])
            except Unknown as problem:
                yield self._noted("unknown_message", str(problem), index)
                continue
            calls = 0
            for step in found:
                match step:
                    case Words():
                        yield from self._heard(step, index, only is None)
                    case Proposed():
                        if only is None:
                            yield self._ruled(step, index, calls)
                        self.open[step.call.id] = step.call
                        calls += 1
                    case Returned():
                        yield from self._happened(step, index)
        if only is not None:
            yield self._ruled(only, len(messages), 0)

    def _heard(self, words: Words, index: int, rule_on: bool) -> Sequence[Row]:
        rows: list[Row] = []
        text = words.text
        if len(text) > MESSAGE_LIMIT:
            rows.append(self._long(len(text), index))
            text = text[:MESSAGE_LIMIT]
        if words.speaker == "system":
            # What the application itself said is context: trusted, and no result of any tool.
            self.ledger.add(Happened(ToolCall("(system)"), text, True, True, index))
            return rows
        if words.speaker == "user":
            self.words = text
        elif rule_on and self.auditor.claims and self.specs:
            done = [event for event in self.events if isinstance(event, Happened)]
            rows += (
                Unsupported(self.transcript.id, index, claim, self.transcript.path, self.transcript.line)
                for claim in unsupported_claims(text, None, done, self.specs)
            )
        heard = Heard(words.speaker, text, index)
        self.events.append(heard)
        self.ledger.add(heard)
        return rows

    def _happened(self, returned: Returned, index: int) -> Sequence[Row]:
        call = self.open.pop(returned.call_id, None)
        if call is None and not returned.call_id and self.open:
            call = self.open.pop(next(iter(self.open)))
        if call is None:
            return (self._noted("orphan_result", "a tool result answers no call", index),)
        content = returned.content
        rows: tuple[Row, ...] = ()
        if len(content) > MESSAGE_LIMIT:
            rows = (self._long(len(content), index),)
            content = content[:MESSAGE_LIMIT]
        value = result_value(content)
        ok = not returned.failed and not has_failed(content, value)
        event = Happened(call, value, ok, not self._is_untrusted(call.tool), index)
        self.events.append(event)
        self.ledger.add(event, content if value is not content else None)
        return rows

    def _is_untrusted(self, tool: str) -> bool:
        if self.transcript.untrusted is not None:
            return tool in self.transcript.untrusted
        spec = self.specs.get(tool) if self.specs else None
        return spec is not None and spec.open_world

    def _spec(self, tool: str) -> ToolSpec | None:
        if self.specs is None:
            return ToolSpec(tool) if tool else None
        return self.specs.get(tool)

    def _ruled(self, proposed: Proposed, index: int, position: int) -> Ruled:
        spec = self._spec(proposed.call.tool)
        policy = self.auditor.policy_of(proposed.call.tool, spec)
        effect = effect_of(spec, policy)
        call = proposed.call
        if spec is not None:
            call = ToolCall(call.tool, materialised(spec, call.arguments), call.id)
        session = attach(Session(tuple(self.events)), self.ledger)
        facts = Facts(call, spec, policy, effect, "adaptive", self.auditor.now, self.words, session=session)
        verdict, findings = judge(facts, self.auditor.rules)
        if proposed.problem:
            unreadable = Finding("the_arguments_can_be_read", Deny(proposed.problem), ReasonCode.INVALID_PARAM)
            verdict, findings = unreadable.verdict, (unreadable, *findings)
        exchange = exchange_of(session) if findings else None
        return Ruled(
            self.transcript.id,
            index,
            position,
            call.tool,
            said(verdict),
            findings,
            trace(facts) if spec is not None and effect != "read" else (),
            call.arguments,
            effect or "unknown",
            self.transcript.path,
            self.transcript.line,
            exchange.question if exchange else "",
            exchange.answer if exchange else "",
            self.transcript.label,
        )

    def _problem(self, kind: ProblemKind, problem: str, index: int) -> Problem:
        return Problem(self.transcript.path, self.transcript.line, kind, problem, self.transcript.id, index)

    def _noted(self, kind: ProblemKind, problem: str, index: int) -> Problem:
        self.problems.append((kind, problem, index))
        return self._problem(kind, problem, index)

    def _long(self, length: int, index: int) -> Problem:
        problem = f"the message has {length:,} characters; the first {MESSAGE_LIMIT:,} were read"
        return self._noted("long_message", problem, index)


def said(verdict: Verdict) -> Said:
    """Our verdict in the words of the output: a confirmation is a question; a colleague's approval is a handover."""
    if verdict.kind == "confirm":
        return "escalate" if verdict.by == "colleague" else "ask"
    return verdict.kind


def specs_used(rows: Iterable[Transcript]) -> Mapping[str, ToolSpec]:
    """All tools of some conversations, by name."""
    return {name: spec for one in rows for name, spec in (one.specs or {}).items()}
