"""audit: conversations that happened -> what would have been held, and why. No model, no network, no effects.

Every call an assistant proposed becomes a `Facts` with the session as it was at that moment, and goes through the same
rules as a live call; the confirmation is read from the words. One conversation is in memory at a time.

What may surprise: a transcript has no self-assessment, so confidence plays no part; and the conversation goes on as it
was recorded, even where a call would have been held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import orjson

from circumspect.lab.draft_policy import guess
from circumspect.lab.messages import Proposed, Returned, Unknown, Words, has_failed, result_value, steps
from circumspect.lab.rulebook import AUDIT_RULES, FIRST, can_speak
from circumspect.lab.tool_defs import Specs, Toolbox
from circumspect.lab.transcripts import Problem, ProblemKind, Transcript, read
from circumspect.policy.arguments import materialised
from circumspect.policy.claims import Claim, unsupported_claims
from circumspect.policy.facts import Facts
from circumspect.policy.file import Policy, ToolPolicy, effect_of
from circumspect.policy.judge import Rule, judge
from circumspect.policy.tracing import Ledger, Traced, attach, trace
from circumspect.policy.transcript_rules import exchange_of
from circumspect.reasons import ReasonCode
from circumspect.turn import (
    Deny,
    Finding,
    Happened,
    Heard,
    Json,
    JsonObject,
    Session,
    ToolCall,
    ToolSpec,
    Verdict,
    strictest,
)

Rules = tuple[Rule, ...]
Said = Literal["allow", "ask", "escalate", "deny"]
MESSAGE_LIMIT = 200_000
"""A longer message is read up to here, and said to be."""


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
    applicable: dict[tuple[str, int, int], tuple[ToolSpec | None, ToolPolicy | None, Rules, Rules]] = field(
        default_factory=dict
    )
    last: list[_Conversation] = field(default_factory=list)
    """The conversation before, in case the next one goes on from it."""

    def judged(self, facts: Facts) -> tuple[Verdict, tuple[Finding, ...]]:
        """What the rules say, those about the call as such before those about the conversation."""
        first, rest = self._applicable(facts)
        verdict, findings = judge(facts, first)
        if verdict.kind == "deny":
            return verdict, findings
        more = judge(facts, rest)[1]
        if more:
            findings = (*findings, *more)
        return strictest([finding.verdict for finding in findings]), findings

    def _applicable(self, facts: Facts) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
        """The rules that can have anything to say about this tool, found once: most tools have few settings."""
        key = (facts.call.tool, id(facts.spec), id(facts.policy))
        known = self.applicable.get(key)
        if known is None or known[0] is not facts.spec or known[1] is not facts.policy:
            rules = [one for one in self.rules if can_speak(one, facts)]
            first = tuple(one for one in rules if one.name in FIRST)
            rest = tuple(one for one in rules if one.name not in FIRST)
            known = self.applicable[key] = (facts.spec, facts.policy, first, rest)
        return known[2], known[3]

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
            if only is not None and self._plainly(messages[index], index):
                continue
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

    def _plainly(self, message: Any, index: int) -> bool:
        """Take in a message of the commonest shapes without further ado; False when it needs a closer look."""
        if type(message) is not dict:
            return False
        role, content = message.get("role"), message.get("content")
        if type(content) is not str or not content or len(content) > MESSAGE_LIMIT:
            return False
        if role == "user":
            self.words = content
            event: Heard | Happened = Heard("user", content, index)
            raw = None
        elif role == "assistant":
            if message.get("tool_calls") or "function_call" in message:
                return False
            event, raw = Heard("assistant", content, index), None
        elif role == "tool" and message.get("tool_call_id") in self.open and "error" not in message:
            call = self.open.pop(message["tool_call_id"])
            value = result_value(content)
            ok = message.get("status") != "error" and not has_failed(content, value)
            event = Happened(call, value, ok, not self._is_untrusted(call.tool), index)
            raw = content if value is not content else None
        else:
            return False
        self.events.append(event)
        self.ledger.add(event, raw)
        return True

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
        verdict, findings = self.auditor.judged(facts)
        if proposed.problem:
            unreadable = Finding("the_arguments_can_be_read", Deny(proposed.problem), ReasonCode.INVALID_PARAM)
            verdict, findings = unreadable.verdict, (unreadable, *findings)
        exchange = exchange_of(session) if findings else None
        refused = verdict.kind == "deny" and any(finding.rule in FIRST for finding in findings)
        return Ruled(
            self.transcript.id,
            index,
            position,
            call.tool,
            said(verdict),
            findings,
            trace(facts) if effect in ("write", "destructive") and not refused else (),
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


def line_of(row: Row) -> bytes:
    """A row as one line of JSON. Only rulings carry a verdict."""
    return orjson.dumps(row.to_json(), default=str, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)


def said(verdict: Verdict) -> Said:
    """Our verdict in the words of the output: a confirmation is a question; a colleague's approval is a handover."""
    if verdict.kind == "confirm":
        return "escalate" if verdict.by == "colleague" else "ask"
    return verdict.kind
