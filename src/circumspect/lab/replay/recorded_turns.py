"""journal: a stored conversation -> every ruling that was made in it, with what it was decided from.

One pass over the messages. What the model said is read as it was read then: it is the policy that is on trial, not the
reader. Where something is missing, the ruling says so and has no `moment`: it cannot be made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from circumspect.journal import (
    AssessmentEvent,
    ClientOutcomeEvent,
    CritiqueEvent,
    DraftEvent,
    Event,
    ExecutionEvent,
    FindingRecord,
    IntentEvent,
    RemarkEvent,
    RulingEvent,
    UserMessageEvent,
    read_event,
)
from circumspect.lab.replay.past_calls import Past, Record, as_of
from circumspect.lab.replay.unreplayed import NO_CALL, NO_MESSAGE, NO_PROPOSAL, NO_QUESTION, ON_A_PAGE, UNREADABLE
from circumspect.policy.parsing.assessment import disagrees
from circumspect.policy.rules import no_earlier_outcome_is_unknown
from circumspect.profiles import PROFILES
from circumspect.reasons import ReasonCode
from circumspect.stores.codec import reason
from circumspect.values import (
    Allow,
    Ask,
    Assessment,
    Confirm,
    ConversationId,
    Deny,
    Draft,
    Escalate,
    Execution,
    Incoming,
    Intent,
    Message,
    Mode,
    Opened,
    Profile,
    RuleFinding,
    Screened,
    TenantId,
    ToolCall,
    TurnId,
    Verdict,
    VerdictKind,
    strictest,
)

SECOND_OPINION = "a_second_opinion_agrees"
_VERDICTS: Mapping[VerdictKind, Verdict] = {one.kind: one for one in (Allow(), Confirm(), Ask(), Escalate(), Deny())}
_OPINIONS: Mapping[str, RuleFinding] = {
    "PROCEED": RuleFinding(SECOND_OPINION, Allow()),
    "ASK_USER": RuleFinding(SECOND_OPINION, Confirm(), ReasonCode.CRITIQUE_ASKED),
    "ESCALATE": RuleFinding(SECOND_OPINION, Escalate(), ReasonCode.CRITIQUE_ESCALATED),
}
_NO_OPINION = RuleFinding(SECOND_OPINION, Escalate(), ReasonCode.CRITIQUE_FAILED)


@dataclass(frozen=True, slots=True)
class RulingMoment:
    """What the rules could see when a call was ruled on."""

    screened: Screened
    profile: Profile
    drafted: Draft | None
    ran: tuple[Execution, ...]
    """In this turn."""
    earlier: tuple[Execution, ...]
    """By a turn that was interrupted, and settled since."""
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
    findings: tuple[RuleFinding, ...]
    effect: str
    policy_version: str
    confirmed: Intent | None = None
    asked_again: bool = False
    """The yes came too late, or for something else: it was ruled on as if confirmed, and asked about once more."""
    opinion: RuleFinding | None = None
    """What a second opinion said, where one was had."""
    criticised: bool = False
    moment: RulingMoment | None = None
    problem: str = ""
    """Why it cannot be made again; then there is no `moment`."""

    @property
    def then(self) -> Verdict:
        return strictest((self.verdict, self.opinion.verdict)) if self.opinion else self.verdict

    @property
    def all_findings(self) -> tuple[RuleFinding, ...]:
        return (*self.findings, self.opinion) if self.opinion else self.findings


def rulings(record: Record, profiles: Mapping[Mode, Profile] = PROFILES) -> Iterator[Ruling]:
    """Every ruling of the conversation, in order."""
    conversation = _Conversation(record, profiles)
    for (turn, is_user), group in groupby(record.messages, lambda message: (message.turn, message.role == "user")):
        messages = tuple(group)
        if is_user:
            conversation.add_user_messages(messages)
        else:
            yield from conversation.read_turn(turn, messages)


class _Conversation:
    """One pass over the messages: what has been said so far, which turns there were, and which calls were open."""

    def __init__(self, record: Record, profiles: Mapping[Mode, Profile]) -> None:
        self.record = record
        self.profiles = profiles
        self.visible: list[Message] = []
        self.asked: dict[TurnId, Message] = {}
        """The user's message of each turn so far."""
        self.ended: dict[TurnId, tuple[datetime, datetime]] = {}
        """When each turn that came to its end was opened and closed."""
        self.executions = {str(one.id): one for one in record.executions}
        self.intents = {str(one.id): one for one in record.intents}
        self.resolved: set[str] = set()

    def add_user_messages(self, messages: Sequence[Message]) -> None:
        self.visible += messages
        for message in messages:
            self.asked.setdefault(message.turn, message)

    def read_turn(self, turn: TurnId, messages: Sequence[Message]) -> Sequence[Ruling]:
        """The rulings of a turn, from its journal."""
        asked = self.asked.get(turn) or self._find_preceding_message(messages[0].seq)
        found = _Journal(self, asked, turn, messages).rulings()
        self.visible += [message for message in messages if message.role != "internal"]
        if asked:
            self.ended[asked.turn] = (asked.at, messages[-1].at)
        return found

    def _find_preceding_message(self, seq: int) -> Message | None:
        """A turn that was broken off and run again gave its message, and its calls, to the one that followed."""
        last = self.visible[-1] if self.visible else None
        return last if last and last.role == "user" and last.seq == seq - 1 else None

    def before(self, turn: TurnId, entries: Sequence[Message]) -> tuple[Execution, ...]:
        """The calls that had begun when a turn was opened: all but its own."""
        events = map(read_event, entries)
        own = {event.execution for event in events if isinstance(event, ExecutionEvent | ClientOutcomeEvent)}
        broken_off = any(entry.reason is ReasonCode.TURN_INTERRUPTED for entry in entries)
        return tuple(
            one
            for one in self.record.executions
            if one.turn in self.asked and one.id not in own and not (broken_off and one.turn == turn)
        )

    def find_open_calls(self, before: Sequence[Execution], opened: datetime, closed: datetime) -> tuple[Execution, ...]:
        """The calls of earlier turns that a turn found open, or that nobody had spoken of yet, as they were then. One
        that came to its end within the turn was settled by it, before anything else."""
        waiting = (one for one in before if one.effect != "read" and not self._is_done_with(one, opened))
        return tuple(as_of(one, closed) for one in waiting)

    def _is_done_with(self, one: Execution, opened: datetime) -> bool:
        """It failed, or a turn that could speak of it was closed, or a person found out about it."""
        if one.finished_at is None or one.state == "indeterminate":
            return one.id in self.resolved
        told = (one.finished_at <= (end if turn == one.turn else begin) for turn, (begin, end) in self.ended.items())
        return any(told) or (one.state == "failed" and one.finished_at < opened)


