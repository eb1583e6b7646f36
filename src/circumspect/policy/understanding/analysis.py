"""`analyse_user_request`: the form that a model fills in about a message, how it is read, and which way code then goes.

`schema` -> the form, whose fields in their order are seven steps of thinking; `read_analysis` -> what was filled in;
`route` -> where the turn goes, decided by code from numbers and categories, whatever the model chose.

The one choice that may surprise: `action` is the name of a template file. There is no table between the two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from string import Template
from typing import Literal, get_args

from circumspect.forms import make_choice, make_form, make_list, make_share, make_text
from circumspect.policy.parsing.loose_json import parse_exact, parse_intact, printable, repair_json
from circumspect.prompts import prompt
from circumspect.values import Json, JsonObject, ModelReply

NAME = "analyse_user_request"
AnalysisAction = Literal["normal", "clarify", "block", "guardian_block"]
ACTIONS: tuple[AnalysisAction, ...] = get_args(AnalysisAction)

REASON, INTENT, QUESTION, SHORT, LINE = 150, 300, 300, 80, 200
MOST_QUERIES, MOST_STEPS, MOST_GAPS = 10, 10, 5

_NUMBER = re.compile(r"\s*(?P<number>[0-9]{1,3}(?:[.,][0-9]{1,9})?)\s*(?P<percent>%)?\s*")
_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_SPACE = re.compile(r"[\s\u0085\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the model made of a message. All texts are on one line and within their limits; numbers are 0 to 1."""

    user_intent: str
    intent_confidence: float
    action: AnalysisAction
    spam_score: float = 0.0
    spam_reason: str = ""
    topic: str = ""
    category: str = ""
    context: str = ""
    subqueries: tuple[str, ...] = ()
    action_plan: tuple[str, ...] = ()
    uncertainties: tuple[str, ...] = ()
    clarification_question: str = ""

    def to_json(self) -> dict[str, Json]:
        """For the record and for metrics; nothing of it is for the user."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Routing:
    """At which spam score a message is turned away, and below which confidence it is asked about. Settable."""

    spam: float = 0.7
    clarity: float = 0.6


@dataclass(frozen=True, slots=True)
class Routed:
    """`overridden` when the model chose another way than code did."""

    action: AnalysisAction
    overridden: bool = False


def route(
    analysis: Analysis | None, categories: Collection[str] = (), spam: float = 0.0, routing: Routing | None = None
) -> Routed:
    """Code's last word. `categories` are those that count; `spam` is what a guardian scored, 0 where it scores none."""
    routing = routing or Routing()
    if categories:
        action: AnalysisAction = "guardian_block"
    elif max(spam, analysis.spam_score if analysis else 0.0) >= routing.spam:
        action = "block"
    elif analysis and analysis.intent_confidence < routing.clarity:
        action = "clarify"
    else:
        action = "normal"
    return Routed(action, overridden=analysis is not None and analysis.action != action)


# --- the form -------------------------------------------------------------------------------------------------------


def schema(business: str, language: str) -> dict[str, Json]:
    """The form as a JSON schema. `language` is the name of the language that texts are to be written in."""
    return form(fields_of(business, language))


def fields_of(business: str, language: str) -> dict[str, JsonObject]:
    told = descriptions("analyse_fields", business=business, language=language)
    kinds: dict[str, dict[str, Json]] = {
        "spam_score": make_share(),
        "spam_reason": make_text(REASON),
        "user_intent": make_text(INTENT),
        "topic": make_text(SHORT),
        "category": make_text(SHORT),
        "context": make_text(LINE),
        "subqueries": make_list(make_text(LINE), MOST_QUERIES, fewest=1),
        "action_plan": make_list(make_text(LINE), MOST_STEPS),
        "intent_confidence": make_share(),
        "uncertainties": make_list(make_text(LINE), MOST_GAPS),
        "action": make_choice(ACTIONS),
        "clarification_question": make_text(QUESTION),
    }
    return {name: {**kinds[name], "description": text} for name, text in told.items()}


