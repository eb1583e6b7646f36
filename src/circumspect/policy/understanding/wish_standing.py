"""Does the user still want what a tool does? What was said so far and the tool's name -> how their wish stands.

Only words about the tool's own act count, and plain ones that take something back; what the assistant had said last
tells what a plain no was said to. `nobody_asked` goes further for what takes something away or pays: no word for it, in
any mood, came from the user.

What may surprise: this errs towards seeing nothing. What it does see is asked about, so that a question ("how do I
change my address?") and a wish that was taken back ("no wait, forget it") are no orders, whatever the model made of
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from typing import Literal

from circumspect.language.consent import agrees_now, asks, asks_to_confirm, consent, hesitates
from circumspect.language.detection import is_in_ours
from circumspect.language.doubts import asks_which
from circumspect.language.folding import fold
from circumspect.language.sentences import split_sentences
from circumspect.language.wanted import (
    ACTS,
    Mood,
    find_mentions,
    find_moods,
    find_words_after_taking_back,
    is_question,
    leave_out_reports,
    leave_out_taken_back,
    takes_back,
    talks_of,
)
from circumspect.language.yes_no import classify
from circumspect.policy.grounding.actions import ToolAction, actions_of, is_asked, words_of
from circumspect.policy.understanding.open_wishes import acts_of
from circumspect.values import ToolCall, Utterance

WishStanding = Literal["wished", "asked", "taken back", "unknown"]
_NO_ORDER: frozenset[Mood] = frozenset(("asked", "supposed"))
_GRAVE: frozenset[ToolAction] = frozenset(("delete", "pay"))
"""What nobody does for a user who did not speak of it. What else changes something may follow from what they said."""
_BARE = 10
"""A question of no more words asks about what was spoken of before: "Are you quite sure?"."""
_GIVEN = re.compile(r"\d{3}|\w@\w")
"""An answer that gives a value may be one to another question of the same message."""
_PART = re.compile(r"\d+|[^\W\d_]{4,}")
_LAST = 50
"""So many of the user's last messages are looked at."""


def find_standing(talk: Iterable[Utterance], tool: str) -> WishStanding:
    """How the wish for what the tool does stands after all that was said, oldest first."""
    hearing = _Hearing(tool)
    standing: WishStanding = "unknown"
    offered = last = ""
    for one in [*talk][-_LAST:]:
        if one.speaker == "assistant":
            offered = one.text
        else:
            standing = hearing.hear(one.text, offered, standing)
            last = one.text
    return "taken back" if standing == "unknown" and is_taken_back(last, tool) else standing


def is_taken_back(text: str, tool: str) -> bool:
    """The message says that something is not wanted any more, and asks for nothing else after that."""
    if not takes_back(text):
        return False
    if classify(text, values={tool}) == "deny":
        return True
    after = find_words_after_taking_back(text)
    return not _wishes(leave_out_taken_back(text), tool) or (after is not None and not _wishes(after, tool))


def _wishes(text: str, tool: str) -> bool:
    """The words ask for something."""
    if any(one.mood == "wish" for one in find_mentions(text)):
        return True
    return any("wish" in find_moods(text, action) for action in _GRAVE & actions_of(tool))


def is_grave(tool: str) -> bool:
    """The tool takes something away or pays, as far as its name tells."""
    return not _GRAVE.isdisjoint(actions_of(tool))


def nobody_asked(talk: Sequence[Utterance], tool: str) -> bool:
    """The tool takes something away or pays, and no word of the user asks for that or agrees to an offer of it.

    False where it cannot be told: nobody said anything, or not in a language that there are words for.
    """
    if not is_grave(tool):
        return False
    said = [one.text for one in talk if one.speaker == "user" and one.text.strip()]
    told = [leave_out_reports(text) for text in said]
    # Words that report a deed are words of ours, however few they are.
    if not said or not (told != said or is_in_ours("\n".join(said))):
        return False
    return not any(_speaks_of(text, tool) for text in told) and not _agreed_to_an_offer(talk, tool)


def _speaks_of(text: str, tool: str) -> bool:
    acts = acts_of(tool)
    return is_asked(tool, fold(text)) or any(talks_of(text, act) for act in acts)


def _agreed_to_an_offer(talk: Sequence[Utterance], tool: str) -> bool:
    offered = ""
    for one in talk:
        if one.speaker == "assistant":
            offered = one.text
        elif offered and _speaks_of(offered, tool) and classify(one.text, values={tool}, asked=offered) == "confirm":
            return True
    return False


def is_refused(talk: Sequence[Utterance], call: ToolCall) -> bool:
    """Asked whether to make this very call, the user did not say yes, and has not asked for it since.

    This needs no word for what the tool does: a question is about the call where one of its values stands in it, or the
    verb of the tool's name. A no is none, and neither is "let me think" or "how much is it?".
    """
    refused, offered = False, ""
    for one in talk[-_LAST:]:
        if one.speaker == "assistant":
            offered = one.text
            continue
        agreed = agrees_now(one.text) or classify(one.text, values={call.tool}) == "confirm"
        if offered and any(_asks_about(call, sentence) for sentence in split_sentences(offered)):
            refused = not agreed and not _answers_otherwise(call, offered, one.text)
        elif refused and (agreed or _names(call, one.text)):
            refused = False
        offered = ""
    return refused