class _Journal:
    """One pass over the journal of a turn: what was proposed last, what has run, and each ruling on the way."""

    def __init__(
        self, conversation: _Conversation, asked: Message | None, turn: TurnId, entries: Sequence[Message]
    ) -> None:
        self.conversation = conversation
        self.turn = turn
        self.asked = asked
        self.entries = entries
        self.mode: Mode | None = None
        self.drafted: Draft | None = None
        self.confirmed: Intent | None = None
        self.asked_again = False
        self.ran: list[Execution] = []
        self.problem = "" if asked else NO_MESSAGE

    def rulings(self) -> list[Ruling]:
        found: list[Ruling] = []
        for entry in self.entries:
            match read_event(entry):
                case RulingEvent() as event:
                    found.append(self._ruling(entry, event))
                case RemarkEvent(about="policy"):
                    found.append(self._unreadable_ruling(entry))
                case Event(kind="critique") as event if found:
                    found[-1] = _with_opinion(found[-1], entry, event)
                case AssessmentEvent() as event:
                    self.mode, self.drafted, self.confirmed = "adaptive", _read_draft(entry, event), None
                case DraftEvent(calls=calls):
                    self.mode, self.drafted = "standard", Draft("", tuple(one.call for one in calls))
                case IntentEvent(content="run" | "ask_again") as event:
                    self._read_answer(event)
                case IntentEvent(content="correct"):
                    self._take_up_wish()
                case RemarkEvent() if entry.reason is ReasonCode.WISH_NEGLECTED:
                    self._take_up_wish()
                case ExecutionEvent(execution=execution):
                    self._add_execution(execution)
        return found

    def _read_answer(self, event: IntentEvent) -> None:
        self.mode, self.asked_again = "adaptive", event.content == "ask_again"
        stored = self.conversation.intents.get(event.intent or "")
        if stored is None:
            self.problem = NO_QUESTION
        else:
            self.confirmed = replace(stored, state="pending")

    def _take_up_wish(self) -> None:
        """What is ruled on next was proposed by code, in the user's own words, whatever was confirmed before it."""
        self.mode = self.mode or "adaptive"
        self.drafted, self.confirmed = Draft("", (), Assessment(1.0, by_user=True)), None

    def _add_execution(self, execution: str) -> None:
        stored = self.conversation.executions.get(execution)
        if stored is None:
            self.problem = NO_CALL
        else:
            self.ran.append(stored)

    def _ruling(self, entry: Message, event: RulingEvent) -> Ruling:
        verdict, findings, problem = _VERDICTS[event.verdict], tuple(map(_finding, event.findings)), self.problem
        if findings and (whole := strictest([one.verdict for one in findings])).kind == verdict.kind:
            verdict = whole
        if event.page:
            problem = ON_A_PAGE
        elif self.mode is None:
            problem = NO_PROPOSAL
        ruling = replace(
            self._unreadable_ruling(entry),
            call=ToolCall(event.tool, event.arguments),
            verdict=verdict,
            findings=findings,
            effect=event.effect,
            policy_version=event.policy,
            problem=problem,
        )
        if problem or self.mode is None or self.asked is None:
            return ruling
        return replace(ruling, moment=self._moment(ruling, self.asked, self.mode, _time(event.at)))

    def _unreadable_ruling(self, entry: Message) -> Ruling:
        record = self.conversation.record
        return Ruling(
            tenant=record.tenant,
            conversation=record.conversation,
            turn=self.turn,
            seq=entry.seq,
            at=entry.at,
            call=ToolCall(""),
            verdict=Deny(),
            findings=(),
            effect="",
            policy_version="",
            confirmed=self.confirmed,
            asked_again=self.confirmed is not None and self.asked_again,
            problem=UNREADABLE,
        )

    def _moment(self, ruling: Ruling, asked: Message, seems: Mode, noted: datetime | None) -> RulingMoment:
        conversation = self.conversation
        record, visible = conversation.record, conversation.visible
        mode, language = record.turns.get(self.turn, (seems, "en"))
        profile = conversation.profiles[mode]
        before = conversation.before(asked.turn, self.entries)
        found = conversation.find_open_calls(before, asked.at, ruling.at)
        unsettled = tuple(one for one in found if one.state in ("started", "indeterminate"))
        # When a person found out how such a call had ended is not stored; that the rule kept silent is.
        if unsettled and ruling.effect != "read":
            spoke = any(finding.rule == no_earlier_outcome_is_unknown.name for finding in ruling.findings)
            same = () if spoke else tuple(one.id for one in unsettled if one.call.hash == ruling.call.hash)
            conversation.resolved.update(same)
            unsettled = tuple(one for one in unsettled if one.id not in same)
        earlier = [message for message in visible[-profile.history - 1 :] if message.turn != asked.turn]
        opened = Opened(
            token="",
            mode=mode,
            language=language,
            history=tuple(earlier[-profile.history :]),
            next_seq=self.entries[0].seq,
            intent=ruling.confirmed,
            unsettled=unsettled,
            person=record.person,
            happened=tuple(one for one in before if _was_told_happened(one, asked.at)),
        )
        said = read_event(asked)
        known = said if isinstance(said, UserMessageEvent) else None
        incoming = Incoming(
            tenant=record.tenant,
            conversation=record.conversation,
            turn=asked.turn,
            text=asked.content,
            at=asked.at,
            principal=known.principal if known else "user",
            claims=(known.claims if known else None) or {},
        )
        return RulingMoment(
            screened=Screened(incoming, opened, language, "confirm" if ruling.confirmed else "other"),
            profile=profile,
            drafted=None if ruling.confirmed else self.drafted,
            ran=tuple(self.ran),
            earlier=tuple(one for one in found if one.state == "succeeded"),
            now=noted or asked.at,
            past=Past(visible, len(visible), before, noted or ruling.at),
        )


