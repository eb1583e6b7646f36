"""find_false_claim: a reply -> the first sentence in it that may not be said, and why; or nothing.

That is one which is not so, or which the user cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from circumspect.aside import compute_aside
from circumspect.journal import Journal, NoticeEvent
from circumspect.knowledge.answer_support import AtHand, find_unsupported, lacks_code, list_cited
from circumspect.knowledge.business_texts import asks_opening, list_opening_words
from circumspect.language.detection import is_in_another
from circumspect.language.doubts import admits_doubt, says_not_known
from circumspect.policy.grounding.answer_sources import find_unsourced
from circumspect.policy.grounding.statements import denies_deed, read_statements
from circumspect.policy.grounding.untrue import UntrueSentence, find_untrue
from circumspect.policy.understanding.understood import RetrievalResult
from circumspect.ports import SceneGuide, Store
from circumspect.reasons import ReasonCode
from circumspect.recall import recall, recall_from_turn
from circumspect.values import Gathered, PastCall, Screened, ToolCall, ToolSpec

_SOURCE = re.compile(r"source \[(\d+)\]")
_HOURS = re.compile(r"^Hours: \S", re.MULTILINE)
"""As the block about the business names them."""
_NO_GROUND = frozenset(("correction", "tools", "context", "sources", "wishes"))
"""Blocks that tell the model what to do and not what is so."""


async def find_false_claim(
    reply: str,
    gathered: Gathered | None,
    screened: Screened,
    tools: Mapping[str, ToolSpec],
    notes: Journal,
    store: Store,
    guide: SceneGuide | None,
    handed: Collection[ToolCall] = (),
    found: RetrievalResult | None = None,
    *,
    is_data: bool = False,
) -> UntrueSentence | None:
    """The store is asked only when what this turn holds does not bear the reply out. `handed` are the calls that go to
    the client with it; `found` is what the answer was looked up in, where it is held to that. Data have no language."""
    scene, intent = screened.incoming.scene, screened.opened.intent
    found = found if found and _is_held_to(found, reply, screened) else None
    known = _read_known(gathered, screened)
    shown = _read_shown(known, gathered, notes)
    if not (scene or is_data) and await compute_aside(len(shown), is_in_another, reply, screened.language, shown):
        notes.write(NoticeEvent(reply[:200]), ReasonCode.WRONG_LANGUAGE)
        return UntrueSentence(reply[:200], "language")
    pending = (intent.call, *handed) if intent else handed

    def find(ran: Collection[PastCall]) -> Sequence[UntrueSentence]:
        if guide and scene:
            claims = guide.find_unsupported_claims(reply, screened.language, ran, tools, scene)
            return [UntrueSentence(one, "not_done") for one in claims]
        unsourced = _find_unsourced(reply, gathered, known, ran)
        if found and gathered and not handed:
            unsourced = _find_unfounded(reply, gathered, screened, ran, notes, found)
        without_source = [UntrueSentence(one, "source") for one in unsourced]
        if without_source and found and not found.saved:
            return without_source
        untrue = find_untrue(reply, screened.language, ran, tools, pending, known, screened.incoming.text)
        return untrue or without_source

    at_hand = () if scene else recall_from_turn(screened, tools, notes).past_calls
    letters = len(shown) + len(reply)
    if not await compute_aside(letters, find, at_hand) and (scene or not denies_deed(reply, screened.language)):
        return None
    history = await recall(screened, "", None, tools, notes, store)
    claims = await compute_aside(letters, find, history.past_calls)
    if claims:
        notes.write(NoticeEvent(claims[0].sentence), ReasonCode.UNSUPPORTED_CLAIM)
    return claims[0] if claims else None


def _is_held_to(found: RetrievalResult, reply: str, screened: Screened) -> bool:
    """Where it was decided to look it up, every answer is. Otherwise (`guided`) one that names a source, and one to a
    question about a code: the passage next to it is about another."""
    if found.confidence is not None or list_cited(reply):
        return True
    return lacks_code(screened.incoming.text, (one.text for one in found.sources))


def _find_unsourced(reply: str, gathered: Gathered | None, known: str, ran: Collection[PastCall]) -> Sequence[str]:
    """Sums are held to the texts only where texts were looked up for the answer."""
    if gathered is None:
        return ()
    numbers = [int(hit[1]) for block in gathered.blocks if (hit := _SOURCE.fullmatch(block.key))]
    told = (one.text for one in gathered.messages)
    results = (str(one.result) for one in ran)
    return find_unsourced(reply, numbers, "\n".join((known, *told, *results)) if numbers else None)


def _find_unfounded(
    reply: str,
    gathered: Gathered,
    screened: Screened,
    ran: Collection[PastCall],
    notes: Journal,
    found: RetrievalResult,
) -> Sequence[str]:
    """What neither the passages nor anything else that code knows bears out. Notes that the model made for itself are
    no ground, and what a tool did not return is not made up for: such an answer has to say so."""
    failed = {one.call.tool for one in notes.ran if one.state == "failed" and one.effect == "read"}
    failed -= {one.call.tool for one in notes.ran if one.state == "succeeded"}
    if failed and not (admits_doubt(reply) or _says_what_failed(reply, screened)):
        return (reply[:200],)
    spoken = [one for one in screened.opened.history if one.role != "internal"]
    blocks = [one.text for one in gathered.blocks if one.key not in _NO_GROUND and not _SOURCE.fullmatch(one.key)]
    answered = [one.content for one in spoken if one.role == "assistant"]
    results = [str(one.result) for one in ran if one.ok]
    # Hours are asked for in words that "Monday to Friday 8:00–18:00" has not.
    of_hours = any(map(_HOURS.search, blocks)) and asks_opening(screened.incoming.text)
    opening = list_opening_words(screened.language) if of_hours else ""
    return find_unsupported(
        reply,
        AtHand(
            {one.number: "\n\n".join((one.title, *one.path, one.text)) for one in found.sources},
            known="\n".join((*blocks, *answered, *results, opening)),
            said="\n".join(one.content for one in spoken if one.role == "user"),
            asked=screened.incoming.text,
            meant="\n".join(found.queries),
            looked_up=not found.saved
            and not says_not_known(reply)
            and all(one.state != "succeeded" for one in notes.ran),
        ),
    )


def _says_what_failed(reply: str, screened: Screened) -> bool:
    return any(one.kind in ("not_done", "bad_news", "negated") for one in read_statements(reply, screened.language))


def _read_shown(known: str, gathered: Gathered | None, notes: Journal) -> str:
    """What words may be taken from without changing the language: all of the above, and what tools returned."""
    told = (one.text for one in gathered.messages) if gathered else ()
    return "\n".join((known, *told, *(str(one.result) for one in notes.ran)))


def _read_known(gathered: Gathered | None, screened: Screened) -> str:
    """What a reply may repeat: the conversation, and what was looked up for it."""
    said = [one.content for one in screened.opened.history if one.role == "user"]
    shown = [one.text for one in gathered.blocks if one.key != "correction"] if gathered else []
    return "\n".join((*said, screened.incoming.text, *shown))
