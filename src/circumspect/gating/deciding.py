"""What becomes of one call of somebody else's agent, or of the answer to the question about it. Pure: no port but clock
and ids, no I/O. The rules, the questions and the rows of the ledger are those of our own turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from circumspect.corrected_calls import list_words
from circumspect.gating.book import Decided, Standing, StoredRuling, Words, is_void
from circumspect.gating.foreign_talk import ForeignTalk, find_new
from circumspect.gating.nearest_tool import find_nearest
from circumspect.gating.proposals import copy_call
from circumspect.gating.ruling import Ruling
from circumspect.gating.taking_back import (
    find_wisher,
    is_about,
    is_wanted_after_all,
    list_new_words,
    read_words,
    takes_back_what_was_let,
)
from circumspect.journal import IntentEvent, Journal
from circumspect.language.detection import detect
from circumspect.language.folding import even_out_signs
from circumspect.language.second_thoughts import begins_with_yes, leaves_open
from circumspect.policy.facts import Facts
from circumspect.policy.judge import Rule, rule
from circumspect.policy.keys.tool_policy import effect_of
from circumspect.policy.likeness import is_among, likeness
from circumspect.policy.policy_file import Policy
from circumspect.policy.who_acts import PlainVerdict, is_mendable
from circumspect.ports import Clock, Closing, Ids
from circumspect.prompts import prompt
from circumspect.reasons import ReasonCode
from circumspect.recall import to_past_call
from circumspect.reply_context import ReplyContext
from circumspect.steps import endings
from circumspect.steps.act import hand_out, make_execution
from circumspect.steps.enforce import enforce, look_at, write_down
from circumspect.values import (
    Allow,
    Ask,
    Confirm,
    Deny,
    Enforced,
    Escalation,
    Execution,
    ExecutionId,
    History,
    Incoming,
    Intent,
    IntentId,
    IntentKind,
    PastCall,
    Profile,
    Reply,
    Screened,
    Tenant,
    ToolCall,
    ToolSpec,
    TurnOutcome,
    TurnResult,
    Usage,
    Verdict,
    YesNo,
)

_OUTCOMES: Mapping[PlainVerdict, TurnOutcome] = {
    "allow": "acted",
    "ask": "asked",
    "escalate": "escalated",
    "redo": "blocked",
    "deny": "blocked",
}
_VERDICTS: Mapping[TurnOutcome, PlainVerdict] = {"asked": "ask", "escalated": "escalate"}
_YES: Mapping[IntentKind, ReasonCode] = {
    "confirmation": ReasonCode.CONFIRMED_BY_USER,
    "approval": ReasonCode.APPROVED_BY_COLLEAGUE,
}


@dataclass(frozen=True)
class GateSetup:
    """What holds for every call at a gate."""

    tenant: Tenant
    policy: Policy
    profile: Profile
    clock: Clock
    ids: Ids
    journals: bool = True
    """False where nobody could ever read what is written into a journal."""


class Decision:
    """One decision about one call. `ruling` is what the caller gets, and `decided` what is written."""

    def __init__(
        self,
        setup: GateSetup,
        incoming: Incoming,
        call: ToolCall,
        talk: ForeignTalk,
        rules: Sequence[Rule],
        standing: Standing,
        mendings: Sequence[str] | None = None,
    ) -> None:
        """`mendings`: the call has the arguments that would really run, and this was done to them."""
        self.setup, self.call, self.talk, self.rules, self.standing = setup, call, talk, rules, standing
        self.mendings = mendings
        self.now = setup.clock.now()
        self.notes = Journal()
        told = find_new(standing.tail, talk.utterances) if talk.told is None else talk.told
        self.said: list[Words] = [(one.speaker, one.text) for one in talk.utterances[told:]]
        self.spec = talk.specs.get(call.tool)
        default = standing.opened.language or setup.tenant.language
        values = [one for one in call.arguments.values() if isinstance(one, str) and one]
        language = incoming.language or talk.detect_language(default, values)
        # Handed out and not heard of again: it may have happened.
        under_way = [one for one in standing.ran if one.state in ("started", "delegated", "indeterminate")]
        opened = standing.opened
        if under_way:
            known = {one.id for one in opened.unsettled}
            rest = (one for one in under_way if one.id not in known)
            opened = replace(opened, unsettled=(*opened.unsettled, *rest))
        self.incoming = incoming
        self.screened = Screened(self.incoming, opened, language, "other")
        self.desk = ReplyContext(self.screened, setup.policy, talk.specs, setup.profile, setup.clock, setup.ids)
        self.voided: dict[ExecutionId, Execution] = {}
        self._void_what_was_taken_back(told)
        self.ruling: Ruling
        self.decided: Decided

    # --- a call ---------------------------------------------------------------------------------------------------

    def rule(self) -> None:
        if self.standing.opened.paused_by:
            self._end("escalate", Reply("escalated", ""), (ReasonCode.WITH_A_PERSON,))
        elif (handed := self._find_handed_out()) and not is_void(handed):
            self._attach(handed)
        elif handed and not is_wanted_after_all(handed, self._list_words_since(handed)):
            self._refuse_void(handed)
        else:
            self._settle(*self._enforce())

    def _void_what_was_taken_back(self, told: int) -> None:
        """By the user's new words: of what was let through and not run, no yes counts any more. Whether it was run
        already, only the caller can say."""
        let = [one for one in self.standing.ran if one.state == "delegated" and not is_void(one)]
        heard = list_new_words(self.talk, told) if let else []
        for one in let:
            wisher = find_wisher(self.talk, one.call, self.incoming.person) if heard else ""
            back = [said for said in heard if takes_back_what_was_let(one, said, wisher, self.standing.put, self.now)]
            if back:
                self._void(one, ReasonCode.WISH_TAKEN_BACK, back[-1].text)

    def _void(self, handed: Execution, reason: ReasonCode, words: str) -> Execution:
        voided = replace(handed, reason=reason, error=words, finished_at=self.now)
        self.voided[handed.id] = voided
        ran = tuple(voided if one.id == handed.id else one for one in self.standing.ran)
        self.standing = replace(self.standing, ran=ran)
        if handed.intent:
            self.notes.write(IntentEvent("drop", intent=handed.intent), reason)
        return voided

    def _list_words_since(self, voided: Execution) -> list[str]:
        """What the user said after they took it back."""
        since = voided.finished_at or voided.started_at
        later = [text for at, text in self.standing.later if at > since]
        new = [text for speaker, text in self.said if speaker == "user"]
        if voided.id in self.voided and voided.error in new:
            new = new[len(new) - new[::-1].index(voided.error) :]
        return later + new

    def _refuse_void(self, handed: Execution) -> None:
        reasons = (handed.reason,) if handed.reason else ()
        ruling = self._make_ruling("deny", reasons, handed.call, execution=handed, problem=_say_why_void(handed))
        self._write(ruling, Reply("blocked", ""))

    def _find_ended(self, reasons: Sequence[ReasonCode]) -> Execution | None:
        """What the call came to, where it is refused because it ran since the user last spoke."""
        if reasons[:1] != (ReasonCode.REPEATED_CALL,):
            return None
        ended = (one for one in reversed(self.standing.ran) if one.runner != "import" and one.state == "succeeded")
        return next((one for one in ended if is_among(self.call, (one,))), None)

    def _settle(self, enforced: Enforced, facts: Facts) -> None:
        first = self._find_first_question()
        asked = first or self._newest_question
        if asked is None or not isinstance(enforced.verdict, Confirm):
            self._conclude(enforced, facts)
        elif asked.state == "denied":
            self._repeat_denial(asked, enforced, facts)
        elif self._still_waits(asked):
            self._wait(asked, enforced, facts)
        elif first:
            self._ask_as_before(asked, enforced, facts)
        else:
            self._conclude(enforced, facts)

    @property
    def _newest_question(self) -> Intent | None:
        return self.standing.questions[-1] if self.standing.questions else None

    def _find_first_question(self) -> Intent | None:
        """A framework that was interrupted takes the very same call up again, and brings all answers once more, first
        to last. So each gets the question that it was given to, however old: a new one here would get an old yes."""
        for one in self.standing.questions:
            if one.call.id == self.call.id != "" and one.state == "pending" and not self._has_spoken_since(one):
                return one
        return None

    def _conclude(self, enforced: Enforced, facts: Facts, key: str = "") -> None:
        """What the verdict comes to, for the user, a colleague or the model."""
        reasons = enforced.reasons
        match enforced.verdict:
            case Allow():
                self._allow(enforced, facts)
            case Confirm(by="user"):
                self._end("ask", endings.confirmation(enforced, self.desk, key), reasons, facts, enforced)
            case Confirm():
                self._end("escalate", endings.approval(enforced, self.desk), reasons, facts, enforced)
            case Ask() as ask:
                reply = endings.hold(enforced, self.desk)
                missing = tuple(dict.fromkeys((*ask.missing, *ask.invalid, *ask.named)))
                self._end("ask", reply, reasons, facts, enforced, missing=missing)
            case Deny() as denied:
                kind: PlainVerdict = "redo" if is_mendable(enforced.findings) else "deny"
                nearest = self._find_nearest_tool(reasons)
                meant = f"Call '{nearest}' by exactly that name, if you meant it." if nearest else ""
                said = (denied.problem, denied.because, _name_wrong(enforced), meant)
                problem = " ".join(dict.fromkeys(filter(None, said)))
                became = _say_what_became(self._find_ended(reasons))
                self._end(
                    kind, Reply("blocked", ""), reasons, facts, enforced, problem=problem, nearest=nearest, **became
                )
            case _:
                self._end("escalate", endings.hold(enforced, self.desk), reasons, facts, enforced)

    def _find_nearest_tool(self, reasons: Sequence[ReasonCode]) -> str:
        if reasons[:1] not in ((ReasonCode.TOOL_NOT_FOUND,), (ReasonCode.TOOL_NOT_COVERED,)):
            return ""
        covered = {name for name in self.talk.specs if self._effect_of(name)}
        if self.spec:  # learnt from this very call: any that the file names may be meant
            covered |= self.setup.policy.tools.keys()
        return find_nearest(self.call.tool, covered - {self.call.tool})

    def _allow(self, enforced: Enforced, facts: Facts) -> None:
        execution = None
        if enforced.effect != "read":
            started = make_execution(enforced, self.incoming, self.setup.clock, self.setup.ids)
            execution = hand_out(replace(started, runner="client"), self.setup.clock)
        settled = (_YES[enforced.intent.kind],) if enforced.intent else ()
        self._end("allow", Reply("acted", ""), (*settled, *enforced.reasons), facts, enforced, execution=execution)

    def _wait(self, asked: Intent, enforced: Enforced, facts: Facts) -> None:
        """The question was put before. The user's newest words may be the answer; else it waits on."""
        answer = self._read_answer(asked)
        if answer == "confirm":
            self.notes.write(IntentEvent("run", intent=asked.id), ReasonCode.CONFIRMED_BY_USER)
            self._conclude(*self._enforce(confirmed=asked))
        elif answer == "deny":
            self._drop(asked, ReasonCode.DENIED_BY_USER, facts)
        elif self._find_withdrawal(asked):
            self._conclude(enforced, facts)
        else:
            self._ask_as_before(asked, enforced, facts)

    def _find_withdrawal(self, asked: Intent) -> str:
        """The words with which the user has turned to something else since they were asked; nobody can say yes to the
        question any more. They are those that withdraw a question of our own agent, too."""
        if asked.kind != "confirmation":
            return ""
        stored = [text for seq, text in self.standing.heard if seq > asked.question_seq]
        new = [text for speaker, text in self.said if speaker == "user"]
        return next((text for text in (*stored, *new) if self._turns_away(text, asked)), "")

    def _turns_away(self, text: str, asked: Intent) -> bool:
        language, values = detect(text, None, self.screened.language), list_words(asked.call)
        if begins_with_yes(text, language, values) or leaves_open(text, language, values):
            return False
        return read_words(text, asked) == "other"

    def _ask_as_before(self, asked: Intent, enforced: Enforced, facts: Facts) -> None:
        verdict: PlainVerdict = "ask" if asked.kind == "confirmation" else "escalate"
        self._end(verdict, Reply("asked", asked.question, intent=asked), enforced.reasons, facts, enforced)

    def _repeat_denial(self, asked: Intent, enforced: Enforced, facts: Facts) -> None:
        """Somebody said no to this very call. It is asked about again when the user has spoken since."""
        if asked.kind == "confirmation" and self._has_spoken_since(asked) and self._read_answer(asked) != "deny":
            self._conclude(enforced, facts)
            return
        colleague = asked.kind == "approval"
        reason = ReasonCode.DENIED_BY_COLLEAGUE if colleague else ReasonCode.DENIED_BY_USER
        declined = prompt("gate-declined").text
        collected = asked.id if colleague else None
        self._end("deny", Reply("blocked", ""), (reason,), facts, problem=declined, collected=collected)

    def _read_answer(self, asked: Intent) -> YesNo:
        """Only to the question as it was put, and only if it was said since."""
        if asked.kind != "confirmation" or not self.talk.is_answered or not self._has_spoken_since(asked):
            return "other"
        _, put, rest = even_out_signs(self.talk.asked).rpartition(even_out_signs(asked.question))
        if not put or "?" in rest or "؟" in rest:  # a yes is for what was asked last
            return "other"
        if self.talk.is_answered_by_another(self.incoming.person, partial(is_about, self.call)):
            return "other"
        return read_answer(self.talk, asked)

    def _has_spoken_since(self, asked: Intent) -> bool:
        return self.standing.spoke > asked.question_seq or any(speaker == "user" for speaker, _ in self.said)

    def _still_waits(self, asked: Intent) -> bool:
        theirs = asked.kind == "approval" or asked.principal == self.incoming.principal
        return theirs and asked.expires_at > self.now and asked.is_still(self.spec, self.setup.policy.hash)

    def _find_handed_out(self) -> Execution | None:
        """This very call, let through before and not run yet; or, where a process begins anew, already run: its own
        number says so, unless its result was heard of long ago and the number is used again."""
        for one in reversed(self.standing.ran):
            if one.runner == "import" or not is_among(self.call, (one,)):
                continue
            if one.state == "delegated":
                return one
            known = one.state != "indeterminate"  # else the rules say whose it is to find out
            if known and self.call.id and one.call.id == self.call.id and self.call.id not in self.talk.answered:
                return one
        return None

    def _attach(self, handed: Execution) -> None:
        ruling = self._make_ruling("allow", (), handed.call, execution=handed)
        self._write(ruling, Reply("acted", ""))

    # --- an answer ------------------------------------------------------------------------------------------------

    def answer(self, asked: Intent, yes: bool, reason: ReasonCode, words: str) -> None:
        """The user, or a colleague, decided on a question."""
        state = asked.state
        let = self._find_of_intent(asked.id)
        if let and is_void(let):
            self._refuse_void(let)
        elif let and not yes and let.state == "delegated":
            withdrawn = reason is ReasonCode.PENDING_INTENT_WITHDRAWN
            self._refuse_void(self._void(let, ReasonCode.WISH_TAKEN_BACK if withdrawn else reason, words))
        elif let and yes and state == "consumed":
            self._attach(let)
        elif let and let.state != "failed":
            became = _say_what_became(let)
            self._end("deny", Reply("blocked", ""), (ReasonCode.REPEATED_CALL,), **became)
        elif state != "pending":
            missing = (ReasonCode.PENDING_INTENT_MISSING,)
            self._end("deny", Reply("blocked", ""), missing, problem=prompt("gate-nothing-waits").text)
        elif not yes:
            self._drop(asked, reason, None, words)
        elif turned := self._find_withdrawal(asked):
            self._drop(asked, ReasonCode.PENDING_INTENT_WITHDRAWN, None, turned)
        else:
            self._approve(asked, reason)

    def _approve(self, asked: Intent, reason: ReasonCode) -> None:
        newest = self._newest_question
        expired = asked.expires_at <= self.now
        if newest and newest.id != asked.id and not self._still_waits(asked):
            self._settle_anew(newest, *self._enforce_anew(asked))
        elif expired or not self._still_waits(asked):
            key = "confirm-again-expired" if expired else "confirm-again-mismatch"
            self._conclude(*self._enforce_anew(asked), "" if asked.kind == "approval" else key)
        else:
            self.notes.write(IntentEvent("run", intent=asked.id), reason)
            self._conclude(*self._enforce(confirmed=asked))

    def _enforce_anew(self, asked: Intent) -> tuple[Enforced, Facts]:
        """The call of a question whose answer does not count. It is asked about again, whatever led to the question:
        what an answer brings along are no words that could show it."""
        enforced, facts = self._enforce()
        if isinstance(enforced.verdict, Allow):
            self.rules = (*self.rules, _ask_again(asked))
            return self._enforce()
        return enforced, facts

    def _settle_anew(self, newest: Intent, enforced: Enforced, facts: Facts) -> None:
        """An answer that came too late, and was brought again: the question that it led to stands."""
        if newest.state == "denied":
            self._repeat_denial(newest, enforced, facts)
        elif self._still_waits(newest) and isinstance(enforced.verdict, Confirm):
            self._ask_as_before(newest, enforced, facts)
        else:
            self._conclude(enforced, facts, "" if newest.kind == "approval" else "confirm-again-expired")

    def _find_of_intent(self, intent: IntentId) -> Execution | None:
        return next((one for one in self.standing.ran if one.intent == intent), None)

    def _drop(self, asked: Intent, reason: ReasonCode, facts: Facts | None, words: str = "") -> None:
        self.notes.write(IntentEvent("drop", intent=asked.id), reason)
        withdrawn = reason is ReasonCode.PENDING_INTENT_WITHDRAWN
        problem = prompt("gate-withdrawn").render(words=words) if withdrawn else prompt("gate-declined").text
        self._end("deny", Reply("blocked", "", dropped=asked.id), (reason,), facts, problem=problem)

    # --- rules, and what is written -------------------------------------------------------------------------------

    def _enforce(self, confirmed: Intent | None = None) -> tuple[Enforced, Facts]:
        facts = look_at(
            self.call, self.screened, None, self.setup.policy, self.talk.specs, "adaptive", self.now, self._history(),
            confirmed=confirmed, done=self._find_done(), mendings=self.mendings,
        )  # fmt: skip
        enforced = enforce(facts, self.rules, self.setup.policy.hash, self.setup.profile)
        if self.setup.journals:
            write_down(enforced, facts, self.notes)
        return enforced, facts

    def _history(self) -> History:
        session = self.talk.session
        if not self.standing.elsewhere:
            return session
        others = []
        for one, theirs in self.standing.elsewhere:
            past = to_past_call(one, self.talk.specs, 0, by_client=True)
            others.append(replace(past, same_person=theirs, unknown=one.state not in ("succeeded", "failed")))
        full = replace(session, elsewhere=tuple(others))
        full.__dict__.update({key: session.__dict__[key] for key in ("ledger", "_known", "utterances", "past_calls")})
        return full

    def _find_done(self) -> frozenset[str]:
        """What has changed something since the user last spoke."""
        since = self.talk.events[self.talk.heard + 1 :]
        same = [one for one in since if isinstance(one, PastCall) and one.ok and one.call.tool == self.call.tool]
        if not same or self._effect_of(self.call.tool) == "read":
            return frozenset()
        return frozenset(likeness(one.call) for one in same)

    def _effect_of(self, tool: str) -> str | None:
        return effect_of(self.talk.specs.get(tool), self.setup.policy.of(tool, self.setup.tenant.id))

    def _end(
        self,
        verdict: PlainVerdict,
        reply: Reply,
        reasons: Sequence[ReasonCode],
        facts: Facts | None = None,
        enforced: Enforced | None = None,
        *,
        execution: Execution | None = None,
        collected: IntentId | None = None,
        **more: Any,
    ) -> None:
        call = enforced.call if enforced else self.call
        made = self._make_ruling(
            verdict, reasons, call, intent=reply.intent, ask_user=reply.text, execution=execution,
            facts=facts, **more,
        )  # fmt: skip
        used = enforced.intent if enforced and verdict == "allow" else None
        by = self._name_decider() if used else ""
        self._write(made, reply, execution, by, collected)

    def _name_decider(self) -> str:
        errand = self.incoming.errand
        return getattr(errand, "by", "") or self.incoming.principal

    def _make_ruling(
        self,
        verdict: PlainVerdict,
        reasons: Sequence[ReasonCode],
        call: ToolCall,
        *,
        execution: Execution | None = None,
        **more: Any,
    ) -> Ruling:
        return Ruling(
            id=self.incoming.turn,
            conversation=self.incoming.conversation,
            call=copy_call(call),
            verdict=verdict,
            reason_codes=tuple(dict.fromkeys(reasons)),
            execution=execution.id if execution else None,
            person=self.incoming.person,
            **_say_what_became(execution),
            **more,
        )

    def _write(
        self,
        ruling: Ruling,
        reply: Reply,
        execution: Execution | None = None,
        by: str = "",
        collected: IntentId | None = None,
    ) -> None:
        incoming, opened = self.incoming, self.screened.opened
        escalation: Escalation | None = reply.escalation
        for code in ruling.reason_codes:
            self.notes.reasons.setdefault(code, None)
        if escalation:
            self.notes.reasons.update({escalation.reason: None, ReasonCode.ESCALATED_TO_HUMAN: None})
        read = ruling.verdict == "allow" and execution is None
        result = TurnResult(
            turn=incoming.turn,
            conversation=incoming.conversation,
            outcome="answered" if read else _OUTCOMES[ruling.verdict],
            reply="",
            reason_codes=tuple(self.notes.reasons),
            pending=reply.intent,
            usage=Usage("adaptive"),
            language=self.screened.language,
            entries=tuple(self.notes.entries),
            calls=(ToolCall(ruling.call.tool, ruling.call.arguments, ruling.execution or ""),)
            if ruling.allowed
            else (),
        )
        closing = Closing(
            incoming=incoming,
            token=opened.token,
            language=self.screened.language,
            result=result,
            entries=result.entries,
            at=self.now,
            denied=reply.dropped,
            escalation=escalation,
            executions=tuple(self._list_imports()) if self.setup.journals else (),
            multiplier=self.setup.tenant.plan.multiplier,
            message_price=self.setup.tenant.plan.message_price,
            beside=not any(speaker == "user" for speaker, _ in self.said),
        )
        self.ruling = ruling
        self.decided = Decided(closing, self.said, execution, by, collected, tuple(self.voided.values()))

    def _list_imports(self) -> list[Execution]:
        """What the messages say has run, and the ledger does not have."""
        known = {one.call.id for one in self.standing.ran if one.call.id}
        hashes = {one.call.hash for one in self.standing.ran if not one.call.id}
        new = [one for one in self.talk.imports if one.call.id not in known and one.call.hash not in hashes]
        return [self._import(one) for one in new]

    def _import(self, past: PastCall) -> Execution:
        effect = effect_of(self.talk.specs.get(past.call.tool), self.setup.policy.of(past.call.tool, None))
        return Execution(
            id=ExecutionId(self.setup.ids.new("exec")),
            tenant=self.incoming.tenant,
            conversation=self.incoming.conversation,
            turn=self.incoming.turn,
            call=past.call,
            effect=effect or "destructive",
            recovery="blind",
            state="succeeded" if past.ok else "failed",
            token="",
            lease_until=self.now,
            started_at=self.now,
            finished_at=self.now,
            result=past.result,
            runner="import",
        )


