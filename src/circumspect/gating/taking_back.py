"""What the user says after a call was let through and before it was run -> is it still to run?

Words that take something back void what was let through. So does a no that was said to nothing else: the assistant
asked no other question since the user's words before it, and none waits for an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from circumspect.corrected_calls import list_words
from circumspect.gating.foreign_talk import ForeignTalk
from circumspect.language.folding import even_out_signs
from circumspect.language.second_thoughts import leaves_open
from circumspect.language.yes_no import classify
from circumspect.policy.understanding.open_wishes import find_wished_words
from circumspect.policy.understanding.wish_standing import is_taken_back
from circumspect.values import Execution, Intent, ToolCall, YesNo

_RECENT = 4
"""In so many of their last messages the user may have said what is pending."""


@dataclass(frozen=True, slots=True)
class NewWords:
    """What a user said, and what the assistant had said to them before."""

    text: str
    put: str
    name: str
    """Whose they are, where messages name their users."""


def list_new_words(talk: ForeignTalk, told: int) -> list[NewWords]:
    """The user's words that nobody has ruled on yet."""
    heard: list[NewWords] = []
    put: list[str] = []
    for at, (name, one) in enumerate(zip(talk.names, talk.utterances, strict=True)):
        if one.speaker == "assistant":
            put.append(one.text)
            continue
        if at >= told:
            heard.append(NewWords(one.text, "\n".join(put), name))
        put = []
    return heard


def find_wisher(talk: ForeignTalk, call: ToolCall, person: str | None) -> str:
    """Where messages name their users: whose call it is. That is the `person`, where the messages name them; else
    whoever first spoke of it. Empty where nobody is named."""
    users = [(name, one.text) for name, one in zip(talk.names, talk.utterances, strict=True) if one.speaker == "user"]
    if person and any(name == person for name, _ in users):
        return person
    return next((name for name, text in users if is_about(call, text)), "")


def is_about(call: ToolCall, text: str) -> bool:
    """The user's words are about this very call."""
    values = [str(one) for one in call.arguments.values() if isinstance(one, str | int) and len(str(one)) > 1]
    return any(one in text for one in values) or bool(find_wished_words([text], call.tool))


def takes_back_what_was_let(
    handed: Execution, said: NewWords, wisher: str, put: Sequence[Intent], now: datetime
) -> bool:
    """The words void a call that was let through. `put` are the questions that they might answer instead."""
    if is_taken_back(said.text, handed.call.tool):
        return True
    asked = next((one.question for one in put if one.id == handed.intent), "")
    if (wisher and said.name != wisher) or _say_no(said.text, handed, asked) != "deny":
        return False
    if any(one.id != handed.intent and _might_be_meant(one, handed, now) for one in put):
        return False
    _, own, rest = even_out_signs(said.put).rpartition(even_out_signs(asked)) if asked else ("", "", said.put)
    rest = rest if own else said.put
    return "?" not in rest and "؟" not in rest


def _might_be_meant(other: Intent, handed: Execution, now: datetime) -> bool:
    waits = other.state == "pending" and other.expires_at > now
    return other.kind == "confirmation" and (waits or other.created_at > handed.started_at)


def is_wanted_after_all(voided: Execution, since: Sequence[str]) -> bool:
    """The user has said more since than what changes nothing, and not a no again."""
    values = list_words(voided.call)
    telling = [
        text for text in since if not leaves_open(text, "en", values) or classify(text, values=values) == "confirm"
    ]
    return bool(telling) and not (
        is_taken_back(telling[-1], voided.call.tool) or _say_no(telling[-1], voided) == "deny"
    )


def _say_no(text: str, handed: Execution, asked: str = "") -> YesNo:
    return classify(text, values=list_words(handed.call), asked=asked)


def read_words(words: str, asked: Intent, earlier: Sequence[str] = ()) -> YesNo:
    """How words answer a question about a call. What the user said before may be repeated with a yes."""
    wished = find_wished_words(earlier[-_RECENT:], asked.call.tool)
    return classify(words, values=list_words(asked.call), asked=asked.question, wished=wished)
