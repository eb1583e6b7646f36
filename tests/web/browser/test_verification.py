"""Whether an action did what it should, by the pages before and after it (R14). The worst error is a false success."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from circumspect.values import ToolCall
from circumspect.web.browser.expectations import expect
from circumspect.web.browser.verification import verify
from circumspect.web.page import Element, Page, Verified

URL = "https://clinic.example/dashboard"
PATIENT = Element("b1", "button", "Patient", haspopup="menu", expanded=False)
VISITS = Element("l1", "link", "Visits", href="https://clinic.example/visits")
MENU = Element("m1", "menu", "Patient")
ITEMS = (
    Element("i1", "menuitem", "New/Search", inside="m1", href="https://clinic.example/patients/new"),
    Element("i2", "menuitem", "Patient list", inside="m1", href="https://clinic.example/patients"),
)
HEADING = Element("h1", "heading", "Dashboard")
BEFORE = Page(URL, "Dashboard", (PATIENT, VISITS, HEADING), text="Four patients.")
OPENED = replace(BEFORE, elements=(replace(PATIENT, expanded=True, controls="m1"), MENU, *ITEMS, VISITS, HEADING))
SHUT = replace(BEFORE, scroll=BEFORE.scroll)


def done(tool: str, before: Page, after: Page, element: str = "", **arguments: Any) -> Verified:
    call = ToolCall(tool, arguments | ({"element": element} if element else {}))
    return verify(expect(call, before), before, after)


def changed(page: Page, *elements: Element, **said: Any) -> Page:
    """The page with these elements in the place of those with their ids, or added."""
    new = {one.id: one for one in elements}
    kept = [new.pop(one.id, one) for one in page.elements]
    return replace(page, elements=(*kept, *new.values()), **said)


def by_address(before: Page, after: Page) -> bool:
    """The verifier of old: a click on a button worked when the address changed."""
    return before.url != after.url


# The popup case: "Patient" opens a menu, and beside it stands "Visits".


def test_a_menu_that_opened_is_a_success_and_offers_its_items() -> None:
    found = done("click", BEFORE, OPENED, "b1")
    assert found.success
    assert found.confidence >= 0.95
    assert found.choices == ("i1", "i2")
    assert "New/Search" in found.happened
    assert not by_address(BEFORE, OPENED), "the verifier of old calls this a failure, and tries the neighbour"


def test_the_neighbour_of_the_menu_is_a_link_and_is_verified_as_one() -> None:
    visits = Page(
        "https://clinic.example/visits", "Visits", (PATIENT, VISITS, replace(HEADING, id="h2", name="Visits"))
    )
    found = done("click", BEFORE, visits, "l1")
    assert found.success
    assert done("click", BEFORE, visits, "b1").success is False, "an address that changed is no menu that opened"
    assert by_address(BEFORE, visits), "the verifier of old calls the wrong click a success"


def test_a_menu_that_did_not_open_is_a_failure() -> None:
    found = done("click", BEFORE, SHUT, "b1")
    assert not found.success
    assert found.confidence >= 0.9
    assert found.choices == ()


def test_a_button_that_says_it_is_open_and_shows_nothing_is_a_failure() -> None:
    assert not done("click", BEFORE, changed(BEFORE, replace(PATIENT, expanded=True)), "b1").success


def test_the_menu_of_another_button_is_a_failure() -> None:
    fees = Element("b2", "button", "Fees", haspopup="menu", expanded=False)
    before = changed(BEFORE, fees)
    after = changed(before, replace(fees, expanded=True), MENU, *ITEMS)
    found = done("click", before, after, "b1")
    assert not found.success
    assert "Fees" in found.happened


def test_a_menu_whose_button_says_nothing_is_a_success_by_its_items() -> None:
    quiet = replace(PATIENT, expanded=None)
    before = Page(URL, elements=(quiet,))
    found = done("click", before, changed(before, MENU, *ITEMS), "b1")
    assert found.success
    assert found.choices == ("i1", "i2")


def test_a_dialog_offers_what_can_be_used_in_it() -> None:
    before = Page(URL, elements=(Element("b1", "button", "Delete patient", haspopup="dialog"),))
    inside = (
        Element("y1", "button", "Delete", inside="d1"),
        Element("y2", "button", "Later", inside="d1", disabled=True),
        Element("y3", "button", "Cancel", inside="d1"),
    )
    found = done("click", before, changed(before, Element("d1", "alertdialog", "Delete Ann?"), *inside), "b1")
    assert found.success
    assert found.choices == ("y1", "y3")


# Links.

MISSING = Page("https://clinic.example/visits", "Page not found", (Element("h2", "heading", "Page not found"),))


def test_an_error_page_is_never_a_success() -> None:
    assert not done("click", BEFORE, MISSING, "l1").success
    assert not done("click", BEFORE, replace(MISSING, title="Visits", status=500), "l1").success
    assert not done("navigate", BEFORE, MISSING, url="https://clinic.example/visits").success


def test_a_page_that_speaks_of_errors_is_not_an_error_page() -> None:
    heading = Element("h2", "heading", "Visits")
    after = Page("https://clinic.example/visits", "Visits", (VISITS, heading), text="Error 505: claim rejected")
    assert done("click", BEFORE, after, "l1").success


def test_a_link_that_led_elsewhere_is_a_failure() -> None:
    after = Page("https://clinic.example/reports", "Reports", (Element("h2", "heading", "Reports"),))
    found = done("click", BEFORE, after, "l1")
    assert not found.success
    assert "/reports" in found.happened


def test_a_link_that_led_to_the_sign_in_page_is_a_failure() -> None:
    password = Element("p1", "textbox", "Password", type="password")
    after = Page("https://clinic.example/login?next=/visits", "Sign in to see Visits", (password,))
    assert not done("click", BEFORE, after, "l1").success


def test_a_page_below_the_one_that_was_wanted_is_a_success() -> None:
    after = Page("https://clinic.example/visits/today", "Today", (Element("h2", "heading", "Today"),))
    assert done("click", BEFORE, after, "l1").success


def test_an_address_that_changed_over_the_old_page_is_a_failure() -> None:
    assert not done("click", BEFORE, replace(BEFORE, url="https://clinic.example/visits"), "l1").success


def test_the_way_an_address_is_written_does_not_matter() -> None:
    after = Page("https://www.clinic.example:443/visits/?tab=1", "Visits", (Element("h2", "heading", "Visits"),))
    assert done("click", BEFORE, after, "l1").success


# Forms.

FORM = Element("f1", "form", "New patient", method="post")
NAME = Element("t1", "textbox", "Name", type="text", form="f1", inside="f1", value="Ann", required=True)
PHONE = Element("t2", "textbox", "Phone", type="tel", form="f1", inside="f1", required=True)
CREATE = Element("b1", "button", "Create", type="submit", form="f1", inside="f1")
FILLED = Page("https://clinic.example/new", "New patient", (FORM, NAME, PHONE, CREATE))


def submitted(after: Page, before: Page = FILLED) -> Verified:
    return done("submit", before, after, "b1")


def test_a_form_that_led_on_is_a_success() -> None:
    record = Page("https://clinic.example/patients/5", "Ann", (Element("s1", "status", "Ann was created."),))
    assert submitted(record).success
    assert submitted(replace(record, elements=())).success


@pytest.mark.parametrize("text", ["Patient saved.", "Thank you!", "המטופל נשמר", "Пациент добавлен"])
def test_a_message_that_it_worked_is_a_success(text: str) -> None:
    assert submitted(changed(FILLED, Element("s1", "status", text))).success


@pytest.mark.parametrize(
    "text",
    [
        "Phone is required.",
        "Please enter a phone number",
        "Could not be saved: the server is offline.",
        "Your request was received but could not be saved.",
        "This slot is already booked.",
        "יש למלא את כל השדות",
        "Не удалось сохранить",
    ],
)
@pytest.mark.parametrize("role", ["alert", "status"])
def test_a_message_that_it_did_not_is_a_failure_and_is_handed_on(text: str, role: str) -> None:
    found = submitted(changed(FILLED, Element("s1", role, text)))
    assert not found.success
    assert text.rstrip(".") in found.error


def test_fields_that_the_page_marks_are_a_failure() -> None:
    found = submitted(changed(FILLED, replace(PHONE, invalid=True, description="Phone is required.")))
    assert not found.success
    assert found.error == "Phone is required."


def test_a_form_sent_again_with_a_field_still_marked_is_a_failure() -> None:
    marked = replace(PHONE, invalid=True, description="Phone is required.")
    before = changed(FILLED, marked, replace(NAME, invalid=True))
    assert not submitted(changed(before, NAME), before).success


def test_a_form_that_was_drawn_again_at_another_address_with_complaints_is_a_failure() -> None:
    after = replace(FILLED, url="https://clinic.example/patients", text="Phone is missing.")
    found = submitted(after)
    assert not found.success
    assert "missing" in found.error


def test_a_form_that_came_back_as_it_was_is_a_failure() -> None:
    assert not submitted(replace(FILLED, url="https://clinic.example/patients")).success


def test_nothing_changed_after_a_submission_names_the_empty_fields() -> None:
    found = submitted(replace(FILLED, focused="t2"))
    assert not found.success
    assert found.confidence >= 0.9
    assert "Phone" in found.error


def test_a_message_about_something_else_is_no_success() -> None:
    assert not submitted(changed(FILLED, Element("s1", "status", "Dr. Katz is online"))).success
    assert not submitted(changed(FILLED, Element("s1", "alert", "The office closes at five."))).success


def test_a_dialog_that_asks_first_is_a_step_on_the_way() -> None:
    yes = Element("y1", "button", "Yes", inside="d1")
    found = submitted(changed(FILLED, Element("d1", "alertdialog", "Create Ann?"), yes))
    assert found.success
    assert found.choices == ("y1",)


def test_a_button_that_is_still_saving_has_not_saved() -> None:
    script = replace(FILLED, elements=(replace(FORM, method="get"), NAME, replace(CREATE, name="Save")))
    assert not submitted(changed(script, replace(CREATE, name="Saving…", disabled=True)), script).success


def test_a_page_full_of_words_after_a_form_is_not_taken_for_a_refusal() -> None:
    overview = Page("https://clinic.example/", "Overview", text="Answered\nFailed\nWhat was not paid is listed below.")
    assert submitted(replace(overview, text="Answered\nFailed\n12 turns")).success
    refused = replace(overview, text="The patient was not created.\nPatients\nClaims")
    assert not submitted(refused).success


def test_what_changed_in_another_row_is_not_the_doing_of_this_one() -> None:
    rows = [
        (
            Element(f"r{n}", "row", f"Visit {n}"),
            Element(f"x{n}", "button", "Remove", inside=f"r{n}"),
            Element(f"y{n}", "link", "Open", inside=f"r{n}"),
        )
        for n in (1, 2, 3)
    ]
    before = Page(URL, elements=tuple(one for row in rows for one in row))
    third_gone = Page(URL, elements=tuple(one for row in rows[:2] for one in row))
    first_gone = Page(URL, elements=tuple(one for row in rows[1:] for one in row))
    assert done("submit", before, first_gone, "x1").success
    assert not done("submit", before, third_gone, "x1").success
    assert not done("click", before, third_gone, "x1").success


def test_a_dialog_that_complains_is_not_the_one_that_was_to_open() -> None:
    before = Page(URL, elements=(Element("b1", "button", "Delete patient", haspopup="dialog"),))
    denied = changed(before, Element("d1", "alertdialog", "You are not allowed to do this"))
    warning = changed(before, Element("d1", "alertdialog", "Delete Ann?", description="This cannot be undone."))
    assert not done("click", before, denied, "b1").success
    assert done("click", before, warning, "b1").success


def test_signing_out_may_end_at_the_sign_in_page_and_nothing_else_may() -> None:
    login = Page("https://clinic.example/login", "Sign in", (Element("p1", "textbox", "Password", type="password"),))
    out = replace(FILLED, elements=(FORM, replace(CREATE, name="Logout")))
    assert submitted(login, out).success
    assert not submitted(login).success


# Values.


@pytest.mark.parametrize(
    ("typed", "held"),
    [
        ("Ann", "Ann"),
        ("0501234567", "050-123-4567"),
        ("ab12", "AB12"),
        ("12500", "12,500"),
        ("15", "15.00"),
        ("Hello\nthere", "Hello there"),
        ("", ""),
    ],
)
def test_a_field_that_holds_what_was_typed_is_a_success(typed: str, held: str) -> None:
    assert done("type", FILLED, changed(FILLED, replace(PHONE, value=held)), "t2", text=typed).success


@pytest.mark.parametrize(
    ("typed", "held"),
    [
        ("0501234567", "05012"),
        ("12.50", "1250"),
        ("-1200", "1200"),
        ("1200", "-1200"),
        ("15", "1.5"),
        ("Ann", ""),
        ("Ann", "Anna"),
        ("", "Ann"),
        ("123456", "123 45"),
        ("2", "1, 2"),
    ],
)
def test_a_field_that_holds_something_else_is_a_failure(typed: str, held: str) -> None:
    assert not done("type", FILLED, changed(FILLED, replace(PHONE, value=held)), "t2", text=typed).success


def test_a_field_that_complains_about_what_was_typed_is_a_failure() -> None:
    after = changed(FILLED, replace(PHONE, value="12", invalid=True, description="Too short."))
    found = done("type", FILLED, after, "t2", text="12")
    assert not found.success
    assert found.error == "Too short."


def test_a_field_that_was_marked_before_may_stay_so_until_the_form_is_sent() -> None:
    before = changed(FILLED, replace(PHONE, invalid=True))
    assert done("type", before, changed(before, replace(PHONE, invalid=True, value="050")), "t2", text="050").success


def test_of_a_password_only_its_being_there_is_seen() -> None:
    secret = Element("p1", "textbox", "Password", type="password")
    before = Page(URL, elements=(secret,))
    found = done("type", before, changed(before, replace(secret, value="•••")), "p1", text="hunter2")
    assert found.success
    assert "hunter2" not in f"{found.expected}{found.happened}{found.error}"
    assert not done("type", before, before, "p1", text="hunter2").success


def test_a_list_that_opened_while_typing_offers_its_options() -> None:
    box = Element("c1", "combobox", "City", type="text", expanded=False)
    before = Page(URL, elements=(box,))
    options = (Element("o1", "option", "Haifa", inside="lb"), Element("o2", "option", "Hadera", inside="lb"))
    after = changed(before, replace(box, value="Ha", expanded=True), Element("lb", "listbox", "Cities"), *options)
    found = done("type", before, after, "c1", text="Ha")
    assert found.success
    assert found.choices == ("o1", "o2")


# States, choices, what is closed, keys and the rest.


def test_a_box_that_is_ticked_is_a_success_and_one_that_is_not_a_failure() -> None:
    box = Element("c1", "checkbox", "Reminders", checked=False)
    before = Page(URL, elements=(box,))
    assert done("click", before, changed(before, replace(box, checked=True)), "c1").success
    assert not done("click", before, before, "c1").success


def test_a_box_whose_page_complains_is_a_failure() -> None:
    box = Element("c1", "checkbox", "Reminders", checked=False)
    before = Page(URL, elements=(box,))
    after = changed(before, replace(box, checked=True), Element("a1", "alert", "Could not be saved."))
    assert not done("click", before, after, "c1").success


def test_a_tab_must_show_something_else() -> None:
    tab = Element("c1", "tab", "Notes", selected=False)
    before = Page(URL, elements=(tab,), text="Summary")
    after = changed(before, replace(tab, selected=True))
    assert not done("click", before, after, "c1").success
    assert done("click", before, replace(after, text="No notes."), "c1").success


LISTBOX = (Element("lb", "listbox", "Sex"), Element("o1", "option", "Female", selected=False, inside="lb"))
BOX = Element("c1", "combobox", "Sex", haspopup="listbox", expanded=True, controls="lb")
LIST = Page(URL, elements=(BOX, *LISTBOX))


def test_an_option_is_chosen_when_its_field_shows_it() -> None:
    closed = replace(BOX, expanded=False, controls="")
    assert done("click", LIST, Page(URL, elements=(replace(closed, value="Female"),)), "o1").success
    assert not done("click", LIST, Page(URL, elements=(replace(closed, value="Male"),)), "o1").success
    assert not done("click", LIST, Page(URL, elements=(closed,)), "o1").success
    assert not done("click", LIST, LIST, "o1").success


def test_one_option_is_not_taken_for_another_that_ends_alike() -> None:
    male = replace(LISTBOX[1], id="o2", name="Male")
    before = Page(URL, elements=(BOX, LISTBOX[0], male))
    closed = replace(BOX, expanded=False, controls="", value="Female")
    assert not done("click", before, Page(URL, elements=(closed,)), "o2").success


def test_a_dialog_is_closed_when_it_is_gone() -> None:
    dialog, cancel = Element("d1", "dialog", "Delete Ann?"), Element("b9", "button", "Cancel", inside="d1")
    before = changed(BEFORE, dialog, cancel)
    assert done("click", before, BEFORE, "b9").success
    assert not done("click", before, before, "b9").success
    assert done("press", before, BEFORE, key="Escape").success


def test_tab_has_moved_the_cursor_or_not() -> None:
    before = replace(FILLED, focused="t1")
    assert done("press", before, replace(before, focused="t2"), key="Tab").success
    assert not done("press", before, before, key="Tab").success


def test_scrolling_goes_the_way_it_should() -> None:
    middle = replace(BEFORE, scroll=(0, 500))
    assert done("scroll", BEFORE, middle, direction="down").success
    assert not done("scroll", BEFORE, middle, direction="up").success
    assert not done("scroll", BEFORE, BEFORE, direction="down").success


def test_a_wait_ends_when_the_page_has_finished() -> None:
    busy = replace(BEFORE, busy=True)
    assert done("wait", busy, BEFORE, seconds=1).success
    assert not done("wait", busy, busy, seconds=1).success


SYNC = Element("b7", "button", "Synchronise", type="button")
DESK = Page(URL, "Settings", (VISITS, HEADING, Element("g1", "link", "Home"), Element("g2", "link", "Help"), SYNC))


def test_a_button_that_did_nothing_is_a_failure_for_sure() -> None:
    found = done("click", DESK, replace(DESK, focused="b7"), "b7")
    assert not found.success
    assert found.confidence >= 0.9


@pytest.mark.parametrize(
    "after",
    [
        changed(DESK, Element("s1", "status", "Dr. Katz is online")),
        changed(DESK, Element("s1", "alert", "Something went wrong.")),
        changed(DESK, replace(VISITS, name="Visits (3)")),
        changed(DESK, Element("t1", "timer", "10:00:01")),
        replace(DESK, text="It is 10:00:01"),
        replace(DESK, elements=(Element("n1", "link", "What is new"), *DESK.elements)),
        changed(DESK, Element("k1", "dialog", "We use cookies")),
    ],
)
def test_a_change_that_has_nothing_to_do_with_the_button_is_no_success(after: Page) -> None:
    assert not done("click", DESK, after, "b7").success


@pytest.mark.parametrize(
    "after",
    [
        changed(DESK, Element("s1", "status", "Four records were updated.")),
        changed(DESK, Element("d1", "dialog", "Progress")),
        changed(DESK, replace(SYNC, name="Stop")),
        replace(DESK, elements=(*DESK.elements[:-1], Element("b8", "button", "Stop"))),
        changed(DESK, Element("x1", "link", "Synchronised records")),
        replace(DESK, url="https://clinic.example/reports", title="Reports"),
    ],
)
def test_a_change_that_has_to_do_with_it_is_one(after: Page) -> None:
    assert done("click", DESK, after, "b7").success


NEXT = Page(URL, "Shop", (Element("n1", "button", "Next", type="button"),), text="Shoes\nPage 1 of 5")


def test_a_button_that_turns_over_shows_other_words_in_the_place_of_the_old() -> None:
    assert done("click", NEXT, replace(NEXT, text="Gloves\nPage 2 of 5"), "n1").success
    assert not done("click", NEXT, replace(NEXT, text="Shoes\nPage 2 of 5"), "n1").success
    assert not done("click", NEXT, replace(NEXT, text="Shoes\nPage 1 of 5\nPlease fill in your name"), "n1").success


def test_a_field_that_was_only_emptied_is_no_effect() -> None:
    field = Element("q1", "textbox", "Tag", type="text", value="sports")
    before = Page(URL, elements=(field, Element("b1", "button", "Add", type="button")))
    emptied = changed(before, replace(field, value=""))
    assert not done("click", before, emptied, "b1").success
    assert done("click", before, replace(emptied, text="sports"), "b1").success


def test_a_route_behind_a_hash_must_show_something_else() -> None:
    link = Element("l1", "link", "Orders", href=f"{URL}#/orders")
    part = Element("l2", "link", "Notes", href=f"{URL}#notes")
    before = Page(URL, elements=(link, part))
    assert not done("click", before, replace(before, url=f"{URL}#/orders"), "l1").success
    assert done("click", before, replace(before, url=f"{URL}#/orders", text="Order 1"), "l1").success
    assert done("click", before, replace(before, url=f"{URL}#notes"), "l2").success


def test_what_is_not_on_the_page_cannot_have_worked() -> None:
    assert not done("click", BEFORE, OPENED, "zz").success


def test_done_is_done() -> None:
    assert done("done", BEFORE, BEFORE, answer="Booked.").success


@pytest.mark.parametrize(
    ("before", "tool", "element", "arguments"),
    [
        (BEFORE, "click", "b1", {}),
        (BEFORE, "click", "l1", {}),
        (FILLED, "submit", "b1", {}),
        (FILLED, "click", "b1", {}),
        (FILLED, "type", "t2", {"text": "050"}),
        (FILLED, "press", "t1", {"key": "Enter"}),
        (FILLED, "press", "", {"key": "Tab"}),
        (LIST, "click", "o1", {}),
        (LIST, "press", "", {"key": "Escape"}),
        (DESK, "click", "b7", {}),
        (DESK, "scroll", "", {"direction": "down"}),
        (DESK, "navigate", "", {"url": "https://clinic.example/visits"}),
    ],
)
def test_a_page_that_stays_as_it_is_is_a_failure_whatever_was_tried(
    before: Page, tool: str, element: str, arguments: dict[str, str]
) -> None:
    found = done(tool, before, before, element, **arguments)
    assert not found.success
    assert found.confidence >= 0.8
    assert found.expected
    assert found.happened
