"""Why a call cannot be replayed, and what would make it replayable: a sentence in, one of a few kinds out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

UnreplayedKind = Literal["gone", "page", "journal", "tools", "differs"]
KINDS: tuple[UnreplayedKind, ...] = get_args(UnreplayedKind)

NO_MESSAGE = "The user's message is not stored."
NO_QUESTION = "What the user said yes to is not stored."
NO_CALL = "A call that ran earlier in the turn is not in the ledger."
ON_A_PAGE = "It was decided about a web page, and the page is not stored."
NO_PROPOSAL = "The journal does not say what the model proposed."
UNREADABLE = "What was decided cannot be read."
TOOLS_CHANGED = ": the tools have changed since."
"""How the sentence ends when a tool is gone or has another schema."""

_KINDS: Mapping[str, UnreplayedKind] = {
    NO_MESSAGE: "gone",
    NO_QUESTION: "gone",
    NO_CALL: "gone",
    ON_A_PAGE: "page",
    NO_PROPOSAL: "journal",
    UNREADABLE: "journal",
}
FIXES: Mapping[UnreplayedKind, str] = {
    "gone": "A part of it is not stored. Keep conversations longer (retention), or look at newer ones only.",
    "page": "Web pages are not kept. Play the task again on the page to see what the policy makes of it.",
    "journal": "Another release wrote it. Use the release that did, or look at newer conversations only.",
    "tools": "Give the definitions that the tools had then (--tools), or look at what was decided since they changed.",
    "differs": "Rules of the application, or other settings, had a say. Ask them again from Python: backtest(rules=…).",
}


def find_kind(problem: str) -> UnreplayedKind:
    if problem.endswith(TOOLS_CHANGED):
        return "tools"
    return _KINDS.get(problem, "differs")
