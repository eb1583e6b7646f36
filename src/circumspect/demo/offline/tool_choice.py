"""Which tool do these words ask for? An utterance and the tools in, a `Choice` out.

Points for every part of a tool's name that was said, less for parts that were not and for wishes the tool does not
serve. A tool that changes something is chosen only when its verb was said: naming an order is not asking to cancel it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from circumspect.demo.offline.lexicon import Mention, ParsedText, concepts, stem
from circumspect.demo.offline.request_view import OfferedTool

ENOUGH_TO_CHANGE = 3.0
ENOUGH_TO_READ = 2.5
HALF_RIGHT = 2.0
CLEARLY_AHEAD = 0.5
_SAYS_LITTLE = frozenset(("change", "create", "send", "check", "search", "apply"))
"""Verbs that need their object to mean anything."""
_SAID_OTHERWISE = frozenset(("product", "service", "availability", "details", "appointment"))
"""Things people name by what they are ("the blue mug") rather than by the word."""


@dataclass(frozen=True)
class Choice:
    """`tool` is None when nothing fits, or when `among` fit equally well."""

    tool: OfferedTool | None = None
    among: tuple[OfferedTool, ...] = ()
    implied: bool = False
    """The wish was hinted at ("I don't want this order anymore") rather than said."""


def choose(utterance: ParsedText, tools: Sequence[OfferedTool]) -> Choice:
    known = concepts().actions | concepts().things
    said = [mention for mention in utterance.mentions if not mention.negated]
    wishes = [mention for mention in said if mention.concepts & known]
    implied = any("implied" in mention.concepts for mention in said) and not _says_action(utterance.mentions)
    verbs = [tool.action for tool in tools]
    stems = {stem(token.text) for token in utterance.tokens}
    scored = sorted(
        (
            (_score(tool, utterance, wishes, stems, implied, verbs.count(tool.action) == 1), index, tool)
            for index, tool in enumerate(tools)
        ),
        key=lambda entry: (-entry[0], entry[1]),
    )
    fitting = [
        (score, tool) for score, _, tool in scored if score >= (ENOUGH_TO_READ if tool.is_read else ENOUGH_TO_CHANGE)
    ]
    if not fitting:
        # "cancel it", where orders and appointments can be cancelled: several are half right.
        half = tuple(tool for score, _, tool in scored if score >= HALF_RIGHT and not tool.is_read)
        return Choice(among=half if len(half) > 1 else (), implied=implied)
    best = fitting[0][0]
    close = tuple(tool for score, tool in fitting if best - score < CLEARLY_AHEAD)
    return Choice(close[0] if len(close) == 1 else None, close, implied)


def find_wanted_actions(utterance: ParsedText) -> frozenset[str]:
    """Verbs that would change something, as said."""
    changing = concepts().destructive | concepts().write
    found: set[str] = set()
    for mention in utterance.mentions:
        if not mention.negated and not mention.concepts & concepts().things:
            found |= mention.concepts & changing
    return frozenset(found)


def _says_action(wishes: Sequence[Mention]) -> bool:
    changing = concepts().destructive | concepts().write
    return any(mention.concepts & changing for mention in wishes)


def _score(
    tool: OfferedTool, utterance: ParsedText, wishes: Sequence[Mention], stems: set[str], implied: bool, only_one: bool
) -> float:
    known = concepts()
    unused = [*wishes]
    score = 0.0
    verb_is_enough = False

    if tool.action in known.read:
        asked = utterance.asks or utterance.has("have", "check", "search")
        if tool.action == "search" and _take(unused, "search"):
            score += 3
        else:
            score += 1 if asked else 0
    elif tool.action is not None:
        if _take(unused, tool.action):
            score += 3
            verb_is_enough = only_one and tool.action not in _SAYS_LITTLE
        elif implied and tool.action in ("cancel", "delete", "unsubscribe"):
            score += 2 if tool.action == "cancel" else 1
        else:
            return 0.0
    elif tool.is_read and (utterance.asks or utterance.has("check", "status")):
        score += 1

    # "Where is it?": what "it" is was said before.
    points = tool.is_read and utterance.has("pointing") and any(_is_said(unused, thing) for thing in tool.objects)
    for thing in tool.objects:
        if _take(unused, thing):
            score += 2
        elif thing == "stock" and utterance.has("have", "price"):
            score += 1.5
            unused = [mention for mention in unused if "price" not in mention.concepts]
        elif thing not in known.things and thing not in known.actions and thing in stems:
            score += 3 if tool.action is None and thing == tool.objects[0] else 2
        elif not verb_is_enough and not points:
            score -= 0.5 if thing in _SAID_OTHERWISE else 1

    described = tool.about
    for mention in unused:
        said_already = tool.action in mention.concepts or not mention.concepts.isdisjoint(tool.objects)
        beside_it = mention.concepts & (tool.takes | {"date", "time"})
        if said_already or beside_it or mention.concepts <= known.read:
            continue
        if described is not None and described.has(*mention.concepts):
            score += 0.25
        else:
            score -= 0.5 if mention.concepts & known.things else 1.5
    return score


def _is_said(unused: Sequence[Mention], concept: str) -> bool:
    return any(concept in mention.concepts for mention in unused)


def _take(unused: list[Mention], concept: str) -> bool:
    """Is it said? A word is spent on one part of the name only."""
    for mention in unused:
        if concept in mention.concepts:
            unused.remove(mention)
            return True
    return False
