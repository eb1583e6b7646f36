"""What an action should bring about is said before it is tried (R13)."""

from __future__ import annotations

from typing import Any

import pytest

from circumspect.values import ToolCall
from circumspect.web.browser.expectations import expect
from circumspect.web.page import Element, Expected, Page

URL = "https://clinic.example/patients"


def page(*elements: Element, **said: Any) -> Page:
    return Page(said.pop("url", URL), elements=elements, **said)


def clicking(element: Element, *others: Element, **said: Any) -> Expected:
    return expect(ToolCall("click", {"element": element.id}), page(element, *others, **said))


MENU = Element("m1", "menu", "Patient")
OPENER = Element("b1", "button", "Patient", haspopup="menu", expanded=True, controls="m1")
DIALOG = Element("d1", "dialog", "Delete Ann?")
FORM = Element("f1", "form", "New patient", method="post")


@pytest.mark.parametrize(
    ("popup", "items"),
    [
        ("menu", "menuitem"),
        ("true", "menuitem"),
        ("listbox", "option"),
        ("tree", "treeitem"),
        ("grid", "gridcell"),
        ("dialog", "dialog"),
    ],
)
def test_an_element_that_opens_something_opens_it_and_the_address_stays(popup: Any, items: str) -> None:
    expected = clicking(Element("b1", "button", "Patient", haspopup=popup, expanded=False))
    assert expected.kind == "popup"
    assert expected.url_changes is False
    assert expected.attributes == {"expanded": "true"}
    assert items in expected.appear


def test_a_link_that_opens_a_menu_is_not_expected_to_lead_anywhere() -> None:
    expected = clicking(Element("l1", "link", "Patient", haspopup="menu", href="https://clinic.example/patient"))
    assert (expected.kind, expected.url_changes) == ("popup", False)


def test_an_open_menu_is_expected_to_close() -> None:
    expected = clicking(OPENER, MENU)
    assert expected.kind == "dismissal"
    assert expected.attributes == {"expanded": "false"}
    assert expected.disappear == ("m1",)


def test_a_link_leads_to_its_address() -> None:
    expected = clicking(Element("l1", "link", "Visits", href="https://clinic.example/visits"))
    assert (expected.kind, expected.url_changes) == ("navigation", True)
    assert expected.url == "https://clinic.example/visits"


def test_a_link_to_a_part_of_the_page_changes_the_address() -> None:
    expected = clicking(Element("l1", "link", "Notes", href=f"{URL}#notes"))
    assert (expected.kind, expected.url_changes, expected.url) == ("navigation", True, f"{URL}#notes")


def test_a_link_to_the_page_that_is_open_need_not_change_the_address() -> None:
    expected = clicking(Element("l1", "link", "Patients", href=f"{URL}/"))
    assert (expected.kind, expected.url_changes) == ("navigation", None)


@pytest.mark.parametrize("href", ["", f"{URL}#", "javascript:void(0)"])
def test_a_link_that_leads_nowhere_is_a_button(href: str) -> None:
    assert clicking(Element("l1", "link", "More", href=href)).kind == "effect"


def test_a_link_to_a_mail_program_leaves_the_page_where_it_is() -> None:
    expected = clicking(Element("l1", "link", "Write to us", href="mailto:desk@clinic.example"))
    assert (expected.kind, expected.url_changes) == ("effect", False)


@pytest.mark.parametrize(
    ("element", "attribute"),
    [
        (Element("c1", "checkbox", "Reminders", checked=False), {"checked": "true"}),
        (Element("c1", "checkbox", "Reminders", checked=True), {"checked": "false"}),
        (Element("c1", "switch", "Notifications", checked=False), {"checked": "true"}),
        (Element("c1", "radio", "Dark", checked=True), {"checked": "true"}),
        (Element("c1", "tab", "Notes", selected=False), {"selected": "true"}),
        (Element("c1", "button", "Past visits", expanded=False), {"expanded": "true"}),
        (Element("c1", "button", "Past visits", expanded=True), {"expanded": "false"}),
        (Element("c1", "button", "Bold", pressed=False), {"pressed": "true"}),
        (Element("c1", "treeitem", "Surgery", selected=False), {"selected": "true"}),
        (Element("c1", "treeitem", "Medicine", expanded=False), {"expanded": "true"}),
        (Element("c1", "textbox", "Name", type="text"), {"focused": "true"}),
        (Element("c1", "combobox", "Provider", options=("A", "B")), {"focused": "true"}),
    ],
)
def test_what_has_a_state_changes_it(element: Element, attribute: dict[str, str]) -> None:
    expected = clicking(element)
    assert (expected.kind, dict(expected.attributes)) == ("state", attribute)


def test_an_item_of_an_open_menu_is_chosen_and_the_menu_closes() -> None:
    item = Element("i1", "menuitem", "Export", inside="m1")
    expected = clicking(item, OPENER, MENU)
    assert (expected.kind, expected.disappear) == ("choice", ("m1",))


