"""audit: conversations that happened -> what would have been held, and why. No model, no network, no effects.

Every call an assistant proposed becomes a `Facts` with the session as it was at that moment, and goes through the same
rules as a live call; the confirmation is read from the words. One conversation is in memory at a time.

What may surprise: a transcript has no self-assessment, so confidence plays no part; and the conversation goes on as it
was recorded, even where a call would have been held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from circumspect.audit.draft_policy import guess
from circumspect.audit.message_formats import steps
from circumspect.audit.readers.written_calls import (
    find_written_call,
    has_written_calls,
    read_written_calls,
    read_written_results,
)
from circumspect.audit.rulebook import AUDIT_RULES, FIRST, can_speak
from circumspect.audit.rulings import AuditedCall, AuditRow, Unsupported
from circumspect.audit.tool_defs import Specs, Toolbox
from circumspect.audit.transcript_files import ProblemKind, Transcript, TranscriptProblem, read
from circumspect.audit.transcript_steps import (
    TranscriptCall,
    TranscriptGap,
    TranscriptResult,
    TranscriptStep,
    TranscriptText,
    Unknown,
    has_failed,
    read_call,
    result_value,
)
from circumspect.audit.unread_calls import find_unread_call
from circumspect.policy import condition_view
from circumspect.policy.arguments import fill_defaults
from circumspect.policy.condition_view import HistoryIndex
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.actions import actions_of
from circumspect.policy.grounding.exchanges import exchange_of
from circumspect.policy.grounding.ran_calls import RanCalls, may_change
from circumspect.policy.grounding.record_states import find_contradicted_states
from circumspect.policy.grounding.statements import read_statements
from circumspect.policy.grounding.tracing import OriginLedger, attach, trace
from circumspect.policy.grounding.untrue import UntrueReason, UntrueSentence, find_untrue
from circumspect.policy.judge import Rule, judge
from circumspect.policy.keys.tool_policy import ToolPolicy, effect_of
from circumspect.policy.policy_file import Policy
from circumspect.policy.who_acts import to_plain_verdict
from circumspect.reasons import ReasonCode
from circumspect.values import (
    Deny,
    Effect,
    History,
    PastCall,
    RuleFinding,
    ToolCall,
    ToolSpec,
    Utterance,
    Verdict,
    strictest,
)

Rules = tuple[Rule, ...]
MESSAGE_LIMIT = 200_000
"""A longer message is read up to here, and said to be."""
KNOWN_TOOLS = 4096
UNCHECKED = ("names", "schemas", "claims")
"""What nothing is held against, or less, in a conversation without tool definitions."""
_LOOKED_INTO = frozenset(("function_call", "parts", "toolInvocations"))
"""What else an assistant's message may hold its calls in."""

_CLAIMED: frozenset[UntrueReason] = frozenset(("not_done", "unknown", "was_done"))
"""What calls can tell of a reply. A plan is carried out by a later message of the transcript; a figure may come from
instructions that are not in it."""


@dataclass(frozen=True)
class Auditor:
    """How conversations are judged. Without a policy, what each tool does is guessed from its name and schema."""

    policy: Policy | None = None
    specs: Specs | None = None
    """For transcripts that carry no tool definitions."""
    rules: Sequence[Rule] = AUDIT_RULES
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    claims: bool = True
    covered: dict[tuple[str, int], _Covered] = field(default_factory=dict)
    last: list[_Conversation] = field(default_factory=list)
    """The conversation before, in case the next one goes on from it."""

    def judge_call(self, facts: Facts, covered: _Covered) -> tuple[Verdict, tuple[RuleFinding, ...]]:
        """What the rules say, those about the call as such before those about the conversation."""
        verdict, findings = judge(facts, covered.first)
        if verdict.kind == "deny":
            return verdict, findings
        later, more = judge(facts, covered.rest)
        return strictest((verdict, later)) if findings else later, (*findings, *more)

    def cover(self, tool: str, specs: Specs | None) -> _Covered:
        """What is known about a tool before anybody calls it, found once."""
        spec = specs.get(tool) if specs is not None else None
        known = self.covered.get((tool, id(spec)))
        if known is None or known.declared is not spec:
            if len(self.covered) >= KNOWN_TOOLS:
                self.covered.clear()
            known = self.covered[tool, id(spec)] = self._build_coverage(tool, spec, specs is None and bool(tool))
        return known

    def _build_coverage(self, tool: str, declared: ToolSpec | None, undeclared: bool) -> _Covered:
        spec = ToolSpec(tool) if undeclared else declared
        policy = self.policy.of(tool, None) if self.policy is not None else guess(spec).policy if spec else None
        effect = effect_of(spec, policy)
        rules = [one for one in self.rules if can_speak(one, spec, policy, effect)]
        return _Covered(
            declared,
            spec,
            policy,
            effect,
            tuple(one for one in rules if one.name in FIRST),
            tuple(one for one in rules if one.name not in FIRST),
        )

    def audit_transcript(self, transcript: Transcript) -> Iterator[AuditRow]:
        """Everything there is to say about one conversation, in order."""
        before = self.last[0] if self.last else None
        conversation = (before and before.resume(transcript)) or _Conversation(self, transcript)
        self.last[:] = [conversation]
        return conversation.rows()


