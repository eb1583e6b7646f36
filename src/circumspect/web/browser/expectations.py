"""What should come of an action on a page: (call, page) -> Expected. Said by code, before the action is tried.

The one choice that may surprise: nothing expects "the address changes" because a button was clicked. Only what leads
somewhere does. A button that opens a menu opens a menu, and the address must stay; a button of which nothing is known
should have some effect, and verification says which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import get_args

from circumspect.values import ToolCall
from circumspect.web.browser.addresses import leads_nowhere, leaves_the_browser, same_place
from circumspect.web.browser.commit_clicks import around, form_of, submits
from circumspect.web.browser.page_words import is_wholly
from circumspect.web.page import POPUP_ITEMS, ActionKind, Element, Expected, Page

POPUPS = frozenset(("menu", "listbox", "tree", "grid", "menubar"))
DIALOGS = frozenset(("dialog", "alertdialog"))
MESSAGES = ("alert", "status", "dialog", "alertdialog")
FIELDS = frozenset(("textbox", "searchbox", "combobox", "spinbutton", "slider"))
_CHOSEN = frozenset(("option", "treeitem", "gridcell", "row", "menuitem", "menuitemcheckbox", "menuitemradio"))
_KINDS: Mapping[str, ActionKind] = {kind: kind for kind in get_args(ActionKind)}


def expect(call: ToolCall, page: Page) -> Expected:
    """What the action should bring about on this page."""
    action = _KINDS.get(call.tool)
    if action is None:
        raise ValueError(f"{call.tool!r} is not an action on a page; these are: {', '.join(_KINDS)}")
    said = {name: str(value) for name, value in call.arguments.items() if value is not None}
    element = page.by_id.get(said.get("element", ""))
    if said.get("element") and element is None:
        why = f"There is no element {said['element']} on this page, so nothing can come of it."
        return Expected(action, "effect", why, element=said["element"], url_changes=False)
    match action, element:
        case "click" | "submit", Element():
            return _expect_click(action, element, page)
        case "type", Element():
            return _expect_value(action, element, said.get("text", ""), "hold")
        case "select", Element():
            return _expect_value(action, element, said.get("option", ""), "show")
        case "press", _:
            return _expect_press(said.get("key", ""), element or page.by_id.get(page.focused), page)
        case "navigate", _:
            return _expect_navigation(action, said.get("url", ""), "Opening an address should lead to it", page)
        case "scroll", _:
            way = said.get("direction", "down")
            why = f"Scrolling {way} should move {_describe_element(element) if element else 'the page'} {way}."
            return Expected(action, "scroll", why, element=element.id if element else "", attributes={"direction": way})
        case "wait", _:
            return Expected(action, "wait", "After the wait the page should have finished working.")
        case "done", _:
            return Expected(action, "done", "The task is finished: nothing more should happen.", url_changes=False)
        case _:
            return Expected(action, "effect", f"A {action} that names no element: nothing can come of it.")


def _expect_click(action: ActionKind, element: Element, page: Page) -> Expected:
    """The first line that fits. Containers come before what they contain, states before names."""
    clicking, here = f"Clicking {_describe_element(element)} should", element.id
    popup = popup_around(element, page)
    match element:
        case Element(haspopup=kind, expanded=True) if kind and element.role not in FIELDS:
            opened = tuple(one.id for one in find_opened_popups(element, page))
            why = f"{clicking} close its {_popup(kind)}; the address stays."
            return Expected(action, "dismissal", why, here, False, attributes={"expanded": "false"}, disappear=opened)
        case Element(haspopup=kind) if kind:
            why = f"{clicking} open its {_popup(kind)}; the address stays."
            items = POPUP_ITEMS[kind]
            return Expected(action, "popup", why, here, False, attributes={"expanded": "true"}, appear=items)
        case Element(role=role) if role in FIELDS:
            why = f"{clicking} put the cursor into it."
            return Expected(action, "state", why, here, False, attributes={"focused": "true"})
        case Element(href=href) if leaves_the_browser(href):
            return Expected(action, "effect", f"{clicking} open another program; the page stays.", here, False)
        case Element(role="tab"):
            return Expected(
                action, "state", f"{clicking} bring its tab to the front.", here, attributes={"selected": "true"}
            )
        case Element(href=href) if not leads_nowhere(href):
            return _expect_navigation(action, href, f"{clicking} lead to its address", page, element)
        case Element(role=role) if role in _CHOSEN and popup is not None:
            why = f"{clicking} choose it: {_describe_element(popup)} closes and something changes."
            return Expected(
                action, "choice", why, here, attributes=_find_choice_attributes(element), disappear=(popup.id,)
            )
        case Element(role="radio" | "menuitemradio"):
            return Expected(action, "state", f"{clicking} choose it.", here, attributes={"checked": "true"})
        case Element(checked=bool(state)):
            word = "clear" if state else "tick"
            return Expected(action, "state", f"{clicking} {word} it.", here, attributes={"checked": _flip(state)})
        case Element(pressed=bool()) if submits(element):
            return Expected(action, "state", f"{clicking} choose it.", here, attributes={"pressed": "true"})
        case Element(pressed=bool(state)):
            word = "release" if state else "press"
            return Expected(action, "state", f"{clicking} {word} it.", here, attributes={"pressed": _flip(state)})
        case Element(expanded=bool(state)):
            word = "fold it up" if state else "unfold it"
            return Expected(action, "state", f"{clicking} {word}.", here, attributes={"expanded": _flip(state)})
        case Element(role=role) if role in _CHOSEN and element.selected is not None:
            return Expected(action, "state", f"{clicking} select it.", here, attributes={"selected": "true"})
        case Element(name=name) if (dialog := dialog_around(element, page)) and is_wholly("dismisses", name):
            return Expected(
                action, "dismissal", f"{clicking} close {_describe_element(dialog)}.", here, disappear=(dialog.id,)
            )
        case _ if action == "submit" or submits(element):
            return _expect_submission(action, element, page, clicking)
        case _:
            return Expected(action, "effect", f"{clicking} have an effect that can be seen.", here)


def _expect_press(key: str, target: Element | None, page: Page) -> Expected:
    pressing = f"Pressing {key} on {_describe_element(target)} should" if target else f"Pressing {key} should"
    here = target.id if target else ""
    match key.rpartition("+")[2].strip().lower() or key:
        case "escape" | "esc":
            opened = tuple(one.id for one in open_over(page))
            if opened:
                return Expected("press", "dismissal", f"{pressing} close what is open.", here, False, disappear=opened)
            return Expected("press", "key", f"{pressing} do nothing: nothing is open.", here, False)
        case "enter" | "numpadenter" | "return" if target is not None and target.role in FIELDS:
            return _expect_enter(target, page, pressing)
        case "enter" | "numpadenter" | "return" | "space" | " " if target is not None and target.role not in FIELDS:
            return replace(_expect_click("click", target, page), action="press")
        case "tab":
            why = f"{pressing} move the cursor to another element."
            return Expected("press", "key", why, here, False, attributes={"focused": "false"})
        case "backspace" | "delete" if target is not None and target.role in FIELDS:
            return Expected(
                "press", "key", f"{pressing} change its value.", here, False, attributes={"value": "another"}
            )
        case letter if len(letter) == 1 and "+" not in key and target is not None and target.role in FIELDS:
            return Expected(
                "press", "key", f"{pressing} change its value.", here, False, attributes={"value": "another"}
            )
        case _:
            return Expected("press", "key", f"{pressing} have an effect that can be seen.", here)


def _expect_enter(field: Element, page: Page, pressing: str) -> Expected:
    """Enter in a field: chooses from its open list, breaks the line, or submits its form."""
    opened = tuple(one.id for one in find_opened_popups(field, page)) if field.expanded else ()
    if opened:
        why = f"{pressing} choose from its list, which closes."
        return Expected("press", "choice", why, field.id, attributes={}, disappear=opened)
    if field.role == "textbox" and field.type in ("", "textarea"):
        return Expected(
            "press", "key", f"{pressing} start a new line.", field.id, False, attributes={"value": "another"}
        )
    if form_of(field, page) is not None:
        return _expect_submission("press", field, page, pressing)
    return Expected("press", "effect", f"{pressing} have an effect that can be seen.", field.id)


def _expect_submission(action: ActionKind, element: Element, page: Page, doing: str) -> Expected:
    why = f"{doing} lead to another page or to a message that it worked."
    dialog = dialog_around(element, page)
    form = form_of(element, page)
    row = next((one for one in around(element, page) if one.role in ("row", "listitem", "article")), None)
    gone = tuple(one.id for one in (dialog, form, row) if one is not None)
    return Expected(action, "submission", why, element.id, appear=MESSAGES, disappear=gone)


def _expect_navigation(
    action: ActionKind, url: str, doing: str, page: Page, element: Element | None = None
) -> Expected:
    there = same_place(url, page.url)
    why = f"{doing}, {_shorten(url)}{', which is open already' if there else ''}."
    return Expected(action, "navigation", why, element.id if element else "", None if there else True, url)


def _expect_value(action: ActionKind, element: Element, value: str, word: str) -> Expected:
    shown = "what was typed" if element.type == "password" else f'"{_shorten(value)}"' if value else "nothing"
    why = f"{_describe_element(element)[:1].upper()}{_describe_element(element)[1:]} should {word} {shown}."
    return Expected(action, "value", why, element.id, attributes={"value": value})


def _find_choice_attributes(element: Element) -> dict[str, str]:
    """What would show the choice if its popup stayed open, as that of several choices does."""
    if element.role == "menuitemcheckbox" and element.checked is not None:
        return {"checked": _flip(element.checked)}
    if element.role == "menuitemradio":
        return {"checked": "true"}
    return {"selected": "true"} if element.selected is not None else {}


def popup_around(element: Element, page: Page) -> Element | None:
    """The open popup that it stands in. A list that stands on the page for good is none: nothing opened it."""
    for one in around(element, page):
        if one.role in DIALOGS or (one.role in POPUPS and any(True for _ in owners(one, page))):
            return one if one.role in POPUPS else None
        if one.role == "menu":
            return one
    return None


def dialog_around(element: Element, page: Page) -> Element | None:
    return next((one for one in around(element, page) if one.role in DIALOGS), None)


def owners(popup: Element, page: Page) -> Iterator[Element]:
    """What opened it: the elements that say they control it, else those that are expanded and open its kind."""
    named = [one for one in page.elements if one.controls == popup.id]
    if named:
        yield from named
        return
    kinds = ("menu", "true") if popup.role in ("menu", "menubar") else (popup.role,)
    yield from (one for one in page.elements if one.expanded and (one.haspopup in kinds or one.role == "combobox"))


def find_opened_popups(element: Element, page: Page) -> list[Element]:
    """The popups that it has opened, as far as the page tells."""
    if element.controls in page.by_id:
        return [page.by_id[element.controls]]
    kinds = {"true": ("menu",), "dialog": tuple(DIALOGS), "": ("listbox",)}.get(element.haspopup, (element.haspopup,))
    return [one for one in page.elements if one.role in kinds and element not in list(around(one, page))]


def open_over(page: Page) -> list[Element]:
    """Dialogs and popups that lie over the page and would close on Escape."""
    return [
        one
        for one in page.elements
        if one.role in DIALOGS
        or (one.role in POPUPS and (any(True for _ in owners(one, page)) or (one.role == "menu" and not one.inside)))
    ]


def _describe_element(element: Element) -> str:
    name = _shorten(element.name or element.description)
    return f'the {element.role or "element"} "{name}"' if name else f"the {element.role or 'element'} {element.id}"


def _popup(kind: str) -> str:
    return {"true": "menu", "listbox": "list", "grid": "table"}.get(kind, kind)


def _shorten(text: str) -> str:
    flat = " ".join(text.split()).replace('"', "'")
    return flat if len(flat) <= 80 else flat[:79] + "…"


def _flip(state: bool) -> str:
    return str(not state).lower()
