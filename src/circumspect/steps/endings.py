"""endings: how a turn ends, in words of our catalogue. Every ending a turn can have is one function here.

A question that waits for a yes carries the intent that the yes will be bound to.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import assert_never

from circumspect import wording
from circumspect.errors import ConversationBusy, StoreError
from circumspect.journal import PersonReplyEvent, find_events
from circumspect.knowledge.answer_support import list_cited
from circumspect.language import catalogue
from circumspect.language.detection import is_in_another
from circumspect.language.doubts import admits_doubt, apologises, says_not_known
from circumspect.policy.grounding.untrue import UntrueSentence, find_untrue
from circumspect.policy.keys.tool_policy import effect_of
from circumspect.policy.rules import SURE_ENOUGH
from circumspect.policy.understanding.small_talk import small_talk
from circumspect.policy.understanding.understood import RetrievalResult, Understood
from circumspect.questions import ask_in_words, find_second_question
from circumspect.reasons import ReasonCode
from circumspect.reply_context import ReplyContext
from circumspect.values import (
    Allow,
    Ask,
    Confirm,
    Deny,
    Draft,
    Enforced,
    Escalate,
    Escalation,
    Execution,
    Incoming,
    Intent,
    IntentId,
    Language,
    Mode,
    PersonDecision,
    Reply,
    ToolSpec,
    TurnResult,
    Usage,
)

log = logging.getLogger(__name__)

_COURTESY = 40
"""Characters. "You are welcome!" is shorter."""


def reject_message(desk: ReplyContext, reason: ReasonCode) -> Reply:
    if reason is ReasonCode.MESSAGE_EMPTY:
        return Reply("asked", desk.say("message-empty"))
    return Reply("blocked", desk.say("message-too-long", limit=desk.profile.message_limit))


def report_quota(desk: ReplyContext) -> Reply:
    return Reply("blocked", desk.say("quota-reached"))


def answer(drafted: Draft, denied: Enforced | None, ran: Sequence[Execution], desk: ReplyContext) -> Reply:
    """The model proposes nothing (more) to do: its words are the answer. After a call that the policy denied they are
    how the turn is blocked, and the policy's reason is said with them."""
    if changed := _changes(ran):
        return report_execution(changed[-1], drafted.reply, desk)
    if why := _denial(denied):
        return Reply("blocked", drafted.reply if why in drafted.reply else f"{drafted.reply} {why}".strip())
    if not drafted.reply:
        return Reply("asked", desk.say("ask-missing-unnamed"))
    return Reply("answered", drafted.reply)


def is_doubtful(reply: Reply, drafted: Draft, desk: ReplyContext) -> bool:
    """An answer that the model is not sure of, and that does not say so itself. Questions and courtesies are none."""
    assessed = drafted.assessment
    if reply.outcome != "answered" or reply.text != drafted.reply or assessed is None:
        return False
    if not assessed.readable or ReasonCode.ASSESSMENT_MISSING in assessed.reasons:
        return False
    if assessed.confidence >= SURE_ENOUGH or "?" in reply.text or admits_doubt(reply.text):
        return False
    return small_talk(desk.screened.incoming.text, desk.language) is None


def mark_doubt(reply: Reply, desk: ReplyContext) -> Reply:
    return replace(reply, text=f"{reply.text}\n\n{desk.say('not-quite-sure')}")


def hold(enforced: Enforced, desk: ReplyContext) -> Reply:
    """The call does not run, or not yet."""
    match enforced.verdict:
        case Confirm(by="user"):
            return confirmation(enforced, desk)
        case Confirm():
            return approval(enforced, desk)
        case Ask() as ask:
            return Reply("asked", ask_in_words(ask, enforced, desk))
        case Escalate():
            return escalate(desk, enforced.reasons[0], _summary(enforced, desk))
        case Deny() if desk.screened.incoming.scene:
            return Reply("blocked", desk.say("page-changed" if enforced.intent else "page-denied"))
        case Deny() if enforced.reasons[:1] == (ReasonCode.REPEATED_CALL,):
            return Reply("blocked", desk.say("done-before", action=desk.action(enforced)))
        case Deny():
            unavailable = enforced.spec is None or not enforced.spec.configured
            key = "tool-unavailable" if unavailable else "tool-denied"
            return Reply("blocked", _instead(desk, key, _denial(enforced)))
        case Allow():
            raise ValueError("a call that is allowed is not held")
        case other:
            assert_never(other)


