"""interact: what is on the screen, and perhaps new words of the user -> the next action, an answer, or a question.

    interaction = await interact(setup, Asked(page, query="Add patient Ann Lee"))
    … the client carries interaction.action out …
    interaction = await interact(setup, Asked(page_after, session=interaction.session))

A session is a conversation, an action is a call that is handed to the client. What it did is not the client's to say:
the snapshot before and the one after tell, and the model gets to hear it as the result of its call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from typing_extensions import TypedDict

from circumspect.errors import CircumspectError
from circumspect.journal import RulingEvent, find_events
from circumspect.language import catalogue
from circumspect.pipeline import run_turn
from circumspect.ports import Listener
from circumspect.profiles import BROWSER, keep_choices
from circumspect.reasons import ReasonCode
from circumspect.setup import TurnSetup
from circumspect.values import (
    ChatMessage,
    ClientResult,
    ClientResults,
    ConversationId,
    Execution,
    Incoming,
    JsonObject,
    Language,
    Message,
    PendingJson,
    ToolCall,
    TurnId,
    TurnOutcome,
    TurnResult,
    UsageJson,
    name_principal,
)
from circumspect.web.browser.expectations import expect
from circumspect.web.browser.page_words import asks_something
from circumspect.web.browser.trimming import trim_page
from circumspect.web.browser.verification import verify
from circumspect.web.browsing.page_actions import PageTools, page_tools, with_page_tools
from circumspect.web.browsing.page_guide import PageGuide
from circumspect.web.model_pair import ModelPair
from circumspect.web.page import Expected, Page, Verified
from circumspect.web.page_rules import RULES_FOR_PAGES
from circumspect.web.reasoning.reason import SiteSearch
from circumspect.web.reasoning.reasoned import Reasoning
from circumspect.web.reasoning.reasoning_events import ReasonedEvent
from circumspect.wording import compact

InteractionStatus: TypeAlias = Literal["next_action", "answer", "needs_user_input"]
KEPT_ELEMENTS = 600
"""Of a page, so many are kept: what the rules look at, and what the next snapshot is compared with."""
STEPS_TOLD = 30
"""So many of the last actions the model hears about."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request of whoever has the browser."""

    page: Page
    query: str = ""
    """New words of the user: the task, an answer, a yes. Empty when the last action was carried out."""
    session: str | None = None
    error: str = ""
    """Why the last action could not be carried out at all, in the client's words."""
    key: str | None = None
    person: str | None = None
    claims: JsonObject = field(default_factory=dict)
    language: Language | None = None


class NextActionJson(TypedDict):
    """What the client is to do now: click, submit, type, select, navigate, press, scroll or wait; and what that should
    bring about, said before it is tried."""

    id: str
    action: str
    arguments: Mapping[str, Any]
    expected: Mapping[str, Any]


class InteractionJson(TypedDict):
    """One of an action, an answer and a question; in `verified` what the last action did, by the snapshots before and
    after."""

    session: str
    status: InteractionStatus
    thought: str
    next_action: NextActionJson | None
    answer: str | None
    user_question: str | None
    missing_information: list[str]
    context: Mapping[str, Any]
    verified: Mapping[str, Any] | None
    outcome: TurnOutcome
    turn_id: TurnId
    reason_codes: list[ReasonCode]
    pending: PendingJson | None
    usage: UsageJson


