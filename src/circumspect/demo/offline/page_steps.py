"""What to do next on a page: ModelRequest in, `OfflineProposal` out. One action at a time, by words and by the marks of
forms.

It follows the task, not the page: what is clicked shares words with what the user wants, what is typed is a piece of
what the user said. What an earlier action did is read from its result. Where nothing on the page is about the task it
says so, and the user is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from circumspect.demo.offline.drafts import CLEAR, LOST, SURE, WEAK, OfflineProposal
from circumspect.demo.offline.given_values import find_field_value, is_date, is_to_be_filled
from circumspect.demo.offline.lexicon import concepts, fold_letters, is_stop, lexicons, lexicons_of, mentions, read, say
from circumspect.demo.offline.page_messages import find_confirmation
from circumspect.demo.offline.page_task import PageWish
from circumspect.demo.offline.page_view import TYPED, ElementLine, find_shared_keys, keys_of
from circumspect.values import ModelRequest, ToolCall

_CLICKED = frozenset(("button", "link", "tab", "menuitem", "menuitemradio", "menuitemcheckbox", "option", "treeitem"))
_TOGGLED = frozenset(("checkbox", "switch", "radio"))
_TOLD = frozenset(("alert", "status"))
_FILLING = frozenset(("type", "select"))
_ENOUGH, _HALF = 0.6, 0.5


def is_driving(request: ModelRequest) -> bool:
    return request.purpose == "draft" and any(block.key == "page" for block in request.blocks)


def drive(request: ModelRequest) -> OfflineProposal:
    case = _Case(request)
    for way in (
        _answer_from_page,
        _choose_item,
        _report_confirmation,
        _fill_field,
        _report_outcome,
        _report_refusal,
        _use_named_element,
        _submit_form,
        _navigate,
        _report_click,
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
        """A submission worked, and nothing was filled in since: the next step of a form wants to be sent, too."""
        worked = [call for call, result in self.steps if result.get("success") and call.tool in _FILLING | {"submit"}]
        return bool(worked) and worked[-1].tool == "submit"

    @cached_property
    def used_elements(self) -> frozenset[str]:
        """Elements that were clicked or filled in, and it worked."""
        return frozenset(str(call.arguments.get("element")) for call, result in self.steps if result.get("success"))

    @cached_property
    def last_click(self) -> ToolCall | None:
        """The newest action, where it is a click that worked and opened nothing to choose from."""
        call, result = self.steps[-1] if self.steps else (None, {})
        done = call is not None and call.tool in ("click", "submit") and result.get("success")
        return call if done and not result.get("choices") else None

    @cached_property
    def use_keys(self) -> frozenset[str]:
        """What only says how a thing is to be used: "open", "click"."""
        return frozenset(key for word in self.task.split() if _tells_to(word, "uses") for key in keys_of(word))

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
        best = None if _fields(case) else _best(case, inside)
        return _click(case, best) if best else None
    if any(one.role in TYPED for one in items) and _fields(case):
        return None  # a form to be filled in, not a list to choose from
    call, result = case.steps[-1]
    opener = keys_of(str(call.arguments.get("name", "")))
    if best := _find_wanted_item(case, items, opener):
        return _click(case, best)
    left = keys_of(case.task) - opener - case.use_keys
    if _tells_to(case.task, "uses") and all(_tells_to(word, "popups") for word in _telling_words(case, left)):
        return _finish(case, str(result.get("happened", "")))  # to open it was all that was asked for
    return _act(case, "press", {"key": "Escape"}, "Escape") if items else None


def _find_wanted_item(case: _Case, items: Sequence[ElementLine], opener: frozenset[str]) -> ElementLine | None:
    """What the task says of the thing that was opened is said already, and so is how: in "Open the File menu" nothing
    speaks for "Open file". What is left of an item's name has to be asked for."""
    usable = [one for one in items if not one.disabled and one.id not in case.denied_elements]
    chosen = [one for one in usable if _is_wanted_option(case, one)]
    if len(chosen) == 1:
        return chosen[0]
    asked = keys_of(case.task)
    spent = opener | case.use_keys
    telling = [one for one in usable if keys_of(one.name) == asked or keys_of(one.name) - spent]
    said = [one for one in telling if keys_of(one.name) == asked or _says(case.task, one.name)]
    if said:
        return max(said, key=lambda one: len(one.name))
    scored = [(_share(keys_of(one.name) - spent, case.keys - spent), -at, one) for at, one in enumerate(telling)]
    best = max(scored, default=None, key=lambda item: item[:2])
    return best[2] if best and best[0] >= _HALF else None


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