def hold_after_calls(ran: Sequence[Execution], enforced: Enforced, desk: ReplyContext) -> Reply:
    """The same in a turn that has run other calls: what these changed is said first."""
    changed = _changes(ran)
    if not changed:
        return hold(enforced, desk)
    if isinstance(enforced.verdict, Deny) and any(one.call.hash == enforced.call.hash for one in changed):
        return report_execution(changed[-1], "", desk)
    if isinstance(enforced.verdict, Escalate):
        reply = escalate(desk, enforced.reasons[0], _summary(enforced, desk), acted=True)
    else:
        reply = hold(enforced, desk)
    return prepend(reply, " ".join(report_execution(one, "", desk).text for one in changed))


def confirmation(enforced: Enforced, desk: ReplyContext, key: str = "") -> Reply:
    """Ask the user for a yes to exactly this call."""
    key = key or ("confirm-question" if enforced.effect == "destructive" else "confirm-question-write")
    described = desk.describe(enforced)
    question = described.follow(desk.say(key, action=described.phrase))
    if doubt := find_second_question(enforced, desk):
        question = f"{desk.say('question-first', question=doubt)}\n\n{question}"
    return Reply("asked", question, intent=_intent(enforced, question, "confirmation", desk))


def approval(enforced: Enforced, desk: ReplyContext) -> Reply:
    """Ask a colleague; the user hears that it waits."""
    described = desk.describe(enforced)
    text = described.follow(desk.say("approval-needed", action=described.phrase))
    summary = "\n\n".join(filter(None, (described.follow(described.phrase), enforced.doubt)))
    escalation = Escalation(ReasonCode.APPROVAL_REQUIRED, summary)
    return Reply("escalated", text, intent=_intent(enforced, text, "approval", desk), escalation=escalation)


def ask_again(enforced: Enforced, asked: Intent, reason: ReasonCode | None, desk: ReplyContext) -> Reply:
    """The yes came too late, or what it was for has changed since: the same question anew."""
    if asked.kind == "approval":
        return ask_colleagues_again(enforced, desk)
    expired = reason is ReasonCode.PENDING_INTENT_EXPIRED
    return confirmation(enforced, desk, "confirm-again-expired" if expired else "confirm-again-mismatch")


def ask_colleagues_again(enforced: Enforced, desk: ReplyContext) -> Reply:
    """Ask colleagues about a call that one of them changed; the user hears nothing before the next has decided."""
    described = desk.describe(enforced)
    question = described.follow(described.phrase)
    return Reply("escalated", "", intent=_intent(enforced, question, "approval", desk))


def hold_without_user(enforced: Enforced, desk: ReplyContext) -> Reply:
    """A call proposed with no user to talk to is held; whoever proposed it reads the reasons."""
    match enforced.verdict:
        case Confirm(by="user"):
            return confirmation(enforced, desk)
        case Confirm():
            return approval(enforced, desk)
        case Escalate():
            return escalate(desk, enforced.reasons[0], _summary(enforced, desk))
        case _:
            return Reply("blocked", "")


def nothing_pending(desk: ReplyContext) -> Reply:
    return Reply("asked", "" if desk.screened.incoming.errand else desk.say("nothing-to-confirm"))


def drop_intent(intent: Intent, desk: ReplyContext) -> Reply:
    key = "approval-denied" if intent.kind == "approval" else "dropped"
    return Reply("answered", desk.say(key, action=desk.action(intent)), dropped=intent.id)


def with_a_person(desk: ReplyContext) -> Reply:
    """Somebody took the conversation over. Once they have spoken, the agent keeps out of it."""
    spoken = any(find_events(desk.screened.opened.history[-4:], PersonReplyEvent))
    return Reply("escalated", "" if spoken else desk.say("with-person"))


