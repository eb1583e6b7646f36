"""ModelRequest in, `OfflineProposal` out: the words for the user, the one call it wants, and how sure it is. Never
more sure than it can be: a wish that was only hinted at, a value carried over, a weak quotation each cost confidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from circumspect.demo.offline.dialogue import Course, listen, only_asks
from circumspect.demo.offline.lexicon import has_words, say, say_anywhere
from circumspect.demo.offline.quoted_answers import answer
from circumspect.demo.offline.request_view import OfferedTool, Param, RequestContents, read_request, tool_by_name
from circumspect.demo.offline.result_words import DENIED, make_quotable, phrase_result
from circumspect.demo.offline.slot_kinds import is_vague, kind_of, missing
from circumspect.demo.offline.slots import describe_arguments
from circumspect.demo.offline.source_quotes import has_sources
from circumspect.demo.offline.tool_choice import find_wanted_actions
from circumspect.demo.offline.tool_names import label_with_choices, labels, tool_list, tool_words
from circumspect.values import Json, ModelRequest

SURE, CLEAR, INCOMPLETE, HINTED, WEAK, LOST = 9, 8, 7, 5, 4, 3


@dataclass(frozen=True, slots=True)
class OfflineProposal:
    text: str
    confidence: int
    tool: str | None = None
    arguments: Mapping[str, Json] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    destructive: bool = False
    confirm: bool = False
    hinted: bool = False
    """The wish was not said in so many words: ask before proposing where nobody else will."""
    context: tuple[str, ...] = ()


def propose(request: ModelRequest) -> tuple[RequestContents, OfflineProposal]:
    seen = read_request(request)
    last = seen.messages[-1] if seen.messages else None
    if last is not None and last.role == "tool":
        return seen, _after_tool(seen)
    return seen, _reply(listen(seen), seen)


def find_called_tool(seen: RequestContents) -> OfferedTool:
    """The tool whose result is the last message, as far as the request tells."""
    last = seen.messages[-1]
    calls = [call for said in seen.messages for call in said.calls]
    name = last.tool or next((call.tool for call in calls if call.id == last.call_id), "")
    return next((tool for tool in seen.tools if tool.name == name), None) or tool_by_name(name)


def _after_tool(seen: RequestContents) -> OfflineProposal:
    told, tool = seen.messages[-1].text, find_called_tool(seen)
    if not told.startswith(DENIED):
        return OfflineProposal(phrase_result(told, tool, seen.language), SURE)
    others = tuple(other for other in seen.tools if other.name != tool.name)
    text = say(seen.language, "denied", action=tool_words(tool, seen.language))
    return OfflineProposal(" ".join(filter(None, (text, _offer(others, seen)))), WEAK)


def _reply(course: Course, seen: RequestContents) -> OfflineProposal:
    language = seen.language
    match course.act:
        case "greeting":
            name = seen.business.get("Name", "")
            text = say(language, "greeting", business=make_quotable(name)) if name else say(language, "greeting_plain")
            return OfflineProposal(text, SURE)
        case "thanks" | "bye":
            return OfflineProposal(say(language, course.act), SURE)
        case "help":
            return OfflineProposal(_offer(seen.tools, seen) or say(language, "unclear"), CLEAR)
        case "no" | "withdrawn":
            return OfflineProposal(say(language, "wont"), CLEAR)
        case "yes":
            course.implied = False
            return _call(course, seen)
        case "wish" if has_sources(seen) and only_asks(course):
            return _answer_question(course, seen)
        case "wish" | "told":
            return _call(course, seen)
        case "unsure" | "beyond" if has_sources(seen):
            return _answer_question(course, seen)
        case "unsure":
            return _unsure(course, seen)
        case "beyond":
            return _beyond(course, seen)
        case "know" | "other":
            return _answer_question(course, seen)


def _answer_question(course: Course, seen: RequestContents) -> OfflineProposal:
    if course.act == "other" and course.utterance.says_little:
        return OfflineProposal(say(seen.language, "unclear"), WEAK)
    told = answer(course.utterance, seen)
    if told.keys:
        return OfflineProposal(say(seen.language, "moment"), HINTED, context=told.keys)
    if told.text:
        return OfflineProposal(told.text, told.confidence)
    if course.act == "know" and course.choice.tool is not None:
        # Nothing is written about it, but it can be done.
        course.act, course.tool = "wish", course.choice.tool
        return _call(course, seen)
    if find_wanted_actions(course.utterance) and not has_sources(seen):
        return _beyond(course, seen)
    offer = _offer(seen.tools, seen) if has_words(seen.language) else ""
    return OfflineProposal(" ".join(filter(None, (say_anywhere(seen.language, "do-not-know"), offer))), LOST)


def _beyond(course: Course, seen: RequestContents) -> OfflineProposal:
    if course.utterance.has("escalate"):
        ways = [make_quotable(seen.business[line]) for line in ("Phone", "E-mail") if line in seen.business]
        reach = say(seen.language, "reach", value=", ".join(ways)) if ways else ""
        return OfflineProposal(" ".join(filter(None, (say(seen.language, "human"), reach))), LOST)
    return OfflineProposal(" ".join(filter(None, (say(seen.language, "cannot"), _offer(seen.tools, seen)))), LOST)


def _unsure(course: Course, seen: RequestContents) -> OfflineProposal:
    """Several tools fit, or none in particular: say which ones could be meant."""
    choice, utterance = course.choice, course.utterance
    if course.loose and not choice.among and not find_wanted_actions(utterance):
        able = tuple(tool for tool in seen.tools if any(kind_of(param) == "code" for param in tool.params))
        text = say(seen.language, "what_with", value=", ".join(course.loose))
        return OfflineProposal(" ".join(filter(None, (text, _offer(able or seen.tools, seen)))), WEAK)
    among = choice.among or tuple(
        tool
        for tool in seen.tools
        if any(not mention.concepts.isdisjoint({*tool.objects, *tool.takes}) for mention in utterance.mentions)
    )
    if 1 < len(among) <= 5:
        return OfflineProposal(say(seen.language, "which", actions=tool_list(among, seen.language)), WEAK)
    offer = _offer(among or seen.tools, seen)
    return OfflineProposal(" ".join(filter(None, (say(seen.language, "unclear"), offer))), WEAK)


def _offer(tools: tuple[OfferedTool, ...], seen: RequestContents) -> str:
    if tools:
        return say(seen.language, "can_do", actions=tool_list(tools, seen.language))
    name = seen.business.get("Name")
    return say(seen.language, "can_answer", business=make_quotable(name)) if name else ""


# --- a call -----------------------------------------------------------------------------------------------------------


def _call(course: Course, seen: RequestContents) -> OfflineProposal:
    tool, slots, language = course.tool, course.slots, seen.language
    if tool is None:
        return OfflineProposal(say(language, "unclear"), WEAK)
    lacking = missing(tool, slots.given)
    if _schema_would_help(course, seen):
        return OfflineProposal(say(language, "moment"), HINTED, context=(f"tool_schema:{tool.name}",))
    if lacking or slots.conflicts:
        names = tuple(dict.fromkeys((*(param.name for param in lacking), *slots.conflicts)))
        given = {name: value for name, value in slots.given.items() if name not in slots.conflicts}
        return OfflineProposal(
            _question(course, lacking, seen), INCOMPLETE, tool.name, given, names, tool.is_destructive
        )
    confirm = tool.is_destructive or course.implied
    text = say(
        language,
        "confirm" if course.implied or (confirm and seen.assessed) else "looking",
        action=tool_words(tool, language),
        arguments=_arguments(tool, slots.given, seen),
    )
    confidence = HINTED if course.implied else SURE if tool.is_read else CLEAR
    if course.carried:
        confidence -= 1
    return OfflineProposal(
        text, confidence, tool.name, dict(slots.given), (), tool.is_destructive, confirm, course.implied
    )


def _schema_would_help(course: Course, seen: RequestContents) -> bool:
    """A required parameter whose name says too little, or a value that found no place among the required ones."""
    tool = course.tool
    if tool is None or tool.detailed or not seen.may_ask(f"tool_schema:{tool.name}"):
        return False
    return course.slots.leftover or any(
        is_vague(param) and param.name not in course.slots.settled for param in tool.params
    )


def _question(course: Course, lacking: tuple[Param, ...], seen: RequestContents) -> str:
    tool, slots, language = course.tool, course.slots, seen.language
    assert tool is not None
    parts: list[str] = []
    by_name = {param.name: param for param in tool.params}
    names = dict.fromkeys((*(param.name for param in lacking), *slots.conflicts))
    called = labels(tool, language)
    wanted = ", ".join(label_with_choices(by_name[name], called[name], language) for name in names)
    parts.append(say(language, "ask", action=tool_words(tool, language), missing=wanted))
    kinds = {kind_of(param) for param in lacking}
    if "date" in slots.unclear and kinds & {"date", "moment"}:
        parts.append(say(language, "full_date"))
    if "time" in slots.unclear and kinds & {"time", "moment"}:
        parts.append(say(language, "full_time"))
    parts += [say(language, "which_value", values=", ".join(seen_values)) for seen_values in slots.conflicts.values()]
    given = {name: value for name, value in slots.given.items() if name not in slots.conflicts}
    if given:
        parts.append(say(language, "have", have=make_quotable(describe_arguments(given, labels(tool, seen.language)))))
    return " ".join(parts)


def _arguments(tool: OfferedTool, given: Mapping[str, Json], seen: RequestContents) -> str:
    if not given:
        return ""
    return say(
        seen.language, "arguments", arguments=make_quotable(describe_arguments(given, labels(tool, seen.language)))
    )
