"""The second opinion, read off the model's reply: text -> Critique, or None when it does not clearly give one.

The one choice that may surprise: the form is mended, the decision is not guessed. An opinion that broke off, that
decides twice and differently, or that says more than the decision where the decision stands ("do not PROCEED"), is no
opinion; the caller asks once more and then hands over to a person.
"""

from __future__ import annotations

from typing import Literal, get_args

from circumspect.forms import make_choice, make_form
from circumspect.forms.answers import read_labels
from circumspect.forms.fitting import fold_key
from circumspect.forms.loose_json import printable
from circumspect.forms.reading import FilledForm, read_form
from circumspect.values import Critique, FormRules, ModelReply

_Decision = Literal["PROCEED", "ASK_USER", "ESCALATE"]
DECISIONS: tuple[_Decision, ...] = get_args(_Decision)
SCHEMA = make_form({"decision": make_choice(DECISIONS), "reasoning": {"type": "string"}, "message": {"type": "string"}})
RULES = FormRules(
    decides=("decision",),
    synonyms={"reasoning": ("reason", "explanation", "rationale"), "message": ("question", "message_to_user")},
    exact=True,
)


def read(reply: ModelReply | str) -> Critique | None:
    """The opinion: one object, bare, fenced or with words around it, or lines with labels."""
    filled = read_form(reply, SCHEMA, RULES)
    text = reply if isinstance(reply, str) else reply.text
    decision = next((one for one in DECISIONS if one == filled.get("decision")), None)
    if decision is None or _says_otherwise(text, decision):
        return None
    return Critique(decision, reasoning=_words(filled, "reasoning"), message=_words(filled, "message"))


def _says_otherwise(text: str, decision: str) -> bool:
    """A line anywhere in the text is labelled as a decision, and it is another one."""
    said = {fold_key(str(value)) for label, value in read_labels(text) if fold_key(label) == "decision"}
    return bool(said - {fold_key(decision)})


def _words(filled: FilledForm, name: str) -> str:
    return printable(filled.get_text(name).strip())
