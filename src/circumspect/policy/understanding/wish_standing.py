"""Does the user still want what a tool does? What they said so far and the tool's name -> how their wish stands.

`nobody_asked` goes further for what takes something away or pays: no word for it, in any mood, came from the user.

Only words about the tool's own act count, and plain ones that take something back. What may surprise: this errs towards
seeing nothing. What it does see is asked about, so that a question ("how do I change my address?") and a wish that was
taken back ("no wait, forget it") are no orders, whatever the model made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Literal

from circumspect.language.detection import is_in_ours
from circumspect.language.folding import fold
from circumspect.language.wanted import (
    Mood,
    WantedAct,
    find_mentions,
    is_question,
    leave_out_taken_back,
    takes_back,
    talks_of,
)
from circumspect.language.yes_no import classify
from circumspect.policy.grounding.actions import ToolAction, actions_of, is_asked
from circumspect.policy.understanding.open_wishes import acts_of
from circumspect.values import Utterance

WishStanding = Literal["wished", "asked", "taken back", "unknown"]
_NO_ORDER: frozenset[Mood] = frozenset(("asked", "supposed"))
_GRAVE: frozenset[ToolAction] = frozenset(("delete", "pay"))
"""What nobody does for a user who did not speak of it. What else changes something may follow from what they said."""
_LAST = 50
"""So many of the user's last messages are looked at."""


def find_standing(said: Iterable[str], tool: str) -> WishStanding:
    """How the wish for what the tool does stands after all that the user said, oldest first."""
    acts = acts_of(tool)
    standing: WishStanding = "unknown"
    messages = [*said][-_LAST:]
    for text in messages:
        standing = _hear(text, acts, tool, standing)
    if standing == "unknown" and messages and is_taken_back(messages[-1], tool):
        return "taken back"
    return standing


def is_taken_back(text: str, tool: str) -> bool:
    """The message says that something is not wanted any more, and asks for nothing else."""
    if not takes_back(text):
        return False
    rest = leave_out_taken_back(text)
    return classify(text, values={tool}) == "deny" or all(one.mood != "wish" for one in find_mentions(rest))


def nobody_asked(talk: Sequence[Utterance], tool: str) -> bool:
    """The tool takes something away or pays, and no word of the user asks for that or agrees to an offer of it.

    False where it cannot be told: nobody said anything, or not in a language that there are words for.
    """
    if _GRAVE.isdisjoint(actions_of(tool)):
        return False
    said = [one.text for one in talk if one.speaker == "user" and one.text.strip()]
    if not said or not is_in_ours("\n".join(said)):
        return False
    return not any(_speaks_of(text, tool) for text in said) and not _agreed_to_an_offer(talk, tool)


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


def _hear(text: str, acts: Set[WantedAct], tool: str, before: WishStanding) -> WishStanding:
    moods = {one.mood for one in find_mentions(text) if one.act in acts}
    if is_taken_back(text, tool) or ("denied" in moods and "wish" not in moods):
        return "taken back" if moods or before != "unknown" else before
    if "wish" in moods:
        return "wished"
    only_asks = is_question(text) and any(talks_of(text, act) for act in acts)
    if (moods and moods <= _NO_ORDER) or (only_asks and moods <= _NO_ORDER | {"unclear"}):
        return before if before == "wished" else "asked"
    if before == "asked" and not is_question(text):
        return "unknown"  # whoever goes on after a question says more than that
    if before == "taken back" and classify(text, values={tool}) == "confirm":
        return "wished"
    return before
