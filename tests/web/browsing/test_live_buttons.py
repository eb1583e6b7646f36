"""Buttons without a form in a real Chromium: what they may do is asked about first, and a no is the end of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.web.browsing.pages import browsing, does
from tests.web.browsing.till import button_page, has_chromium, serve_till

from circumspect.web.browser.chromium import Chromium
from circumspect.web.browsing.drive import DriveStep, drive

pytestmark = pytest.mark.skipif(not has_chromium(), reason="NO BROWSER: run `make services` to test buttons")

DEEDS = ("Drop table", "Retry payment", "Ban user", "Book now", "Void", "Jetzt buchen", "Заблокировать", "חסום משתמש")
LOOKS = ("Past visits", "Show more", "Nächste Seite")


async def test_buttons_that_could_do_anything_are_asked_about_and_a_no_leaves_them_alone(tmp_path: Path) -> None:
    asked: list[str] = []

    async def refuse(step: DriveStep) -> str | None:
        asked.append(step.interaction.result.reply)
        return "no" if step.interaction.result.pending else None

    async def watch(step: DriveStep) -> None:
        assert step.interaction.action is None or step.interaction.action.call.tool != "submit"

    with serve_till({"/": button_page(*DEEDS, *LOOKS)}) as till:
        async with Chromium.open() as browser:
            page = await browser.goto(till.url)
            ids = {one.name: one.id for one in page.elements if one.role == "button"}
            for name in (*DEEDS, *LOOKS):
                drafts = [does("click", element=ids[name]), *[does("done", answer="That is all I can say.")] * 3]
                async with browsing(tmp_path, *drafts) as (setup, _):
                    await drive(browser, setup, till.url, "Tidy up", ask=refuse, watch=watch, most=4)
    assert till.did == [f"/did/{n}" for n in range(len(DEEDS), len(DEEDS) + len(LOOKS))]
    assert len(asked) == len(DEEDS)
    assert all(name in question for name, question in zip(DEEDS, asked, strict=True))
