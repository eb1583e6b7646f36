"""Messages in, `Course` out: what the user is after by now, and what they have told for it.

The conversation is read from the beginning each time, one message after the other; nothing is remembered between calls.
Only the user's words make a wish. The assistant's own questions are read for one thing: when the message that stated
the wish has dropped out of view, they still say what is being asked about. Tool results are not read here at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Literal

from circumspect.demo.offline.lexicon import ParsedText, concepts, is_stop, read, say
from circumspect.demo.offline.request_view import OfferedTool, RequestContents
from circumspect.demo.offline.slot_kinds import WORDS, kind_of, missing, subject
from circumspect.demo.offline.slot_values import values
from circumspect.demo.offline.slots import MessageReading, Slots, convert_value, fill, text_of
from circumspect.demo.offline.tool_choice import Choice, choose, find_wanted_actions
from circumspect.demo.offline.tool_names import labels, tool_words
from circumspect.values import Json

Act = Literal[
    "greeting", "thanks", "bye", "help", "yes", "no", "withdrawn", "know", "wish", "unsure", "beyond", "told", "other"
]

_SMALL_TALK: tuple[Act, ...] = ("thanks", "bye", "greeting")
_QUOTES = frozenset("“”«»")
"""A question inside a quotation is not one of ours."""
_ABOUT_THE_BUSINESS = ("privacy", "terms", "warranty", "about", "location", "contact")
_CHATTY = 2
"""So many words of no known meaning may go with a greeting: names, mostly."""
_CODES_ALONE = 2
"""A question of more telling words is about something: "What does error L-204 mean?", not "And 12345?"."""


@dataclass
class Course:
    """Where the conversation stands after its newest user message."""

    act: Act = "other"
    utterance: ParsedText = field(default_factory=lambda: read(""))
    choice: Choice = field(default_factory=Choice)
    tool: OfferedTool | None = None
    slots: Slots = field(default_factory=Slots)
    implied: bool = False
    carried: bool = False
    """A value was taken over from an earlier topic ("cancel it")."""
    codes: dict[str, str] = field(default_factory=dict)
    """The newest code the user gave for each thing: the order that "it" is."""
    loose: tuple[str, ...] = ()
    """Codes in the newest message."""
    question: str = ""
    """The assistant's message before the newest one, if it asked something."""


def listen(seen: RequestContents) -> Course:
    course = Course()
    for said in seen.messages:
        if said.role == "user":
            _hear(course, said.text, seen)
            course.question = ""
        elif said.role == "assistant" and said.text:
            course.question = said.text if "?" in said.text and not _QUOTES & {*said.text} else ""
            if course.question:
                _recall(course, said.text, seen)
    return course


@lru_cache(maxsize=256)
def _read_message(text: str, today: date | None) -> MessageReading:
    """Every call reads the whole conversation again; most of it was read a moment ago."""
    utterance = read(text)
    return MessageReading(utterance, values(utterance, today))


def _hear(course: Course, text: str, seen: RequestContents) -> None:
    heard = _read_message(text, seen.today)
    utterance = heard.utterance
    course.utterance, course.choice = utterance, choose(utterance, seen.tools)
    course.loose = tuple(code.text for code in heard.values.codes if not code.measured)
    course.act = _act(course, heard)
    if course.act == "wish" and course.choice.tool is not None:
        _begin(course, course.choice.tool, heard)
    elif course.act in ("no", "withdrawn"):
        course.tool, course.slots, course.implied = None, Slots(), False
    elif course.act == "told" and course.tool is not None:
        if not fill(course.slots, course.tool, heard, answering=bool(course.question)):
            course.act = "unsure" if heard.values.codes else "other"
        course.carried = False
    _keep_codes(course, heard)


