"""Small pages for tests, and a model that thinks as it is told and then proposes what the test wants."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from circumspect import Agent
from circumspect.models import ScriptedModel, says
from circumspect.setup import TurnSetup
from circumspect.values import ModelRequest
from circumspect.web.browsing import Interaction, PageRequest, interact, setup_for_pages
from circumspect.web.page import Element, Page

URL = "http://clinic.example/dashboard"
PATIENT = Element("p", "button", "Patient", haspopup="menu", expanded=False)
VISITS = Element("v", "button", "Visits")
MENU = Element("m", "menu", "Patient")
NEW = Element("m1", "menuitem", "New/Search", inside="m")
DASHBOARD = Page(URL, "Dashboard", (PATIENT, VISITS))
OPENED = Page(URL, "Dashboard", (replace(PATIENT, expanded=True), MENU, NEW, VISITS))

FORM = Element("f", "form", "New patient", method="post")
FIRST = Element("first", "textbox", "First name", required=True, form="f", inside="f", type="text")
BIRTH = Element("birth", "textbox", "Date of birth", required=True, form="f", inside="f", type="text")
SAVE = Element("save", "button", "Create patient", type="submit", form="f", inside="f")
NEW_PATIENT = Page("http://clinic.example/patients/new", "New patient", (FORM, FIRST, BIRTH, SAVE))

KNOWN = {
    "source": "MEMORY",
    "confidence": 0.95,
    "reasoning": "The user said it all.",
    "known": [],
    "missing_info": [],
    "search_query": "",
    "evidence": {"sources": ["chat_history"], "quality": "high", "gaps": []},
}
COMPLETE = {
    "can_proceed": True,
    "confidence": 0.95,
    "missing_information": [],
    "user_question": "",
    "reasoning": "All there.",
    "evidence": {"sources": [], "quality": "high", "gaps": []},
}
PROCEED = '<critique>\n{"decision": "PROCEED", "reasoning": "fine", "message": ""}\n</critique>'


def filled(page: Page, **values: str) -> Page:
    """The page with these fields filled in, by id."""
    elements = tuple(replace(one, value=values.get(one.id, one.value)) for one in page.elements)
    return replace(page, elements=elements)


def thinks(drafts: list[str], **analysis: Any) -> Callable[[ModelRequest], str]:
    """A model that knows everything, waves every critique through, and drafts these, one after the other."""
    left: Iterator[str] = iter(drafts)

    def answer(request: ModelRequest) -> str:
        match request.purpose:
            case "analyse":
                return json.dumps({**KNOWN, **analysis})
            case "verify":
                return json.dumps(COMPLETE)
            case "critique":
                return PROCEED
            case "draft":
                return next(left)
        return "fine"

    return answer


def does(tool: str, confidence: int = 9, **params: Any) -> str:
    return says("", tool=tool, params=params, confidence=confidence)


@asynccontextmanager
async def browsing(folder: Path, *drafts: str, **analysis: Any) -> AsyncIterator[tuple[TurnSetup, ScriptedModel]]:
    model = ScriptedModel(thinks(list(drafts), **analysis))
    async with Agent("clinic", database=f"sqlite:///{folder}/pages.db", model=model) as agent:
        yield setup_for_pages(await agent.open()), model


async def step(
    setup: TurnSetup, page: Page, query: str = "", session: str | None = None, error: str = ""
) -> Interaction:
    return await interact(setup, PageRequest(page, query=query, session=session, error=error))
