"""Forms that are sent in a real Chromium: what the page says afterwards decides whether it worked."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.web.browsing.pages import browsing, does
from tests.web.browsing.till import has_chromium, serve_till

from circumspect.web.browser.chromium import Chromium
from circumspect.web.browsing.drive import DriveStep, drive

pytestmark = pytest.mark.skipif(not has_chromium(), reason="NO BROWSER: run `make services` to test submissions")

FORM = "<form method=post action=/pay><label>Card <input name=card value=4111></label><button>Pay now</button>{}</form>"
SCRIPTED = """<form onsubmit="event.preventDefault(); this.insertAdjacentHTML('afterend', '{}')">
<label>Card <input name=card value=4111></label><button>Pay now</button></form>"""
REFUSED = [
    (200, "<h1>Your card was declined</h1><p>Please use another one.</p>"),
    (200, "<h1>Checkout</h1><p>Your card was declined.</p>"),
    (402, "<h1>Checkout</h1><p>Nothing to see.</p>"),
    (503, "<h1>Back soon</h1>"),
    (200, "<div role=alert>Insufficient funds</div><h1>Checkout</h1>"),
    (200, "<div role=alert>Zahlung nicht durchgekommen</div><h1>Kasse</h1>"),
    (200, "<h1>Платёж отклонён</h1>"),
    (200, "<h1>התשלום נדחה</h1>"),
    (200, FORM.format("<p>This card has expired.</p>")),
    (200, "<h1>Imported 0 of 1,200 contacts.</h1>"),
]
TAKEN = [
    (200, "<h1>Thank you, your payment was received</h1>"),
    (200, "<div role=alert>Payment successful</div><h1>Checkout</h1>"),
    (200, "<h1>Receipt 17</h1><p>20 euros</p>"),
]


async def _pay(folder: Path, page: str, answer: tuple[int, str]) -> tuple[bool, str]:
    """Did it work, by what was verified, and how the drive ended."""
    steps: list[DriveStep] = []

    async def agree(step: DriveStep) -> str | None:
        return "yes" if step.interaction.result.pending else None

    async def watch(step: DriveStep) -> None:
        steps.append(step)

    with serve_till({"/": page}, {"/pay": answer}) as till:
        async with Chromium.open() as browser:
            button = next(one for one in (await browser.goto(till.url)).elements if one.name == "Pay now")
            drafts = [does("click", element=button.id), *[does("done", answer="That was the last step.")] * 2]
            async with browsing(folder, *drafts) as (setup, _):
                last = await drive(browser, setup, till.url, "Pay the bill", ask=agree, watch=watch, most=6)
    verified = [step.interaction.verified for step in steps if step.interaction.verified]
    return verified[-1].success, last.end


@pytest.mark.parametrize("answer", REFUSED)
async def test_a_refusal_is_a_failure_however_the_page_puts_it(tmp_path: Path, answer: tuple[int, str]) -> None:
    assert await _pay(tmp_path, FORM.format(""), answer) == (False, "not_done")


@pytest.mark.parametrize("answer", TAKEN)
async def test_what_was_taken_is_a_success(tmp_path: Path, answer: tuple[int, str]) -> None:
    assert await _pay(tmp_path, FORM.format(""), answer) == (True, "done")


@pytest.mark.parametrize(("said", "worked"), [("<h2>Card declined</h2>", False), ("<h2>Payment received</h2>", True)])
async def test_a_script_that_answers_on_the_same_page_is_read_as_well(tmp_path: Path, said: str, worked: bool) -> None:
    assert (await _pay(tmp_path, SCRIPTED.format(said), (200, "")))[0] is worked
