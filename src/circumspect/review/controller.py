"""react: a case, a criterion and a shelf -> a Result, driven by a model. The chat turn's loop with other tools:

    ┌ draft (the model proposes calls) ─▶ enforce (schema, known tools) ─▶ act (read; finish is ruled on) ┐
    └───────────────────────────── bounded: until a verdict stands ─────────────────────────────────────┘

The model decides what to look at and what to propose; it decides nothing else. A `finish` whose quotes or facts are
not there goes back to it once, with what is wrong, and is then cut down to what is left. Every limit ends in UNCERTAIN
with a reason code, never in an exception: only `ModelError` leaves here, for the caller to fall back on.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from circumspect.errors import CallGarbled, ModelGarbled, ModelUnavailable
from circumspect.ports import Model
from circumspect.prompts import Prompt, prompt
from circumspect.reasons import ReasonCode
from circumspect.review.objections import keep_bearing, list_objections
from circumspect.review.outline import Summaries
from circumspect.review.review_tools import SPECS, Refusal, ReviewTools, ToolAnswer, enforce, proposal_of, render_note
from circumspect.review.shelf import Shelf
from circumspect.review.values import Criterion, CriterionResult, ReviewCase, TraceStep, read_spent
from circumspect.review.verdict import FLOOR, check, rule
from circumspect.values import ChatMessage, ModelReply, ModelRequest, ModelUsage, ToolCall

_NOTE_SHOWN, _MOST_NOTES = 1_500, 8
_NUDGE = "Call a tool: look further, or call finish with your verdict."
_FINISH_NOW = "The budget for this criterion is used up. Call finish now with what you know."


@dataclass(frozen=True, slots=True)
class ReviewLimits:
    """What one criterion may cost. A soft budget is a warning to the model and in the trace, a hard one an end."""

    iterations: int = 10
    tokens: int = 6_000
    budget: Literal["soft", "hard"] = "soft"
    seconds: float = 120.0
    failures: int = 3
    """The same failing call so many times ends the evaluation."""
    corrections: int = 1
    """How often a finish that something speaks against goes back to the model."""
    floor: float = FLOOR
    max_tokens: int = 1_200


@dataclass
class ReviewJournal:
    """What happened so far; `watch` hears each step as it is written."""

    watch: Callable[[TraceStep], None] | None = None
    steps: list[TraceStep] = field(default_factory=list)
    calls: list[ModelUsage] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def write(self, step: TraceStep) -> None:
        self.steps.append(step)
        if step.usage:
            self.calls.append(step.usage)
        if self.watch:
            self.watch(step)

    def add_usage(self, *calls: ModelUsage) -> None:
        self.calls.extend(calls)

    @property
    def tokens(self) -> int:
        return sum(call.input_tokens + call.output_tokens for call in self.calls)


async def react(
    case: ReviewCase,
    criterion: Criterion,
    shelf: Shelf,
    model: Model,
    *,
    limits: ReviewLimits | None = None,
    summaries: Mapping[str, Summaries] | None = None,
    words: Prompt | None = None,
    journal: ReviewJournal | None = None,
    stream: bool = False,
) -> CriterionResult:
    """Raises `ModelError` when the model cannot be had; `journal` then holds what was spent."""
    limits, journal, words = limits or ReviewLimits(), journal or ReviewJournal(), words or prompt("review")
    work = _Work(
        case, criterion, shelf, model, limits, words, journal, stream, ReviewTools(case, shelf, model, summaries or {})
    )
    try:
        async with asyncio.timeout(limits.seconds):
            return await work.run()
    except TimeoutError:
        return work.stop(ReasonCode.EVALUATION_TIMED_OUT, f"No verdict within {limits.seconds:g} seconds.")


@dataclass
class _Work:
    case: ReviewCase
    criterion: Criterion
    shelf: Shelf
    model: Model
    limits: ReviewLimits
    words: Prompt
    journal: ReviewJournal
    stream: bool
    desk: ReviewTools
    failed: Counter[str] = field(default_factory=Counter)
    corrections: int = 0
    warned: bool = False

    async def run(self) -> CriterionResult:
        messages: tuple[ChatMessage, ...] = (ChatMessage("user", _task(self.criterion, self.desk)),)
        for _ in range(self.limits.iterations):
            if self.journal.tokens >= self.limits.tokens:
                if self.limits.budget == "hard":
                    return self.stop(ReasonCode.BUDGET_EXCEEDED, self._describe_usage())
                if not self.warned:
                    self.warned = True
                    self.journal.write(TraceStep("notice", self._describe_usage(), reason=ReasonCode.BUDGET_EXCEEDED))
                    messages = (*messages, ChatMessage("user", _FINISH_NOW))
            try:
                reply = await self._draft(messages)
            except ModelGarbled as problem:
                too_often, is_there = self._too_often("garbled"), isinstance(problem, CallGarbled)
                if too_often and not is_there:
                    raise
                self.journal.add_usage(read_spent(problem, self.model.name))
                if too_often:
                    return self.stop(ReasonCode.LOOP_DETECTED, f"Again and again: {problem.problem}")
                reason = None if is_there else ReasonCode.MODEL_FAILED
                self.journal.write(TraceStep("notice", problem.problem, reason=reason))
                messages = (*messages, ChatMessage("user", f"{problem.problem} {_NUDGE}"))
                continue
            if reply.finish == "filtered":
                return self.stop(ReasonCode.MODEL_FAILED, "The provider's filter kept the answer back.")
            if not reply.calls:
                if self._too_often("words"):
                    return self.stop(ReasonCode.LOOP_DETECTED, "The model talks and calls nothing.")
                messages = (*messages, ChatMessage("assistant", reply.text), ChatMessage("user", _NUDGE))
                continue
            answers = await self._act(reply.calls)
            if isinstance(answers, CriterionResult):
                return answers
            messages = (*messages, ChatMessage("assistant", reply.text, reply.calls), *answers)
            if any(count >= self.limits.failures for count in self.failed.values()):
                return self.stop(ReasonCode.LOOP_DETECTED, "The same call failed again and again.")
        return self.stop(ReasonCode.TOO_MANY_STEPS, f"No verdict after {self.limits.iterations} steps.")

    # --- draft ------------------------------------------------------------------------------------------------------

    async def _draft(self, messages: tuple[ChatMessage, ...]) -> ModelReply:
        request = ModelRequest(
            "evaluate", self.words.id, self.words.render(floor=f"{self.limits.floor:g}"), messages,
            tools=tuple(SPECS.values()), max_tokens=self.limits.max_tokens, temperature=0.0,
        )  # fmt: skip
        reply = await (_stream_reply(self.model, request) if self.stream else self.model.complete(request))
        self.journal.write(TraceStep("thought", reply.text, usage=reply.usage))
        return reply

    # --- enforce and act --------------------------------------------------------------------------------------------

    async def _act(self, calls: tuple[ToolCall, ...]) -> CriterionResult | tuple[ChatMessage, ...]:
        """All calls of one step at once; their answers in the order of the calls, each with its call's id."""
        for call in calls:
            self.journal.write(TraceStep("action", "", call.tool, call.arguments, call.id))
        alone = len(calls) == 1
        if alone and calls[0].tool == "finish" and enforce(calls[0]) is None:
            ruled = self._finish(calls[0])
            if isinstance(ruled, CriterionResult):
                return ruled
            answers: list[ToolAnswer | Refusal] = [ruled]
        else:
            answers = await asyncio.gather(*(self._answer(call) for call in calls))
        for call, answer in zip(calls, answers, strict=True):
            if isinstance(answer, Refusal):
                self.failed[call.hash] += 1
            else:
                self.journal.add_usage(*answer.calls)
                if answer.notice:
                    self.journal.write(TraceStep("notice", answer.notice))
            self.journal.write(TraceStep("observation", answer.text, call.tool, call_id=call.id))
        return tuple(
            ChatMessage("tool", f"ERROR: {answer.text}" if isinstance(answer, Refusal) else answer.text,
                 call_id=call.id, tool=call.tool)
            for call, answer in zip(calls, answers, strict=True)
        )  # fmt: skip

    async def _answer(self, call: ToolCall) -> ToolAnswer | Refusal:
        refused = enforce(call)
        if refused is not None:
            return refused
        if call.tool == "finish":
            return Refusal("Call finish by itself, after you have read what the other calls return.")
        return await self.desk.answer(call)

    def _finish(self, call: ToolCall) -> CriterionResult | Refusal:
        proposal = proposal_of(call.arguments)
        checked = check(proposal, self.case, self.shelf)
        objections = list_objections(checked, self.case, self.criterion, self.shelf, self.desk.read)
        if checked.complaint:
            self.journal.write(TraceStep("notice", checked.complaint, reason=_pick_reason(checked.lost_quotes)))
        for one in objections:
            self.journal.write(TraceStep("notice", one.said, reason=one.reason))
        complaint = " ".join(filter(None, (checked.complaint, *(one.said for one in objections))))
        if complaint and proposal.status != "UNCERTAIN" and self.corrections < self.limits.corrections:
            self.corrections += 1
            unread = [one.field for one in checked.evidence if one.field not in self.desk.read]
            shown = f" They are: {self.desk.show(unread)}" if unread else ""
            return Refusal(f"{complaint}{shown} Correct this, or finish with UNCERTAIN.")
        if proposal.status != "UNCERTAIN":
            checked = keep_bearing(checked, self.criterion)
        verdict = rule(checked, self.limits.floor, objections[0].reason if objections else None)
        if verdict.status != proposal.status:
            said = f"{proposal.status} was proposed and does not stand: {verdict.reason}."
            self.journal.write(TraceStep("notice", said, reason=verdict.reason))
        return CriterionResult(
            self.case.id, self.criterion.id, verdict.status, verdict.confidence, proposal.rationale, "react",
            checked.citations, checked.evidence, verdict.reason, self.words.id,
            tuple(self.journal.steps), tuple(self.journal.calls), time.monotonic() - self.journal.began,
        )  # fmt: skip

    # --- ends -------------------------------------------------------------------------------------------------------

    def stop(self, reason: ReasonCode, why: str) -> CriterionResult:
        self.journal.write(TraceStep("notice", why, reason=reason))
        return CriterionResult(
            self.case.id, self.criterion.id, "UNCERTAIN", 0.0, why, "react", reason_code=reason,
            prompt_id=self.words.id, trace=tuple(self.journal.steps), calls=tuple(self.journal.calls),
            seconds=time.monotonic() - self.journal.began,
        )  # fmt: skip

    def _too_often(self, what: str) -> bool:
        self.failed[what] += 1
        return self.failed[what] >= self.limits.failures

    def _describe_usage(self) -> str:
        return f"{self.journal.tokens:,} tokens are spent; {self.limits.tokens:,} are allowed for one criterion."


