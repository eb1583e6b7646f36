"""What to do next on a page: ModelRequest in, `OfflineProposal` out. One action at a time, by words and by the marks of
forms.

It follows the task, not the page: what is clicked shares words with what the user wants, what is typed is a piece of
what the user said. What an earlier action did is read from its result. Where nothing on the page is about the task it
says so, and the user is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from circumspect.demo.offline.drafts import CLEAR, LOST, SURE, WEAK, OfflineProposal
from circumspect.demo.offline.given_values import find_field_value, is_date
from circumspect.demo.offline.lexicon import fold_letters, lexicons, lexicons_of, mentions, say
from circumspect.demo.offline.page_task import PageWish
from circumspect.demo.offline.page_view import TYPED, ElementLine, find_shared_keys, keys_of
from circumspect.values import ModelRequest, ToolCall

_CLICKED = frozenset(("button", "link", "tab", "menuitem", "menuitemradio", "menuitemcheckbox", "option", "treeitem"))
_TOGGLED = frozenset(("checkbox", "switch", "radio"))
_TOLD = frozenset(("alert", "status"))
_ENOUGH = 0.6


def is_driving(request: ModelRequest) -> bool:
    return request.purpose == "draft" and any(block.key == "page" for block in request.blocks)


def drive(request: ModelRequest) -> OfflineProposal:
    case = _Case(request)
    for way in (
        _answer_from_page,
        _choose_item,
        _fill_field,
        _report_outcome,
        _use_named_element,
        _submit_form,
        _navigate,
    ):
        if (found := way(case)) is not None:
            return found
    return OfflineProposal(say(case.request.language, "page_lost"), LOST)


@dataclass(frozen=True)
class _Case(PageWish):
    @cached_property
    def task(self) -> str:
        """The newest words that say what to do; answers to questions come after them."""
        orders = [text for text in self.talk.messages if _tells_to(text, "orders") or "?" in text]
        return orders[-1] if orders else self.talk.messages[0] if self.talk.messages else ""

    @cached_property
    def keys(self) -> frozenset[str]:
        return _widen_keys(keys_of(self.task), self.task)

    @cached_property
    def asks(self) -> bool:
        return "?" in self.task and not _tells_to(self.task, "orders")

    @cached_property
    def steps(self) -> tuple[tuple[ToolCall, Mapping[str, Any]], ...]:
        """The actions so far, each with what came of it."""
        results = {said.call_id: said.text for said in self.request.messages if said.role == "tool"}
        calls = [call for said in self.request.messages for call in said.calls]
        return tuple((call, _object(results.get(call.id, ""))) for call in calls)

    @cached_property
    def clicked_elements(self) -> frozenset[str]:
        """Elements that were clicked on this very page: once is enough."""
        here = _place(self.screen.url)
        return frozenset(
            str(call.arguments.get("element"))
            for call, _ in self.steps
            if call.tool in ("click", "submit") and _place(str(call.arguments.get("on", ""))) == here
        )

    @cached_property
    def has_submitted(self) -> bool:
        return any(call.tool == "submit" and result.get("success") for call, result in self.steps)

    @cached_property
    def denied_elements(self) -> frozenset[str]:
        """Elements that code would not let be used in this turn."""
        told = [said for said in self.request.messages if said.role == "tool" and said.text.startswith("DENIED")]
        ids = {said.call_id for said in told}
        calls = [call for said in self.request.messages for call in said.calls if call.id in ids or not call.id]
        return frozenset(str(call.arguments.get("element")) for call in calls)

    def score_name(self, element: ElementLine) -> float:
        """How much of an element's name is what the task is about."""
        keys = [key for key in keys_of(element.name) if not key.startswith("#") or key in self.keys]
        return len(find_shared_keys(keys, self.keys)) / len(keys) if keys else 0.0


# --- the ways to go on, in the order in which they are tried ----------------------------------------------------------