def hand_over(desk: ReplyContext) -> Reply:
    """The user wants a person."""
    summary = desk.screened.incoming.text
    return Reply("escalated", desk.say("handed-over"), escalation=Escalation(ReasonCode.PERSON_WANTED, summary))


def go_on_without_person(desk: ReplyContext) -> Reply:
    """The user was offered a person and wants none."""
    return Reply("asked", desk.say("person-declined"))


def answer_question(drafted: Draft, desk: ReplyContext) -> Reply:
    """The user only asked, and the model insists on doing something: its words where they answer and claim nothing,
    else ours."""
    known = desk.screened.incoming.text
    unfit = find_untrue(drafted.reply, desk.language, ()) or is_in_another(drafted.reply, desk.language, known)
    text = "" if "?" in drafted.reply or unfit else drafted.reply
    return Reply("answered", text) if text else answer_ourselves(desk)


def answer_ourselves(desk: ReplyContext) -> Reply:
    """The model has no words that could be shown, and nothing was done."""
    if is_courtesy(desk):
        return Reply("answered", desk.say("you-are-welcome"))
    return Reply("asked", desk.say("question-unanswered"))


def is_courtesy(desk: ReplyContext) -> bool:
    """The user thanks or takes their leave, and wants nothing."""
    return small_talk(desk.screened.incoming.text, desk.language) in ("thanks", "bye")


def is_person_offered(desk: ReplyContext) -> bool:
    """The last thing the user heard was the offer of a person."""
    said = _heard(desk)
    return bool(said) and any(offer in said[-1] for offer in _find_offers(desk.language))


@cache
def _find_offers(language: Language) -> tuple[str, ...]:
    return tuple(catalogue.say(language, key) for key in ("offer-person", "question-unanswered"))


def without_circles(reply: Reply, desk: ReplyContext) -> Reply:
    """What was said before is said with something new; a third time with the offer of a person; then one has it."""
    if reply.outcome not in ("answered", "asked", "blocked") or not _weighs(reply, desk):
        return reply
    times = sum(reply.text in said for said in _heard(desk))
    if not times:
        return reply
    if is_courtesy(desk) and not reply.intent:
        return answer_ourselves(desk)
    if times == 1:
        return prepend(reply, desk.say("confirm-clearly" if reply.intent else "said-before"))
    if not is_person_offered(desk) or desk.screened.answer == "deny":
        # A yes must not have two questions to answer.
        words = "" if reply.intent else f"{reply.text}\n\n"
        return Reply("asked", f"{words}{desk.say('offer-person')}")
    return escalate(desk, ReasonCode.SAID_AGAIN, desk.screened.incoming.text)


def is_apology_loop(reply: Reply, desk: ReplyContext) -> bool:
    """This reply and those before it, in a row, are sorry or do not know, in whatever words."""
    before, most = _heard(desk), desk.profile.apologies
    if reply.intent or reply.escalation or most < 1 or len(before) < most - 1:
        return False
    row = (*before[len(before) - most + 1 :], reply.text)
    return all(apologises(said) or says_not_known(said) for said in row)


def hand_to_client(ended: Sequence[Execution], words: str) -> Reply:
    """The client is to run these; our id of each is how its result finds the way back."""
    calls = tuple(replace(one.call, id=one.id) for one in ended)
    return Reply("acted", words, calls=calls)


def end_with_understanding(made: Understood, desk: ReplyContext) -> Reply:
    """The turn ends with what was made of the message; nothing was drafted."""
    if made.ends == "escalated":
        reason, text = made.reason or ReasonCode.DECIDED_TO_ESCALATE, desk.screened.incoming.text
        why = made.decision.why if made.decision else ""
        return replace(escalate(desk, reason, text), escalation=Escalation(reason, text, why))
    return Reply("blocked" if made.ends == "blocked" else "asked", made.response)


def unanswerable(found: RetrievalResult, desk: ReplyContext) -> Reply:
    """What was found does not carry an answer."""
    if found.verdict == "clarify":
        return Reply("asked", found.question)
    reason = found.reason or ReasonCode.UNSURE_OF_ANSWER
    if reason is ReasonCode.UNSURE_OF_ANSWER:
        return with_suggestion(say_not_known(desk), found)
    reply = escalate(desk, reason, desk.screened.incoming.text)
    return replace(reply, escalation=Escalation(reason, desk.screened.incoming.text, found.summary))


