"""draft: Gathered -> Draft.

Ask the model for a reply, the calls it wants, and (in adaptive mode) how sure it is. Nothing here has effects.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from circumspect.aside import compute_aside
from circumspect.errors import ModelGarbled, ModelRefused
from circumspect.forms.loose_json import printable
from circumspect.journal import AssessmentEvent, DraftEvent, Journal, NoticeEvent, record_calls
from circumspect.language.pack import pack
from circumspect.policy.parsing import assessment as assessments
from circumspect.policy.parsing.plain_words import read_plain_words
from circumspect.ports import Model
from circumspect.prompts import prompt
from circumspect.reasons import ReasonCode
from circumspect.schema_bounds import DEEPEST, MOST_ARGUMENTS, are_too_large
from circumspect.values import (
    Assessment,
    Draft,
    FormRules,
    Gathered,
    ModelOptions,
    ModelReply,
    ModelRequest,
    Profile,
    ToolCall,
)

log = logging.getLogger(__name__)

LONGEST_REPLY = 200_000
"""Characters. A model that says more has lost the thread; nobody would read it, and everything of a turn is kept."""
ASSESSMENT_TOKENS = 400
CLIENTS_PROMPT = "client"
"""What the journal says where the words that a draft was asked for with were not ours."""


async def draft(
    gathered: Gathered,
    business: str,
    profile: Profile,
    notes: Journal,
    model: Model,
    hear: Callable[[str], None] | None = None,
) -> Draft:
    """With `hear`, the words are passed on as they come."""
    words = prompt(profile.prompt or profile.mode)
    language = gathered.screened.language
    incoming = gathered.screened.incoming
    prompt_id = CLIENTS_PROMPT if profile.passthrough else words.id
    ours = words.render(business=business, language=pack(language).name)
    request = ModelRequest(
        purpose="draft",
        prompt_id=prompt_id,
        instructions=incoming.instructions if profile.passthrough else ours,
        blocks=gathered.blocks,
        tools=gathered.tools,
        listed=gathered.listed,
        messages=gathered.messages,
        schema=incoming.form,
        reading=FormRules(unread=incoming.form is not None),
        language=language,
    )
    if profile.passthrough:
        request = replace(request, max_tokens=None, temperature=None)
    if incoming.options:
        request = _with_options(request, incoming.options, profile)
    reply = await (_stream_reply(request, model, hear) if hear else model.complete(request))
    notes.add_usage(reply.usage)
    _check_length(len(reply.text))
    if reply.finish == "filtered" and not reply.text.strip():
        raise ModelRefused("The provider's filter kept the answer back.", fix="Ask in other words, or another model.")
    if reply.finish == "length":
        notes.write(NoticeEvent("the model's reply was cut off at its length limit"), ReasonCode.REPLY_CUT_OFF)
    if incoming.options and incoming.options.one_call:
        reply = replace(reply, calls=reply.calls[:1])
    if len(reply.calls) > profile.calls:
        # None of them will run; one too many is enough to tell, and nobody has to trace five hundred.
        notes.write(NoticeEvent(f"the model wants {len(reply.calls)} calls at once"))
        reply = replace(reply, calls=reply.calls[: profile.calls + 1])
    for call in reply.calls:
        _check_arguments(call)
    if incoming.form is not None or profile.passthrough:
        notes.write(DraftEvent(reply.text, prompt=prompt_id, calls=record_calls(reply.calls)))
        return Draft(reply.text.strip(), reply.calls)
    if profile.mode == "standard":
        visible, assessment = await compute_aside(len(reply.text), assessments.read, reply.text)
        # A server that takes tools may still leave a call among the words, in tags.
        said = _extract_calls(assessment) if ReasonCode.ASSESSMENT_MISSING in assessment.reasons else ()
        calls = reply.calls or said
        notes.write(DraftEvent(reply.text, prompt=words.id, calls=record_calls(calls)))
        return Draft(read_plain_words(visible), calls)
    # A client's tools go to the model natively, and a native call seldom comes with an assessment: then the effect of
    # the tool alone decides whether a second opinion pays.
    native = any(spec.client for spec in gathered.listed)
    unassessed = replace(assessments.MISSING, confidence=profile.critique_below) if native else assessments.MISSING
    drafted = await _parse_assessed_reply(reply, words.id, notes, unassessed)
    stops = incoming.options.stop if incoming.options else ()
    return replace(drafted, reply=_stop_before(stops, drafted.reply)) if stops else drafted


def _with_options(request: ModelRequest, asked: ModelOptions, profile: Profile) -> ModelRequest:
    """What the client asks for is for the reply alone: an assessment that follows it has room, and is not stopped."""
    tokens = asked.max_tokens or request.max_tokens
    if profile.mode == "adaptive":
        asked = replace(asked, stop=())
        tokens = tokens and max(tokens + ASSESSMENT_TOKENS, request.max_tokens or 0)
    temperature = request.temperature if asked.temperature is None else asked.temperature
    return replace(request, options=asked, max_tokens=tokens, temperature=temperature)


def _stop_before(stops: Sequence[str], words: str) -> str:
    """What the model would have said, had it been stopped."""
    ends = [words.find(one) for one in stops if one and one in words]
    return words[: min(ends)].rstrip() if ends else words


async def _stream_reply(request: ModelRequest, model: Model, hear: Callable[[str], None]) -> ModelReply:
    said = 0
    async for piece in model.stream(request):
        if isinstance(piece, ModelReply):
            return piece
        said += len(piece)
        _check_length(said)
        hear(piece)
    raise ModelGarbled("The model's stream ended without a reply.", fix="Try again, or another model.")


def _check_length(length: int) -> None:
    if length > LONGEST_REPLY:
        raise ModelGarbled(
            f"The model said more than {LONGEST_REPLY:,} characters.", fix="Try again, or another model."
        )


def _check_arguments(call: ToolCall) -> None:
    if are_too_large(call.arguments):
        raise ModelGarbled(
            f"The model's arguments are nested deeper than {DEEPEST} levels, or have more than "
            f"{MOST_ARGUMENTS:,} parts.",
            fix="Try again, or another model.",
        )


async def _parse_assessed_reply(reply: ModelReply, prompt_id: str, notes: Journal, unassessed: Assessment) -> Draft:
    visible, assessment = await compute_aside(len(reply.text), assessments.read, reply.text)
    if reply.calls and visible == printable(reply.text.strip()):
        assessment = unassessed
    if assessment.reasons:
        log.warning("assessment", extra={"problem": [str(reason) for reason in assessment.reasons]})
    event = AssessmentEvent(
        reply.text,
        prompt=prompt_id,
        confidence=assessment.confidence,
        tool_call=assessment.tool_call,
        tool_params=assessment.tool_params,
        missing_params=assessment.missing_params,
        is_destructive=assessment.is_destructive,
        needs_confirmation=assessment.needs_confirmation,
        needs_more_context=assessment.needs_more_context,
        native_calls=record_calls(reply.calls),
    )
    notes.write(event, *assessment.reasons)
    proposed, words = _extract_calls(assessment), read_plain_words(visible)
    if not reply.calls:
        return Draft(words, proposed, assessment)
    return Draft(words, reply.calls, assessment, disagreement=assessments.disagrees(reply.calls, assessment))


def _extract_calls(assessment: Assessment) -> tuple[ToolCall, ...]:
    if assessment.tool_call is None:
        return ()
    return (ToolCall(assessment.tool_call, assessment.tool_params),)
