"""Plain HTML is read as the living page is, and whatever is sent, reading it ends (R10, R12)."""

from __future__ import annotations

import httpx
import pytest
from examples.clinic import Served
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE
from tests.web.browser.conftest import PAGES, Visitor, names, the

from circumspect.web.browser.html_snapshot import hash_text, page_of_html
from circumspect.web.page import Page

URL = "https://clinic.example/patients/new"
OWN = """
  <base href="https://clinic.example/deep/"><h1>Own <a href="x">page</a></h1><h2>Plain   heading</h2>
  <button data-testid=save>Save <img alt=disk src=d.png></button> <button aria-label="Close it">×</button>
  <a href="?q=1">Query</a> <a href="#part">Part</a> <a href="//other.example/ü b">Other</a> <a>No link</a>
  <form><input type=submit><input type=reset value=Clear><input type=image alt=Go><input list=l aria-label=List name=a>
  <datalist id=l><option>One<option>Two</datalist><input type=range aria-label=Range value=3><input type=number title=Count>
  <input type=date aria-label=When value=2026-01-02><textarea placeholder=Words>Some
  text</textarea><select multiple aria-label=Many><option selected>A<option selected>B<option>C</select>
  <select aria-label=None_chosen><option disabled>Choose<option>Second</select>
  <fieldset disabled><legend>Off</legend><input aria-label=Off></fieldset></form>
  <ul role=listbox aria-label=Box><li role=option aria-selected=true>First<li role=option>Second</ul>
  <div role=checkbox aria-checked=true tabindex=0>Custom</div> <div contenteditable=true aria-label=Edit>Words here</div>
  <details open><summary>Folded</summary><p>Inside</p></details><progress value=.5 aria-label=Done></progress>
  <table><tr><th>Head<td>Cell<tr><td>Row <td><button>Act</button><tr><td>Row<td><button>Act</button></table>
  <div role=alert>It <b>broke</b>.</div><p>One</p><p>Two <span hidden>unseen</span></p><img alt=Picture src=p.png>
  <svg width=10 height=10><title>Icon</title></svg><div role="none button">Second role</div><div role=nonsense>No role</div>
  <nav aria-label=Foot><a href=/a>Same</a><a href=/a>Same</a></nav><div aria-disabled=true><button>Grey</button></div>
  <span id=named>By other</span><button aria-labelledby="named missing">x</button><button aria-describedby=named>y</button>
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_markup_says_the_same_as_the_living_page(visitor: Visitor) -> None:
    for path in PAGES:
        live = await visitor.opens(path)
        read = page_of_html(httpx.get(visitor.url + path, trust_env=False, timeout=PATIENCE).text, visitor.url + path)
        assert [one.line for one in read.elements] == [one.line for one in live.elements], path
        assert read.elements == live.elements, path
        assert (read.title, read.text, read.busy) == (live.title, live.text, live.busy), path


@pytest.mark.asyncio(loop_scope="session")
async def test_so_it_does_with_all_that_markup_can_say(visitor: Visitor) -> None:
    live = await visitor.is_shown(OWN)
    read = page_of_html(f"<!doctype html><title>Own</title>{OWN}", live.url)
    assert [one.line for one in read.elements] == [one.line for one in live.elements]
    assert read.elements == live.elements
    assert read.text == live.text
    assert len(read.elements) == 37


@pytest.mark.asyncio(loop_scope="session")
async def test_what_only_a_browser_knows_is_not_made_up(visitor: Visitor) -> None:
    live = await visitor.opens("/components")
    read = page_of_html(httpx.get(f"{visitor.url}/components", trust_env=False, timeout=PATIENCE).text, live.url)
    missing = {one.name for one in live.elements if one.id not in read.by_id}
    assert {"More", "Email", "Subject", "Send message"} <= missing
    assert set(read.elements) <= set(live.elements)


def test_what_is_hidden_or_code_is_not_read() -> None:
    page = page_of_html(
        "<p>Seen</p><p hidden>Secret</p><p aria-hidden=true>Secret</p><p style='display: none'>Secret</p>"
        "<p style='opacity:0'>Secret</p><dialog><button>Secret</button></dialog><script>Secret</script>"
        "<style>.Secret{}</style><template>Secret</template><!-- Secret --><input type=hidden value=Secret>"
        "<details><summary>Fold</summary>Plain</details><div popover>Secret</div>",
        URL,
    )
    assert "Secret" not in str(page.to_json())
    assert page.text.startswith("Seen")


def test_passwords_and_cards_are_not_read() -> None:
    page = page_of_html(
        "<input type=password value=hunter2 aria-label=P><input name=user_password value=hunter2 aria-label=Q>"
        "<input autocomplete='one-time-code' value=hunter2 aria-label=R><input name=user value=ann aria-label=S>",
        URL,
    )
    assert [one.value for one in page.elements] == ["•••", "•••", "•••", "ann"]


def test_text_of_strangers_stays_inside_its_quotes(clinic: Served) -> None:
    page = page_of_html(httpx.get(f"{clinic.url}/messages", trust_env=False, timeout=PATIENCE).text, URL)
    assert not any(line.startswith(("[zz99]", "[aa11]")) for line in page.listing.splitlines())
    assert the(page, "button", "Transfer").form == the(page, "form", "Transfer").id


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 200_000,
        "<table><tr><td>" * 30_000,
        ("<div role=row>" * 150 + "<b>x</b>" * 1_000) * 20,
        "<select>" + "<option>x" * 20_000,
        "<div " + " ".join(f"a{number}=1" for number in range(50_000)) + ">",
        "<body id=all>" + "words " * 20_000 + "<button aria-labelledby=all aria-controls=all></button>" * 2_000,
        "<script>" * 50_000,
        "<!--" * 100_000,
        "<b><p>" * 20_000,
    ],
    ids=["deep", "tables", "rows", "options", "attributes", "labels", "scripts", "comments", "misnested"],
)
def test_what_is_made_to_take_hours_does_not(html: str) -> None:
    """Without the bounds, the time limit of the tests ends most of these."""
    page = page_of_html(html, URL)
    assert len(page.elements) <= 3_000
    assert len(page.text) <= 50_000


def test_more_elements_than_anybody_needs_are_counted_and_left_out() -> None:
    page = page_of_html("<button>x</button>" * 4_000, URL)
    assert (len(page.elements), page.dropped) == (3_000, 1_000)
    assert len(page.by_id) == 3_000


@given(st.text(alphabet="<>/=\"'& aimg-divbuttonrole\x00é\n", max_size=200))
@settings(max_examples=60)
def test_broken_markup_is_read_as_far_as_it_goes(html: str) -> None:
    page = page_of_html(html, URL)
    assert Page.from_json(page.to_json()) == page


def test_halves_of_characters_are_no_trouble() -> None:
    page = page_of_html("<button title='\ud800'>Go \udfff</button>שלום", URL)
    assert str(page.to_json()).encode()
    assert page.text == "שלום"


def test_nothing_is_a_page_without_anything() -> None:
    assert page_of_html("", URL) == Page(URL, status=0)
    assert names(page_of_html("just words", URL), "button") == []
    assert page_of_html("<a href='http://[::1'>broken</a>", URL).elements[0].href == ""


def test_ids_have_no_vowels_and_differ() -> None:
    ids = {hash_text(f"/button:{number}") for number in range(2_000)}
    assert len(ids) > 1_990
    assert not set("".join(ids)) & set("aeiou01")
