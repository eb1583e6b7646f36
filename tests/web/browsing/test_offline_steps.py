"""The offline model steers a real Chromium through small sites: forms, menus, confirmations and refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.web.browsing.till import has_chromium, serve_till

from circumspect import Agent
from circumspect.web.browser.chromium import Chromium
from circumspect.web.browsing import setup_for_pages
from circumspect.web.browsing.drive import DriveEnd, DriveStep, drive

pytestmark = pytest.mark.skipif(not has_chromium(), reason="NO BROWSER: run `make services` to test whole tasks")

BOOKING = """<h1>Book a table</h1><form method=post action=/book><label>Full name <input name=name required></label>
<label>Date <input type=date name=date required></label><button>Book</button></form>"""
BOOKED = "<h1>Thank you</h1><p>Your table is booked.</p><a href=/>Book another table</a>"
OPTIONAL = BOOKING.replace(" required", "")
MENU = """<h1>Report</h1><button id=m aria-haspopup=menu aria-expanded=false aria-controls=mm>File</button>
<div role=menu id=mm hidden><button role=menuitem>Open file</button><button role=menuitem>Download</button>
<button role=menuitem>Rename</button></div><p id=out role=status></p><script>
const show = (open) => { mm.hidden = !open; m.setAttribute("aria-expanded", open) };
m.onclick = () => show(mm.hidden);
for (const one of mm.children) one.onclick = () => { show(false); out.textContent = one.textContent + " done" };
document.onkeydown = (event) => { if (event.key === "Escape") show(false) }</script>"""
DIALOG = """<h1>Contacts</h1><button id=n aria-haspopup=dialog>New contact</button><p role=status id=o></p>
<div role=dialog id=d aria-label="New contact" hidden><form id=f><label>Name <input name=name required></label>
<label>Phone <input type=tel name=phone></label><button>Add contact</button></form></div><script>
n.onclick = () => { d.hidden = false };
f.onsubmit = (event) => { event.preventDefault(); d.hidden = true; o.textContent = "Contact added." }</script>"""
ACCOUNT = """<h1>Register: your details</h1><form method=post action=/next><label>Full name <input name=name required>
</label><label>Email <input type=email name=email required></label><button>Next</button></form>"""
ADDRESS = """<h1>Register: your address</h1><form method=post action=/register><label>City <input name=city required>
</label><button>Create account</button></form>"""
TAKEN = BOOKING.replace(
    "<form method=post action=/book>",
    """<p role=alert id=o></p>
    <form onsubmit="event.preventDefault(); o.textContent = 'This date is already taken.'">""",
)
HEBREW = """<h1>הזמנת תור</h1><form method=post action=/book><label>שם מלא <input name=name required></label>
<label>תאריך <input type=date name=date required></label><button>קבע תור</button></form>"""
RUSSIAN = """<h1>Запись к врачу</h1><form method=post action=/book><label>Имя и фамилия <input name=name required></label>
<label>Дата <input type=date name=date required></label><button>Записаться</button></form>"""


@dataclass(frozen=True)
class Driven:
    end: DriveEnd
    reply: str
    asked: list[str]
    actions: list[tuple[str, str]]
    """Each action with the name of its element and what was filled in."""
    posted: list[str]


async def driven(folder: Path, task: str, page: str, *said: str, answers: Mapping[str, str] | None = None) -> Driven:
    """How the offline model does the task, with a user who says these things when asked and then leaves."""
    left, asked, actions = list(said), list[str](), list[tuple[str, str]]()

    async def ask(step: DriveStep) -> str | None:
        asked.append(step.interaction.result.reply)
        return left.pop(0) if left else None

    async def watch(step: DriveStep) -> None:
        if step.interaction.action:
            call = step.interaction.action.call
            what = next((call.arguments[one] for one in ("text", "option", "key") if one in call.arguments), "")
            used = "" if call.tool == "press" else str(call.arguments.get("name", ""))
            actions.append((used, str(what)))

    with serve_till({"/": page}, {path: (200, text) for path, text in (answers or {}).items()}) as till:
        async with Agent("shop", database=f"sqlite:///{folder}/steps.db") as agent, Chromium.open() as browser:
            setup = setup_for_pages(await agent.open())
            last = await drive(browser, setup, f"{till.url}/", task, ask=ask, watch=watch, most=16)
    return Driven(last.end, last.interaction.result.reply, asked, actions, till.did)


async def test_a_quoted_name_is_typed_whole_and_the_confirmation_ends_the_task(tmp_path: Path) -> None:
    task = 'Fill in the name "Dana Levi" and the date 12 May 2027 and book'
    done = await driven(tmp_path, task, BOOKING, "yes", answers={"/book": BOOKED})
    assert done.actions == [("Full name", "Dana Levi"), ("Date", "2027-05-12"), ("Book", "")]
    assert (done.end, len(done.asked), done.posted) == ("done", 1, ["/book"])
    assert "Thank you" in done.reply


async def test_a_form_is_filled_in_though_nothing_in_it_is_marked_as_required(tmp_path: Path) -> None:
    task = "Book a table for Dana Levi on 12 May 2027"
    done = await driven(tmp_path, task, OPTIONAL, "yes", answers={"/book": BOOKED})
    assert done.actions == [("Full name", "Dana Levi"), ("Date", "2027-05-12"), ("Book", "")]
    assert done.end == "done"


async def test_a_no_sends_nothing(tmp_path: Path) -> None:
    task = "Book a table for Dana Levi on 12 May 2027"
    done = await driven(tmp_path, task, BOOKING, "no", answers={"/book": BOOKED})
    assert (done.end, done.posted) == ("not_done", [])


async def test_the_click_that_finishes_the_task_ends_it(tmp_path: Path) -> None:
    done = await driven(tmp_path, "Download the file", MENU)
    assert (done.end, done.asked, [name for name, _ in done.actions]) == ("done", [], ["File", "Download"])
    assert "Download done" in done.reply


@pytest.mark.parametrize(
    ("task", "said", "clicked", "end"),
    [
        ("Open the File menu", [], ["File"], "done"),
        ("Open the File menu and rename the report", ["yes"], ["File", "Rename"], "done"),
        ("Open the file", [], ["File", "Open file"], "done"),
        ("Print the file", [], ["File", ""], "needs_answer"),
        ("Open the File menu and print the report", [], ["File", ""], "needs_answer"),
    ],
)
async def test_of_a_menu_only_what_was_asked_for_is_clicked(
    tmp_path: Path, task: str, said: list[str], clicked: list[str], end: DriveEnd
) -> None:
    done = await driven(tmp_path, task, MENU, *said)
    assert ([name for name, _ in done.actions], done.end) == (clicked, end)


async def test_a_form_in_a_dialog_is_filled_in_before_its_button_is_pressed(tmp_path: Path) -> None:
    done = await driven(tmp_path, "Click New contact and add Dana Levi, phone 050-1234567", DIALOG, "yes")
    assert done.actions == [
        ("New contact", ""), ("Name", "Dana Levi"), ("Phone", "050-1234567"), ("Add contact", "")
    ]  # fmt: skip
    assert done.end == "done"


async def test_the_second_step_of_a_form_is_not_the_end(tmp_path: Path) -> None:
    """What it takes and nobody has said is asked for."""
    steps = {"/next": ADDRESS, "/register": "<h1>Registration complete</h1>"}
    task = "Register Dana Levi, email dana@example.com"
    done = await driven(tmp_path, task, ACCOUNT, "yes", "city: Haifa", "yes", answers=steps)
    assert "City" in done.asked[1]
    assert (done.end, done.posted, done.actions[-2:]) == (
        "done", ["/next", "/register"], [("City", "Haifa"), ("Create account", "")]
    )  # fmt: skip


async def test_what_the_page_refused_is_told_and_is_no_success(tmp_path: Path) -> None:
    done = await driven(tmp_path, "Book a table for Dana Levi on 12 May 2027", TAKEN, "yes")
    assert (done.end, "This date is already taken." in done.asked[1]) == ("needs_answer", True)


@pytest.mark.parametrize(
    ("page", "task", "said", "name", "thanks"),
    [
        (HEBREW, "קבע תור לדנה לוי בתאריך 12.5.2027", ["דנה לוי", "כן"], "דנה לוי", "<h1>התור נקבע בהצלחה</h1>"),
        (RUSSIAN, "Запиши меня к врачу, имя Дана Леви, 12 мая 2027", ["да"], "Дана Леви", "<h1>Вы записаны</h1>"),
    ],
)
async def test_a_form_in_another_language_is_filled_in_and_its_thanks_end_the_task(
    tmp_path: Path, page: str, task: str, said: list[str], name: str, thanks: str
) -> None:
    done = await driven(tmp_path, task, page, *said, answers={"/book": thanks})
    assert [what for _, what in done.actions] == [name, "2027-05-12", ""]
    assert (done.end, done.posted) == ("done", ["/book"])
