"""understand: Screened -> Understood.

What does the user want, does it belong here, and which way does the turn go? The guardian looks first. Then one model
call fills in one form, or none where code can tell: what the guardian flagged, spam, a demand that is for a person,
small talk. The model proposes a way; code decides. Nothing here has effects.

A guardian that is down hands the turn over (or, by configuration, is written down and done without). A model that is
down raises, and the pipeline answers; one that cannot be read leaves the profile `guided` without an analysis and the
profile `service` with a decision for a person.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from circumspect.aside import compute_aside
from circumspect.errors import ModelGarbled
from circumspect.forms.reading import FilledForm, read_form
from circumspect.guardian.port import Guardian, GuardianUnavailable, Screening
from circumspect.journal import Journal, ModelCallEvent, NoticeEvent, RemarkEvent, find_events
from circumspect.knowledge.answer_support import has_unknown_figure
from circumspect.knowledge.answer_terms import asks_nothing_new
from circumspect.language.detection import is_in_another
from circumspect.language.pack import pack
from circumspect.language.wanted import is_question
from circumspect.policy.understanding import analysis as analyses
from circumspect.policy.understanding import decision as decisions
from circumspect.policy.understanding import synthetic
from circumspect.policy.understanding.analysis import NAME, Analysis, Routed, fields_of, form, read_analysis, route
from circumspect.policy.understanding.decision import (
    NextStepDecision,
    by_code,
    is_left_to_itself,
    look_up_instead,
    properties,
    read_decision,
)
from circumspect.policy.understanding.journal_events import AnalysisMessageEvent, RetrievalEvent, ScreeningEvent
from circumspect.policy.understanding.small_talk import small_talk
from circumspect.policy.understanding.topics import list_demands, topics
from circumspect.policy.understanding.understood import Understanding, Understood
from circumspect.policy.understanding.wish_standing import find_standing
from circumspect.policy.understanding.wished_values import find_values
from circumspect.ports import Model, Store
from circumspect.prompts import prompt
from circumspect.reasons import ReasonCode
from circumspect.values import (
    Block,
    Business,
    ChatMessage,
    FormRules,
    Gathered,
    Message,
    ModelReply,
    ModelRequest,
    ModelUsage,
    Screened,
    ToolCall,
    ToolSpec,
    Utterance,
)
from circumspect.wording import compact

SURE, FOR_A_PERSON = 0.95, 0.3
SYNONYMS = {**analyses.SYNONYMS, **decisions.SYNONYMS}
REACH = 200
"""How many messages back the sources of earlier answers are looked for."""
Recognise = Callable[[], Awaitable[Mapping[str, str]]]


async def understand(
    screened: Screened,
    business: Business,
    tools: Mapping[str, ToolSpec],
    recognise: Recognise | None,
    settings: Understanding,
    notes: Journal,
    model: Model,
    guardian: Guardian | None,
    earlier: Sequence[str] = (),
    speaks: Callable[[], Awaitable[bool]] | None = None,
) -> Understood:
    """`recognise` finds out what is known about the customer, and is asked only where the model is to decide; `earlier`
    are titles of documents that answers were made from; `speaks` looks whether documents speak of the message."""
    text, language = screened.incoming.text, screened.language
    screening = await _screening(text, screened, settings, notes, guardian)
    if screening is None:
        why = by_code("ESCALATE", 0.0, "The safety check could not be made.", ReasonCode.GUARDIAN_UNAVAILABLE)
        return _finish_understanding(
            Understood(screened, Routed("normal"), decision=why, reason=why.reason), business, notes
        )
    counted = screening.categories if screening.flagged else ()
    touched = topics(text, language, settings.topics)
    routed = route(None, counted, screening.spam, settings.routing)
    understood = Understood(screened, routed, categories=screening.categories, topics=touched)
    if routed.action != "normal":
        return _finish_understanding(understood, business, notes)
    if settings.decide and (demands := list_demands(touched)):
        why = by_code("ESCALATE", FOR_A_PERSON, f"For a person: {', '.join(demands)}.", ReasonCode.SENSITIVE_TOPIC)
        return _finish_understanding(_with(understood, decision=why), business, notes)
    if talk := _by_itself(screened):
        decision = by_code("REASON_ONLY", SURE, f"Small talk: {talk}.") if settings.decide else None
        return _finish_understanding(_with(understood, decision=decision), business, notes)
    if settings.decide and recognise:
        understood = replace(understood, known=await recognise())
    request = _request(screened, business, tools, understood.known, screening, settings, earlier)
    filled = await _fill_in_form(request, notes, model)
    analysis = read_analysis(filled)
    if analysis is None:
        notes.write(RemarkEvent("the analysis cannot be read", "understanding"), ReasonCode.ANALYSIS_UNREADABLE)
    else:
        analysis = await _drop_unspeakable(analysis, request, screened, notes)
    routed = route(analysis, counted, screening.spam, settings.routing)
    decision = None
    if settings.decide:
        question = analysis.clarification_question if analysis else ""
        decision = read_decision(filled, tools.keys(), text, question)
        asks_back = _asks_back(screened, routed, decision, question)
        if speaks and not earlier and (asks_back or is_left_to_itself(decision, text)) and await speaks():
            notes.write(RemarkEvent(f"looked up all the same, not {decision.way}", "understanding"))
            decision, routed = look_up_instead(decision), _go_on(routed)
        elif speaks and _only_asks_about_a_deed(screened, decision, tools) and await speaks():
            notes.write(RemarkEvent(f"only asked about, so looked up and not {decision.way}", "understanding"))
            decision, routed = look_up_instead(decision), _go_on(routed)
        elif asks_back and not earlier:
            notes.write(RemarkEvent("the question back asks for nothing", "understanding"))
            decision = by_code("ESCALATE", FOR_A_PERSON, "Nobody knows the answer.", ReasonCode.UNSURE_OF_ANSWER)
    return _finish_understanding(_with(understood, routed, analysis, decision), business, notes, settings)


def _go_on(routed: Routed) -> Routed:
    return Routed("normal", overridden=True) if routed.action == "clarify" else routed


def _only_asks_about_a_deed(screened: Screened, decision: NextStepDecision, tools: Mapping[str, ToolSpec]) -> bool:
    """Whether, or on what terms, something can be done ("can I cancel my visit?"), with nothing that it should be done
    to. Documents say that; a call, or the question for its values, does not."""
    text = screened.incoming.text
    if decision.way not in ("USE_TOOL", "CLARIFY") or not is_question(text):
        return False
    meant = [tools[name] for name in decision.tools] if decision.tools else tools.values()
    changing = [spec for spec in meant if spec.effect != "read"]
    asked = [spec for spec in changing if find_standing((Utterance("user", text, 0),), spec.name) == "asked"]
    if not asked or (decision.tools and len(asked) < len(meant)):
        return False
    return not any(values for spec in asked for values in find_values(spec, text, "").values())


async def _drop_unspeakable(analysis: Analysis, request: ModelRequest, screened: Screened, notes: Journal) -> Analysis:
    """Without what the user would hear of it and must not: figures that nobody named, and another language."""
    known = "\n".join((*(block.text for block in request.blocks), *(said.text for said in request.messages)))
    said = {"user_intent": analysis.user_intent, "clarification_question": analysis.clarification_question}

    def list_unspeakable() -> list[str]:
        return [
            field
            for field, text in said.items()
            if text and (has_unknown_figure(text, known) or is_in_another(text, screened.language, known))
        ]

    dropped = await compute_aside(len(known), list_unspeakable)
    if not dropped:
        return analysis
    notes.write(RemarkEvent(f"not for the user: {', '.join(dropped)}", "understanding"))
    intent, question = ("" if field in dropped else text for field, text in said.items())
    return replace(analysis, user_intent=intent, clarification_question=question)


def _asks_back(screened: Screened, routed: Routed, decision: NextStepDecision, question: str) -> bool:
    """A question would be answered by one that asks for nothing: it gives the user's own words back, or speaks another
    language. Nobody has an answer to that; documents may."""
    text, asked = screened.incoming.text, decision.question or question
    if decision.way != "CLARIFY" and (routed.action != "clarify" or decision.way != "RETRIEVE"):
        return False
    if not asked or not is_question(text):
        return False
    return asks_nothing_new(asked, text) or is_in_another(asked, screened.language, text)


async def _fill_in_form(request: ModelRequest, notes: Journal, model: Model) -> FilledForm:
    """An answer that cannot be read is an empty form: the model is well, only its words were wrong."""
    try:
        reply = await model.complete(request)
    except ModelGarbled as problem:
        reply = ModelReply("", problem.usage or ModelUsage(model.name))
        notes.write(NoticeEvent(problem.problem))
    notes.add_usage(reply.usage)
    filled = read_form(reply, request.schema or {}, request.reading)
    mended = filled.mendings or None
    notes.write(ModelCallEvent(reply.text, prompt=request.prompt_id, purpose=request.purpose, mendings=mended))
    return filled


def add_understanding(understood: Understood, gathered: Gathered) -> Gathered:
    """What the next draft is made from: with what is known about the customer, and the analysis in its place after the
    user's message."""
    facts = "\n".join(f"{name}: {synthetic.as_data(value)}" for name, value in understood.known.items())
    if facts:
        gathered = replace(gathered, blocks=(*gathered.blocks, Block("customer", facts)))
    return replace(gathered, messages=(*gathered.messages, *understood.context)) if understood.context else gathered


