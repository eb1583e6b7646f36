"""warm_up: an app that nobody has asked anything -> one whose first request is as quick as its next.

Routes, the description of the API and the patterns of all languages are built when they are first needed, a second or
two of computing together. A fresh worker would do that in the middle of somebody's request, with everybody else
waiting; so it does it before it takes any.
"""

from __future__ import annotations

from fastapi import FastAPI

from circumspect.knowledge.asked_question import read_question
from circumspect.language.consent import consent
from circumspect.language.detection import detect
from circumspect.language.registry import LANGUAGES
from circumspect.language.wanted import asks_for_person, find_mentions, leave_out_denied
from circumspect.language.wishes import implies_destruction
from circumspect.policy.grounding.statement_patterns import find_patterns
from circumspect.policy.grounding.untrue import find_untrue

_WORDS = "Please cancel order 12345."
_STRANGE = "dormammu qoqat"
"""In no list of ours, so that the model of languages is read."""


def warm_up(app: FastAPI) -> None:
    nowhere = {"type": "http", "method": "GET", "path": "/", "root_path": "", "headers": [], "query_string": b""}
    for route in app.routes:
        route.matches(nowhere)
    app.openapi()
    _read_languages()


def _read_languages() -> None:
    """Whatever language it is in, a text is held against the words of all."""
    find_mentions(_WORDS)
    leave_out_denied(_WORDS)
    implies_destruction(_WORDS)
    consent(_WORDS)
    detect(_STRANGE, None, "en")
    asks_for_person(_WORDS)
    read_question(_WORDS)
    for language in LANGUAGES:
        find_patterns(language)
    find_untrue("I have cancelled order 12345 at 10:30, and it cost 12.50 euros.", None, ())
