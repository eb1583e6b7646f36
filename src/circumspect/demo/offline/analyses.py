"""ModelRequest of the purpose `analyse` in, the form filled in out: intent, validity, plan and decision by rules.

What it can tell is what words tell: small talk, a wish that a tool serves, a question, a wish that no tool serves, a
message that points at nothing. It writes no paraphrase: the intent is the message itself. Where it cannot tell, it says
so with a low confidence and a question, and a person's case is a person's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from circumspect.demo.offline.dialogue import Course, listen
from circumspect.demo.offline.drafts import propose
from circumspect.demo.offline.lexicon import ParsedText, concepts, say
from circumspect.demo.offline.request_view import RequestContents, read_request
from circumspect.demo.offline.slot_kinds import missing
from circumspect.demo.offline.tool_choice import find_wanted_actions
from circumspect.guardian.spam import spam_score
from circumspect.knowledge.answer_terms import list_named_things, list_question_terms
from circumspect.values import Json, ModelRequest

_SHORT, _LONG = 80, 300
_SPAM, _CLEAR = 0.7, 0.6
_FEW = 1
"""A question of so few telling words that no list knows may be about anything."""


@dataclass(frozen=True, slots=True)
class _Way:
    decision: str
    clarity: float
    sure: float
    why: str
    category: str
    tools: tuple[str, ...] = ()


def is_form(request: ModelRequest) -> bool:
    """The request asks for the analysis that is filled in here, and not for some other object."""
    asked = (request.schema or {}).get("properties")
    return request.purpose == "analyse" and isinstance(asked, Mapping) and "user_intent" in asked


def analyse(request: ModelRequest) -> dict[str, Json]:
    """The fields that the request's schema asks for."""
    seen = read_request(request)
    course = listen(seen)
    text = " ".join(course.utterance.text.split())
    spam = spam_score(text, request.language)
    way = _way(course, seen, text)
    clarify = way.decision == "CLARIFY"
    action = "block" if spam >= _SPAM else "clarify" if way.clarity < _CLEAR else "normal"
    question = propose(request)[1].text if course.act == "unsure" else say(seen.language, "unclear")
    filled: dict[str, Json] = {
        "spam_score": spam,
        "spam_reason": "Signs of advertising or gibberish." if spam >= _SPAM else "No signs of spam.",
        "user_intent": _cut(text, _LONG) or "-",
        "topic": _cut(_topic(course.utterance), _SHORT),
        "category": way.category,
        "context": "",
        "subqueries": [_cut(text, 200) or "-"],
        "action_plan": _plan(way),
        "intent_confidence": way.clarity,
        "uncertainties": [way.why] if clarify else [],
        "action": action,
        "clarification_question": _cut(question, _LONG) if clarify else "",
        "decision": way.decision,
        "decision_reason": way.why,
        "decision_confidence": way.sure,
        "tools_needed": list(way.tools),
        "retrieval_needed": way.decision == "RETRIEVE",
    }
    asked = (request.schema or {}).get("properties")
    return {name: value for name, value in filled.items() if not isinstance(asked, Mapping) or name in asked}


def _way(course: Course, seen: RequestContents, text: str) -> _Way:
    utterance, tool = course.utterance, course.tool
    first = sum(said.role == "user" for said in seen.messages) <= 1
    match course.act:
        case "greeting" | "thanks" | "bye" | "yes" | "no" | "withdrawn":
            return _Way("REASON_ONLY", 0.95, 0.9, f"Small talk or an answer: {course.act}.", "small talk")
        case "wish" | "told" if tool is not None:
            ready = not missing(tool, course.slots.given)
            return _Way("USE_TOOL", 0.9, 0.9 if ready else 0.7, f"{tool.name} does that.", "action", (tool.name,))
        case "beyond" if described := _find_described_tool(utterance, seen):
            return _Way("USE_TOOL", 0.7, 0.6, f"{described} seems to do that.", "action", (described,))
        case "beyond" if utterance.has("escalate"):
            return _Way("ESCALATE", 0.8, 0.3, "The customer asks for a person.", "request for a person")
        case "beyond":
            return _Way("ESCALATE", 0.7, 0.3, "No tool does what is asked for.", "request")
        case "unsure" if seen.tools or not utterance.asks:
            return _Way("CLARIFY", 0.4, 0.4, "Several things could be meant.", "unclear")
        case "help" if "?" not in text:
            return _Way("CLARIFY", 0.4, 0.4, "It does not say what the help is needed with.", "unclear")
        case "help":
            return _Way("REASON_ONLY", 0.8, 0.8, "It asks what can be done here.", "question")
    if _points_at_nothing(utterance, first) and (seen.tools or not _names_something(utterance)):
        return _Way("CLARIFY", 0.4, 0.4, "It does not say what it is about.", "unclear")
    if utterance.asks or course.act == "know":
        return _Way("RETRIEVE", 0.85, 0.8, "A question that documents may answer.", "question")
    if len(utterance.telling) > 2:
        return _Way("RETRIEVE", 0.65, 0.6, "A statement; documents may say more.", "statement")
    return _Way("CLARIFY", 0.3, 0.3, "Nothing in it is understood.", "unclear")


def _find_described_tool(utterance: ParsedText, seen: RequestContents) -> str:
    """The one tool whose verb was said and whose description speaks of the same thing; empty if there is not just one.
    It is a hint for the way only: the draft chooses the call, and policy rules on it."""
    wanted = find_wanted_actions(utterance)
    things = frozenset(thing for mention in utterance.mentions for thing in mention.concepts & concepts().things)
    named = [tool.name for tool in seen.tools if tool.action in wanted and tool.about and tool.about.has(*things)]
    return named[0] if len(named) == 1 and things else ""


def _points_at_nothing(utterance: ParsedText, first: bool) -> bool:
    """ "How much does it cost?" as the first thing said, or "can you integrate?", whoever says it."""
    known = utterance.has(*concepts().topics, *concepts().keys, "policy")
    if first and utterance.has("pointing") and not known and len(utterance.telling) <= _FEW + 1:
        return True
    return len(utterance.telling) <= _FEW and not known and not utterance.has(*concepts().things)


def _names_something(utterance: ParsedText) -> bool:
    """A question for a thing that documents may have: "How many canoes are there?"."""
    return utterance.asks and bool(list_named_things(utterance.text) & list_question_terms(utterance.text))


def _topic(utterance: ParsedText) -> str:
    named = concepts().things | concepts().topics | concepts().actions
    found = dict.fromkeys(word for mention in utterance.mentions for word in sorted(mention.concepts & named))
    return ", ".join(found)


def _plan(way: _Way) -> list[Json]:
    match way.decision:
        case "RETRIEVE":
            return ["Search the documents for the words of the question.", "Quote what answers it, with its source."]
        case "USE_TOOL":
            return [f"Propose a call of {way.tools[0]} with the values that were given.", "Ask for what is missing."]
        case "CLARIFY":
            return ["Ask what is meant."]
        case "ESCALATE":
            return ["Hand over to a colleague."]
    return ["Answer from the conversation."]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"
