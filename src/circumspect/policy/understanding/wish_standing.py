"""Does the user still want what a tool does? What they said so far and the tool's name -> how their wish stands.

Only words about the tool's own act count, and plain ones that take something back. What may surprise: this errs towards
seeing nothing. What it does see is asked about, so that a question ("how do I change my address?") and a wish that was
taken back ("no wait, forget it") are no orders, whatever the model made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Literal

from circumspect.language.wanted import Mood, WantedAct, find_mentions, is_question, takes_back, talks_of
from circumspect.language.yes_no import classify
from circumspect.policy.understanding.open_wishes import acts_of

WishStanding = Literal["wished", "asked", "taken back", "unknown"]
_NO_ORDER: frozenset[Mood] = frozenset(("asked", "supposed"))
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
    return classify(text, values={tool}) == "deny" or all(one.mood != "wish" for one in find_mentions(text))


def _hear(text: str, acts: Set[WantedAct], tool: str, before: WishStanding) -> WishStanding:
    moods = {one.mood for one in find_mentions(text) if one.act in acts}
    if is_taken_back(text, tool) or ("denied" in moods and "wish" not in moods):
        return "taken back" if moods or before != "unknown" else before
    if "wish" in moods:
        return "wished"
    if moods <= _NO_ORDER and (moods or (is_question(text) and any(talks_of(text, act) for act in acts))):
        return before if before == "wished" else "asked"
    if before == "asked" and not is_question(text):
        return "unknown"  # whoever goes on after a question says more than that
    if before == "taken back" and classify(text, values={tool}) == "confirm":
        return "wished"
    return before