async def _screening(
    text: str, screened: Screened, settings: Understanding, notes: Journal, guardian: Guardian | None
) -> Screening | None:
    """What the guardian found; nothing where there is no guardian; None where it is down and that must not pass."""
    if guardian is None:
        return Screening()
    try:
        found = await guardian.screen(text, screened.language)
    except GuardianUnavailable as problem:
        notes.add_usage(problem.usage)
        outcome = "handed over" if settings.fail_closed else "went on without it"
        notes.write(NoticeEvent(f"the guardian is down: {outcome}"), ReasonCode.GUARDIAN_UNAVAILABLE)
        return None if settings.fail_closed else Screening(source="none")
    notes.add_usage(found.usage)
    if found.categories or found.scores:
        event = ScreeningEvent(
            "screened by the guardian",
            categories=found.categories,
            flagged=found.flagged,
            scores=found.scores,
            source=found.source,
        )
        notes.write(event)
    return found


def _by_itself(screened: Screened) -> str:
    """What kind of message needs no analysis, if it is one. Assent to a question is about that question: it does."""
    talk = small_talk(screened.incoming.text, screened.language)
    if talk and talk != "acknowledged":
        return talk
    last = next((one.content for one in reversed(screened.opened.history) if one.role == "assistant"), "")
    if "?" in last:
        return ""
    return talk or ("" if screened.answer == "other" else screened.answer)


