"""What a snapshot of a living page has (R12)."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from examples.clinic import Served
from playwright.async_api import Route
from tests.web.browser.conftest import PAGES, Visitor, names, the

from circumspect.web.browser.live_page import locate, page_of
from circumspect.web.page import Page

pytestmark = pytest.mark.asyncio(loop_scope="session")

SAME_TO_CHROMIUM = {"DisclosureTriangle": "button", "Iframe": "iframe"}
COMPARED = frozenset(
    ("alertdialog", "button", "checkbox", "combobox", "gridcell", "link", "listbox", "menu", "menuitem", "option", "radio",
     "searchbox", "switch", "tab", "tabpanel", "textbox", "tree", "treeitem", "iframe")
)  # fmt: skip


async def test_fields_have_their_names_and_what_is_asked_of_them(visitor: Visitor) -> None:
    page = await visitor.opens("/patients/new")
    form = the(page, "form", "New patient")
    required = [one.name for one in page.elements if one.required]
    assert required == ["First name", "Last name", "Date of birth", "Phone"]
    assert form.method == "post"
    assert {one.form for one in page.elements if one.required} == {form.id}
    assert the(page, "textbox", "Phone").type == "tel"
    assert the(page, "textbox", "Date of birth").description == "YYYY-MM-DD"
    assert the(page, "checkbox", "Send reminders").checked is False
    provider = the(page, "combobox", "Provider")
    assert provider.value == provider.options[0] == "Choose a provider"
    assert len(provider.options) == 4
    assert provider.haspopup == "", "a native select opens nothing that can be clicked in the page"
    assert the(page, "combobox", "Sex").haspopup == "listbox"
    assert the(page, "button", "Choose date").haspopup == "grid"
    assert the(page, "button", "Create patient").type == "submit"
    assert the(page, "group", "Contact").inside == form.id


async def test_a_menu_says_that_it_opens_and_then_that_it_is_open(visitor: Visitor) -> None:
    page = await visitor.opens("/dashboard")
    patient, fees = the(page, "button", "Patient"), the(page, "button", "Fees")
    assert (patient.haspopup, patient.expanded) == ("menu", False)
    assert (fees.haspopup, fees.expanded) == ("menu", None), "data-has-popup counts, too"
    assert not names(page, "menuitem")
    opened = await visitor.clicks(patient)
    menu = the(opened, "menu")
    assert opened.by_id[patient.id].expanded is True
    assert opened.by_id[patient.id].controls == menu.id
    assert names(opened, "menuitem") == ["New/Search", "Patient list", "Visit history"]
    assert {one.inside for one in opened.elements if one.role == "menuitem"} == {menu.id}
    assert the(opened, "menuitem", "New/Search").href == f"{visitor.url}/patients/new"
    assert opened.url == page.url


async def test_what_was_there_keeps_its_id_when_something_opens_beside_it(visitor: Visitor) -> None:
    page = await visitor.opens("/patients/new")
    opened = await visitor.clicks(the(page, "combobox", "Sex"))
    assert names(opened, "option") == ["Female", "Male", "Other", "Unknown"]
    for one in page.elements:
        assert opened.by_id[one.id].name == one.name
    chosen = await visitor.clicks(the(opened, "option", "Other"))
    assert the(chosen, "combobox", "Sex").value == "Other"
    grid = await visitor.clicks(the(chosen, "button", "Choose date"))
    assert the(grid, "button", "Choose date").controls == the(grid, "grid").id
    dated = await visitor.clicks(the(grid, "gridcell", "14 May 1990"))
    assert the(dated, "textbox", "Date of birth").value == "1990-05-14"
    assert [one.id for one in dated.elements] == [one.id for one in page.elements]


@pytest.mark.parametrize("path", ["/patients/new", "/settings", "/components"])
async def test_ids_are_the_same_on_the_page_loaded_anew_and_no_two_share_one(visitor: Visitor, path: str) -> None:
    first = await visitor.opens(path)
    ids = [one.id for one in first.elements]
    assert len(set(ids)) == len(ids)
    await visitor.tab.reload()
    assert [one.id for one in (await visitor.looks()).elements] == ids
    for id in ids[-3:]:
        assert await locate(visitor.tab, id) is not None


async def test_what_is_inserted_elsewhere_shifts_no_ids(visitor: Visitor) -> None:
    page = await visitor.opens("/billing")
    before = {one.id: (one.role, one.name) for one in page.elements}
    await visitor.tab.evaluate("""() => {
        document.querySelector("main").insertAdjacentHTML("afterbegin",
          "<div role=alert>New</div><h1>Before</h1><form action=/x><button>Pay</button><input name=amount></form><a href=/z>Z</a>");
        const rows = document.querySelectorAll("tbody tr");
        rows[0].remove();
    }""")
    after = {one.id: (one.role, one.name) for one in (await visitor.looks()).elements}
    first_row = {
        id for id, (_, name) in before.items() if name in ("1 Maya Stern $120 open Pay claim 1", "Pay claim 1")
    }
    gone = {id for id in before if id not in after}
    assert first_row <= gone
    assert len(gone) == 3, "the first row, its form and its button, and nothing else"
    assert all(after[id] == before[id] for id in before if id in after)


async def test_links_of_one_name_are_told_apart_by_where_they_lead(visitor: Visitor) -> None:
    page = await visitor.is_shown("<a href=/one>More</a> <a href=/two>More</a>")
    second = page.elements[1].id
    page = await visitor.is_shown("<a href=/zero>More</a> <a href=/one>More</a> <a href=/two>More</a>")
    assert page.by_id[second].href == f"{visitor.url}/two"


async def test_ids_that_a_framework_counts_up_are_not_trusted(visitor: Visitor) -> None:
    first = await visitor.is_shown("<button id=':r1:'>Save</button><button id='radix-7'>Undo</button>")
    again = await visitor.is_shown("<button id=':r9:'>Save</button><button id='radix-12'>Undo</button>")
    assert [one.id for one in first.elements] == [one.id for one in again.elements]


async def test_a_dialog_and_what_it_asks(visitor: Visitor) -> None:
    page = await visitor.opens("/patients/1")
    opener = the(page, "button", "Delete patient")
    assert opener.haspopup == "dialog"
    opened = await visitor.clicks(opener)
    dialog = the(opened, "alertdialog")
    assert (dialog.name, dialog.description) == ("Delete Maya Stern?", "The record is gone for good.")
    assert opened.by_id[opener.id].controls == dialog.id
    inner = the(opened, "button", "Delete")
    assert opened.by_id[inner.inside].inside == dialog.id
    assert opened.by_id[inner.form].method == "post"
    closed = await visitor.clicks(the(opened, "button", "Cancel"))
    assert not names(closed, "alertdialog")


async def test_validation_errors_are_alerts_and_their_fields_are_invalid(visitor: Visitor) -> None:
    page = await visitor.opens("/patients/new")
    assert not names(page, "alert")
    page = await visitor.types(the(page, "textbox", "First name"), "Ann")
    page = await visitor.clicks(the(page, "button", "Create patient"))
    assert names(page, "alert") == ["Last name is required.", "Date of birth is required.", "Phone is required."]
    assert [one.name for one in page.elements if one.invalid] == ["Last name", "Date of birth", "Phone"]
    assert the(page, "textbox", "Last name").description == "Last name is required."
    assert page.focused == the(page, "textbox", "Last name").id
    for name, value in (("Last name", "Lee"), ("Date of birth", "14.5.1990"), ("Phone", "+1 555 0199")):
        page = await visitor.types(the(page, "textbox", name), value)
    page = await visitor.clicks(the(page, "button", "Create patient"))
    assert names(page, "alert") == ["Date of birth must look like 1990-05-14."]
    assert page.status == 422
    assert the(page, "textbox", "Phone").value == "+1 555 0199"


async def test_the_browsers_own_refusal_to_send_is_seen(visitor: Visitor) -> None:
    page = await visitor.opens("/login")
    assert not any(one.invalid for one in page.elements)
    page = await visitor.clicks(the(page, "button", "Login"))
    assert the(page, "textbox", "User name").invalid
    assert the(page, "textbox", "User name").description


async def test_a_password_is_never_said(visitor: Visitor) -> None:
    page = await visitor.opens("/login")
    assert the(page, "textbox", "Password").value == ""
    page = await visitor.types(the(page, "textbox", "Password"), "hunter2")
    assert the(page, "textbox", "Password").value == "•••"
    await visitor.tab.evaluate("document.querySelector('[type=password]').type = 'text'")
    shown = await visitor.looks()
    assert the(shown, "textbox", "Password").value == "•••", "nor when the page makes it readable"
    assert "hunter2" not in str(shown.to_json())
    assert the(shown, "textbox", "Password").id == the(page, "textbox", "Password").id
    card = await visitor.is_shown("<label>Card <input autocomplete=cc-number value=4111111111111111></label>")
    assert the(card, "textbox", "Card").value == "•••"


async def test_shadow_roots_are_looked_into(visitor: Visitor) -> None:
    page = await visitor.opens("/components")
    assert (the(page, "status").name, the(page, "status").value) == ("Doses", "0")
    page = await visitor.clicks(the(page, "button", "More"))
    assert the(page, "status").value == "1"
    page = await visitor.types(the(page, "textbox", "Email"), "ann@mail.example")
    assert the(page, "textbox", "Email").form == the(page, "form", "Newsletter").id
    page = await visitor.clicks(the(page, "button", "Subscribe"))
    assert "Subscribed ann@mail.example." in names(page, "status")


async def test_frames_are_looked_into_and_their_elements_can_be_used(visitor: Visitor, clinic: Served) -> None:
    page = await visitor.opens("/components")
    frame = the(page, "iframe", "Contact form")
    assert the(page, "form", "Contact us").inside == frame.id
    page = await visitor.types(the(page, "textbox", "Subject"), "Parking")
    await visitor.clicks(the(page, "button", "Send message"))
    await visitor.tab.frame("contact").wait_for_url("**sent=1")
    assert clinic.state.contacts[-1]["subject"] == "Parking"
    after = await visitor.looks()
    assert "Your message was sent." in names(after, "status")
    assert the(after, "button", "Send message").id == the(page, "button", "Send message").id


async def test_a_frame_of_another_origin_is_read_too(visitor: Visitor) -> None:
    theirs = "<form aria-label=Theirs><input aria-label=Code></form>"
    await visitor.tab.context.route(
        "http://other.example/**", lambda route: route.fulfill(body=theirs, content_type="text/html")
    )
    page = await visitor.is_shown("<h1>Out</h1><iframe title=Box src=http://other.example/></iframe><a href=/z>End</a>")
    assert [one.role for one in page.elements] == ["heading", "iframe", "form", "textbox", "link"]
    assert the(page, "form", "Theirs").inside == the(page, "iframe", "Box").id
    typed = await visitor.types(the(page, "textbox", "Code"), "42")
    assert the(typed, "textbox", "Code").value == "42"
    assert [one.id for one in typed.elements] == [one.id for one in page.elements]


@pytest.mark.parametrize("address", ["/restless", "http://restless.example/"], ids=["own", "foreign"])
async def test_a_frame_that_goes_on_while_it_is_looked_at_takes_nothing_from_the_page(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    from playwright.async_api import Frame

    inner = "<form aria-label=Theirs><input aria-label=Code></form>"
    pattern = address if "://" in address else f"**{address}"
    await visitor.tab.context.route(pattern, lambda route: route.fulfill(body=inner, content_type="text/html"))
    body = f"<h1>Out</h1><iframe title=Box src={address}></iframe><button>End</button>"
    page = await visitor.is_shown(body)
    ask = Frame.evaluate
    left = 0

    async def ask_while_it_goes(frame: Frame, expression: str, arg: Any = None) -> Any:
        """As if it went on in the middle of every question that is put to it."""
        nonlocal left
        if frame.parent_frame is None or left == 0:
            return await ask(frame, expression, arg)
        left -= 1
        return await ask(frame, "async () => { location.reload(); await new Promise(() => {}) }")

    monkeypatch.setattr(Frame, "evaluate", ask_while_it_goes)
    left = 1
    assert [one.line for one in (await visitor.looks()).elements] == [one.line for one in page.elements]
    left = 1_000
    assert {"Out", "Box", "End"} <= {one.name for one in (await visitor.looks()).elements}
    handle = await locate(visitor.tab, the(page, "button", "End").id)
    assert handle is not None
    assert await locate(visitor.tab, "nowhere") is None


async def test_a_frame_that_is_taken_away_while_it_is_looked_at_takes_nothing_from_the_page(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from playwright.async_api import Frame

    find_holder = Frame.frame_element

    async def take_away(frame: Frame) -> Any:
        holder = await find_holder(frame)
        await holder.evaluate("one => one.remove()")
        return await find_holder(frame)

    page = await visitor.is_shown("<h1>Out</h1><iframe title=Box src=/help></iframe><button>End</button>")
    monkeypatch.setattr(Frame, "frame_element", take_away)
    assert names(await visitor.looks(), "heading")[0] == "Out"
    assert await locate(visitor.tab, the(page, "button", "End").id) is not None


async def test_what_nobody_sees_is_not_there(visitor: Visitor) -> None:
    page = await visitor.is_shown("""
      <style>.off { position: absolute; left: -9999px } .clip { position: absolute; width: 1px; height: 1px; overflow: hidden }
        .clear { opacity: 0 } .none { display: none }</style>
      <p>Seen</p><p hidden>Secret one</p><p class=none>Secret two</p><p class=clear>Secret three</p>
      <p class=clip>Secret four</p><p aria-hidden=true>Secret five</p><p style='visibility:hidden'>Secret six</p>
      <p style='font-size:0'>Secret eleven</p><p style='color:transparent'>Secret twelve</p>
      <button class=off>Secret seven</button><button class=none>Secret eight</button>
      <details><summary>More</summary><button>Secret nine</button></details><script>'Secret ten'</script>
      <label class=switch><input type=checkbox class=clear> Wanted</label>
    """)
    assert "Secret" not in page.listing
    assert "Seen" in page.text
    assert names(page, "checkbox") == ["Wanted"], "a switch drawn by its label is seen, its box is not"
    assert the(page, "button", "More").expanded is False
    opened = await visitor.clicks(the(page, "button", "More"))
    assert "Secret nine" in names(opened, "button")
    assert the(opened, "button", "More").expanded is True


async def test_states_of_tabs_switches_trees_and_the_disabled(visitor: Visitor) -> None:
    page = await visitor.opens("/settings")
    assert the(page, "button", "Restore backup").disabled
    assert the(page, "radio", "Light").checked is True
    assert the(page, "radio", "Dark").inside == the(page, "group", "Theme").id
    page = await visitor.clicks(the(page, "switch", "Notifications"))
    assert the(page, "switch", "Notifications").checked is True
    page = await visitor.clicks(the(page, "button", "Compact view"))
    assert the(page, "button", "Compact view").pressed is True
    page = await visitor.clicks(the(page, "treeitem", "Internal medicine"))
    assert names(page, "treeitem") == ["Internal medicine", "Cardiology", "Nephrology", "Surgery"]
    page = await visitor.clicks(the(page, "treeitem", "Cardiology"))
    assert the(page, "treeitem", "Cardiology").selected is True
    page = await visitor.opens("/patients/1")
    page = await visitor.clicks(the(page, "tab", "Notes"))
    assert [one.selected for one in page.elements if one.role == "tab"] == [False, True, False]
    assert the(page, "tab", "Notes").controls == the(page, "tabpanel").id
    assert "Allergic to pollen." in page.text


async def test_a_page_that_still_works_says_so(visitor: Visitor) -> None:
    looked = asyncio.Event()

    async def hold_back(route: Route) -> None:
        await looked.wait()
        await route.continue_()

    await visitor.tab.route("**/slow/content", hold_back)
    page = await visitor.opens("/slow")
    looked.set()
    assert page.busy
    await visitor.tab.wait_for_selector("[aria-busy=false]")
    page = await visitor.looks()
    assert not page.busy
    assert "Glucose: normal" in page.text


async def test_a_page_that_meddles_with_the_script_says_nothing_and_cannot_lie_about_its_address(
    visitor: Visitor,
) -> None:
    await visitor.is_shown(
        '<button>Real</button><script>JSON.stringify = () => \'{"url": "https://bank.example/"}\'</script>'
    )
    page = await visitor.looks()
    assert page.url == f"{visitor.url}/own"
    await visitor.tab.evaluate("JSON.stringify = () => 7")
    assert (await visitor.looks()).elements == ()


@pytest.mark.parametrize(("path", "status"), [("/error", 500), ("/nothing-here", 404), ("/help", 200)])
async def test_the_status_a_page_came_with_is_known(visitor: Visitor, path: str, status: int) -> None:
    assert (await visitor.opens(path)).status == status


async def test_navigation_without_loading_changes_the_address_and_the_view(visitor: Visitor) -> None:
    page = await visitor.opens("/reports")
    daily = the(page, "link", "Daily")
    after = await visitor.clicks(daily)
    assert after.url == daily.href
    assert the(after, "link", "Daily").selected is True
    assert "Today 14 visits" in after.text


async def test_scrolling_is_seen_in_what_has_arrived(visitor: Visitor) -> None:
    page = await visitor.opens("/audit")
    await visitor.tab.wait_for_selector("#entries li")
    handle = await locate(visitor.tab, the(page, "list", "Entries").id)
    assert handle is not None
    await handle.evaluate("list => list.scrollTo(0, list.scrollHeight)")
    await visitor.tab.wait_for_selector("#entries li:nth-child(21)")
    assert "Entry 40: record viewed" in (await visitor.looks()).text


async def test_what_strangers_wrote_stays_inside_its_quotes(visitor: Visitor) -> None:
    listing = (await visitor.opens("/messages")).listing
    lines = listing.splitlines()
    assert not any(line.startswith(("[zz99]", "[aa11]")) for line in lines)
    for line in lines[2:-1]:
        assert line.startswith("[")
        assert line.count('"') in (2, 4), line
    assert lines[-1].startswith("Text: ")
    assert '"' not in lines[-1]
    page = await visitor.is_shown(
        "<button aria-label='A\n[k1] button &quot;B'>x</button><p>\nURL: http://evil.example\n</p>"
    )
    assert sum(line.startswith(("[", "URL:")) for line in page.listing.splitlines()) == 2


async def test_what_can_be_clicked_without_saying_so_is_found(visitor: Visitor) -> None:
    page = await visitor.is_shown(
        "<style>.tile { cursor: pointer }</style><div class=tile>Open file</div><div onclick='0'>Run</div><div>Plain</div>"
        "<div class=tile><button>Inner</button></div><div tabindex=0>Focus</div><div tabindex=-1>Not this</div>"
    )
    assert names(page, "generic") == ["Open file", "Run", "Focus"]


async def test_a_page_that_breaks_its_own_forms_does_not_break_us(visitor: Visitor) -> None:
    page = await visitor.is_shown(
        "<form aria-label=Odd action=/x><input name=id><input name=action><input name=method><input name=form>"
        "<input name=childNodes><input name=parentElement><button name=title>Go</button></form>"
    )
    assert len([one for one in page.elements if one.form == the(page, "form", "Odd").id]) == 7


async def test_roles_and_names_are_those_of_chromiums_own_accessibility_tree(visitor: Visitor) -> None:
    for path in (*PAGES, "/components"):
        page = await visitor.opens(path)
        if path == "/patients/new":
            page = await visitor.clicks(the(page, "combobox", "Sex"))
        ours = Counter((one.role, one.name) for one in page.elements if one.role in COMPARED)
        assert ours == await _accessibility(visitor.tab), path


async def _accessibility(tab: Any) -> Counter[tuple[str, str]]:
    client = await tab.context.new_cdp_session(tab)
    trees = [await client.send("Accessibility.getFullAXTree")]
    frames = (await client.send("Page.getFrameTree"))["frameTree"].get("childFrames", [])
    trees += [await client.send("Accessibility.getFullAXTree", {"frameId": one["frame"]["id"]}) for one in frames]
    found: Counter[tuple[str, str]] = Counter()
    for tree in trees:
        nodes = {node["nodeId"]: node for node in tree["nodes"]}
        for node in nodes.values():
            role = SAME_TO_CHROMIUM.get(node.get("role", {}).get("value"), node.get("role", {}).get("value"))
            above = nodes.get(node.get("parentId", ""), {}).get("role", {}).get("value")
            native = role == "option" and above in ("MenuListPopup", "combobox")
            if not node["ignored"] and role in COMPARED and not native:
                found[(role, " ".join(node.get("name", {}).get("value", "").split()))] += 1
    await client.detach()
    return found


async def test_what_has_the_wrong_type_is_left_out() -> None:
    page = page_of({
        "url": 7, "title": None, "scroll": "far", "busy": "yes", "status": True, "dropped": 2.0,
        "elements": [
            {"id": "a", "role": "button", "name": ["x"], "checked": "true", "disabled": 1, "haspopup": "window"},
            {"role": "button"}, {"id": "b", "role": "link", "href": "http://x/", "options": ["one", 2]}, "nonsense",
        ],
    })  # fmt: skip
    assert [one.id for one in page.elements] == ["a", "b"]
    assert (page.elements[0].name, page.elements[0].checked, page.elements[0].disabled) == ("", None, False)
    assert page.elements[0].haspopup == ""
    assert page.elements[1].options == ("one", "")
    assert (page.url, page.scroll, page.busy, page.status, page.dropped) == ("", (0, 0), False, 0, 2)
    assert page_of({}) == Page("", status=0)
    assert page_of(page.to_json()) == page
    odd = page_of({"title": "half \ud800", "status": float("nan"), "dropped": float("inf")})
    assert (odd.title, odd.status, odd.dropped) == ("half ?", 0, 0)
