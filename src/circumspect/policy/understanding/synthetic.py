"""What the agent understood, as messages: Analysis -> the model's own notes, and -> the words for the user.

`analysis_message` is a markdown message in the assistant's name for the model's context, and for nobody else: it holds
scores, reasons and plans. `response` is its last section by itself, the only part a user sees, made of the catalogue's
words, the intent and the question.

The one choice that may surprise: the name of the template is the action, and whatever was taken from the conversation
goes in as data: on one line, in quotation marks, without the signs that headings, lists, tags or fields are made of.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

from circumspect.language import catalogue
from circumspect.normal_forms import normalise
from circumspect.policy.understanding.analysis import Analysis, AnalysisAction
from circumspect.prompts import prompt
from circumspect.values import Language

NONE = "(none)"
_TELLING = 25
"""Letters from which on a text is no coincidence."""
_SPACE = re.compile(r"[\s\u0085\u2028\u2029]+")
_LOOSE_HASHES = re.compile(r"#+(?=[\s#]|$)")
_SIGNS = str.maketrans(
    {"`": "'", "<": "‹", ">": "›", "[": "(", "]": ")", "{": "(", "}": ")", "|": "¦", "*": "", "~": "-", "\\": "/"}
    | dict.fromkeys('“”„«»"', "'")
    | dict.fromkeys("＜﹤〈⟨❮《", "‹")
    | dict.fromkeys("＞﹥〉⟩❯》", "›")
)
_INTERNAL = re.compile(
    r"spam[ _-]?(?:score|reason)|intent[ _-]?confidence|action[ _-]?plan|sub[ _-]?queries|guardian[ _-]?block"
    r"|guard[ _-]?categories|uncertainties",
    re.IGNORECASE,
)


def analysis_message(
    analysis: Analysis,
    categories: Collection[str],
    language: Language,
    business: str,
    action: AnalysisAction | None = None,
) -> str:
    """For the model's context only. `action` is code's, where it differs from the model's."""
    way = action or analysis.action
    return prompt(f"synthetic/{way}").render(
        topic=quote(analysis.topic),
        intent=quote(analysis.user_intent),
        category=quote(analysis.category),
        context=quote(analysis.context),
        spam_score=f"{analysis.spam_score:.2f}",
        spam_reason=quote(analysis.spam_reason),
        intent_confidence=f"{analysis.intent_confidence:.2f}",
        uncertainties=_row(analysis.uncertainties),
        subqueries=_row(analysis.subqueries),
        plan="\n".join(f"{number}. {quote(step)}" for number, step in enumerate(analysis.action_plan, 1)) or NONE,
        categories=", ".join(sorted(categories)) or NONE,
        action=way,
        response=_words(way, analysis, language, business),
    )


def response(
    action: AnalysisAction, analysis: Analysis | None, language: Language, business: str, *, heading: bool = True
) -> str:
    """For the user, and for the context as what the user was told. A message that was blocked is not repeated to them:
    neither an advertisement nor a harmful wish gains by being said again in our name."""
    words = _words(action, analysis, language, business)
    if (
        not heading
        or analysis is None
        or action in ("block", "guardian_block")
        or not _is_presentable(analysis.user_intent)
    ):
        return words
    understood = catalogue.say(language, "understood-intent", intent=as_data(analysis.user_intent))
    return f"**{catalogue.say(language, 'understood-heading')}**\n\n{understood}\n\n{words}"


def as_data(text: str) -> str:
    """One line with nothing in it that could pass for markup, a tag, a field or the end of a quotation."""
    line = _SPACE.sub(" ", normalise("NFC", text))
    line = "".join(sign for sign in line if unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
    return " ".join(_LOOSE_HASHES.sub("", line.translate(_SIGNS)).replace("__", "_").split())


def quote(text: str) -> str:
    data = as_data(text)
    return f"“{data}”" if data else NONE


def reveals_notes(reply: str, analysis: Analysis) -> bool:
    """Whether a reply repeats what was noted for the model only: a name of a field, a section, a reason, a plan's step.

    Numbers by themselves tell nothing: a customer may well hear of 0.7 or 10 %."""
    if _INTERNAL.search(reply) or any(heading in reply for heading in ("## Request analysis", "## Approach")):
        return True
    noted = (analysis.spam_reason, *analysis.action_plan, *analysis.uncertainties)
    return any(len(text) >= _TELLING and text in reply for text in noted)


def _words(action: AnalysisAction, analysis: Analysis | None, language: Language, business: str) -> str:
    match action:
        case "normal":
            return catalogue.say(language, "understood-normal")
        case "clarify":
            question = as_data(analysis.clarification_question) if analysis else ""
            asked = (
                question
                if question and _is_presentable(question)
                else catalogue.say(language, "understood-clarify-outro")
            )
            return f"{catalogue.say(language, 'understood-clarify-intro')} {asked}"
        case "block":
            return catalogue.say(language, "understood-block", business=as_data(business))
        case "guardian_block":
            return catalogue.say(language, "understood-guardian")


def _is_presentable(text: str) -> bool:
    """Words for a user. A model that writes its scores into them is not passed on."""
    return bool(as_data(text)) and not _INTERNAL.search(text)


def _row(items: Sequence[str]) -> str:
    return "; ".join(map(quote, items)) or NONE