@dataclass(frozen=True, slots=True)
class _Covered:
    """A tool, what holds for it, and the rules that can have anything to say about a call of it."""

    declared: ToolSpec | None
    spec: ToolSpec | None
    policy: ToolPolicy | None
    effect: Effect | None
    first: Rules
    rest: Rules


def audit(
    paths: Iterable[str | Path],
    policy: Policy | None = None,
    *,
    specs: Specs | None = None,
    rules: Sequence[Rule] = AUDIT_RULES,
    now: datetime | None = None,
    claims: bool = True,
    format_name: str | None = None,
) -> Iterator[AuditRow]:
    """Every proposed call of every conversation with its verdict, every unsupported claim, everything unreadable."""
    auditor = Auditor(policy, specs, rules, now or datetime.now(UTC), claims)
    for one in read(paths, Toolbox(), format_name):
        if isinstance(one, TranscriptProblem):
            yield one
        else:
            yield from auditor.audit_transcript(one)


class _Conversation:
    """One pass over the messages, growing the session and its ledger.

    A file of proposals repeats the conversation with each of them. `resumed` goes on from where the one before stopped
    when the messages are the same so far.
    """

    def __init__(self, auditor: Auditor, transcript: Transcript) -> None:
        self.auditor = auditor
        self.transcript = transcript
        self.specs = transcript.specs if transcript.specs is not None else auditor.specs
        self.events: list[Utterance | PastCall] = []
        self.said: list[Utterance] = []
        self.done: list[PastCall] = []
        self.ran = RanCalls((), self.specs)
        self.ledger = OriginLedger()
        self.known = HistoryIndex()
        self.open: dict[str, ToolCall] = {}
        self.words = ""
        self.called = False
        """A call was read that is ruled on elsewhere."""
        self.written: tuple[str, int] | None = None
        """A call seems to stand in the assistant's words, and in which message."""
        self.numbered = 0
        self.read = 0
        self.unchecked = self._list_unchecked()
        """Not yet said."""
        self.problems: list[tuple[ProblemKind, str, int]] = []

    def resume(self, transcript: Transcript) -> _Conversation | None:
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
        self.unchecked = self._list_unchecked()
        return self

    def rows(self) -> Iterator[AuditRow]:
        for kind, problem, index in self.problems:
            yield self._problem(kind, problem, index)
        only, messages = self.transcript.proposal, self.transcript.messages
        proposed = only is not None
        while self.read < len(messages):
            index = self.read
            rule_on = only is None and index >= self.transcript.since
            self.read += 1
            if self._try_simple_message(messages[index], index, rule_on):
                continue
            try:
                found = self._read_written(steps(messages[index]))
            except Unknown as problem:
                yield self._note_problem("unknown_message", str(problem), index)
                continue
            calls = 0
            for step in found:
                match step:
                    case TranscriptText():
                        yield from self._record_text(step, index, rule_on)
                    case TranscriptCall():
                        proposed = True
                        if rule_on:
                            yield self._audit_call(step, index, calls)
                        self.open[step.call.id] = step.call
                        calls += 1
                    case TranscriptResult():
                        yield from self._match_result(step, index)
                    case TranscriptGap():
                        yield self._note_problem("unknown_piece", f"unknown kind of content: {step.kind!r}", index)
        if only is not None:
            yield self._audit_call(only, len(messages), 0)
        elif not proposed and not self.called:
            unread = find_unread_call(messages, self.transcript.record)
            if unread is None and self.written:
                sign, index = self.written
                unread = f"a call seems to stand in the words, in a notation that is not read: {sign!r}", index
            if unread:
                yield self._note_problem("unknown_piece", *unread)

    def _read_written(self, found: Sequence[TranscriptStep]) -> Sequence[TranscriptStep]:
        """With the calls that stand in the assistant's words, and what came back for them in words."""
        read: list[TranscriptStep] = []
        for step in found:
            match step:
                case TranscriptText(speaker="assistant") if has_written_calls(step.text[:MESSAGE_LIMIT]):
                    read += (self._number(one) for one in read_written_calls(step.text[:MESSAGE_LIMIT]))
                case TranscriptText(speaker="user") if self.open:
                    read += read_written_results(step.text[:MESSAGE_LIMIT]) or (step,)
                case TranscriptResult(call_id=""):
                    read += read_written_results(step.content[:MESSAGE_LIMIT]) or (step,)
                case _:
                    read.append(step)
        return read

    def _number(self, step: TranscriptStep) -> TranscriptStep:
        """Most calls in words have no id, and what comes back for them is told apart by its order."""
        if not isinstance(step, TranscriptCall) or step.call.id:
            return step
        self.numbered += 1
        return replace(step, call=replace(step.call, id=f"written {self.numbered}"))

    def _try_simple_message(self, message: Any, index: int, rule_on: bool) -> bool:
        """Take in a message of the commonest shapes without further ado; False when it needs a closer look."""
        if type(message) is not dict:
            return False
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            if rule_on:
                return False
            if calls := message.get("tool_calls"):
                return not content and self._try_simple_call(message, calls)
        if type(content) is not str or not content or len(content) > MESSAGE_LIMIT:
            return False
        if role == "user":
            if self.open and read_written_results(content):
                return False
            self.words = content
            heard = Utterance("user", content, index)
            self._hear(heard)
            self.ledger.add(heard)
        elif role == "assistant":
            if has_written_calls(content) or not message.keys().isdisjoint(_LOOKED_INTO):
                return False
            self._hear(Utterance("assistant", content, index))
        elif role == "tool" and "error" not in message:
            key = message.get("tool_call_id")
            call = self.open.pop(key, None) if type(key) is str else None
            if call is None:
                return False
            self._record_result(call, content, message.get("status") == "error", index)
        else:
            return False
        return True

    def _try_simple_call(self, message: dict[str, Any], calls: Any) -> bool:
        """Note the one call of a message that holds nothing else."""
        if type(calls) is not list or len(calls) != 1 or "function_call" in message or "invalid_tool_calls" in message:
            return False
        call = calls[0]
        function = call.get("function") if type(call) is dict else None
        if type(function) is not dict:
            return False
        proposal = read_call(function.get("name"), function.get("arguments"), call.get("id"))
        self.open[proposal.call.id] = proposal.call
        self.called = True
        return True

    def _hear(self, heard: Utterance) -> None:
        self.events.append(heard)
        self.said.append(heard)

    def _record_result(self, call: ToolCall, content: str, failed: bool, index: int) -> None:
        value = result_value(content)
        ok = not failed and not has_failed(content, value)
        event = PastCall(call, value, ok, not self._is_untrusted(call.tool), index)
        self.events.append(event)
        self.done.append(event)
        self.ran.add(event)
        self.known.add(event)
        self.ledger.add(event, content if value is not content else None)

    def _record_text(self, words: TranscriptText, index: int, rule_on: bool) -> Sequence[AuditRow]:
        rows: list[AuditRow] = []
        text = words.text
        if len(text) > MESSAGE_LIMIT:
            rows.append(self._long(len(text), index))
            text = text[:MESSAGE_LIMIT]
        if words.speaker == "system":
            # What the application itself said is context: trusted, and no result of any tool.
            self.ledger.add(PastCall(ToolCall("(system)"), text, True, True, index))
            return rows
        if words.speaker == "user":
            self.words = text
        elif rule_on and self.written is None and (sign := find_written_call(text)):
            self.written = sign, index
        if words.speaker == "assistant" and rule_on and self.auditor.claims:
            rows += (
                Unsupported(self.transcript.id, index, claim, self.transcript.path, self.transcript.line)
                for claim in self._find_unsupported(text)
            )
        heard = Utterance(words.speaker, text, index)
        self._hear(heard)
        self.ledger.add(heard)
        return rows

    def _find_unsupported(self, text: str) -> Sequence[UntrueSentence]:
        """Without tool definitions only what plainly says that a deed was done, or what state a record is in, and only
        where every call that was made says by its name what it does: any other may have done it."""
        if not self.specs and not self._can_tell_deeds():
            return ()
        found = find_untrue(text, None, self.ran, known=self.words, said=self.words, reasons=_CLAIMED)
        if self.specs or not found:
            return found
        plain = {one.sentence for one in read_statements(text) if one.kind in ("done", "not_done")}
        plain.update(find_contradicted_states(text, self.ran))
        return [one for one in found if one.sentence in plain]

    def _can_tell_deeds(self) -> bool:
        """A call that nobody answered may have done anything, too."""
        called = list(self.ran.list_tools())
        known = all(actions_of(tool) or not may_change(tool) for tool in called)
        return bool(called) and known and not any(may_change(call.tool) for call in self.open.values())

    def _match_result(self, returned: TranscriptResult, index: int) -> Sequence[AuditRow]:
        call = self.open.pop(returned.call_id, None)
        if call is None and not returned.call_id and self.open:
            call = self.open.pop(next(iter(self.open)))
        if call is None:
            return (self._note_problem("orphan_result", "a tool result answers no call", index),)
        content = returned.content
        rows: tuple[AuditRow, ...] = ()
        if len(content) > MESSAGE_LIMIT:
            rows = (self._long(len(content), index),)
            content = content[:MESSAGE_LIMIT]
        self._record_result(call, content, returned.failed, index)
        return rows

    def _is_untrusted(self, tool: str) -> bool:
        said = self.auditor.cover(tool, self.specs).policy
        if said and said.open_world:
            return True
        if self.transcript.untrusted is not None:
            return tool in self.transcript.untrusted
        spec = self.specs.get(tool) if self.specs else None
        return spec is not None and spec.open_world

    def _history(self) -> History:
        """What happened so far, already told apart: a long conversation is not walked through for each call."""
        session = History(tuple(self.events))
        session.__dict__["past_calls"] = tuple(self.done)
        session.__dict__["utterances"] = tuple(self.said)
        return session

    def _audit_call(self, proposed: TranscriptCall, index: int, position: int) -> AuditedCall:
        call = proposed.call
        covered = self.auditor.cover(call.tool, self.specs)
        spec, effect = covered.spec, covered.effect
        if spec is not None and (full := fill_defaults(spec, call.arguments)) is not call.arguments:
            call = ToolCall(call.tool, full, call.id)
        session = condition_view.attach(attach(self._history(), self.ledger), self.known)
        facts = Facts(
            call, spec, covered.policy, effect, "adaptive", self.auditor.now, self.words, session=session,
            tools=self.specs or {},
        )  # fmt: skip
        verdict, findings = self.auditor.judge_call(facts, covered)
        if proposed.problem:
            unreadable = RuleFinding("the_arguments_can_be_read", Deny(proposed.problem), ReasonCode.INVALID_PARAM)
            verdict, findings = unreadable.verdict, (unreadable, *findings)
        exchange = exchange_of(session) if findings else None
        unchecked, self.unchecked = self.unchecked, ()
        refused = verdict.kind == "deny" and any(finding.rule in FIRST for finding in findings)
        return AuditedCall(
            self.transcript.id,
            index,
            position,
            call.tool,
            to_plain_verdict(verdict, findings),
            findings,
            trace(facts) if effect in ("write", "destructive") and not refused else (),
            call.arguments,
            effect or "unknown",
            self.transcript.path,
            self.transcript.line,
            exchange.question if exchange else "",
            exchange.answer if exchange else "",
            self.transcript.label,
            unchecked,
        )

    def _list_unchecked(self) -> tuple[str, ...]:
        """Nobody is told from a mistyped name, from a missing or a wrong argument, where nobody says which tools there
        are; and of replies only those are checked whose deed a call's name tells."""
        if self.specs is not None:
            return ()
        return UNCHECKED if self.auditor.policy else (*UNCHECKED, "effects")

    def _problem(self, kind: ProblemKind, problem: str, index: int) -> TranscriptProblem:
        return TranscriptProblem(self.transcript.path, self.transcript.line, kind, problem, self.transcript.id, index)

    def _note_problem(self, kind: ProblemKind, problem: str, index: int) -> TranscriptProblem:
        self.problems.append((kind, problem, index))
        return self._problem(kind, problem, index)

    def _long(self, length: int, index: int) -> TranscriptProblem:
        problem = f"the message has {length:,} characters; the first {MESSAGE_LIMIT:,} were read"
        return self._note_problem("long_message", problem, index)
