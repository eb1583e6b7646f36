"""`analyse_user_request`: the form that a model fills in about a message, how it is read, and which way code then goes.

`schema` -> the form, whose fields in their order are seven steps of thinking; `read_analysis` -> what was filled in;
`route` -> where the turn goes, decided by code from numbers and categories, whatever the model chose.

The one choice that may surprise: `action` is the name of a template file. There is no table between the two.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from string import Template
from typing import Literal, get_args

from circumspect.forms import make_choice, make_form, make_list, make_share, make_text
from circumspect.forms.reading import FilledForm
from circumspect.prompts import prompt
from circumspect.values import Json, JsonObject

NAME = "analyse_user_request"
AnalysisAction = Literal["normal", "clarify", "block", "guardian_block"]
ACTIONS: tuple[AnalysisAction, ...] = get_args(AnalysisAction)

REASON, INTENT, QUESTION, SHORT, LINE = 150, 300, 300, 80, 200
MOST_QUERIES, MOST_STEPS, MOST_GAPS = 10, 10, 5

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "user_intent": ("intent", "intention", "goal", "request"),
    "intent_confidence": ("confidence",),
    "spam_score": ("spam", "spam_probability"),
    "subqueries": ("queries", "search_queries", "query"),
    "action_plan": ("plan", "steps"),
    "uncertainties": ("gaps", "unknowns"),
    "clarification_question": ("question", "clarifying_question"),
}


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


def read_analysis(filled: FilledForm) -> Analysis | None:
    """None when nothing says what the user wants. Anything else that is missing counts as the worst."""
    intent = filled.get_text("user_intent")
    if not intent:
        return None
    # A way that is none is no choice at all; code chooses anyhow.
    action: AnalysisAction = next((one for one in ACTIONS if one == filled.get("action")), "clarify")
    return Analysis(
        user_intent=intent,
        intent_confidence=filled.get_number("intent_confidence", 0.0),
        action=action,
        # Neither shown to be spam nor shown not to be.
        spam_score=filled.get_number("spam_score", 0.5),
        spam_reason=filled.get_text("spam_reason"),
        topic=filled.get_text("topic"),
        category=filled.get_text("category"),
        context=filled.get_text("context"),
        subqueries=filled.get_list("subqueries") or (intent[:LINE],),
        action_plan=filled.get_list("action_plan"),
        uncertainties=filled.get_list("uncertainties"),
        clarification_question=filled.get_text("clarification_question"),
    )
