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
from circumspect.models.opening import OFFLINE
from circumspect.normal_forms import normalise
from circumspect.policy.grounding.statement_patterns import find_patterns
from circumspect.policy.grounding.untrue import find_untrue
from circumspect.values import ChatMessage, ModelRequest

_WORDS = "Please cancel order 12345."
_STRANGE = "dormammu qoqat"
"""In no list of ours, so that the model of languages is read."""


def warm_up(app: FastAPI, model: str) -> None:
    """`model` is the one of tenants that name none."""
    nowhere = {"type": "http", "method": "GET", "path": "/", "root_path": "", "headers": [], "query_string": b""}
    for route in app.routes:
        route.matches(nowhere)
    app.openapi()
    _read_languages()
    if model == OFFLINE:
        _ask_demo_model()


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
    normalise("NFC", f"{_WORDS}\u00e9" * 10)


def _ask_demo_model() -> None:
    """Its parts and words are loaded when it is first asked; where it never is, nothing of it is."""
    from circumspect.demo.offline.lexicon import lexicons, read
    from circumspect.demo.offline.model import answer

    answer(ModelRequest("draft", "warm up", "Answer.", (ChatMessage("user", _WORDS),)))
    for words in lexicons():
        read(min(words.stop))
