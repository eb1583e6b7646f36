"""The actions on a page, as tools: what the model may propose, and what becomes of a proposal before it is ruled on.

All of them are the client's to carry out: a call that policy lets through is handed out, and what it did is told by the
next snapshot. `resolved` is why the model's word for an action does not decide what kind of action it is. `submit` with
a key is that key pressed in the element, otherwise a click on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from circumspect.errors import ToolError
from circumspect.language import catalogue
from circumspect.policy.keys.clauses import ParameterPolicy
from circumspect.policy.keys.tool_policy import ToolPolicy
from circumspect.policy.policy_file import Policy
from circumspect.values import LANGUAGES, Effect, Json, ToolCall, ToolSpec
from circumspect.web.browser.commit_clicks import button_of, commits, commits_by_key
from circumspect.web.page import Page
from circumspect.web.page_rules import summarise_form

_TEXT: Json = {"type": "string", "maxLength": 4000}
_KEY: Json = {"type": "string", "maxLength": 40}
_ELEMENT: Json = {
    "type": "string",
    "maxLength": 80,
    "description": "The id of an element in the page's list.",
}
_SHOWN: Mapping[str, Json] = {"name": {"type": "string"}, "role": {"type": "string"}, "on": _TEXT}
"""Put in by code: what the element is called, what it is and where. A yes is bound to them."""

_ACTIONS: Mapping[str, tuple[Effect, str, Mapping[str, Json], tuple[str, ...]]] = {
    "click": (
        "write",
        "Click an element: a link, a button, a menu, a tab, a checkbox.",
        {"element": _ELEMENT, **_SHOWN},
        ("element",),
    ),
    "submit": (
        "destructive",
        "Click an element that commits: send, save, pay, delete.",
        {"element": _ELEMENT, "key": _KEY, **_SHOWN, "filled": {"type": "string"}},
        ("element",),
    ),
    "type": (
        "write",
        "Replace what is in a field.",
        {"element": _ELEMENT, "text": _TEXT, **_SHOWN},
        ("element", "text"),
    ),
    "select": (
        "write",
        "Choose an option of a list.",
        {"element": _ELEMENT, "option": _TEXT, **_SHOWN},
        ("element", "option"),
    ),
    "navigate": ("read", "Open an address.", {"url": _TEXT}, ("url",)),
    "press": (
        "read",
        "Press a key: Escape, Enter, Tab, ArrowDown.",
        {"key": _KEY, "element": _ELEMENT, **_SHOWN},
        ("key",),
    ),
    "scroll": (
        "read",
        "Scroll the page, or a part of it.",
        {"direction": {"enum": ["up", "down"]}, "element": _ELEMENT, **_SHOWN},
        ("direction",),
    ),
    "wait": (
        "read",
        "Wait for the page.",
        {"seconds": {"type": "number", "minimum": 0, "maximum": 30}},
        ("seconds",),
    ),
    "done": (
        "read",
        "The task is done, and the page shows it: say what came of it.",
        {"answer": _TEXT},
        ("answer",),
    ),
}

_ANY, _USER = ParameterPolicy(source="any"), ParameterPolicy(source="user")
_SAID = dict.fromkeys(("element", "name", "role", "on", "key", "filled"), _ANY)
_DEFAULTS: Mapping[str, ToolPolicy] = {
    "click": ToolPolicy(confidence_cap=0.95, confirm="never", params=_SAID),
    "submit": ToolPolicy(confidence_cap=0.9, confirm="always", params=_SAID),
    "type": ToolPolicy(confidence_cap=0.95, confirm="never", params={**_SAID, "text": _USER}),
    "select": ToolPolicy(confidence_cap=0.95, confirm="never", params={**_SAID, "option": _USER}),
}


@cache
def page_tools() -> Mapping[str, ToolSpec]:
    return {name: _spec(name, *described) for name, described in _ACTIONS.items()}


def _spec(
    name: str, effect: Effect, description: str, properties: Mapping[str, Json], required: tuple[str, ...]
) -> ToolSpec:
    parameters: dict[str, Json] = {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
    places = {one: f"{{{one}}}" for one in properties}
    phrases: dict[str, str] = {language: catalogue.say(language, f"page-{name}", **places) for language in LANGUAGES}
    return ToolSpec(
        name, description, parameters, effect, client=True, phrases=phrases, unspoken=frozenset(("element", "role"))
    )


def with_page_tools(policy: Policy) -> Policy:
    """The tenant's policy, with what holds for actions on pages where it says nothing of them."""
    named = {name: said for name in _DEFAULTS if (said := policy.general(name))}
    return policy.model_copy(update={"tools": {**policy.tools, **_DEFAULTS, **named}})


class PageTools:
    """The `Tools` port of a page: everything in it is carried out by whoever has the browser."""

    def specs(self) -> Mapping[str, ToolSpec]:
        return page_tools()

    async def call(self, name: str, arguments: Mapping[str, Json], key: str) -> Json:
        raise ToolError(f"The action '{name}' is carried out by the browser.")

    async def lookup(self, name: str, arguments: Mapping[str, Json], key: str) -> Json | None:
        return None


def resolve_call(call: ToolCall, page: Page) -> ToolCall:
    """The call as it will be ruled on: a click that commits is `submit`, whatever the model called it; one on a form is
    one on its button; and the element is named, so that a yes is bound to what was shown."""
    if call.tool == "navigate":
        return _resolve_link(call, page)
    known = _ACTIONS.get(call.tool)
    if known is None or "element" not in known[2]:
        return call
    where = call.arguments.get("element") or (page.focused if call.tool == "press" else "")
    element = page.by_id.get(str(where))
    given = {name: value for name, value in call.arguments.items() if name not in (*_SHOWN, "filled")}
    if element is None:
        return replace(call, arguments=given)
    tool = call.tool
    if tool in ("click", "submit"):
        element = button_of(element, page) or element
    if tool == "press" and commits_by_key(call, page):
        tool = "submit"
    elif tool in ("click", "submit") and "key" not in given:
        tool = "submit" if commits(element, page) else "click"
    shown = {
        "element": element.id,
        "name": element.display_name,
        "role": element.role,
        "on": page.url.split("?")[0].split("#")[0],
    }
    if tool == "submit" and (filled := summarise_form(element, page)):
        shown["filled"] = filled
    return replace(call, tool=tool, arguments={**given, **shown})


def _resolve_link(call: ToolCall, page: Page) -> ToolCall:
    """The address of a link that commits when it is opened is that link, however one gets there."""
    url = str(call.arguments.get("url", ""))
    link = next((one for one in page.elements if url and one.href == url and commits(one, page)), None)
    return resolve_call(replace(call, tool="submit", arguments={"element": link.id}), page) if link else call