@dataclass(frozen=True, slots=True)
class NextAction:
    """What the client is to do now."""

    id: str
    call: ToolCall
    expected: Expected

    def to_json(self) -> NextActionJson:
        return {
            "id": self.id,
            "action": self.call.tool,
            "arguments": dict(self.call.arguments),
            "expected": self.expected.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Interaction:
    """What came of it: exactly one of an action, an answer, or something that only the user can give."""

    session: str
    status: InteractionStatus
    result: TurnResult
    action: NextAction | None = None
    verified: Verified | None = None
    """What the last action did."""
    reasoned: ReasonedEvent | None = None
    """Where the information came from, where that was thought about in this turn."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of what only the user can give: by what was thought, or by what the form requires."""
        fields = [one.field for one in self.reasoned.missing] if self.reasoned else []
        ruled = find_events(self.result.entries, RulingEvent)
        held = [event.missing for event in ruled if event.missing is not None]
        return (*fields, *(held[-1] if held else ()))

    @property
    def thought(self) -> str:
        """Why, in a sentence."""
        if self.reasoned and self.reasoned.thought:
            return self.reasoned.thought
        codes = self.result.reason_codes
        return catalogue.meaning(codes[0], self.result.language) if codes and not self.action else ""

    def to_json(self) -> InteractionJson:
        asked = self.status == "needs_user_input"
        reasoned = self.reasoned
        turn = self.result.to_json()
        return {
            "session": self.session,
            "status": self.status,
            "thought": self.thought,
            "next_action": self.action.to_json() if self.action else None,
            "answer": self.result.reply if self.status == "answer" else None,
            "user_question": self.result.reply if asked else None,
            "missing_information": list(self.missing) if asked else [],
            "context": {
                "search_performed": bool(reasoned and reasoned.hops),
                "search_summary": reasoned.summary if reasoned else "",
                "reasoning": reasoned.thought if reasoned else "",
                "source": reasoned.source if reasoned else "",
                "confidence": reasoned.confidence if reasoned else None,
            },
            "verified": self.verified.to_json() if self.verified else None,
            "outcome": turn["outcome"],
            "turn_id": turn["turn_id"],
            "reason_codes": turn["reason_codes"],
            "pending": turn["pending"],
            "usage": turn["usage"],
        }


def setup_for_pages(
    setup: TurnSetup,
    *,
    models: ModelPair | None = None,
    search: SiteSearch | None = None,
    reasoning: Reasoning | None = None,
) -> TurnSetup:
    """The same tenant, acting on web pages: its own tools stay at home, its policy holds. Without `models` the
    tenant's own does the thinking and the rest; without `search` nothing outside is looked up."""
    pair = models or ModelPair(setup.ports.model, setup.ports.model)
    browser = keep_choices(BROWSER, setup.profiles["standard"])
    return replace(
        setup,
        tenant=replace(setup.tenant, tools=None),
        policy=with_page_tools(setup.policy),
        profiles={"standard": browser, "adaptive": browser},
        ports=replace(setup.ports, tools=PageTools(), model=pair.doing),
        rules=RULES_FOR_PAGES,
        understanding=None,
        guide=PageGuide(pair, search, reasoning or Reasoning()),
    )


@dataclass(frozen=True, slots=True)
class PageTurn:
    """A request as a turn: what will be run, and what is known already about the last action."""

    incoming: Incoming
    page: Page
    verified: Verified | None


async def interact(setup: TurnSetup, asked: PageRequest, listener: Listener | None = None) -> Interaction:
    """`setup` is one of `setup_for_pages`."""
    arrived = await prepare_turn(setup, asked)
    return make_interaction(arrived, await run_turn(arrived.incoming, setup, listener))


async def prepare_turn(setup: TurnSetup, asked: PageRequest) -> PageTurn:
    ports, tenant = setup.ports, setup.tenant.id
    page = trim_page(asked.page, asked.query, KEPT_ELEMENTS)
    conversation = ConversationId(asked.session or ports.ids.new("page"))
    ran: Sequence[Execution] = ()
    said: Sequence[Message] = ()
    if asked.session:
        ran = [one for one in await ports.store.executions(tenant, conversation) if one.call.tool in page_tools()]
        said = await ports.store.messages(tenant, conversation, limit=200)
    open_one = ran[-1] if ran and ran[-1].state == "delegated" else None
    if not asked.query.strip() and open_one is None:
        raise NothingToDo(
            "There is neither a task nor an action that waits for its outcome.",
            fix="Send `query` with the user's words.",
        )
    verified = _verify_action(open_one, page, asked.error) if open_one else None
    returned: tuple[ClientResult, ...] = ()
    if open_one and verified:
        failed = "" if verified.success else verified.error or verified.happened
        returned = (ClientResult(open_one.id, verified.to_json(), failed),)
        ran = [*ran[:-1], replace(open_one, state="failed" if failed else "succeeded", result=returned[0].result)]
    incoming = Incoming(
        tenant=tenant,
        conversation=conversation,
        turn=TurnId(ports.ids.new("turn")),
        text=asked.query,
        at=ports.clock.now(),
        key=asked.key,
        principal=name_principal(asked.person),
        person=asked.person,
        claims=asked.claims,
        language=asked.language,
        errand=None if asked.query.strip() else ClientResults(returned),
        returned=returned,
        talk=_talk(said, ran, asked.query),
        scene=page,
        findings=_findings(open_one),
    )
    return PageTurn(incoming, page, verified)


class NothingToDo(CircumspectError):
    code = "nothing_to_do"


def make_interaction(arrived: PageTurn, result: TurnResult) -> Interaction:
    told = next(find_events(reversed(result.entries), ReasonedEvent), None)
    if result.calls:
        call = result.calls[0]
        action = NextAction(call.id, call, expect(call, arrived.page))
        return Interaction(result.conversation, "next_action", result, action, arrived.verified, told)
    answers = result.outcome == "answered" and not asks_something(result.reply)
    status: Literal["answer", "needs_user_input"] = "answer" if answers else "needs_user_input"
    return Interaction(result.conversation, status, result, None, arrived.verified, told)


def _verify_action(open_one: Execution, after: Page, error: str) -> Verified:
    before = _before(open_one)
    expected = expect(open_one.call, before)
    if error:
        return Verified(False, 1.0, expected.why, f"It could not be carried out: {error}", error=error)
    return verify(expected, before, after)


def _before(open_one: Execution) -> Page:
    kept = open_one.result.get("before") if isinstance(open_one.result, Mapping) else None
    return Page.from_json(kept) if isinstance(kept, Mapping) else Page("")


def _findings(open_one: Execution | None) -> str:
    kept = open_one.result.get("findings") if open_one and isinstance(open_one.result, Mapping) else ""
    return str(kept or "")


def _talk(said: Sequence[Message], ran: Sequence[Execution], query: str) -> tuple[ChatMessage, ...]:
    """The task so far as the model hears it: the user's words, each action with what it did, our questions."""
    talk: list[tuple[float, tuple[ChatMessage, ...]]] = []
    for message in said:
        if message.role != "internal" and message.content:
            role: Literal["user", "assistant"] = "user" if message.role == "user" else "assistant"
            talk.append((message.at.timestamp(), (ChatMessage(role, message.content),)))
    for one in ran[-STEPS_TOLD:]:
        call = replace(one.call, id=one.id)
        told = ChatMessage("tool", compact(one.result), call_id=one.id, tool=one.call.tool)
        talk.append((one.started_at.timestamp(), (ChatMessage("assistant", "", calls=(call,)), told)))
    talk.sort(key=lambda item: item[0])
    newest = (ChatMessage("user", query),) if query.strip() else ()
    return (*(part for _, parts in talk for part in parts), *newest)