def _answer_from_page(case: _Case) -> OfflineProposal | None:
    """A question that the page answers."""
    if not case.asks:
        return None
    topic = keys_of(case.task)
    best = max(case.screen.sentences, key=lambda one: len(find_shared_keys(topic, keys_of(one))), default="")
    if best and len(find_shared_keys(topic, keys_of(best))) >= max(1, _ENOUGH * len(topic)):
        return _finish(case, best)
    return None


def _choose_item(case: _Case) -> OfflineProposal | None:
    """An open menu or list: the item that the task is about, or away with it."""
    offered = case.steps[-1][1].get("choices") if case.steps else None
    if not isinstance(offered, list):
        return None
    by_id = {one.id: one for one in case.screen.elements}
    items = [by_id[one] for one in map(str, offered) if one in by_id]
    dialogs = {one.id for one in items if one.role in ("dialog", "alertdialog")}
    if dialogs:
        inside = [one for one in case.screen.elements if one.inside in dialogs and one.role in _CLICKED]
        best = _best(case, inside)
        return _click(case, best) if best else None
    wanted = [one for one in items if _is_wanted_option(case, one)]
    best = wanted[0] if len(wanted) == 1 else _best(case, items)
    if best:
        return _click(case, best)
    call, result = case.steps[-1]
    if _tells_to(case.task, "uses") and _says(case.task, str(call.arguments.get("name", ""))):
        return _finish(case, str(result.get("happened", "")))  # to open it was all that was asked for
    return _act(case, "press", {"key": "Escape"}, "Escape") if items else None


def _fill_field(case: _Case) -> OfflineProposal | None:
    """The next field of a form about the task whose value was said."""
    dates = 0
    for field in _fields(case):
        value = None if field.value else find_field_value(field, case.talk, dates)
        dates += is_date(field)
        if field.disabled or value is None or field.id in case.denied_elements:
            continue
        arguments = {"element": field.id, "option" if field.options else "text": value}
        if any(call.arguments.get("element") == field.id and _is_same(call, arguments) for call, _ in case.steps[-6:]):
            continue  # the page did not keep it; typing it again will not help
        return _act(case, "select" if field.options else "type", arguments, field.name)
    return None


def _report_outcome(case: _Case) -> OfflineProposal | None:
    """What was sent has arrived: the page says so."""
    if not case.has_submitted:
        return None
    told = [one.name for one in case.screen.elements if one.role in _TOLD and one.name]
    headings = [one.name for one in case.screen.elements if one.role == "heading" and one.name]
    return _finish(case, *(told[:1] or headings[:1] or [case.screen.title]))


def _use_named_element(case: _Case) -> OfflineProposal | None:
    """The thing that the user told to use, by its name."""
    if not _tells_to(case.task, "uses"):
        return None
    wanted = keys_of(case.task)
    things = [one for one in case.screen.elements if one.role in _CLICKED | _TOGGLED and not one.disabled]
    exact = [one for one in things if _says(case.task, one.name)]
    named = exact or [
        one for one in things if case.score_name(one) >= 1 and find_shared_keys(wanted, keys_of(one.name))
    ]
    named = [one for one in named if one.id not in case.denied_elements]
    if not named:
        return None
    best = max(named, key=lambda one: (len(one.name), one.role == "button"))
    clicked = [result for call, result in case.steps if call.arguments.get("element") == best.id]
    if clicked:
        return _finish(case, str(clicked[-1].get("happened", ""))) if clicked[-1].get("success") else None
    return _click(case, best)


def _submit_form(case: _Case) -> OfflineProposal | None:
    """Everything that was said is filled in: the button of the form."""
    fields = _fields(case)
    if not fields or case.has_submitted:
        return None
    around = {one.inside for one in fields}
    buttons = [one for one in case.screen.elements if one.role == "button" and one.inside in around]
    committing = [one for one in buttons if one.type == "submit"] or buttons
    best = _best(case, committing, at_least=0.0)
    return _act(case, "submit", {"element": best.id}, best.name, destructive=True) if best else None