def _pick_reason(quotes: tuple[str, ...]) -> ReasonCode:
    return ReasonCode.CITATION_NOT_FOUND if quotes else ReasonCode.EVIDENCE_NOT_FOUND


async def _stream_reply(model: Model, request: ModelRequest) -> ModelReply:
    async for piece in model.stream(request):
        if isinstance(piece, ModelReply):
            return piece
    raise ModelUnavailable("The model's answer ended before it was whole.")


def _task(criterion: Criterion, desk: ReviewTools) -> str:
    """The criterion and the case, with the facts that the criterion names and the texts that came with the case."""
    case = desk.case
    named = [name for path in criterion.facts for name in case.under(path)]
    hints = [f"It may be about: {', '.join(criterion.hints)}."] if criterion.hints else []
    hints += [f"The answer usually lies in: {', '.join(criterion.facts)}."] if criterion.facts else []
    return prompt("review_case").render(
        criterion=criterion.id,
        text=criterion.text,
        hints="\n".join(hints),
        case=case.id,
        title=f"({case.title})" if case.title else "",
        fields=json.dumps(list(case.fields), ensure_ascii=False),
        facts=f"The values of those that the criterion names: {desk.show(named)}" if named else "",
        notes="\n\n".join(render_note(*note, _NOTE_SHOWN) for note in case.notes[:_MOST_NOTES]) or "none",
        documents=json.dumps(list(desk.shelf.names), ensure_ascii=False),
    )