def _begin(course: Course, tool: OfferedTool, heard: MessageReading) -> None:
    """A wish was said: a new one, or the same again with more to it."""
    utterance = heard.utterance
    same = course.tool is not None and course.tool.name == tool.name and not utterance.has("another")
    earlier, before = course.tool, course.slots
    course.tool, course.implied, course.carried = tool, course.choice.implied, False
    if not same:
        course.slots = Slots()
    fill(course.slots, tool, heard, answering=False)
    points = utterance.has("pointing")
    if utterance.has("another") or not (points or (earlier is not None and not same and utterance.has("personal"))):
        return
    for param in missing(tool, course.slots.given):
        if param.name in course.slots.conflicts:
            continue
        known: Json = before.given.get(param.name) if points else None
        if known is None and kind_of(param) == "code":
            code = next((course.codes[thing] for thing in sorted(subject(param.name)) if thing in course.codes), None)
            known = convert_value(param, "code", code) if code else None
        if known is not None:
            course.slots.given[param.name] = known
            course.carried = True


def _keep_codes(course: Course, heard: MessageReading) -> None:
    for code in heard.values.codes:
        if not code.ruled_out and not code.measured:
            for thing in code.about & concepts().things:
                course.codes[thing] = code.text
    if course.tool is not None and course.act in ("wish", "told"):
        for param in course.tool.params:
            if kind_of(param) == "code" and param.name in course.slots.given:
                for thing in subject(param.name):
                    course.codes[thing] = text_of(course.slots.given[param.name])


# --- what kind of message it is ---------------------------------------------------------------------------------------


def _act(course: Course, heard: MessageReading) -> Act:
    utterance, choice = heard.utterance, course.choice
    told = bool(heard.values) or bool(heard.values.quoted)
    if not told and (talk := _small_talk(utterance)):
        return talk
    if utterance.has("vague") and find_wanted_actions(utterance):
        return "unsure"
    if _only_negated(utterance) and choice.tool is None and not told:
        return "withdrawn"
    if _asks_to_know(utterance, choice, told):
        return "know"
    if choice.tool is not None:
        return "wish"
    if choice.among:
        return "unsure"
    if course.tool is not None and not told and (answer := _answer(course, utterance)):
        return answer
    if course.tool is not None and (told or _may_answer(course, utterance) or _goes_on(course.tool, utterance)):
        return "told"
    if utterance.has("help"):
        return "help"
    if _topics(utterance) and not told:
        return "know"
    if _asks(utterance) and not told:
        return "know"
    if find_wanted_actions(utterance) or utterance.has("implied") or _wants_something_done(utterance):
        return "beyond"
    if heard.values.codes:
        return "know" if _asks(utterance) and len(utterance.telling) > _CODES_ALONE else "unsure"
    return _answer(course, utterance) or "other"


def _small_talk(utterance: ParsedText) -> Act | None:
    """A greeting, thanks or goodbye, and little else."""
    covered: set[int] = set()
    found: Act | None = None
    for mention in utterance.mentions:
        talk = next((act for act in _SMALL_TALK if act in mention.concepts), None)
        if talk:
            found = found if found in ("thanks", "bye") and talk == "greeting" else talk
            covered |= {*range(mention.first, mention.last + 1)}
        elif mention.concepts & (concepts().actions | concepts().things | concepts().topics | {"help", "implied"}):
            return None
    rest = [at for at, token in enumerate(utterance.tokens) if at not in covered and not is_stop(token.text)]
    return found if len(rest) <= _CHATTY else None


def _only_negated(utterance: ParsedText) -> bool:
    return any(mention.negated for mention in utterance.mentions) and not find_wanted_actions(utterance)


def _asks_to_know(utterance: ParsedText, choice: Choice, told: bool) -> bool:
    wanted = find_wanted_actions(utterance)
    asks = _asks(utterance)
    if utterance.has("hours") and not wanted and not told:
        return True
    if utterance.has("ask_phone", "ask_email") and not wanted and not told and not utterance.has("personal"):
        return True
    if utterance.has("policy") and not told and (asks or _topics(utterance)):
        return True
    if asks and not told and not wanted and utterance.has(*_ABOUT_THE_BUSINESS):
        return True
    if choice.tool is None:
        return asks and not told and bool(_topics(utterance)) and not utterance.has("have", "stock")
    if choice.tool.is_read:
        return False
    final = choice.tool.is_destructive or choice.tool.action in ("return", "exchange")
    mine = told or utterance.has("personal", "pointing")
    return final and asks and not mine


