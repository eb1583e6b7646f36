"""Reason about one message as a turn does, without the rest of the turn: `await reasoned("Add patient Jaswanth", …)`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from circumspect.demo.offline import OfflineModel
from circumspect.journal import Journal
from circumspect.models.scripted import Plain, ScriptedModel
from circumspect.values import (
    ConversationId,
    Incoming,
    Language,
    Message,
    ModelRequest,
    Opened,
    Screened,
    TenantId,
    TurnId,
)
from circumspect.web.model_pair import ModelPair
from circumspect.web.page import Element, Page
from circumspect.web.reasoning.reason import reason
from circumspect.web.reasoning.reasoned import Reasoned, Reasoning
from circumspect.web.search.results import Hits, SearchError, WebResult

NOON = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
RESULT = WebResult(
    "Registering patients", "https://docs.example/register", "Choose New patient and fill the form.", 0.9
)
LOGIN = Page(
    "https://demo.example/login",
    "Login",
    (
        Element("f1", "form", "Sign in", method="post"),
        Element("e1", "textbox", "Username", required=True, inside="f1"),
        Element("e2", "textbox", "Password", required=True, type="password", inside="f1"),
        Element("e3", "button", "Login", type="submit", inside="f1"),
    ),
)
NEW_PATIENT = Page(
    "https://demo.example/patients/new",
    "New patient",
    (
        Element("f1", "form", "Add patient", method="post"),
        Element("e1", "textbox", "First name", required=True, inside="f1"),
        Element("e2", "textbox", "Date of birth", required=True, type="date", inside="f1"),
        Element("e3", "textbox", "Phone", required=True, type="tel", inside="f1"),
        Element("e4", "button", "Create patient", type="submit", inside="f1"),
    ),
)
PATIENTS = Page(
    "https://demo.example/patients",
    "Patients",
    (
        Element("e1", "button", "Patient", haspopup="menu"),
        Element("e2", "link", "Billing", href="https://demo.example/b"),
    ),
    "2 patients. The next free slot is Tuesday 09:30.",
)


@dataclass
class Shelf:
    """A search that finds what it is given, in order, and keeps what it was asked."""

    found: Sequence[Sequence[WebResult] | Exception] = ((RESULT,),)
    widened: bool = False
    remote: bool = False
    """Whether what it is asked leaves the house."""
    queries: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)

    async def find(self, query: str, page_url: str = "", allow_widening: bool = True) -> Hits:
        here = self.found[min(len(self.queries), len(self.found) - 1)]
        self.queries.append(query)
        self.urls.append(page_url)
        if isinstance(here, Exception):
            raise here
        return Hits(tuple(here), "demo.example", self.widened and allow_widening, False, query)

    def remember(self, hits: Hits, confidence: float) -> None:
        self.kept.append(confidence)


DOWN = SearchError("The search could not be made.", fix="Wait.")


@dataclass
class Thinking:
    """What was thought, and all that it took."""

    reasoned: Reasoned
    notes: Journal
    smart: ScriptedModel
    fast: ScriptedModel
    shelf: Shelf | None

    @property
    def switched(self) -> list[tuple[str, str]]:
        return [(one.before, one.after) for one in self.reasoned.switches]

    @property
    def codes(self) -> set[str]:
        return {str(code) for code in self.notes.reasons}

    @property
    def asked(self) -> bool:
        return self.reasoned.ends == "asked"


def analysis(source: str = "PAGE", confidence: Any = 0.95, **fields: Any) -> str:
    filled = {
        "reasoning": "Because it is there.",
        "evidence": {"sources": ["page_dom"], "quality": "high", "gaps": []},
        "known": [],
        "missing_info": [],
        "source": source,
        "confidence": confidence,
        "search_query": "how to register a new patient",
        "user_question": "",
        "changes_something": True,
    }
    return json.dumps({**filled, **fields})


def judgement(solved: bool = True, confidence: Any = 0.9, **fields: Any) -> str:
    filled = {
        "solved": solved,
        "confidence": confidence,
        "should_retry": False,
        "refined_query": "",
        "reasoning": "So.",
    }
    return json.dumps({**filled, "should_ask_user": False, **fields})


def complete(can_proceed: bool = True, confidence: Any = 0.9, **fields: Any) -> str:
    filled = {"can_proceed": can_proceed, "confidence": confidence, "missing_information": [], "reasoning": "Thus."}
    return json.dumps({**filled, "user_question": "" if can_proceed else "Which one, please?", **fields})


def missing(*names: str, private: bool = True) -> list[dict[str, str]]:
    kind = "PRIVATE_DATA" if private else "EXTERNAL_KNOWLEDGE"
    return [{"field": name, "type": kind, "description": name.replace("_", " ")} for name in names]


def screened(text: str, history: Sequence[str] = (), language: Language = "en") -> Screened:
    """A leading `?` in the history marks what the assistant said."""
    turn = TurnId("t")
    told = tuple(
        Message(seq, turn, "assistant" if one.startswith("?") else "user", "message", one.removeprefix("?"), NOON)
        for seq, one in enumerate(history)
    )
    incoming = Incoming(TenantId("t"), ConversationId("c"), turn, text, NOON)
    return Screened(incoming, Opened("token", "adaptive", language, told, len(told), None), language, "other")


def by_purpose(**replies: Plain | Sequence[Plain]) -> ScriptedModel:
    """A model that answers each kind of request from its own list; the last answer is given again and again."""
    counts: dict[str, int] = {}

    def answer(request: ModelRequest) -> Plain:
        listed = replies.get(request.purpose, "a summary")
        if isinstance(listed, str | Exception) or not isinstance(listed, Sequence):
            return listed
        at = counts[request.purpose] = counts.get(request.purpose, -1) + 1
        return listed[min(at, len(listed) - 1)]

    return ScriptedModel(answer)


async def reasoned(
    text: str = "Add patient Jaswanth",
    page: Page | None = LOGIN,
    *,
    smart: ScriptedModel | None = None,
    fast: ScriptedModel | None = None,
    fallback: ScriptedModel | None = None,
    shelf: Shelf | None = None,
    no_search: bool = False,
    knowledge: str = "",
    history: Sequence[str] = (),
    settings: Reasoning | None = None,
    language: Language = "en",
    **replies: Plain | Sequence[Plain],
) -> Thinking:
    smart = smart or by_purpose(**replies)
    fast = fast or ScriptedModel(lambda _: "Found how to register patients.", name="fast")
    shelf = None if no_search else shelf or Shelf()
    notes = Journal()
    pair = ModelPair(smart, fast, fallback)
    found = await reason(
        screened(text, history, language), page, knowledge, settings or Reasoning(), notes, pair, shelf
    )
    return Thinking(found, notes, smart, fast, shelf)


async def offline(
    text: str,
    page: Page | None = LOGIN,
    *,
    shelf: Shelf | None = None,
    knowledge: str = "",
    history: Sequence[str] = (),
    language: Language = "en",
) -> Thinking:
    notes, shelf = Journal(), shelf or Shelf()
    model = OfflineModel()
    said = screened(text, history, language)
    found = await reason(said, page, knowledge, Reasoning(), notes, ModelPair(model, model), shelf)
    return Thinking(found, notes, ScriptedModel(), ScriptedModel(), shelf)
