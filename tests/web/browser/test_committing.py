"""Which clicks and keys commit, and so ask first (R15)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from circumspect.values import ToolCall
from circumspect.web.browser.commit_clicks import commits, commits_by_key
from circumspect.web.page import Element, Page

POST = Element("f1", "form", "Order", method="post")
GET = Element("f1", "form", "Find", method="get")
URL = "https://shop.example/cart"


def button(name: str, *, form: str = "", kind: str = "button", inside: str = "", role: str = "button") -> Element:
    return Element("b1", role, name, type=kind, form=form, inside=inside or form)


def button_beside(name: str, inside: str) -> Element:
    return Element("b2", "button", name, inside=inside)


def on(element: Element, *others: Element) -> bool:
    return commits(element, Page(URL, elements=(*others, element)))


@pytest.mark.parametrize(
    "name",
    [
        "Delete", "Delete patient", "Remove item", "Pay", "Pay $20 now", "Send", "Send message", "Submit order", "Transfer",
        "Confirm", "Yes, delete it", "Confirm and pay", "View and pay", "Place order", "Buy now", "Cancel my appointment",
        "Cancel subscription", "Publish", "Approve", "Unsubscribe", "🗑", "Save settings", "Delete history", "Send report",
        "מחק", "מחיקת מטופל", "שלח", "שלם עכשיו", "אישור", "ביטול תור", "העברה",
        "Удалить", "Оплатить заказ", "Отправить", "Подтвердить", "Отменить запись", "Оформить заказ",
    ],
)  # fmt: skip
def test_a_button_that_says_so_commits(name: str) -> None:
    assert on(button(name))


@pytest.mark.parametrize(
    "name",
    [
        "Drop table", "Retry payment", "Ban user", "Book now", "Void", "Void invoice", "Run", "Apply", "Reset", "Clear cart",
        "Block", "Suspend account", "Lock card", "Kick", "Enroll", "Check out", "Upgrade", "Renew", "Claim", "Launch",
        "Restart server", "Roll back", "Purge history", "Clear history", "Generate new key", "Rotate keys", "Add to cart",
        "Start trial", "Invite team", "Accept", "Merge", "Mark as paid", "Release funds", "Waive fee", "Escalate", "Follow",
        "Report user", "Don't renew", "Open account", "Open position", "Reload card", "View / Pay", "Show delete", "OK",
        "Yes", "Continue", "Upload", "Restore backup", "Synchronise", "5", "50 €", "List items", "Order items", "Zünden",
        "הזמן עכשיו", "חסום משתמש", "הפעל מחדש", "הצג ומחק", "אפס",
        "Заблокировать", "Запустить", "Забронировать", "Сбросить", "Списать", "Показать и удалить",
        "Jetzt buchen", "Sperren", "Zurücksetzen", "Neustart", "Anzeigen und löschen", "Freischalten", "Auszahlen",
    ],
)  # fmt: skip
def test_a_button_whose_name_proves_nothing_is_asked_about(name: str) -> None:
    assert on(button(name))
    assert on(Element("d1", "generic", name)), "however it is made"
    assert on(Element("l1", "link", name, href="https://shop.example/cart#"))


@pytest.mark.parametrize(
    "name",
    [
        "Past visits", "Inbox (3)", "Expand all", "Load more results", "Sort by price", "Page 3", "Download PDF", "☰", "⋮",
        "Copy link", "Zoom in", "Select all", "Back to results", "New/Search", "Next", "Read more", "Full screen", "Map",
        "Export CSV", "Learn more", "Show password", "Open in new tab", "My orders", "Settings", "Help", "Compact view",
        "הבא", "פרטים", "פרטים נוספים", "Mute", "Delivery information", "Payments received", "תורים", "מיין לפי מחיר", "הורד קובץ", "טען עוד", "הגדרות",
        "Далее", "Подробнее", "Свернуть", "Скачать отчет", "Мои заказы", "Сортировать по цене", "Настройки",
        "Weiter", "Mehr anzeigen", "Details", "Rechnungen", "Sortieren nach Preis", "Nächste Seite", "Zuklappen",
    ],
)  # fmt: skip
def test_a_name_that_can_mean_nothing_else_is_not_asked_about(name: str) -> None:
    assert not on(button(name))


@pytest.mark.parametrize(
    "name",
    [
        "Cancel", "Close", "×", "Back", "Keep my appointment", "Don't delete", "Search", "Filter", "Show more", "Payments",
        "Payment history", "Sent", "Orders", "Transfer history", "Clear filters", "Remove filter", "View report", "Edit",
        "Add patient", "Next month", "Deleted items",
        "ביטול", "סגור", "חיפוש", "הצג הכל", "תשלומים", "Отмена", "Закрыть", "Найти", "Показать ещё", "Платежи",
    ],
)  # fmt: skip
def test_a_button_that_only_looks_or_leaves_does_not(name: str) -> None:
    assert not on(button(name))


def test_the_button_of_a_form_that_posts_commits_whatever_it_says() -> None:
    assert on(button("Go ahead", form="f1", kind="submit"), POST)
    assert on(button("Next", form="f1", kind="submit"), POST)
    assert on(button("Open account", form="f1", kind="submit"), POST)
    assert on(button("Save", form="f1", kind="submit"), POST)
    assert on(button("Save", form="f1", kind=""), POST)


def test_a_button_beside_it_in_the_form_does_not() -> None:
    assert not on(button("Choose date", form="f1"), POST)
    assert not on(
        button("Cancel", form="f1", kind="submit"), POST, Element("b2", "button", "Pay", type="submit", form="f1")
    )
    assert on(button("Cancel", form="f1", kind="submit"), POST), "it is all that this form can do"
    assert not on(button("Reset", form="f1", kind="reset"), POST)


def test_a_search_does_not_commit() -> None:
    assert not on(button("Search", form="f1", kind="submit"), GET)
    assert not on(button("Apply filters", form="f1", kind="submit"), GET)
    assert not on(button("Go", form="f1", kind="submit"), GET)
    assert not on(button("Search", form="f1", kind="submit"), POST)


def test_a_form_that_a_script_sends_says_get_and_saves_all_the_same() -> None:
    assert on(button("Save patient", form="f1", kind="submit"), GET)
    assert on(button("Create account", form="f1", kind="submit"), GET)


def test_what_opens_or_unfolds_does_not_commit() -> None:
    assert not on(Element("b1", "button", "Delete patient", haspopup="dialog"))
    assert not on(Element("b1", "button", "Send to", haspopup="menu"))
    assert not on(Element("b1", "button", "Payments sent", expanded=False))
    assert not on(Element("b1", "tab", "Transfer", selected=False))
    assert not on(Element("b1", "checkbox", "Send reminders", checked=False))


def test_a_switch_acts_at_once_unless_a_form_waits_for_it() -> None:
    assert on(Element("s1", "switch", "Turn off heating", checked=True))
    assert not on(Element("s1", "switch", "Dark mode", checked=False))
    assert not on(Element("s1", "switch", "Send reminders", checked=False, form="f1", inside="f1"), POST)


def test_an_icon_that_does_not_say_what_it_does_is_asked_about() -> None:
    assert on(button(""))
    assert on(Element("l1", "link", "", href="https://shop.example/cart#"))
    assert not on(Element("b1", "button", "", description="Show more"))
    assert not on(Element("b1", "button", "", haspopup="menu"))
    assert not on(Element("l1", "link", "", href="https://shop.example/items/3"))


def test_a_menu_item_commits_like_a_button() -> None:
    menu = Element("m1", "menu", "Actions")
    assert on(Element("i1", "menuitem", "Delete", inside="m1"), menu)
    assert not on(Element("i1", "menuitem", "Open", inside="m1"), menu)


@pytest.mark.parametrize("role", ["form", "row", "dialog", "group", "gridcell", "treeitem"])
def test_a_click_on_what_holds_something_that_commits_is_asked_about(role: str) -> None:
    holder = Element("h1", role, "Ann Levi")
    assert on(holder, Element("c1", "group", "Actions", inside="h1"), button("Delete", inside="c1"))
    assert not on(holder, button("Edit", inside="h1"), Element("b2", "button", "Delete"))
    assert not on(Element("h1", "button", "More", haspopup="menu"), button("Delete", inside="h1", role="menuitem"))


def test_things_that_stand_in_each_other_are_looked_at_once() -> None:
    assert on(
        Element("h1", "form", "A", inside="h2"), Element("h2", "group", "B", inside="h1"), button("Pay", inside="h2")
    )


def test_a_link_to_a_page_does_not_commit_unless_opening_it_does_the_deed() -> None:
    assert not on(Element("l1", "link", "Send money", href="https://shop.example/transfers"))
    assert not on(Element("l1", "link", "Delete account", href="https://shop.example/settings/account"))
    assert on(Element("l1", "link", "Delete", href="https://shop.example/items/3/delete"))
    assert on(Element("l1", "link", "Yes", href="https://shop.example/items/3/delete"))
    assert on(Element("l1", "link", "Delete", href="https://shop.example/items/delete/3"))
    assert on(Element("l1", "link", "Yes", href="https://shop.example/items?action=delete&id=3"))
    assert on(Element("l1", "link", "Delete", href="https://shop.example/cart#"))
    assert on(Element("l1", "link", "Pay", href="javascript:pay()"))


def test_ok_commits_where_the_dialog_asks_for_it() -> None:
    grave = Element("d1", "dialog", "Delete Ann Levi?")
    mild = Element("d1", "dialog", "What is new")
    asked = Element("d1", "alertdialog", "Are you sure?")
    ok = button("OK", inside="d1")
    assert on(ok, grave)
    assert on(button("כן", inside="d1"), grave)
    assert on(ok, asked)
    assert not on(ok, mild)
    assert not on(ok, mild, Element("x", "button", "×", inside="d1"))
    assert on(ok, mild, button_beside("No", "d1")), "a dialog that offers a no has asked"
    assert on(ok, Element("d1", "dialog", "Drop the table?"))
    assert on(ok), "there is no dialog that it could belong to"
    assert not on(button("Cancel", inside="d1"), grave)


def test_what_begins_a_form_is_asked_about_once_there_is_something_to_send() -> None:
    field = Element("t1", "textbox", "Note", inside="x1")
    assert not on(button("Add note", inside="x1"), field)
    assert on(button("Add note", inside="x1"), replace(field, value="Patient is allergic"))


def test_a_number_is_a_page_or_a_day_only_where_such_things_stand() -> None:
    assert not on(button("17", inside="g1"), Element("g1", "grid", "November"))
    assert on(button("17", inside="g1"), Element("g1", "group", "Rate us"))


def test_emptying_fields_needs_fields() -> None:
    field = Element("t1", "textbox", "Name", inside="x1")
    assert not on(button("Clear", inside="x1"), field)
    assert on(button("Clear", inside="x1"))


def pressing(key: str, *elements: Element, element: str = "", focused: str = "") -> bool:
    arguments = {"key": key} | ({"element": element} if element else {})
    return commits_by_key(ToolCall("press", arguments), Page(URL, elements=elements, focused=focused))


FIELD = Element("t1", "textbox", "Amount", type="text", form="f1", inside="f1")


def test_enter_in_a_field_of_a_form_that_posts_commits() -> None:
    assert pressing("Enter", POST, FIELD, element="t1")
    assert pressing("Enter", POST, FIELD, focused="t1")
    assert pressing("Return", POST, FIELD, button("Pay", form="f1", kind="submit"), element="t1")


def test_enter_in_a_search_does_not() -> None:
    assert not pressing("Enter", GET, FIELD, element="t1")
    assert not pressing("Enter", POST, FIELD, button("Search", form="f1", kind="submit"), element="t1")


def test_enter_beside_a_button_that_sends_commits() -> None:
    field = Element("t1", "textbox", "Message", type="text", inside="x1")
    assert pressing("Enter", field, button("Send", inside="x1"), element="t1")
    assert not pressing("Enter", field, button("Emoji", inside="x1"), element="t1")


def test_enter_with_the_cursor_nobody_knows_where_is_taken_at_its_worst() -> None:
    assert pressing("Enter", POST, button("Pay", form="f1", kind="submit"))
    assert not pressing("Enter", GET, button("Search", form="f1", kind="submit"))


def test_enter_and_space_on_a_button_are_a_click() -> None:
    assert pressing("Enter", button("Delete"), element="b1")
    assert pressing("Space", button("Delete"), element="b1")
    assert not pressing("Space", button("Cancel"), element="b1")


def test_other_keys_do_not_commit_except_delete_on_a_thing() -> None:
    assert not pressing("Tab", POST, FIELD, element="t1")
    assert not pressing("Delete", POST, FIELD, element="t1")
    assert pressing("Delete", Element("r1", "row", "Invoice 7"), element="r1")
    assert pressing("Control+Enter", Element("t1", "textbox", "Message", type="textarea"), element="t1")