def only_asks(course: Course) -> bool:
    """Whether something can be done, and not yet to which order or booking."""
    return course.tool is not None and _asks(course.utterance) and bool(missing(course.tool, course.slots.given))


def _asks(utterance: ParsedText) -> bool:
    """It has the form of a question, and is not a polite request."""
    return utterance.asks and not utterance.has("request")


def _wants_something_done(utterance: ParsedText) -> bool:
    """ "Please upgrade my subscription": a verb that no list knows, with a thing of the user's."""
    return utterance.has("request") and utterance.has("personal") and utterance.has(*concepts().things)


def _topics(utterance: ParsedText) -> bool:
    return utterance.has(*concepts().keys, *concepts().topics)


def _answer(course: Course, utterance: ParsedText) -> Act | None:
    """A bare yes or no. A yes counts only when it answers a question about the call at hand."""
    if len(utterance.telling) > 3 or utterance.has(*concepts().things):
        return None
    if utterance.has("yes") and not utterance.has("no"):
        return "yes" if _was_asked(course) else "other"
    return "no" if utterance.has("no") else None


def _was_asked(course: Course) -> bool:
    if course.tool is None or not course.question:
        return False
    given = [text_of(value) for value in course.slots.given.values()]
    return any(value in course.question for value in given) or not given


def _may_answer(course: Course, utterance: ParsedText) -> bool:
    """Free words after a question about the call may be the answer to it; a question never is."""
    if course.tool is None or not course.question or "?" in utterance.text or not utterance.tokens:
        return False
    return any(kind_of(param) in WORDS | {"choice", "quantity"} for param in missing(course.tool, course.slots.given))


def _goes_on(tool: OfferedTool, utterance: ParsedText) -> bool:
    """ "And the hammock?" after a question about the mug."""
    begins = any("also" in mention.concepts and mention.first == 0 for mention in utterance.mentions)
    return begins and any(kind_of(param) == "wares" for param in tool.params)


# --- the assistant's own question -------------------------------------------------------------------------------------


def _recall(course: Course, text: str, seen: RequestContents) -> None:
    """Take up the call that a question of ours was about, with the values it repeats."""
    for tool in seen.tools:
        start = say(seen.language, "ask", action=tool_words(tool, seen.language), missing="\0").split("\0")[0]
        if text.startswith(start):
            repeated = _read_repeated_values(text, tool, seen)
            if course.tool is None or course.tool.name != tool.name:
                course.tool, course.slots = tool, Slots()
            course.slots.given.update(repeated)
            course.slots.settled |= repeated.keys()
            return
    if course.tool is not None:
        return  # the user's words go first
    choice = choose(read(text), [tool for tool in seen.tools if not tool.is_read])
    course.tool = choice.tool


def _read_repeated_values(text: str, tool: OfferedTool, seen: RequestContents) -> dict[str, Json]:
    """The values in "So far I have: date: 2026-03-31; time: 14:30."."""
    before, _, after = say(seen.language, "have", have="\0").partition("\0")
    found = re.search(rf"{re.escape(before)}(.*?){re.escape(after)}$", text)
    if found is None:
        return {}
    called = labels(tool, seen.language)
    by_label = {called[param.name]: param for param in tool.params}
    given: dict[str, Json] = {}
    for piece in found[1].split("; "):
        name, _, value = piece.partition(": ")
        param = by_label.get(name)
        if param is not None and value:
            given[param.name] = convert_value(param, kind_of(param), value)
    return {name: value for name, value in given.items() if value is not None}
