"""settle: what a yes or a no means for the intent that is pending.

A yes counts for exactly the call it was asked about, while the question is fresh and is the last thing that was asked.
Any other yes asks again; a yes that belongs to another question is an ordinary message. Words that are neither yes nor
no withdraw the question, unless they change nothing about it: nobody can say yes to it later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Literal

from circumspect.corrected_calls import correct_call, list_words
from circumspect.journal import IntentEvent, Journal
from circumspect.language.second_thoughts import begins_with_yes, leaves_open
from circumspect.policy.policy_file import Policy
from circumspect.reasons import ReasonCode
from circumspect.values import (
    Assessment,
    Draft,
    Intent,
    Message,
    PersonDecision,
    Screened,
    ToolCall,
    ToolSpec,
)

Settled = Literal["run", "ask_again", "nothing", "drop", "edit", "correct", "withdraw", "ordinary"]


def settle(
    screened: Screened, tools: Mapping[str, ToolSpec], policy: Policy, now: datetime, notes: Journal
) -> tuple[Settled, ReasonCode | None]:
    decision, reason = _decide(screened, tools, policy, now)
    intent = screened.opened.intent
    if reason:
        notes.write(IntentEvent(decision, intent=intent.id if intent else None), reason)
    if intent and decision in ("correct", "withdraw"):
        notes.withdrawn = intent.id
    return decision, reason


def propose_correction(intent: Intent, screened: Screened) -> Draft | None:
    """The pending call with the value that the user meant. Nobody doubts it: it is in their own words."""
    call = correct_call(intent.call, screened.incoming.text, screened.language)
    return Draft("", (call,), Assessment(1.0, call.tool, call.arguments, by_user=True)) if call else None


def apply_edit(intent: Intent, decided: PersonDecision) -> Intent:
    """The intent as a colleague would have it; nothing is bound to it before the rules have seen it."""
    call = ToolCall(intent.call.tool, decided.arguments)
    return replace(intent, call=call, hash=call.hash)


def _decide(
    screened: Screened, tools: Mapping[str, ToolSpec], policy: Policy, now: datetime
) -> tuple[Settled, ReasonCode | None]:
    intent = screened.opened.intent
    if isinstance(screened.incoming.errand, PersonDecision):
        return _settle_decision(intent, screened.incoming.errand, screened, tools, policy, now)
    live = intent is not None and intent.state == "pending" and intent.kind == "confirmation"
    if screened.answer != "confirm":
        return _settle_words(intent, screened, now) if live and intent else ("ordinary", None)
    if not live or intent is None:
        if _something_else_was_asked(screened):
            return "ordinary", None
        return "nothing", ReasonCode.PENDING_INTENT_MISSING
    if intent.expires_at <= now:
        return "ask_again", ReasonCode.PENDING_INTENT_EXPIRED
    read = _was_read(intent, screened)
    if not (read and _was_just_asked(intent, screened) and _still_matches(intent, screened, tools, policy)):
        return "ask_again", ReasonCode.PENDING_INTENT_MISMATCH
    return "run", ReasonCode.CONFIRMED_BY_USER


def _settle_words(intent: Intent, screened: Screened, now: datetime) -> tuple[Settled, ReasonCode | None]:
    """The user's words to a question that waits, when they are no yes."""
    incoming = screened.incoming
    if incoming.errand:
        return "ordinary", None
    if screened.answer == "deny":
        if _was_just_asked(intent, screened):
            return "drop", ReasonCode.DENIED_BY_USER
        return "withdraw", ReasonCode.PENDING_INTENT_WITHDRAWN
    if incoming.scene:
        return "ordinary", None
    if intent.expires_at > now and propose_correction(intent, screened):
        return "correct", ReasonCode.PENDING_INTENT_WITHDRAWN
    if begins_with_yes(incoming.text, screened.language, list_words(intent.call)):
        return "ask_again", ReasonCode.PENDING_INTENT_MISMATCH
    if leaves_open(incoming.text, screened.language, list_words(intent.call)):
        return "ordinary", None
    return "withdraw", ReasonCode.PENDING_INTENT_WITHDRAWN


def _settle_decision(
    intent: Intent | None,
    decided: PersonDecision,
    screened: Screened,
    tools: Mapping[str, ToolSpec],
    policy: Policy,
    now: datetime,
) -> tuple[Settled, ReasonCode]:
    """The decision names its intent, so there is nothing to read out of words; all else is held to the same."""
    if intent is None or intent.state != "pending":
        return "nothing", ReasonCode.PENDING_INTENT_MISSING
    colleague = intent.kind == "approval"
    if decided.decision == "deny":
        return "drop", ReasonCode.DENIED_BY_COLLEAGUE if colleague else ReasonCode.DENIED_BY_USER
    if decided.decision == "edit":
        return ("edit", ReasonCode.EDITED_BY_COLLEAGUE) if colleague else ("nothing", ReasonCode.PENDING_INTENT_MISSING)
    if intent.expires_at <= now:
        return "ask_again", ReasonCode.PENDING_INTENT_EXPIRED
    if not _still_matches(intent, screened, tools, policy):
        return "ask_again", ReasonCode.PENDING_INTENT_MISMATCH
    return "run", ReasonCode.APPROVED_BY_COLLEAGUE if colleague else ReasonCode.CONFIRMED_BY_USER


def _replies(screened: Screened) -> list[Message]:
    """What was said to the user, the last first."""
    return [message for message in reversed(screened.opened.history) if message.role == "assistant"]


def _was_just_asked(intent: Intent, screened: Screened) -> bool:
    """Nothing was said since, also nothing by the user that was never answered."""
    last = screened.opened.history[-1] if screened.opened.history else None
    return last is not None and (last.seq, last.content) == (intent.question_seq, intent.question)


def _was_read(intent: Intent, screened: Screened) -> bool:
    """The question stood before the user when they wrote. Where the client does not say what did, a message that had to
    wait was on its way before the question was there, and one that follows an older reply was written to that."""
    incoming, replies = screened.incoming, _replies(screened)
    if incoming.answers or incoming.seen:
        named = incoming.answers in (None, intent.id)
        return named and (incoming.seen is None or (bool(replies) and replies[0].turn == incoming.seen))
    heard = incoming.heard.strip()
    older = (
        bool(heard and replies)
        and heard != replies[0].content.strip()
        and heard in (reply.content.strip() for reply in replies[1:])
    )
    return not (screened.opened.waited or older)


def _something_else_was_asked(screened: Screened) -> bool:
    return any(reply.content.rstrip().endswith(("?", "؟")) for reply in _replies(screened)[:1])


def _still_matches(intent: Intent, screened: Screened, tools: Mapping[str, ToolSpec], policy: Policy) -> bool:
    theirs = intent.kind == "approval" or intent.principal == screened.incoming.principal
    return theirs and intent.is_still(tools.get(intent.call.tool), policy.hash)
