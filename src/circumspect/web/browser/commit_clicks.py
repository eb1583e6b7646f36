"""Does this click, or this key, commit? An element of a page -> yes or no.

To commit is to do what others will see, what costs money or what cannot be taken back: delete, pay, send, submit a
form that posts. Such a click is proposed as `submit`, which always asks first. Where the page leaves it open, the
answer is yes: asking once too often costs a moment. Opening a menu or a page, searching and cancelling do not commit.
"""

from __future__ import annotations

from collections.abc import Iterator

from circumspect.values import ToolCall
from circumspect.web.browser.addresses import leads_nowhere, split
from circumspect.web.browser.page_words import is_wholly, mentions
from circumspect.web.browser.roles import SETS
from circumspect.web.page import Element, Page

_FIELDS = frozenset(("textbox", "searchbox", "combobox", "spinbutton"))
_HARMLESS = _FIELDS | {
    "checkbox",
    "radio",
    "switch",
    "tab",
    "option",
    "listbox",
    "slider",
    "treeitem",
    "heading",
    "alert",
}
"""Roles that a click only puts into another state, or does nothing to."""
_ACTING = frozenset(("button", "link", "menuitem"))
"""Roles of things that do something. One that does not say what is a dustbin as easily as a magnifying glass."""
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
    if element.role == "link" and not leads_nowhere(element.href):
        return mentions("commits", name) and _acts_when_opened(element.href)
    if not name:
        return element.role in _ACTING
    if is_wholly("dismisses", name) or is_wholly("searches", name):
        return False
    if submits(element) and (_method(element, page) == "post" or mentions("saves", name)):
        return True
    if is_wholly("looks", name):
        return False
    return mentions("commits", name) or _agrees_to_something_that_commits(element, name, page)


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
    last = split(href).path.rstrip("/").rpartition("/")[2]
    return is_wholly("acting addresses", last.replace("-", " ").replace("_", " "))


def _agrees_to_something_that_commits(element: Element, name: str, page: Page) -> bool:
    """The "OK" of "Delete Ann Levi?"."""
    if not is_wholly("affirms", name):
        return False
    dialog = next((one for one in around(element, page) if one.role in ("dialog", "alertdialog")), None)
    if dialog is None:
        return False
    asked = [
        dialog,
        *(one for one in page.elements if one.role not in ("button", "link") and dialog in around(one, page)),
    ]
    return dialog.role == "alertdialog" or any(
        mentions("commits", text) for one in asked for text in (one.name, one.description)
    )