def say_not_known(desk: ReplyContext) -> Reply:
    """There is nothing that an answer could rest on: the user hears so, and a person gets the question."""
    escalation = Escalation(ReasonCode.UNSURE_OF_ANSWER, desk.screened.incoming.text)
    return Reply("escalated", desk.say("not-known"), escalation=escalation)


def with_suggestion(reply: Reply, found: RetrievalResult | None) -> Reply:
    """Whoever takes over finds an answer to start from; it is theirs to send or not."""
    handed = reply.escalation
    if handed is None or handed.suggestion or found is None:
        return reply
    return replace(reply, escalation=replace(handed, suggestion=found.suggestion))


def is_unknown(reply: Reply, found: RetrievalResult | None, desk: ReplyContext) -> bool:
    """What was looked up holds no answer, and the model says so itself. Where nobody decided that it should be looked
    up (`guided`), those are the model's own words, and stay."""
    if found is None or found.confidence is None or found.saved or reply.outcome != "answered" or reply.sources:
        return False
    return says_not_known(reply.text)


def has_saved_search(reply: Reply, found: RetrievalResult | None) -> bool:
    """It was decided that nothing needs to be looked up, and the turn got on without it."""
    return found is not None and found.saved and reply.outcome in ("answered", "acted", "asked")


def with_sources(reply: Reply, found: RetrievalResult | None) -> Reply:
    """With the passages that its numbers stand for."""
    if found is None or reply.outcome != "answered":
        return reply
    cited = list_cited(reply.text)
    return replace(reply, sources=tuple(one.to_source() for one in found.sources if one.number in cited))


def withhold_reply(ran: Sequence[Execution], desk: ReplyContext) -> Reply:
    """The model repeated what was noted for itself only. The user hears what was done, or that a person will answer."""
    if changed := _changes(ran):
        return report_execution(changed[-1], "", desk)
    return escalate(desk, ReasonCode.NOTES_GIVEN_AWAY, desk.screened.incoming.text)


def prepend(reply: Reply, words: str) -> Reply:
    """The reply after how the request was understood. A yes is bound to the words as they are shown."""
    if not words:
        return reply
    text = f"{words}\n\n{reply.text}" if reply.text else words
    return replace(reply, text=text, intent=replace(reply.intent, question=text) if reply.intent else None)


def escalate(desk: ReplyContext, reason: ReasonCode, summary: str, *, acted: bool = False) -> Reply:
    acted = acted or any(one.state != "failed" for one in (*desk.earlier, *desk.screened.opened.unsettled))
    text = desk.say("escalated-after-action" if acted else "escalated")
    return Reply("escalated", text, escalation=Escalation(reason, summary))


def report_execution(ended: Execution, phrased: str, desk: ReplyContext) -> Reply:
    """A confirmed call ran; say what is known, in the model's words where it has any."""
    match ended.state:
        case "succeeded":
            return Reply("acted", phrased or desk.say("done", action=desk.action(ended)))
        case "failed":
            problem = wording.render_value(ended.error)
            text = phrased or desk.say("tool-refused", action=desk.action(ended), problem=problem)
            if escalation := _critical(ended, desk):
                text = f"{text} {desk.say('colleague-told')}"
            return Reply("failed", text, escalation=escalation)
        case _:
            text = desk.say("outcome-unknown", action=desk.action(ended))
            return Reply("escalated", text)


def report_interrupted(before: Sequence[Execution], desk: ReplyContext) -> Reply:
    """The turn was broken off after it had run these calls, and is not run again: what became of them is its answer."""
    if not before:
        return Reply("failed", desk.say("failed-internal"))
    ran = [one for one in before if one.state != "delegated"]
    replies = [report_execution(one, "", desk) for one in ran]
    text = " ".join(dict.fromkeys(one.text for one in replies))
    if handed := [one for one in before if one.state == "delegated"]:
        return hand_to_client(handed, text)
    # What somebody has to look after counts more than what is done, and that more than what was refused.
    worst = min(replies, key=lambda one: ("escalated", "acted", "failed").index(one.outcome))
    return replace(worst, text=text, escalation=next((one.escalation for one in replies if one.escalation), None))


