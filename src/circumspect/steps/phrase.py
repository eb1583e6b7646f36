"""phrase: an Execution -> the model's words for it; empty when the model cannot be had, and the catalogue speaks."""

from __future__ import annotations

from circumspect.aside import compute_aside
from circumspect.errors import ModelError
from circumspect.journal import Journal, ModelCallEvent, RemarkEvent
from circumspect.language.pack import pack
from circumspect.policy.parsing import assessment as assessments
from circumspect.policy.parsing.plain_words import read_plain_words
from circumspect.ports import Model
from circumspect.prompts import prompt
from circumspect.reasons import ReasonCode
from circumspect.values import ChatMessage, Execution, ModelRequest, Screened, ToolCall

LONGEST = 20_000
"""Characters. A model that needs more to say what happened has lost the thread."""


async def phrase(ended: Execution, told: str, screened: Screened, business: str, notes: Journal, model: Model) -> str:
    if ended.state == "indeterminate":
        return ""
    words = prompt("phrase")
    call = ToolCall(ended.call.tool, ended.call.arguments, id=ended.call.id or ended.id)
    request = ModelRequest(
        purpose="phrase",
        prompt_id=words.id,
        instructions=words.render(business=business, language=pack(screened.language).name),
        messages=(
            ChatMessage("user", screened.incoming.text),
            ChatMessage("assistant", "", calls=(call,)),
            ChatMessage("tool", told, call_id=call.id, tool=call.tool),
        ),
        language=screened.language,
        max_tokens=300,
    )
    try:
        reply = await model.complete(request)
    except ModelError as problem:
        notes.add_usage(problem.usage)
        notes.write(RemarkEvent(f"could not phrase: {problem.code}", "model"), ReasonCode.MODEL_FAILED)
        return ""
    notes.add_usage(reply.usage)
    notes.write(ModelCallEvent(reply.text, prompt=words.id))
    if len(reply.text) > LONGEST:
        return ""
    said, _ = await compute_aside(len(reply.text), assessments.read, reply.text)
    return read_plain_words(said)