def _ask_again(asked: Intent) -> Rule:
    """A yes that came too late, or from somebody else, lets nothing run."""
    verdict = Confirm(by="colleague") if asked.kind == "approval" else Confirm()

    def check(facts: Facts) -> Verdict:
        return verdict

    check.__name__, check.__doc__ = "a_yes_that_does_not_count_is_none", _ask_again.__doc__
    return rule(ReasonCode.PENDING_INTENT_MISMATCH)(check)


def _name_wrong(enforced: Enforced) -> str:
    """What the user will have to say beside the look-up that is missing."""
    wrong = [name for one in enforced.findings if isinstance(one.verdict, Ask) for name in one.verdict.invalid]
    names = ", ".join(dict.fromkeys(wrong))
    return f"Nobody gave this, or it is not right: {names}. Do not make it up: ask the user." if names else ""


def _say_what_became(handed: Execution | None) -> dict[str, Any]:
    """Of a call that is not to be run any more."""
    if handed is None or handed.state == "delegated":
        return {}
    return {"state": handed.state, "outcome": handed.result if handed.state == "succeeded" else handed.error or None}


def _say_why_void(handed: Execution) -> str:
    if handed.reason is ReasonCode.WISH_TAKEN_BACK:
        return prompt("gate-taken-back").render(words=handed.error)
    return prompt("gate-declined").text