def _answers_otherwise(call: ToolCall, question: str, text: str) -> bool:
    """They did not say yes, and did say what it should be: "to the 6th", where the call says so and the question did
    not, or what is in the call once more."""
    if is_question(text) or hesitates(text) or classify(text, values={call.tool}) == "deny":
        return False
    new = (_list_parts(" ".join(map(str, call.arguments.values()))) - _list_parts(question)) & _list_parts(text)
    return bool(new or _GIVEN.search(text)) or _names(call, text)


def _list_parts(text: str) -> set[str]:
    """Numbers, and words that are more than small ones."""
    return {one.lstrip("0") for one in _PART.findall(fold(text))}


def _asks_about(call: ToolCall, question: str) -> bool:
    """ "Shall I move booking B-77 to March 5?", or "Shall I?" alone. Not what else there is to do for B-77."""
    named = _names(call, question)
    if asks_to_confirm(question):
        return named or len(question.split()) <= _BARE // 2
    return named and question.endswith("?") and not asks_which(question, within=4) and _speaks_of(question, call.tool)


def _names(call: ToolCall, text: str) -> bool:
    """A value of the call stands in the words, or the verb of its tool's name."""
    low = fold(text)
    words = [fold(str(one)) for one in call.arguments.values() if isinstance(one, str | int)]
    verb = next(iter(words_of(call.tool)), "")
    return any(len(one) > 1 and one in low for one in words) or (len(verb) > 2 and verb in low.split())


class _Hearing:
    """The words of a user, message by message, for one tool."""

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._acts = acts_of(tool)
        self._grave = sorted(_GRAVE & actions_of(tool))

    def hear(self, text: str, offered: str, before: WishStanding) -> WishStanding:
        """`offered` is what the assistant had said last."""
        moods = self._find_moods(text)
        if self._is_refused(text, offered) or is_taken_back(text, self._tool):
            return "taken back" if moods or before != "unknown" else before
        if "denied" in moods and "wish" not in moods:
            return "taken back"
        if "wish" in moods:
            return "wished"
        if before == "wished" and self._is_left_open(text, offered):
            return "taken back"
        only_asks = is_question(text) and self._is_talked_of(text)
        if (moods and moods <= _NO_ORDER) or (only_asks and moods <= _NO_ORDER | {"unclear"}):
            return before if before == "wished" else "asked"
        if before == "asked" and not is_question(text):
            return "unknown"  # whoever goes on after a question says more than that
        if before == "taken back" and self._is_agreed(text, offered):
            return "wished"
        return before

    def _find_moods(self, text: str) -> Set[Mood]:
        moods = {one.mood for one in find_mentions(text) if one.act in self._acts}
        if moods or not self._grave:
            return moods
        moods = {mood for action in self._grave for mood in find_moods(text, action)}
        told = leave_out_reports(text) if "wish" in moods else text
        if told != text and not any("wish" in find_moods(told, action) for action in self._grave):
            moods.discard("wish")  # "Bob deleted it, can you believe that?"
        return moods

    def _is_talked_of(self, text: str) -> bool:
        if any(talks_of(text, act) for act in self._acts):
            return True
        return any(find_moods(text, action) for action in self._grave)

    def _is_agreed(self, text: str, offered: str) -> bool:
        """To what was taken back: a yes to a question about something else is none."""
        if offered and asks(offered) and not _speaks_of(offered, self._tool):
            return False
        return classify(text, values={self._tool}) == "confirm" or (asks_to_confirm(offered) and consent(text) == "yes")

    def _is_left_open(self, text: str, offered: str) -> bool:
        """Asked whether to go ahead, they said something else than a plain yes: "let me think"."""
        if not offered or agrees_now(text) or not any(map(self._is_put, split_sentences(offered))):
            return False
        return consent(text) == "no" or hesitates(text) or not _GIVEN.search(text)

    def _is_put(self, question: str) -> bool:
        """The sentence asks whether to do it: "Cancel it now?" And not which one, or whether to do something else."""
        if asks_which(question, within=4):
            return False
        speaks = _speaks_of(question, self._tool)
        if asks_to_confirm(question):
            others = (act for act in ACTS if act not in self._acts)
            return speaks or (len(question.split()) <= _BARE and not any(talks_of(question, act) for act in others))
        return question.endswith("?") and speaks and _speaks_of(" ".join(question.split()[:4]), self._tool)

    def _is_refused(self, text: str, offered: str) -> bool:
        """A no, said to a question about the call or to nothing else that was asked."""
        if not offered or classify(text, values={self._tool}) != "deny":
            return False
        return not asks(offered) or asks_to_confirm(offered) or _speaks_of(offered, self._tool)