def test_an_item_with_an_address_leads_there() -> None:
    item = Element("i1", "menuitem", "New", inside="m1", href="https://clinic.example/patients/new")
    assert clicking(item, OPENER, MENU).kind == "navigation"


def test_an_option_of_a_list_that_is_always_there_is_selected() -> None:
    option = Element("o1", "option", "Red", selected=False, inside="l1")
    expected = clicking(option, Element("l1", "listbox", "Colour"))
    assert (expected.kind, dict(expected.attributes)) == ("state", {"selected": "true"})


@pytest.mark.parametrize("name", ["Cancel", "Close", "×", "No, keep it", "ביטול", "Закрыть"])
def test_a_dialog_closes_by_the_button_that_says_so(name: str) -> None:
    expected = clicking(Element("b1", "button", name, inside="d1", type="button"), DIALOG)
    assert (expected.kind, expected.disappear) == ("dismissal", ("d1",))


def test_a_form_is_submitted_by_its_button() -> None:
    button = Element("b1", "button", "Create", type="submit", form="f1", inside="f1")
    expected = clicking(button, FORM)
    assert expected.kind == "submission"
    assert expected.url_changes is None
    assert "alert" in expected.appear
    assert "status" in expected.appear


def test_a_click_that_commits_is_a_submission_without_any_form() -> None:
    button = Element("b1", "button", "Delete")
    assert expect(ToolCall("submit", {"element": "b1"}), page(button)).kind == "submission"


def test_of_an_unknown_button_some_effect_is_expected_and_no_change_of_the_address() -> None:
    expected = clicking(Element("b1", "button", "Synchronise", type="button"))
    assert (expected.kind, expected.url_changes) == ("effect", None)


def test_typing_sets_a_value_and_a_password_is_not_repeated() -> None:
    field = Element("t1", "textbox", "Password", type="password")
    expected = expect(ToolCall("type", {"element": "t1", "text": "hunter2"}), page(field))
    assert (expected.kind, dict(expected.attributes)) == ("value", {"value": "hunter2"})
    assert "hunter2" not in expected.why


def test_selecting_shows_the_option() -> None:
    field = Element("s1", "combobox", "Provider", options=("Dr. A", "Dr. B"))
    expected = expect(ToolCall("select", {"element": "s1", "option": "Dr. B"}), page(field))
    assert (expected.kind, dict(expected.attributes)) == ("value", {"value": "Dr. B"})


def pressing(key: str, *elements: Element, on: str = "", focused: str = "") -> Expected:
    arguments = {"key": key} | ({"element": on} if on else {})
    return expect(ToolCall("press", arguments), page(*elements, focused=focused))


def test_escape_closes_what_is_open() -> None:
    assert pressing("Escape", OPENER, MENU).disappear == ("m1",)
    assert pressing("Esc", DIALOG).kind == "dismissal"
    assert pressing("Escape", Element("b1", "button", "Save")).kind == "key"


def test_enter_does_what_the_element_with_the_cursor_does() -> None:
    field = Element("t1", "textbox", "Name", type="text", form="f1", inside="f1")
    area = Element("t2", "textbox", "Note", form="f1", inside="f1")
    link = Element("l1", "link", "Visits", href="https://clinic.example/visits")
    box = Element("c1", "combobox", "City", expanded=True, controls="lb")
    listbox = Element("lb", "listbox", "Cities")
    assert pressing("Enter", FORM, field, on="t1").kind == "submission"
    assert pressing("Enter", FORM, field, focused="t1").kind == "submission"
    assert pressing("Enter", FORM, area, on="t2").kind == "key"
    assert pressing("Enter", link, on="l1").kind == "navigation"
    assert pressing("Enter", link, on="l1").action == "press"
    assert pressing("Enter", box, listbox, on="c1").kind == "choice"
    assert pressing("Space", Element("c1", "checkbox", "Reminders", checked=False), on="c1").kind == "state"


def test_tab_moves_the_cursor() -> None:
    assert pressing("Tab").attributes == {"focused": "false"}
    assert pressing("Shift+Tab").attributes == {"focused": "false"}


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (ToolCall("navigate", {"url": "https://clinic.example/visits"}), "navigation"),
        (ToolCall("scroll", {"direction": "down"}), "scroll"),
        (ToolCall("wait", {"seconds": 2}), "wait"),
        (ToolCall("done", {"answer": "It is booked."}), "done"),
        (ToolCall("press", {"key": "ArrowDown"}), "key"),
    ],
)
def test_every_other_action_has_its_outcome(call: ToolCall, kind: str) -> None:
    assert expect(call, page()).kind == kind


def test_nothing_comes_of_an_element_that_is_not_there() -> None:
    expected = expect(ToolCall("click", {"element": "zz"}), page())
    assert expected.url_changes is False
    assert "no element zz" in expected.why


def test_what_is_no_action_is_refused() -> None:
    with pytest.raises(ValueError, match="not an action"):
        expect(ToolCall("hover", {}), page())