def find_reading(enforced: Enforced, ran: Sequence[Execution]) -> Execution | None:
    """What this turn has already looked up, where the model can only think of looking it up again."""
    if enforced.reasons[:1] != (ReasonCode.REPEATED_CALL,) or _changes(ran):
        return None
    return next((one for one in ran if one.call.hash == enforced.call.hash and one.state == "succeeded"), None)


def report_reading(ended: Execution, phrased: str, desk: ReplyContext) -> Reply:
    """What was looked up, in the model's words for it; where it has none, nobody is told that it was done already."""
    return Reply("answered", phrased) if phrased else answer_ourselves(desk)


def not_verified(ended: Execution, desk: ReplyContext) -> Reply:
    """The tool said yes, and a look afterwards said no."""
    text = desk.say("not-verified", action=desk.action(ended))
    return Reply("escalated", text, escalation=Escalation(ReasonCode.VERIFICATION_FAILED, desk.action(ended)))


def correct_claim(
    claimed: UntrueSentence,
    before: Sequence[Execution],
    ran: Sequence[Execution],
    desk: ReplyContext,
    *,
    looked_up: bool = False,
    hands_over: bool = False,
) -> Reply:
    """The model insists on something that is not so; the user hears what became of everything that was tried, in
    earlier turns (`before`) and in this one. Who only asked (`looked_up`) hears that we do not know. With `hands_over`
    a person answers for what the model cannot."""
    changed = _changes((*before, *ran))
    if claimed.reason == "language" and not _changes(ran):
        if hands_over and not is_courtesy(desk):
            return escalate(desk, ReasonCode.WRONG_LANGUAGE, desk.screened.incoming.text)
        return answer_ourselves(desk)
    if looked_up or (claimed.reason == "source" and not _changes(ran)):
        return say_not_known(desk)
    if not changed:
        return Reply("asked", desk.say("claim-replaced"))
    text = " ".join(dict.fromkeys(report_execution(one, "", desk).text for one in changed[-5:]))
    now = _changes(ran)
    return replace(report_execution(now[-1], "", desk), text=text) if now else Reply("answered", text)


def report_failure(desk: ReplyContext, key: str, ran: Sequence[Execution] = ()) -> Reply:
    """The model, the store or we failed. If something was changed before that, or may have been by an attempt at this
    turn that was broken off, the user hears of it."""
    if changed := _find_changed(desk, ran):
        return report_execution(changed[-1], "", desk)
    wanted = desk.profile.escalate_failures and key == "failed-model"
    escalation = Escalation(ReasonCode.MODEL_FAILED, desk.screened.incoming.text) if wanted else None
    return Reply("failed", desk.say("failed-handed-over" if wanted else key), escalation=escalation)


def hand_over_failure(desk: ReplyContext, reason: ReasonCode, ran: Sequence[Execution]) -> Reply:
    """The same where a person answers for whatever the agent cannot."""
    if changed := _find_changed(desk, ran):
        return report_execution(changed[-1], "", desk)
    escalation = Escalation(reason, desk.screened.incoming.text)
    return Reply("escalated", desk.say("failed-handed-over"), escalation=escalation)


def _find_changed(desk: ReplyContext, ran: Sequence[Execution]) -> list[Execution]:
    turn = desk.screened.incoming.turn
    return _changes(ran) or [one for one in desk.screened.opened.unsettled if one.turn == turn]


def without_store(incoming: Incoming, language: Language, mode: Mode, problem: StoreError) -> TurnResult:
    """The conversation could not even be opened. Nothing ran and nothing is recorded; the user still gets an answer."""
    text = catalogue.say(language, "busy" if isinstance(problem, ConversationBusy) else "failed-store")
    log.error("no turn without a store", extra={"turn": incoming.turn, "problem": problem.code})
    reasons = (ReasonCode.STORE_FAILED,)
    return TurnResult(
        incoming.turn, incoming.conversation, "failed", text, reasons, None, Usage(mode), language, lost=True
    )


