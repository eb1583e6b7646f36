"""find_false_claim: a reply -> the first sentence in it that is not so, and why; or nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from circumspect.journal import Journal, NoticeEvent
from circumspect.policy.grounding.untrue import UntrueSentence, find_untrue
from circumspect.ports import SceneGuide, Store
from circumspect.reasons import ReasonCode
from circumspect.recall import recall, recall_from_turn
from circumspect.values import Gathered, PastCall, Screened, ToolSpec


async def find_false_claim(
    reply: str,
    gathered: Gathered | None,
    screened: Screened,
    tools: Mapping[str, ToolSpec],
    notes: Journal,
    store: Store,
    guide: SceneGuide | None,
) -> UntrueSentence | None:
    """The store is asked only when what this turn holds does not bear the reply out."""
    scene, intent = screened.incoming.scene, screened.opened.intent
    known = _read_known(gathered, screened)

    def find(ran: Collection[PastCall]) -> Sequence[UntrueSentence]:
        if guide and scene:
            claims = guide.find_unsupported_claims(reply, screened.language, ran, tools, scene)
            return [UntrueSentence(one, "not_done") for one in claims]
        return find_untrue(reply, screened.language, ran, tools, intent.call if intent else None, known)

    if not find(() if scene else recall_from_turn(screened, tools, notes).past_calls):
        return None
    history = await recall(screened, "", None, tools, notes, store)
    claims = find(history.past_calls)
    if claims:
        notes.write(NoticeEvent(claims[0].sentence), ReasonCode.UNSUPPORTED_CLAIM)
    return claims[0] if claims else None


def _read_known(gathered: Gathered | None, screened: Screened) -> str:
    """What a reply may repeat: the conversation, and what was looked up for it."""
    said = [one.content for one in screened.opened.history if one.role == "user"]
    shown = [one.text for one in gathered.blocks if one.key != "correction"] if gathered else []
    return "\n".join((*said, screened.incoming.text, *shown))
