"""screen: Incoming, Opened -> Screened.

What code can tell without a model: is there anything to read, which language is it in, and does it answer a question
that is pending? Nothing here has effects.
"""

from __future__ import annotations

from collections.abc import Mapping

from circumspect.language.detection import detect
from circumspect.policy.parsing.answers import classify
from circumspect.reasons import ReasonCode
from circumspect.values import ClientResults, Incoming, Journal, Language, Opened, Profile, Screened
from circumspect.wording import render_value


def screen(incoming: Incoming, opened: Opened, default: Language, profile: Profile, notes: Journal) -> Screened:
    if incoming.page:
        _note_outcomes(incoming, notes)
    if incoming.errand:
        return Screened(incoming, opened, incoming.language or opened.language or default, "other")
    language = incoming.language or detect(incoming.text, opened.language, default)
    stop = None
    if not incoming.text.strip():
        stop = ReasonCode.MESSAGE_EMPTY
    elif len(incoming.text) > profile.message_limit:
        stop = ReasonCode.MESSAGE_TOO_LONG
    if stop:
        notes.write("notice", stop.value.lower(), stop)
        return Screened(incoming, opened, language, "other", stop)
    pending = opened.intent if opened.intent and opened.intent.state == "pending" else None
    if profile.mode == "standard" and not pending:
        return Screened(incoming, opened, language, "other")
    # The tool's name too: "yes, refund it" is no yes to a pending cancellation.
    values = {pending.call.tool, *map(render_value, pending.call.arguments.values())} if pending else frozenset[str]()
    return Screened(incoming, opened, language, classify(incoming.text, values=values))


def _note_outcomes(incoming: Incoming, notes: Journal) -> None:
    """What the last action on the page did, as the page itself told."""
    errand = incoming.errand
    for one in errand.returned if isinstance(errand, ClientResults) else incoming.returned:
        told = one.result.get("happened", "") if isinstance(one.result, Mapping) else ""
        reasons = (ReasonCode.VERIFICATION_FAILED,) if one.error else ()
        notes.write("context", str(told), *reasons, meta={"execution": one.execution, "verified": one.result})
