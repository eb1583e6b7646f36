"""Templates: a name and values in, HTML out. Everything is escaped, and a value that was forgotten is an error.

A page is `<page>/page.html`; the part of it that htmx asks for again is `<page>/_fragment.html`, which the page
includes. `answer` renders one or the other by what the request wants.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import urlencode, urlsplit

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from circumspect import __version__
from circumspect.server.console.call_words import say_call
from circumspect.server.console.figures import category
from circumspect.server.console.i18n import NAMES, OFFERED, Translator
from circumspect.server.console.known_sentences import NOTED, describe_rule, translate_sentence
from circumspect.server.console.logged_actions import name_action
from circumspect.server.console.navigation import entries
from circumspect.server.console.result_facts import list_facts
from circumspect.server.console.turn_times import draw_times
from circumspect.server.console.visitors import Visitor, words_of
from circumspect.server.path_prefix import add_prefix, prefix_of, without_prefix
from circumspect.stores.codec import dumps
from circumspect.stores.rehearsals import is_rehearsal

_OVERRIDES = re.compile("[\u202a-\u202e]")
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def page(
    request: Request, who: Visitor | None, template: str, /, status: int = 200, live: str = "", **values: Any
) -> HTMLResponse:
    """`live` names the topics on which the page wants hints: "inbox conversations"."""
    return HTMLResponse(render_template(request, who, template, live=live, **values), status)


def answer(request: Request, who: Visitor, whole: str, fragment: str, /, live: str = "", **values: Any) -> HTMLResponse:
    """The fragment when htmx asks for it, the whole page otherwise (also when the browser goes back to it)."""
    return page(request, who, fragment if wants_fragment(request) else whole, live=live, **values)


def wants_fragment(request: Request) -> bool:
    headers = request.headers
    return headers.get("hx-request") == "true" and headers.get("hx-history-restore-request") != "true"


def render_template(request: Request, who: Visitor | None, template: str, /, **values: Any) -> str:
    words = who.words if who else words_of(request)
    context = {
        **_build_language_context(words),
        "who": who.operator if who else None,
        "category": category,
        "has": who.has if who else (lambda *_: False),
        "entries": entries(who, request.url.path) if who else [],
        "here": here_of(request),
        "live": "",
        **values,
    }
    return add_prefix(environment().get_template(template).render(context), prefix_of(request))


def _build_language_context(words: Translator) -> dict[str, Any]:
    names = ("t", "meaning", "reason_name", "number", "percent", "money", "amount", "day", "moment", "clock", "span")
    return {
        "language": words.language,
        "direction": words.direction,
        "rtl": words.rtl,
        "borrowed": words.borrowed,
        "describe_rule": lambda name: describe_rule(name, words),
        "name_action": lambda action: name_action(action, words),
        "list_facts": lambda result: list_facts(result, words.language),
        "translate": lambda sentence, family: translate_sentence(sentence, family, words),
        "say_call": lambda tool, given, spec: say_call(tool, given, spec, words.language),
        **{name: getattr(words, name) for name in names},
    }


def here_of(request: Request) -> str:
    """Where the page can be asked for again: what answers a change is seen from the page that the change came from."""
    url = request.url
    if request.method != "GET":
        came = urlsplit(request.headers.get("referer", ""))
        path = without_prefix(request, came.path or "/")
        url = url.replace(path=path, query=came.query) if came.netloc == url.netloc else url.replace(path="/")
    return url.path + (f"?{url.query}" if url.query else "")


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("circumspect.server.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(static=static, languages=NAMES, version=__version__, link=link, icons=_icons())
    made.globals.update(draw_times=draw_times, offered=OFFERED, noted=NOTED)
    made.globals.update(has_static=has_static, is_rehearsal=is_rehearsal)
    made.filters.update(pretty=pretty, words=_words, visible=visible, exact=exact)
    return made


@cache
def static(name: str) -> str:
    """The address of a file that changes when the file does, so that browsers keep it for ever."""
    content = resources.files("circumspect.server.console").joinpath("static", *name.split("/")).read_bytes()
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


def _icons() -> str:
    """The sprite that the build draws; pages do without pictures where nobody has built it."""
    try:
        return static("vendor/icons.svg")
    except FileNotFoundError:
        return ""


@cache
def has_static(name: str) -> bool:
    """Whether there is such a file: CodeMirror is missing where it could not be had when the package was built."""
    return resources.files("circumspect.server.console").joinpath("static", *name.split("/")).is_file()


def link(path: str, given: Mapping[str, Any] | None = None, /, **more: Any) -> str:
    """An address with those of the values that say something."""
    values = {name: value for name, value in {**(given or {}), **more}.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(values)}" if values else path


def pretty(value: Any) -> str:
    """JSON as a person reads it."""
    return exact(json.dumps(json.loads(dumps(value)), ensure_ascii=False, indent=2))


def visible(text: str) -> str:
    """Text without what turns letters around: nobody shows an operator other words than were said."""
    return _OVERRIDES.sub(_spell_out, text)


def exact(text: str) -> str:
    """A value as it is: every mark that moves letters is spelt out, as JSON would."""
    return _MARKS.sub(_spell_out, text)


def _spell_out(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _words(name: str) -> str:
    return name.replace("_", " ")