def _request(
    screened: Screened,
    business: Business,
    tools: Mapping[str, ToolSpec],
    known: Mapping[str, str],
    screening: Screening,
    settings: Understanding,
    earlier: Sequence[str],
) -> ModelRequest:
    """The one call. Its prompt id names every file whose words it is made of."""
    language = pack(screened.language).name
    words = [prompt("analyse"), prompt("analyse_fields")]
    found = ", ".join(screening.categories) or "nothing"
    instructions = words[0].render(business=business.name, language=language, categories=found)
    fields = fields_of(business.name, language)
    if settings.decide:
        words += [prompt("decide"), prompt("decide_fields")]
        facts = "; ".join(f"{name}: {synthetic.as_data(value)}" for name, value in known.items()) or "nothing"
        sources = ", ".join(map(synthetic.as_data, earlier)) or "none"
        instructions += "\n\n" + words[2].render(business=business.name, known=facts, earlier=sources)
        fields |= properties(business.name, tools.keys())
    return ModelRequest(
        purpose="analyse",
        prompt_id="+".join(one.id for one in words),
        instructions=instructions,
        blocks=(
            Block("business", f"Name: {business.name}\nDescription: {' '.join(business.description.split())}"),
            Block("tools", "\n".join(map(_describe_tool, tools.values())) or "(none)"),
        ),
        messages=(*_recent(screened, settings.history), ChatMessage("user", screened.incoming.text)),
        schema=form(fields),
        reading=FormRules(("decision",) if settings.decide else ("user_intent",), SYNONYMS),
        language=screened.language,
        max_tokens=1500,
        temperature=0.0,
    )