def _navigate(case: _Case) -> OfflineProposal | None:
    """Towards the page that is about the task."""
    things = [one for one in case.screen.elements if one.role in _CLICKED and one.role != "option"]
    best = _best(case, [one for one in things if one.id not in case.clicked_elements])
    return _click(case, best) if best else None


# --- what the page has ------------------------------------------------------------------------------------------------


def _fields(case: _Case) -> list[ElementLine]:
    """The fields of the form that the task is about. A form for searching is about no task that changes something."""
    screen, wanted = case.screen, keys_of(case.task)
    for form in screen.forms:
        inside = screen.within(form.id)
        fields = [one for one in inside if one.role in TYPED and one.type != "password"]
        names = [form.name, screen.title, *(one.name for one in inside if one.role == "button")]
        names += [one.name for one in screen.elements if one.role == "heading"]
        required = any(one.required for one in fields)
        if fields and required and any(find_shared_keys(keys_of(name), wanted) for name in names):
            return fields
    return []


def _best(case: _Case, things: Iterable[ElementLine], at_least: float = 0.3) -> ElementLine | None:
    """The one whose name has most of what the task is about."""
    scored = [
        (len(find_shared_keys(keys_of(one.name), case.keys)), case.score_name(one), -at, one)
        for at, one in enumerate(things)
        if not one.disabled and one.id not in case.denied_elements and one.name
    ]
    best = max(scored, default=None, key=lambda item: item[:3])
    return best[3] if best and (best[1] >= at_least or (at_least == 0.0)) else None


def _is_wanted_option(case: _Case, item: ElementLine) -> bool:
    """An item that the user said, word for word."""
    return item.role in ("option", "gridcell", "treeitem") and _says(case.talk.text, item.name)


def _says(text: str, name: str) -> bool:
    words, sought = fold_letters(text).split(), fold_letters(name).split()
    plain = [word.strip(".,:;!?\"'“”«»()") for word in words]
    return bool(sought) and any(plain[at : at + len(sought)] == sought for at in range(len(plain)))


# --- words ------------------------------------------------------------------------------------------------------------


def _click(case: _Case, element: ElementLine) -> OfflineProposal:
    return _act(case, "click", {"element": element.id}, element.name)


def _act(case: _Case, tool: str, arguments: dict[str, str], name: str, *, destructive: bool = False) -> OfflineProposal:
    failed = bool(case.steps) and case.steps[-1][1].get("success") is False
    confidence = CLEAR - 1 if failed else CLEAR if destructive else SURE
    return OfflineProposal(
        say(case.request.language, "page_next", name=name), confidence, tool, dict(arguments), (), destructive
    )


def _finish(case: _Case, *said: str) -> OfflineProposal:
    told = " ".join(part.strip() for part in said if part.strip())
    text = say(case.request.language, "page_done", told=told) if told else say(case.request.language, "page_over")
    return OfflineProposal(text, SURE if told else WEAK, "done", {"answer": text})


def _tells_to(text: str, kind: str) -> bool:
    """An order of this kind, in the language of the text: the names of things on a page may be in another."""
    return mentions(text, kind, lexicons_of(text))


def _widen_keys(keys: frozenset[str], text: str) -> frozenset[str]:
    """With what pages call the same: who adds looks for "New", who removes for "Delete"."""
    families: Iterable[list[str]] = (family for lists in lexicons() for family in lists.pages["families"])
    words = {word.strip(".,:;!?") for word in fold_letters(text).split()}
    more = [word for family in families if words & set(family) for word in family]
    return keys | keys_of(" ".join(more)) if more else keys


def _place(url: str) -> str:
    return url.split("?")[0].split("#")[0]


def _is_same(call: ToolCall, arguments: Mapping[str, str]) -> bool:
    return all(call.arguments.get(name) == value for name, value in arguments.items())


def _object(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
