"""critique: Enforced -> Enforced, by a second opinion of the same model, where code said that it pays.

The opinion can hold a call; it cannot lift anything that enforce decided. One that cannot be had, or read, is tried
once more and then handed to a person.
"""

from __future__ import annotations

from circumspect.errors import ModelError, ModelGarbled
from circumspect.forms.reading import read_form
from circumspect.journal import CritiqueEvent, Journal, RemarkEvent, UnreadableCritiqueEvent
from circumspect.language.pack import pack
from circumspect.policy.parsing import critique_text
from circumspect.ports import Model
from circumspect.prompts import prompt
from circumspect.reasons import ReasonCode
from circumspect.values import (
    Allow,
    ChatMessage,
    Confirm,
    Critique,
    Enforced,
    Escalate,
    Gathered,
    ModelRequest,
    RuleFinding,
    ToolSpec,
)
from circumspect.wording import compact

TRIES = 2


async def critique(
    enforced: Enforced, gathered: Gathered, tools: tuple[ToolSpec, ...], notes: Journal, model: Model
) -> Enforced:
    if not enforced.critique:
        return enforced
    notes.critiques += 1
    had = await _opinion(_request(enforced, gathered, tools), notes, model)
    if had is None:
        notes.write(RemarkEvent("no readable opinion", "critique"), ReasonCode.CRITIQUE_FAILED)
        return enforced.tighten(RuleFinding("a_second_opinion_was_had", Escalate(), ReasonCode.CRITIQUE_FAILED))
    opinion, mendings = had
    finding = _finding(opinion)
    reasons = (finding.reason,) if finding.reason else ()
    event = CritiqueEvent(
        opinion.reasoning,
        decision=opinion.decision,
        message=opinion.message,
        tool=enforced.call.tool,
        prompt=prompt("critique").id,
        mendings=mendings or None,
    )
    notes.write(event, *reasons)
    return enforced.tighten(finding, doubt=_doubt(opinion))


async def _opinion(request: ModelRequest, notes: Journal, model: Model) -> tuple[Critique, tuple[str, ...]] | None:
    for _ in range(TRIES):
        try:
            reply = await model.complete(request)
        except ModelError as problem:
            notes.add_usage(problem.usage)
            notes.write(RemarkEvent(f"the model failed: {problem.code}", "critique"))
            if problem.usage and problem.usage.attempts >= TRIES and isinstance(problem, ModelGarbled):
                break  # whoever asked for us has asked once more already
            continue
        notes.add_usage(reply.usage)
        if opinion := critique_text.read(reply):
            return opinion, read_form(reply, critique_text.SCHEMA, critique_text.RULES).mendings
        notes.write(UnreadableCritiqueEvent("an opinion that could not be read", text=reply.text[:2000]))
    return None


def _finding(opinion: Critique) -> RuleFinding:
    match opinion.decision:
        case "PROCEED":
            return RuleFinding("a_second_opinion_agrees", Allow())
        case "ASK_USER":
            return RuleFinding("a_second_opinion_agrees", Confirm(), ReasonCode.CRITIQUE_ASKED)
        case "ESCALATE":
            return RuleFinding("a_second_opinion_agrees", Escalate(), ReasonCode.CRITIQUE_ESCALATED)


def _doubt(opinion: Critique) -> str:
    """The question for the user, or what the person who gets it should know."""
    match opinion.decision:
        case "PROCEED":
            return ""
        case "ASK_USER":
            return opinion.message
        case "ESCALATE":
            return opinion.message or opinion.reasoning


def _request(enforced: Enforced, gathered: Gathered, tools: tuple[ToolSpec, ...]) -> ModelRequest:
    words, case = prompt("critique"), prompt("critique_case")
    spoken = [said for said in gathered.messages if said.role != "tool" and said.text]
    recent = [f"{said.role}: {said.text}" for said in spoken[:-1][-4:]]
    message = case.render(
        language=pack(gathered.screened.language).name,
        message=gathered.screened.incoming.text,
        tool=enforced.call.tool,
        arguments=compact({name: value for name, value in enforced.call.arguments.items() if value not in (None, "")}),
        tools=", ".join(spec.signature for spec in tools),
        recent="\n".join(recent) or "(none)",
    )
    return ModelRequest(
        purpose="critique",
        prompt_id=words.id,
        instructions=words.text,
        messages=(ChatMessage("user", message),),
        schema=critique_text.SCHEMA,
        reading=critique_text.RULES,
        max_tokens=300,
        temperature=0.0,
    )