def say_void(ruling: Ruling, handed: Execution) -> Ruling:
    """A ruling whose call was let through and taken back."""
    reasons = (handed.reason,) if handed.reason else ()
    return replace(ruling, verdict="deny", reason_codes=reasons, ask_user="", problem=_say_why_void(handed))


def read_answer(talk: ForeignTalk, asked: Intent) -> YesNo:
    said = [one.text for one in talk.utterances if one.speaker == "user"]
    return read_words(said[-1] if said else "", asked, said[:-1])


def learn(specs: Mapping[str, ToolSpec], tool: str) -> ToolSpec:
    """What is known of a tool that nobody declared: its name. What it does, a policy has to say."""
    return specs.get(tool) or ToolSpec(tool, client=True)


def read_stored(stored: StoredRuling) -> Ruling:
    """A ruling as it stands now: the question may have been answered, the call run."""
    result, asked, handed = stored.result, stored.intent, stored.execution
    calls = result.calls or ((asked.call,) if asked else ())
    verdict: PlainVerdict = "deny"
    if handed or result.calls:
        verdict = "allow"
    elif asked is None or asked.state == "pending":
        verdict = _VERDICTS.get(result.outcome, "deny")
    ruling = Ruling(
        id=result.turn,
        conversation=result.conversation,
        call=calls[0] if calls else ToolCall(""),
        verdict=verdict,
        reason_codes=result.reason_codes,
        ask_user=asked.question if asked and asked.state == "pending" else "",
        intent=asked,
        execution=handed.id if handed else None,
        person=stored.person,
        **_say_what_became(handed),
        problem=prompt("gate-declined").text if asked and asked.state == "denied" else "",
    )
    return say_void(ruling, handed) if handed and is_void(handed) else ruling
