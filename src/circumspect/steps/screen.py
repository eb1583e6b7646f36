"""screen: Incoming, Opened -> Screened.

What code can tell without a model: is there anything to read, which language is it in, and does it answer a question
that is pending? Nothing here has effects.
"""

from __future__ import annotations

from dataclasses import replace

from circumspect.corrected_calls import list_words
from circumspect.journal import Journal, NoticeEvent
from circumspect.language.detection import detect
from circumspect.language.yes_no import classify
from circumspect.policy.understanding.open_wishes import find_wished_words
from circumspect.reasons import ReasonCode
from circumspect.values import Incoming, Language, Opened, Profile, Screened

_RECENT = 4
"""In so many of their last messages the user may have said what is pending."""


def screen(incoming: Incoming, opened: Opened, default: Language, profile: Profile, notes: Journal) -> Screened:
    opened = _forget_unread(opened, profile.message_limit)
    if incoming.errand:
        return Screened(incoming, opened, incoming.language or opened.language or default, "other")
    language = incoming.language or detect(incoming.text, opened.language, default)
    stop = None
    if not incoming.text.strip():
        stop = ReasonCode.MESSAGE_EMPTY
    elif len(incoming.text) > profile.message_limit:
        stop = ReasonCode.MESSAGE_TOO_LONG
    if stop:
        notes.write(NoticeEvent(stop.value.lower()), stop)
        return Screened(incoming, opened, language, "other", stop)
    pending = opened.intent if opened.intent and opened.intent.state == "pending" else None
    if profile.mode == "standard" and not pending:
        return Screened(incoming, opened, language, "other")
    # The tool's name too: "yes, refund it" is no yes to a pending cancellation.
    if pending is None:
        return Screened(incoming, opened, language, classify(incoming.text))
    said = [message.content for message in opened.history if message.role == "user"]
    wished = find_wished_words(said[-_RECENT:], pending.call.tool)
    answer = classify(incoming.text, values=list_words(pending.call), asked=pending.question, wished=wished)
    return Screened(incoming, opened, language, answer)


def _forget_unread(opened: Opened, limit: int) -> Opened:
    """Without what was too long to be read when it came, so that nobody reads it later, and pays for it each time."""
    read = tuple(one for one in opened.history if one.role != "user" or len(one.content) <= limit)
    return opened if len(read) == len(opened.history) else replace(opened, history=read)
