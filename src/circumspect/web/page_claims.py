"""What a reply says was done on a web page, against the actions that were carried out and what the page says."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from circumspect.language.folding import fold
from circumspect.policy.grounding.claims import ActionClaim, find_unsupported_claims, is_own_deed, page_claims_in
from circumspect.values import Language, PastCall, ToolSpec

_FILLING = frozenset(("type", "select", "click", "press", "submit"))


def find_unsupported_on_page(
    reply: str,
    language: Language | None,
    ran: Collection[PastCall],
    specs: Mapping[str, ToolSpec] | None = None,
    *,
    shown: str = "",
) -> tuple[ActionClaim, ...]:
    """The claims in a reply that no action on the page backs. Only what was sent off changes anything: opening and
    filling in does not. To have signed in or filled in is a claim here, too, unless it is what the page says (`shown`)
    of others."""
    sent = [one for one in ran if one.call.tool == "submit"]
    did = {"submit": any(one.ok for one in sent), "type": any(one.ok and one.call.tool in _FILLING for one in ran)}
    more = [claim for claim in page_claims_in(reply) if not did[claim.action]]
    read = fold(shown) if more else ""
    more = [claim for claim in more if is_own_deed(claim) or claim.verb[:6] not in read]
    return (*find_unsupported_claims(reply, language, sent, specs), *more)