def _describe_tool(spec: ToolSpec) -> str:
    about = " ".join(spec.description.split())[:120]
    return f"{spec.signature}: {about}" if about else spec.signature


def _recent(screened: Screened, most: int) -> list[ChatMessage]:
    if screened.incoming.talk:
        return [said for said in screened.incoming.talk[:-1] if said.role != "tool" and said.text][-most:]
    shown = [one for one in screened.opened.history if one.role != "internal" and one.content]
    return [ChatMessage("user" if one.role == "user" else "assistant", one.content) for one in shown[-most:]]


async def read_earlier_sources(screened: Screened, store: Store) -> tuple[str, ...]:
    """The titles of documents that answers of this conversation were made from."""
    incoming, first = screened.incoming, max(-1, screened.opened.next_seq - REACH)
    return list_sources(
        await store.messages(incoming.tenant, incoming.conversation, internal=True, after=first, limit=REACH)
    )


def list_sources(messages: Iterable[Message]) -> tuple[str, ...]:
    """Titles of documents, read off internal messages as `retrieve` wrote them."""
    titles = dict.fromkeys(one.title for event in find_events(messages, RetrievalEvent) for one in event.sources)
    return tuple(filter(None, titles))


def _with(
    understood: Understood,
    routed: Routed | None = None,
    analysis: Analysis | None = None,
    decision: NextStepDecision | None = None,
) -> Understood:
    """The way the turn goes, once all that was asked has answered. A decision can be stricter than the routing, and a
    question that is missing is the catalogue's."""
    routed = routed or understood.routed
    if decision and routed.action == "normal" and decision.way == "CLARIFY":
        routed = Routed("clarify", overridden=analysis is not None and analysis.action != "clarify")
    return replace(understood, routed=routed, analysis=analysis, decision=decision)


def _reason(understood: Understood) -> ReasonCode | None:
    match understood.routed.action:
        case "guardian_block":
            return ReasonCode.GUARDIAN_BLOCKED
        case "block":
            return ReasonCode.SPAM_BLOCKED
    if understood.ends == "escalated" and understood.decision:
        return understood.decision.reason or ReasonCode.DECIDED_TO_ESCALATE
    return ReasonCode.CLARIFICATION_NEEDED if understood.ends == "asked" else None


def _finish_understanding(
    understood: Understood, business: Business, notes: Journal, settings: Understanding | None = None
) -> Understood:
    """The value whole, with its words and its context, and all of it in the journal."""
    screened, analysis, action = understood.screened, understood.analysis, understood.routed.action
    reason = _reason(understood)
    response = "" if understood.ends == "escalated" else _response(understood, business, settings)
    context: tuple[ChatMessage, ...] = ()
    if analysis:
        message = synthetic.analysis_message(analysis, understood.categories, screened.language, business.name, action)
        if settings and not understood.ends:
            context = _context(analysis, message, synthetic_message=settings.synthetic)
        notes.write(AnalysisMessageEvent(message))
    understood = replace(understood, reason=reason, response=response, context=context)
    overridden = (ReasonCode.ROUTE_OVERRIDDEN,) if understood.routed.overridden else ()
    reasons = ((reason,) if reason else ()) + overridden
    way = f", {understood.decision.way}: {understood.decision.why}" if understood.decision else ""
    notes.write(understood.to_event(f"{action}{way}"), *reasons)
    return understood


def _response(understood: Understood, business: Business, settings: Understanding | None) -> str:
    analysis, action = understood.analysis, understood.routed.action
    if action == "normal" and (analysis is None or settings is None or not settings.shown):
        return ""
    return synthetic.response(action, analysis, understood.screened.language, business.name)


def _context(analysis: Analysis, message: str, *, synthetic_message: bool) -> tuple[ChatMessage, ...]:
    """As the model's own words, in one message: chat templates of many models take no two in a row. Or, with the
    injection switched off, as the plain result of the call that it was."""
    if synthetic_message:
        return (ChatMessage("assistant", message),)
    call = ToolCall(NAME, {}, id="analysis")
    told = ChatMessage("tool", compact(analysis.to_json()), call_id=call.id, tool=NAME)
    return (ChatMessage("assistant", "", calls=(call,)), told)
