"""A long page is cut to what matters, and what must be dealt with stays (R12)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from circumspect.web.browser.html_snapshot import page_of_html
from circumspect.web.browser.trimming import READ, trim_page
from circumspect.web.page import Element, Page

URL = "https://clinic.example/patients"
LINKS = "".join(f"<a href=/topic/{number}>Topic {number}</a> " for number in range(400))
ROWS = "".join(
    f"<tr><td>{number}<td>{name} Person{number}<td><a href=/patients/{number}>Open</a><td><button>Archive</button></tr>"
    for number, name in enumerate(["Ann", "Oleg", "Grace", "Maya"] * 125)
)
TABLE = page_of_html(f"<h1>Patients</h1><table>{ROWS}</table>", URL)


def names(page: Page) -> list[str]:
    return [one.name for one in page.elements]


def test_a_page_that_is_short_enough_stays_as_it_is() -> None:
    page = page_of_html("<h1>Hello</h1><button>Go</button>", URL)
    assert trim_page(page, "go") == page


def test_the_row_that_was_asked_for_stays_with_all_that_is_in_it() -> None:
    page = trim_page(TABLE, "open the record of Grace Person314", most=40)
    rows = [one for one in page.elements if "Grace Person314" in one.name]
    assert [one.role for one in rows] == ["row"]
    assert [one.name for one in page.elements if one.inside == rows[0].id] == ["Open", "Archive"]
    assert len(page.elements) == 40
    assert page.dropped == len(TABLE.elements) - 40


def test_an_open_dialog_and_all_in_it_stays_whatever_was_asked() -> None:
    dialog = "<div role=dialog aria-label='Cookies'><p>We ask.</p><button>Accept</button><button>Reject</button></div>"
    page = trim_page(page_of_html(f"{LINKS}{dialog}", URL), "topic 7", most=30)
    assert {"Cookies", "Accept", "Reject"} <= set(names(page))
    assert "Topic 7" in names(page)


def test_an_open_menu_with_its_items_and_its_opener_stays() -> None:
    menu = (
        "<button aria-haspopup=menu aria-expanded=true>Patient</button>"
        "<ul role=menu><li role=menuitem>New/Search<li role=menuitem>Visits</ul>"
    )
    page = trim_page(page_of_html(f"{LINKS}{menu}", URL), "topic 7", most=20)
    assert {"Patient", "New/Search", "Visits"} <= set(names(page))


def test_messages_stay_and_so_do_fields_that_were_refused() -> None:
    said = "<p role=alert>Phone is required.</p><input aria-label=Phone aria-invalid=true><p role=status>Saved.</p>"
    page = trim_page(page_of_html(f"{LINKS}{said}", URL), "topic 7", most=10)
    assert {"Phone is required.", "Phone", "Saved."} <= set(names(page))


def test_the_element_that_has_the_focus_stays() -> None:
    page = page_of_html(f"{LINKS}<a href=/last>Last</a>", URL)
    last = page.elements[-1].id
    assert last not in trim_page(page, "topic 7", most=10).by_id
    focused = Page(page.url, page.title, page.elements, focused=last)
    assert last in trim_page(focused, "topic 7", most=10).by_id


def test_forms_come_before_links() -> None:
    form = "<form aria-label=New method=post><input aria-label=First required><button>Create</button></form>"
    page = trim_page(page_of_html(f"{LINKS}{form}", URL), "something else", most=20)
    assert {"New", "First", "Create"} <= set(names(page))


def test_the_order_of_the_page_is_kept_and_so_is_what_an_element_is_inside_of() -> None:
    page = trim_page(TABLE, "Maya", most=100)
    order = [one.id for one in TABLE.elements if one.id in page.by_id]
    assert [one.id for one in page.elements] == order
    assert all(one.inside in page.by_id for one in page.elements if one.inside)


def test_one_rare_word_tells_more_than_many_that_are_everywhere() -> None:
    page = page_of_html("<button>Open the record</button>" * 100 + "<button>Xenia</button>", URL)
    assert "Xenia" in names(trim_page(page, "open the record of Xenia", most=5))


def test_words_are_found_in_other_forms() -> None:
    page = page_of_html(f"{LINKS}<a href=/p>Список пациентов</a><a href=/b>Billing</a>", URL)
    assert "Список пациентов" in names(trim_page(page, "открой пациента", most=5))
    assert "Billing" in names(trim_page(page, "show the bills", most=5))


def test_long_text_is_cut_to_the_lines_that_were_asked_for() -> None:
    lines = [f"Paragraph {number} talks of nothing in particular." for number in range(200)]
    lines[150] = "Error 505 means that the diagnosis code is missing."
    page = Page(URL, text="\n".join(lines))
    assert "diagnosis" not in page.listing
    found = trim_page(page, "what does error 505 mean")
    assert "diagnosis code is missing" in found.listing
    assert len(found.text) <= READ + 3
    assert found.text.startswith("Paragraph 0 ")
    assert "…" in found.text
    assert len(trim_page(Page(URL, text="x" * 9_000), "y").text) == READ


ELEMENTS = st.lists(
    st.builds(
        Element,
        id=st.sampled_from([f"e{number}" for number in range(30)]),
        role=st.sampled_from(["button", "row", "dialog", "menu", "link", "alert", "textbox"]),
        name=st.sampled_from(["", "Pay", "Open record", "Ann"]),
        inside=st.sampled_from(["", *(f"e{number}" for number in range(30))]),
    ),
    max_size=30,
    unique_by=lambda one: one.id,
)


@given(ELEMENTS, st.integers(1, 12), st.text(max_size=20))
@settings(max_examples=100)
def test_it_never_keeps_more_than_it_may_and_counts_the_rest(elements: list[Element], most: int, query: str) -> None:
    page = trim_page(Page(URL, elements=tuple(elements)), query, most=most)
    assert len(page.elements) <= most
    assert len(page.elements) + page.dropped == len(elements)
    there = {one.id for one in elements}
    assert all(one.inside in page.by_id for one in page.elements if one.inside in there)
