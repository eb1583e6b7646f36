"""find_false_claim: a reply -> the sentence in it that claims what nothing in the conversation did, or nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from circumspect.journal import Journal, NoticeEvent
from circumspect.policy.grounding.claims import find_unsupported_claims
from circumspect.ports import SceneGuide, Store
from circumspect.reasons import ReasonCode
from circumspect.recall import recall, recall_from_turn
from circumspect.values import PastCall, Screened, ToolSpec


async def find_false_claim(
    reply: str,
    screened: Screened,
    tools: Mapping[str, ToolSpec],
    notes: Journal,
    store: Store,
    guide: SceneGuide | None,
) -> str:
    """The store is asked only when what this turn holds does not bear the reply out."""
    scene = screened.incoming.scene

    def find(ran: Collection[PastCall]) -> Sequence[str]:
        if guide and scene:
            return guide.find_unsupported_claims(reply, screened.language, ran, tools, scene)
        return [one.sentence for one in find_unsupported_claims(reply, screened.language, ran, tools)]

    if not find(() if scene else recall_from_turn(screened, tools, notes).past_calls):
        return ""
    history = await recall(screened, "", None, tools, notes, store)
    claims = find(history.past_calls)
    if claims:
        notes.write(NoticeEvent(claims[0]), ReasonCode.UNSUPPORTED_CLAIM)
    return claims[0] if claims else ""
