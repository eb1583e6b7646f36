"""Hear one message as a turn does, without the rest of the turn: `await heard("What's your pricing?")`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from circumspect.demo.offline import OfflineModel
from circumspect.errors import StoreError
from circumspect.guardian import Guardian, RuleGuardian
from circumspect.journal import Journal
from circumspect.knowledge.tree import TextSpan
from circumspect.language.yes_no import classify
from circumspect.models.scripted import ScriptedModel
from circumspect.policy.understanding.understood import SERVICE, RetrievalResult, Understanding, Understood
from circumspect.steps.retrieve import retrieve
from circumspect.steps.understand import understand
from circumspect.values import (
    Business,
    ConversationId,
    Execution,
    Incoming,
    Language,
    Message,
    Opened,
    Screened,
    TenantId,
    ToolSpec,
    TurnId,
)

NOON = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
BUSINESS = Business("Harbour CRM", "Software for small sales teams: leads, calendar, e-mail.")
TEXT: Mapping[str, Any] = {"type": "string"}


def tool(name: str, description: str, effect: str, **properties: Any) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolSpec(name, description, schema, effect)  # type: ignore[arg-type]


TOOLS = {
    spec.name: spec
    for spec in (
        tool("find_lead", "Look a lead up by e-mail address.", "read", email=TEXT),
        tool("update_lead", "Change what the CRM knows about a lead: name, company, status.", "write", email=TEXT),
        tool("find_free_times", "Free times for a meeting.", "read", date=TEXT),
        tool("book_meeting", "Book a meeting in the calendar.", "write", date=TEXT, time=TEXT, email=TEXT),
        tool("send_email", "Send an e-mail.", "write", to=TEXT, subject=TEXT, body=TEXT),
    )
}


def form(**fields: Any) -> str:
    """A form as a model fills it in: clear, harmless, to be looked up, unless said otherwise."""
    filled = {
        "spam_score": 0.1,
        "spam_reason": "It is about the business.",
        "user_intent": "The customer wants to know something.",
        "topic": "a question",
        "category": "question",
        "context": "",
        "subqueries": ["something"],
        "action_plan": ["Look it up.", "Answer."],
        "intent_confidence": 0.9,
        "uncertainties": [],
        "action": "normal",
        "clarification_question": "",
        "decision": "RETRIEVE",
        "decision_reason": "A fact is asked for.",
        "decision_confidence": 0.9,
        "tools_needed": [],
        "retrieval_needed": True,
    }
    return json.dumps(filled | fields, ensure_ascii=False)


def says(role: str, text: str, seq: int = 0) -> Message:
    return Message(seq, TurnId("t0"), role, "message", text, NOON)  # type: ignore[arg-type]


def screened(
    text: str, language: Language = "en", history: Sequence[Message] = (), person: str | None = None
) -> Screened:
    incoming = Incoming(TenantId("t"), ConversationId("c"), TurnId("t1"), text, NOON, person=person)
    opened = Opened("token", "adaptive", language, tuple(history), len(history), None)
    return Screened(incoming, opened, language, classify(text))


@dataclass
class Hearing:
    understood: Understood
    notes: Journal
    model: Any
    found: RetrievalResult | None = None

    @property
    def action(self) -> str:
        return self.understood.routed.action

    @property
    def way(self) -> str:
        return self.understood.decision.way if self.understood.decision else "-"

    @property
    def reasons(self) -> set[str]:
        return {str(code) for code in self.notes.reasons}


async def heard(
    text: str,
    language: Language = "en",
    *,
    replies: Any = None,
    settings: Understanding = SERVICE,
    history: Sequence[Message] = (),
    guardian: Guardian | None = RuleGuardian(),  # noqa: B008
    known: Mapping[str, str] | None = None,
    business: Business = BUSINESS,
    tools: Mapping[str, ToolSpec] = TOOLS,
    searches: Sequence[Any] | None = None,
    executions: Sequence[Execution] = (),
    speaks: bool = False,
) -> Hearing:
    """By the offline model, or a scripted one that says `replies`; with `searches`, looked up too."""
    notes, model = Journal(), OfflineModel() if replies is None else ScriptedModel(replies)
    message = screened(text, language, history)
    known = known or {}

    async def recognised() -> Mapping[str, str]:
        return known

    async def speaks_of_it() -> bool:
        return speaks

    understood = await understand(
        message, business, tools, recognised, settings, notes, model, guardian, speaks=speaks_of_it
    )
    hearing = Hearing(understood, notes, model)
    if searches is not None and understood.ends is None:
        hearing.found = await retrieve(understood, business, tools, known, executions, settings, notes, searches)
    return hearing


@dataclass(frozen=True)
class Page:
    """A passage as the library gives it."""

    text: str
    score: float = 0.4
    document: str = "prices.md"
    title: str = "Prices"
    section: str = "1"
    path: tuple[str, ...] = ("Price list",)
    page: int | None = None
    span: TextSpan = field(default_factory=lambda: TextSpan(0, 10))

    def at(self, score: float) -> Page:
        return replace(self, score=score)


@dataclass
class Shelf:
    """A search over given passages, or one that is out of order. It keeps what it was asked."""

    pages: Sequence[Page] = ()
    broken: bool = False
    asked: list[str] = field(default_factory=list)

    async def search(self, tenant: str, query: str, limit: int = 5, language: str | None = None) -> Sequence[Page]:
        self.asked.append(query)
        if self.broken:
            raise StoreError("The database is locked.", fix="Try again.")
        return self.pages[:limit]
