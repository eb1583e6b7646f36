"""Does this click, or this key, commit? An element of a page -> yes or no.

To commit is to do what others will see, what costs money or what cannot be taken back: delete, pay, send, submit a
form that posts. Such a click is proposed as `submit`, which always asks first. No list knows every such deed ("Drop
table", "Ban user", "Void"), so a button commits unless the page or its name proves that it does not: it opens a menu, a
link leads to a page, it searches, turns a page, leaves, or names a place. Asking once too often costs a moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qsl

from circumspect.values import ToolCall
from circumspect.web.browser.addresses import leads_nowhere, split
from circumspect.web.browser.page_words import is_harmless, is_wholly, mentions
from circumspect.web.browser.roles import SETS
from circumspect.web.page import Element, Page

_FIELDS = frozenset(("textbox", "searchbox", "combobox", "spinbutton"))
_HARMLESS = _FIELDS | {
    "checkbox",
    "radio",
    "tab",
    "option",
    "listbox",
    "slider",
    "treeitem",
    "heading",
    "alert",
}
"""Roles that a click only puts into another state, or does nothing to."""
_ACTING = frozenset(("button", "link", "menuitem", "generic"))
"""Roles of things that do something. One that does not say what is a dustbin as easily as a magnifying glass."""
_PICKING = frozenset(("grid", "gridcell", "columnheader", "navigation", "listbox"))
"""In these a number is a day or a page."""
_ITEMS = frozenset(("row", "listitem", "gridcell", "treeitem", "option"))


def commits(element: Element, page: Page) -> bool:
    """Would a click on it commit? One on what holds other things lands on any of them."""
    return _commits(element, page) or (
        is_holder(element) and any(_commits(one, page) for one in page.elements if element in around(one, page))
    )


def is_holder(element: Element) -> bool:
    """A form, a row, a dialog: a click in its middle need not be a click on it."""
    return element.role not in SETS["leaves"]


def _commits(element: Element, page: Page) -> bool:
    name = element.name or element.description
    if element.role in _HARMLESS or element.haspopup or element.expanded is not None or element.type == "reset":
        return False
    if element.role == "switch":
        # A checkbox waits for its form; a switch acts at once, unless it stands in a form, too.
        return form_of(element, page) is None and not is_harmless(name)
    if element.role == "link" and not leads_nowhere(element.href):
        return _acts_when_opened(element.href)
    if not name:
        return element.role in _ACTING
    if submits(element):
        return _submission_commits(element, name, page)
    if element.role not in _ACTING:
        return mentions("commits", name)
    return not (is_harmless(name) or _is_harmless_here(element, name, page))


def _submission_commits(button: Element, name: str, page: Page) -> bool:
    """A button that sends a form. "Cancel" is the way out only where another button is the way on."""
    if is_wholly("searches", name):
        return False
    if is_wholly("dismisses", name):
        form = form_of(button, page)
        return form is not None and button_of(form, page) == button
    return _method(button, page) == "post" or mentions("saves", name) or not is_harmless(name)


def _is_harmless_here(element: Element, name: str, page: Page) -> bool:
    """A name that proves nothing by itself, and does in the place where it stands."""
    if is_wholly("affirms", name):
        return _only_takes_notice(element, page)
    beside = [one for one in page.elements if one.inside == element.inside and one.role in _FIELDS]
    if is_wholly("begins", name):
        return not any(one.value for one in beside)
    if is_wholly("empties", name):
        return bool(beside)
    return name.strip().isdecimal() and any(one.role in _PICKING for one in around(element, page))


def commits_by_key(call: ToolCall, page: Page) -> bool:
    """Would pressing this key commit? Where the focus is not known, it is taken to be where it does the most harm."""
    *modifiers, key = str(call.arguments.get("key", "")).strip().lower().split("+")
    target = page.by_id.get(str(call.arguments.get("element") or page.focused))
    if key in ("delete", "backspace"):
        return target is not None and target.role in _ITEMS
    if key not in ("enter", "numpadenter", "return", "space", " "):
        return False
    if target is None:
        return key not in ("space", " ") and any(_commits(one, page) for one in page.elements)
    if target.role not in _FIELDS:
        return commits(target, page)
    if key in ("space", " ") or (target.type == "textarea" and not modifiers):
        return False
    return bool(modifiers) or _entering_commits(target, page)


def submits(element: Element) -> bool:
    """Is it the button of a form? A button in a form that does not say its type submits it, as HTML has it."""
    return element.type in ("submit", "image") or (element.role == "button" and bool(element.form) and not element.type)


def form_of(element: Element, page: Page) -> Element | None:
    """The form it belongs to, by what it says or by what it stands in."""
    if element.form:
        return page.by_id.get(element.form)
    return next((one for one in around(element, page) if one.role in ("form", "search")), None)


def button_of(form: Element, page: Page) -> Element | None:
    """The one that sends it; none, where it is not a form or has several."""
    if form.role not in ("form", "search"):
        return None
    buttons = [one for one in page.elements if submits(one) and form_of(one, page) == form]
    return buttons[0] if len(buttons) == 1 else None


def around(element: Element, page: Page) -> Iterator[Element]:
    """What it stands in, from the inside out."""
    seen: set[str] = {element.id}
    here = element.inside
    while here and here not in seen and here in page.by_id:
        seen.add(here)
        yield page.by_id[here]
        here = page.by_id[here].inside


def _method(element: Element, page: Page) -> str:
    form = form_of(element, page)
    return (form.method if form else element.method).lower()


def _entering_commits(field: Element, page: Page) -> bool:
    """Enter in a field presses the first button of its form, or, where there is no form, the one beside it."""
    form = form_of(field, page)
    if form is None:
        return any(commits(one, page) for one in page.elements if one.role == "button" and one.inside == field.inside)
    mine = (one for one in page.elements if one.id == form.id or one.form == form.id or form in around(one, page))
    button = next((one for one in mine if one.role != "form" and submits(one) and not one.disabled), None)
    return form.method.lower() == "post" if button is None else commits(button, page)


def _acts_when_opened(href: str) -> bool:
    """`/items/3/delete`, `/items/delete/3`, `/items?action=delete`."""
    parts = split(href)
    said = [*parts.path.rstrip("/").split("/")[-2:], *(part for pair in parse_qsl(parts.query) for part in pair)]
    return any(is_wholly("acting addresses", one.replace("-", " ").replace("_", " ")) for one in said)


def _only_takes_notice(element: Element, page: Page) -> bool:
    """The "OK" of "What is new", not that of "Delete Ann Levi?": a dialog that asks offers something else as well."""
    dialog = next((one for one in around(element, page) if one.role in ("dialog", "alertdialog")), None)
    if dialog is None or dialog.role == "alertdialog":
        return False
    held = [one for one in page.elements if one.id != element.id and dialog in around(one, page)]
    if any(one.role in _FIELDS or (one.role in _ACTING and _has_letters(one.name)) for one in held):
        return False
    said = [text for one in (dialog, *held) for text in (one.name, one.description)]
    return not any("?" in text or mentions("commits", text) for text in said)


def _has_letters(name: str) -> bool:
    return any(sign.isalpha() for sign in name)
