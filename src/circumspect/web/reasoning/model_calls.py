"""Asking the models: a request in, a reply or nothing out, and what it took written down in the case."""

from __future__ import annotations

from dataclasses import replace

from circumspect.errors import ModelError
from circumspect.forms.reading import read_form
from circumspect.reasons import ReasonCode
from circumspect.values import ModelReply, ModelRequest
from circumspect.web.reasoning.case import ReasoningCase, ReasoningReply
from circumspect.web.reasoning.model_requests import summary_request, titles
from circumspect.web.reasoning.reasoned import Effort
from circumspect.web.reasoning.reasoning_events import ReasoningCallEvent


async def ask_smart_model(case: ReasoningCase, request: ModelRequest, otherwise: ReasonCode) -> ModelReply | None:
    """The smart model's reply; None where no model has one."""
    try:
        answer = await case.models.think(request)
    except ModelError as problem:
        case.notes.add_usage(problem.usage)
        case.smart = replace(case.smart, calls=case.smart.calls + 1, fallbacks=case.smart.fallbacks + 1)
        case.write_failure(f"{request.purpose}: {problem.code}", otherwise)
        return None
    case.smart = _record_effort(case, request, answer, case.smart, "smart")
    if answer.degraded and not case.degraded:
        case.degraded = True
        case.write_failure("the fast model thinks for the smart one", ReasonCode.REASONING_DEGRADED)
    return answer.reply


async def summarise_results(case: ReasoningCase) -> str:
    """What was found, in the fast model's words; without it, the titles."""
    if not case.results:
        return ""
    request = summary_request(case.about, tuple(case.results.values()))
    try:
        answer = await case.models.do(request)
    except ModelError as problem:
        case.notes.add_usage(problem.usage)
        case.fast = replace(case.fast, calls=case.fast.calls + 1, fallbacks=case.fast.fallbacks + 1)
        return titles(case.results.values())
    case.fast = _record_effort(case, request, answer, case.fast, "fast")
    return " ".join(answer.reply.text.split())[:600] or titles(case.results.values())


def _record_effort(
    case: ReasoningCase, request: ModelRequest, answer: ReasoningReply, effort: Effort, role: str
) -> Effort:
    usage = answer.reply.usage
    mended = read_form(answer.reply, request.schema, request.reading).mendings if request.schema else ()
    event = ReasoningCallEvent(
        answer.reply.text,
        prompt=request.prompt_id,
        mendings=mended or None,
        purpose=request.purpose,
        role=role,
        model=usage.model,
        seconds=round(usage.seconds, 4),
        fallbacks=answer.fallbacks,
        degraded=answer.degraded,
    )
    case.notes.add_usage(usage)
    case.notes.write(event)
    return Effort(effort.calls + 1, effort.seconds + usage.seconds, effort.fallbacks + answer.fallbacks)