def _report_confirmation(case: _Case) -> OfflineProposal | None:
    """The page says that what was sent has worked, or says so since the last click."""
    confirmation = find_confirmation(case.screen)
    if not confirmation or _fields(case, by_its_own_name=True):
        return None
    is_new = case.last_click is not None and confirmation[:60] in str(case.steps[-1][1].get("happened", ""))
    return _finish(case, confirmation) if case.has_submitted or is_new else None


def _report_outcome(case: _Case) -> OfflineProposal | None:
    """What was sent has arrived: the page is another one, and wants nothing more for the task."""
    if not case.has_submitted or any(one.required for one in _untouched_fields(case)):
        return None
    return _finish(case, _describe_outcome(case))


def _report_refusal(case: _Case) -> OfflineProposal | None:
    """The page did not take what was sent: what it says about that, and the user says how to go on."""
    call, result = case.steps[-1] if case.steps else (None, {})
    if call is None or call.tool != "submit" or not result.get("error"):
        return None
    return OfflineProposal(say(case.request.language, "page_refused", told=str(result["error"])), LOST)


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
    tried = {str(call.arguments.get("element")) for call, _ in case.steps}
    left = [one for one in named if one.id not in tried]
    if left:
        return _click(
            case, max(left, key=lambda one: (-_place_of(case.task, one.name), len(one.name), _is_button(one)))
        )
    if named and case.last_click and case.last_click.arguments.get("element") in {one.id for one in named}:
        return _finish(case, str(case.steps[-1][1].get("happened", "")))
    return None


def _submit_form(case: _Case) -> OfflineProposal | None:
    """Everything that was said is filled in: the button of the form."""
    fields = _fields(case)
    if not fields or (case.has_submitted and not any(one.required for one in _untouched_fields(case))):
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


def _report_click(case: _Case) -> OfflineProposal | None:
    """Nothing is left to do, and the click that worked was what the task asks for."""
    click = case.last_click
    if click is None:
        return None
    names = [str(call.arguments.get("name", "")) for call, result in case.steps if result.get("success")]
    confirmation = find_confirmation(case.screen)
    if confirmation and find_shared_keys(keys_of(confirmation), case.keys):
        return _finish(case, confirmation)
    wanted = frozenset(key for key in keys_of(case.task) if key[0] != "#")
    known = concepts()
    changes = read(case.task).has(*known.write, *known.destructive)
    if changes or _share(wanted, keys_of(" ".join(names))) < _ENOUGH or not keys_of(names[-1]) & case.keys:
        return None
    return _finish(case, _describe_outcome(case))


# --- what the page has ------------------------------------------------------------------------------------------------


def _fields(case: _Case, *, by_its_own_name: bool = False) -> list[ElementLine]:
    """The fields of the form that the task is about. A form for searching is about no task that changes something.

    What a form is about stands on it and on its button, and above it in the page's title and headings.
    """
    screen, wanted = case.screen, keys_of(case.task)
    above = () if by_its_own_name else (screen.title, *(one.name for one in screen.elements if one.role == "heading"))
    for form in screen.forms:
        inside = screen.within(form.id)
        fields = [one for one in inside if one.role in TYPED and one.type != "password"]
        names = [form.name, *(one.name for one in inside if one.role == "button"), *above]
        if is_to_be_filled(fields, case.talk) and any(find_shared_keys(keys_of(name), wanted) for name in names):
            return fields
    return []


def _untouched_fields(case: _Case) -> list[ElementLine]:
    """Those that are empty and were never filled in: a form that comes back empty was sent."""
    return [one for one in _fields(case) if not one.value and not one.disabled and one.id not in case.used_elements]


def _describe_outcome(case: _Case) -> str:
    """What the page says to whoever has acted on it; on another page its heading, on the same one what happened."""
    told = next((one.name for one in case.screen.elements if one.role in _TOLD and one.name), "")
    call, result = case.steps[-1]
    if told or _place(str(call.arguments.get("on", ""))) == _place(case.screen.url):
        return told or str(result.get("happened", ""))
    return next((one.name for one in case.screen.elements if one.role == "heading" and one.name), case.screen.title)


def _is_button(element: ElementLine) -> bool:
    return element.role == "button"


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
    return _place_of(text, name) < len(text)


def _place_of(text: str, name: str) -> int:
    """How many words come before the name, word for word; as many as the text has letters where it is not said."""
    words, sought = fold_letters(text).split(), fold_letters(name).split()
    plain = [word.strip(".,:;!?\"'“”«»()") for word in words]
    found = (at for at in range(len(plain)) if sought and plain[at : at + len(sought)] == sought)
    return next(found, len(text))


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


def _telling_words(case: _Case, keys: frozenset[str]) -> list[str]:
    """The words of the task that these keys come from."""
    return [word for word in case.task.split() if keys_of(word) & keys and not is_stop(fold_letters(word))]


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(find_shared_keys(part, whole)) / len(part) if part else 0.0


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
