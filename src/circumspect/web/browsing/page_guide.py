"""PageGuide: how a turn deals with a web page on the user's screen. What the core calls a scene is a `Page` here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from circumspect.journal import ClientOutcomeEvent, Journal
from circumspect.reasons import ReasonCode
from circumspect.values import (
    ClientResults,
    Draft,
    Incoming,
    Language,
    PastCall,
    Preparation,
    Reply,
    Scene,
    Screened,
    ToolCall,
    ToolSpec,
)
from circumspect.web.browser.trimming import trim_page
from circumspect.web.browsing.page_actions import resolve_call
from circumspect.web.page import Page
from circumspect.web.page_claims import find_unsupported_on_page
from circumspect.web.reasoning.analysis_cache import AnalysisCache
from circumspect.web.reasoning.case import Models, SiteSearch
from circumspect.web.reasoning.reason import reason
from circumspect.web.reasoning.reasoned import Reasoning

SHOWN_ELEMENTS = 150
"""So many of a page the model sees."""
CHANGING = frozenset(("submit", "type", "select"))
"""What nobody could check is good enough to look around, and no more."""


@dataclass(frozen=True, slots=True)
class PageGuide:
    models: Models
    search: SiteSearch | None
    reasoning: Reasoning
    analyses: AnalysisCache = field(default_factory=AnalysisCache)

    def note_results(self, incoming: Incoming, notes: Journal) -> None:
        errand = incoming.errand
        for one in errand.returned if isinstance(errand, ClientResults) else incoming.returned:
            told = one.result.get("happened", "") if isinstance(one.result, Mapping) else ""
            reasons = (ReasonCode.VERIFICATION_FAILED,) if one.error else ()
            notes.write(ClientOutcomeEvent(str(told), execution=one.execution, verified=one.result), *reasons)

    async def before_draft(self, screened: Screened, knowledge: str, notes: Journal) -> Preparation:
        incoming = screened.incoming
        page = _trim(incoming.scene, incoming.text) if incoming.scene else None
        made = await reason(screened, page, knowledge, self.reasoning, notes, self.models, self.search, self.analyses)
        if made.ends:
            return Preparation(reply=Reply("asked", made.question))
        return Preparation(findings=made.findings, withheld=CHANGING if made.unverified else frozenset())

    def show(self, scene: Scene, words: str) -> str:
        return _trim(scene, words).listing

    def limit(self, drafted: Draft) -> Draft:
        """One action at a time: the page is another one after it. And `done` is no action, it is the answer."""
        if not drafted.calls:
            return drafted
        first = drafted.calls[0]
        if first.tool != "done":
            return replace(drafted, calls=(first,))
        return replace(drafted, reply=str(first.arguments.get("answer") or drafted.reply), calls=(), disagreement=False)

    def resolve(self, call: ToolCall, scene: Scene) -> ToolCall:
        return resolve_call(call, _as_page(scene))

    def find_unsupported_claims(
        self, reply: str, language: Language, ran: Collection[PastCall], tools: Mapping[str, ToolSpec], scene: Scene
    ) -> Sequence[str]:
        found = find_unsupported_on_page(reply, language, ran, tools, shown=scene.listing)
        return [one.sentence for one in found]


def _trim(scene: Scene, words: str) -> Page:
    return trim_page(_as_page(scene), words, SHOWN_ELEMENTS)


def _as_page(scene: Scene) -> Page:
    if not isinstance(scene, Page):
        raise TypeError(f"{type(scene).__name__} is not a page")
    return scene