def form(properties: Mapping[str, JsonObject]) -> dict[str, Json]:
    return make_form(properties, title=NAME)


def descriptions(name: str, **values: str) -> dict[str, str]:
    """The lines `field: what to think about` of a prompt file, in their order."""
    return {field: Template(text).substitute(values) for field, text in _lines(name)}


@cache
def _lines(name: str) -> tuple[tuple[str, str], ...]:
    found = (line.partition(": ") for line in prompt(name).text.splitlines() if line.strip())
    return tuple((field, text) for field, _, text in found)


# --- what was filled in ---------------------------------------------------------------------------------------------


def extract_fields(reply: ModelReply) -> dict[str, Json] | None:
    """The object in a reply: the arguments of the forced call, or the JSON of the text, mended where it is broken."""
    for call in reply.calls:
        if call.tool == NAME:
            return dict(call.arguments)
    text = reply.text
    start, stop = text.find("{"), text.rfind("}")
    whole = parse_exact(text) or (parse_exact(text[start : stop + 1]) if 0 <= start < stop else None)
    if whole is None and start >= 0:
        whole = {**(repair_json(text) or {}), **parse_intact(text).members}
    inner = whole.get(NAME) if whole else None
    return dict(inner) if isinstance(inner, Mapping) else whole or None


def read_analysis(reply: ModelReply) -> Analysis | None:
    """None when nothing in the reply says what the user wants. Anything else that is missing counts as the worst."""
    fields = extract_fields(reply)
    if fields is None:
        return None
    intent = text_of(fields.get("user_intent"), INTENT)
    if not intent:
        return None
    said = fields.get("action")
    action = said.strip().lower() if isinstance(said, str) else ""
    return Analysis(
        user_intent=intent,
        intent_confidence=number_of(fields.get("intent_confidence"), 0.0),
        # A way that is none is no choice at all; code chooses anyhow.
        action=next((one for one in ACTIONS if one == action), "clarify"),
        # Neither shown to be spam nor shown not to be.
        spam_score=number_of(fields.get("spam_score"), 0.5),
        spam_reason=text_of(fields.get("spam_reason"), REASON),
        topic=text_of(fields.get("topic"), SHORT),
        category=text_of(fields.get("category"), SHORT),
        context=text_of(fields.get("context"), LINE),
        subqueries=list_of(fields.get("subqueries"), MOST_QUERIES) or (intent[:LINE],),
        action_plan=list_of(fields.get("action_plan"), MOST_STEPS),
        uncertainties=list_of(fields.get("uncertainties"), MOST_GAPS),
        clarification_question=text_of(fields.get("clarification_question"), QUESTION),
    )


def number_of(value: Json, worst: float) -> float:
    """A number within 0 and 1, however it was put; `worst` where it says nothing."""
    if isinstance(value, str) and (said := _NUMBER.fullmatch(value)):
        value = float(said["number"].replace(",", ".")) / (100 if said["percent"] else 1)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return worst
    return float(min(1, max(0, value)))


def text_of(value: Json, longest: int) -> str:
    """One line, cut at a word's end."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    line = printable(_SPACE.sub(" ", str(value)).strip())
    if line.lower() in ("null", "none", "n/a"):
        return ""
    if len(line) <= longest:
        return line
    cut = line[: longest - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:.") + "…"


def list_of(value: Json, most: int) -> tuple[str, ...]:
    """Each once. A text is taken for a list with an item a line."""
    return tuple(dict.fromkeys(_items(value)))[:most]


def _items(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        value = value.splitlines()
    if isinstance(value, list | tuple):
        for item in value[:100]:
            said = item.get("text") or item.get("query") or item.get("step") if isinstance(item, Mapping) else item
            line = text_of(_ITEM.sub("", said) if isinstance(said, str) else said, LINE)
            if line:
                yield line
