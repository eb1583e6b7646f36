"""find_false_claim: a reply -> the first sentence in it that may not be said, and why; or nothing.

That is one which is not so, or which the user cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from circumspect.journal import Journal, NoticeEvent
from circumspect.language.detection import is_in_another
from circumspect.policy.grounding.answer_sources import find_unsourced
from circumspect.policy.grounding.statements import denies_deed
from circumspect.policy.grounding.untrue import UntrueSentence, find_untrue
from circumspect.ports import SceneGuide, Store
from circumspect.reasons import ReasonCode
from circumspect.recall import recall, recall_from_turn
from circumspect.values import Gathered, PastCall, Screened, ToolCall, ToolSpec

_SOURCE = re.compile(r"source \[(\d+)\]")


async def find_false_claim(
    reply: str,
    gathered: Gathered | None,
    screened: Screened,
    tools: Mapping[str, ToolSpec],
    notes: Journal,
    store: Store,
    guide: SceneGuide | None,
    handed: Collection[ToolCall] = (),
) -> UntrueSentence | None:
    """The store is asked only when what this turn holds does not bear the reply out. `handed` are the calls that go to
    the client with it."""
    scene, intent = screened.incoming.scene, screened.opened.intent
    known = _read_known(gathered, screened)
    if not scene and is_in_another(reply, screened.language, _read_shown(known, gathered, notes)):
        notes.write(NoticeEvent(reply[:200]), ReasonCode.WRONG_LANGUAGE)
        return UntrueSentence(reply[:200], "language")
    pending = (intent.call, *handed) if intent else handed

    def find(ran: Collection[PastCall]) -> Sequence[UntrueSentence]:
        if guide and scene:
            claims = guide.find_unsupported_claims(reply, screened.language, ran, tools, scene)
            return [UntrueSentence(one, "not_done") for one in claims]
        found = find_untrue(reply, screened.language, ran, tools, pending, known, screened.incoming.text)
        return found or [UntrueSentence(one, "source") for one in _find_unsourced(reply, gathered, known, ran)]

    at_hand = () if scene else recall_from_turn(screened, tools, notes).past_calls
    if not find(at_hand) and (scene or not denies_deed(reply, screened.language)):
        return None
    history = await recall(screened, "", None, tools, notes, store)
    claims = find(history.past_calls)
    if claims:
        notes.write(NoticeEvent(claims[0].sentence), ReasonCode.UNSUPPORTED_CLAIM)
    return claims[0] if claims else None


def _find_unsourced(reply: str, gathered: Gathered | None, known: str, ran: Collection[PastCall]) -> Sequence[str]:
    """Sums are held to the texts only where texts were looked up for the answer."""
    if gathered is None:
        return ()
    numbers = [int(hit[1]) for block in gathered.blocks if (hit := _SOURCE.fullmatch(block.key))]
    told = (one.text for one in gathered.messages)
    results = (str(one.result) for one in ran)
    return find_unsourced(reply, numbers, "\n".join((known, *told, *results)) if numbers else None)


def _read_shown(known: str, gathered: Gathered | None, notes: Journal) -> str:
    """What words may be taken from without changing the language: all of the above, and what tools returned."""
    told = (one.text for one in gathered.messages) if gathered else ()
    return "\n".join((known, *told, *(str(one.result) for one in notes.ran)))


def _read_known(gathered: Gathered | None, screened: Screened) -> str:
    """What a reply may repeat: the conversation, and what was looked up for it."""
    said = [one.content for one in screened.opened.history if one.role == "user"]
    shown = [one.text for one in gathered.blocks if one.key != "correction"] if gathered else []
    return "\n".join((*said, screened.incoming.text, *shown))