def with_notices(reply: Reply, settled: Sequence[Execution], desk: ReplyContext) -> Reply:
    """The reply, preceded by what has become known about calls that an interruption left open."""
    states = {"succeeded": "state-succeeded", "failed": "state-failed"}
    notices = [
        desk.say(
            "told-notice" if one.reason is ReasonCode.OUTCOME_TOLD else "interrupted-notice",
            action=desk.action(one),
            state=desk.say(states.get(one.state, "state-unknown")),
        )
        for one in settled
    ]
    return prepend(reply, "\n\n".join(notices))


def is_critical_failure(ended: Execution, desk: ReplyContext) -> bool:
    """A tool without which the turn makes no sense did not work, a reading one included."""
    return ended.state == "failed" and _critical(ended, desk) is not None


def _critical(ended: Execution, desk: ReplyContext) -> Escalation | None:
    said = desk.policy.of(ended.call.tool, ended.tenant)
    return Escalation(ReasonCode.TOOL_FAILED, desk.action(ended)) if said and said.critical else None


def _intent(enforced: Enforced, question: str, kind: str, desk: ReplyContext) -> Intent:
    now, incoming = desk.clock.now(), desk.screened.incoming
    said = desk.policy.of(enforced.call.tool, incoming.tenant)
    # An approval that is asked for again, edited or not, stays its proposer's.
    before = enforced.intent if enforced.intent and enforced.intent.kind == kind == "approval" else None
    seconds = desk.profile.confirm_seconds if kind == "confirmation" else desk.profile.approval_seconds
    return Intent(
        id=IntentId(desk.ids.new("intent")),
        tenant=incoming.tenant,
        conversation=incoming.conversation,
        kind="confirmation" if kind == "confirmation" else "approval",
        call=enforced.call,
        hash=enforced.call.hash,
        tool_version=enforced.spec.version if enforced.spec else "",
        policy_version=enforced.policy_version,
        principal=before.principal if before else incoming.principal,
        nonce=desk.ids.new("nonce"),
        question=question,
        created_at=now,
        expires_at=now + timedelta(seconds=seconds),
        proposed_by=before.proposed_by if before else (incoming.principal,),
        edited_by=(*(before.edited_by if before else ()), *_name_editor(incoming)),
        keys_approve=bool(said and said.keys_approve),
        facts=enforced.established() if kind == "approval" else (),
    )


def _name_editor(incoming: Incoming) -> tuple[str, ...]:
    errand = incoming.errand
    return (errand.by,) if isinstance(errand, PersonDecision) and errand.decision == "edit" else ()


def _summary(enforced: Enforced, desk: ReplyContext) -> str:
    """The call for whoever takes over, with what the second opinion had against it."""
    return "\n".join(filter(None, (desk.action(enforced), wording.render_value(enforced.doubt))))


def _heard(desk: ReplyContext) -> list[str]:
    """What the agent said before, as far as it is in view, oldest first."""
    return [message.content for message in desk.screened.opened.history if message.role == "assistant"]


def _weighs(reply: Reply, desk: ReplyContext) -> bool:
    """Courtesies may be said twice."""
    return (
        ("?" in reply.text or len(reply.text) >= _COURTESY)
        and not desk.screened.incoming.errand
        and not desk.screened.incoming.scene
    )


def _changes(ran: Sequence[Execution]) -> list[Execution]:
    return [one for one in ran if one.effect != "read"]


def _is_on(name: str, spec: ToolSpec, desk: ReplyContext) -> bool:
    said = desk.policy.of(name, desk.screened.incoming.tenant)
    return effect_of(spec, said) is not None and not (said and said.deny)


def _denial(enforced: Enforced | None) -> str:
    """Why the policy denied the call, in its own words; empty where it was held for something else."""
    return enforced.verdict.because if enforced and isinstance(enforced.verdict, Deny) else ""


def _instead(desk: ReplyContext, key: str, why: str) -> str:
    offered = [desk.title(name) for name, spec in desk.tools.items() if spec.configured and _is_on(name, spec, desk)]
    can = desk.say("what-i-can-do", actions=", ".join(offered)) if offered else ""
    return " ".join(filter(None, (desk.say(key), why, can)))