def _was_told_happened(one: Execution, at: datetime) -> bool:
    told = one.reason is ReasonCode.OUTCOME_TOLD and one.state == "succeeded"
    return told and one.finished_at is not None and one.finished_at <= at


# --- the journal's entries ------------------------------------------------------------------------------------------


def _read_draft(entry: Message, event: AssessmentEvent) -> Draft:
    """The draft as it was read then: it is the policy that is on trial, not the reader."""
    assessment = Assessment(
        confidence=event.confidence,
        tool_call=event.tool_call,
        tool_params=event.tool_params,
        missing_params=event.missing_params,
        is_destructive=event.is_destructive,
        needs_confirmation=event.needs_confirmation,
        needs_more_context=event.needs_more_context,
        reasons=(entry.reason,) if entry.reason else (),
    )
    proposed = (ToolCall(event.tool_call, event.tool_params),) if event.tool_call is not None else ()
    native = tuple(one.call for one in event.native_calls)
    if not native:
        return Draft("", proposed, assessment)
    return Draft("", native, assessment, disagreement=disagrees(native, assessment))


def _with_opinion(ruling: Ruling, entry: Message, event: Event) -> Ruling:
    opinion = _OPINIONS.get(event.decision) if isinstance(event, CritiqueEvent) else None
    if opinion is None and entry.reason is ReasonCode.CRITIQUE_FAILED:
        opinion = _NO_OPINION
    return replace(ruling, criticised=True, opinion=opinion)


def _finding(written: FindingRecord) -> RuleFinding:
    verdict, code = _VERDICTS[written.verdict], reason(written.reason)
    if code is ReasonCode.APPROVAL_REQUIRED and isinstance(verdict, Confirm):
        verdict = Confirm(by="colleague")
    return RuleFinding(written.rule, verdict, code)


def _time(written: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(written) if written else None
    except ValueError:
        return None
