"""CRM, calendar and mail of a tenant file, on real servers, in whole turns: nothing happens before the yes, exactly it
happens after it, and a server on a bad day is told as what it was."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.business import radicale_server
from tests.business.breaking_proxy import BreakingProxy
from tests.business.conftest import Inbox, breaking
from tests.business.crm_server import TOKEN, CrmServer
from tests.patience import PATIENCE

from circumspect.business import Smtp
from circumspect.clock import FixedClock, RandomIds
from circumspect.models.scripted import ScriptedModel, calls
from circumspect.pipeline import run_turn
from circumspect.reasons import ReasonCode
from circumspect.server.apply_tenant import apply_file
from circumspect.server.config import Settings
from circumspect.server.directory import Directory
from circumspect.server.vault import open_vault
from circumspect.stores import SqlStore
from circumspect.values import ConversationId, Execution, Incoming, TenantId, TurnId, TurnResult

CLINIC, TALK = TenantId("clinic"), ConversationId("c1")
SECRETS = {"DAV": radicale_server.PASSWORD, "SMTP": "correct horse", "CRM": TOKEN}
MAIL_LOGIN = "user: office, password: {secret: smtp}"
FILE = """\
id: clinic
plan: free
business: {{name: The Clinic}}
secrets: {{dav: {{env: DAV}}, smtp: {{env: SMTP}}, crm: {{env: CRM}}}}
tools:
  - business:
      hours: {{monday: 9:00-12:00}}
      slot_minutes: 60
      sender: desk@clinic.example
      sender_name: The Clinic
      calendar: {{url: "{calendar}", user: office, password: {{secret: dav}}, timeout: {seconds}}}
      mail: {{host: 127.0.0.1, port: {port}, {login}, timeout: {seconds}}}
      crm:
        base_url: {crm}
        find: "/people?mail={{email}}"
        results: data.people
        update: PATCH /people/{{id}}
        create: POST /people
        id_field: uid
        fields: {{email: mail, company: organisation}}
        auth: {{bearer: {{secret: crm}}}}
        timeout: {seconds}
policy:
  tools:
    find_lead: {{effect: read}}
    update_lead: {{effect: write, confirm: always}}
    find_free_times: {{effect: read}}
    book_meeting: {{effect: write, confirm: always}}
    cancel_meeting: {{effect: destructive}}
    send_email: {{effect: write, confirm: always}}
"""
BOOK, MAIL, LEAD = "book_meeting", "send_email", "update_lead"
ARGUMENTS = {
    BOOK: {"date": "2026-11-23", "time": "10:00", "name": "Dana Levi", "email": "dana@example.com"},
    MAIL: {"to": "dana@example.com", "subject": "Monday", "body": "See you at ten."},
    LEAD: {"email": "dana@example.com", "company": "Levi & Co", "status": "qualified"},
}
WISHES = {
    BOOK: "Please book Monday 2026-11-23 at 10:00 for Dana Levi, dana@example.com",
    MAIL: 'Please send an e-mail to dana@example.com, subject "Monday", saying "See you at ten."',
    LEAD: "Please set company Levi & Co and status qualified for dana@example.com",
}


@dataclass
class Clinic:
    """The tenant as a server has it, with a model that proposes what a test says, and claims success whatever happened."""

    store: SqlStore
    setup: Callable[[], Awaitable[Any]]
    clock: FixedClock
    said: list[str] = field(default_factory=list)

    async def turn(self, text: str, *replies: Any) -> TurnResult:
        setup = await self.setup()
        model = ScriptedModel([*replies, *["Done, I have booked it, sent it and updated it."] * 3])
        setup = replace(setup, ports=replace(setup.ports, model=model))
        self.clock.advance(seconds=1)
        result = await run_turn(Incoming(CLINIC, TALK, TurnId(f"t{len(self.said)}"), text, self.clock.now()), setup)
        self.said.append(result.reply)
        return result

    async def ask(self, tool: str) -> None:
        """The wish, which is asked about."""
        asked = await self.turn(WISHES[tool], calls(tool, ARGUMENTS[tool]))
        assert (asked.outcome, asked.pending.call.tool) == ("asked", tool)

    async def read_calls(self) -> list[Execution]:
        return list(await self.store.executions(CLINIC, TALK))

    async def is_told_failed(self, done: TurnResult) -> bool:
        """Nothing happened, and nobody is told otherwise."""
        (call,) = await self.read_calls()
        told = done.outcome == "failed" and ReasonCode.TOOL_FAILED in done.reason_codes
        return call.state == "failed" and told and "I have booked it" not in done.reply

    async def is_told_unknown(self, done: TurnResult) -> bool:
        """Nobody knows: the user is told so, and a person has it."""
        (call,) = await self.read_calls()
        told = done.outcome == "escalated" and ReasonCode.OUTCOME_UNKNOWN in done.reason_codes
        handed_over = bool(await self.store.escalations(CLINIC))
        return call.state == "indeterminate" and told and handed_over and "I have booked it" not in done.reply

    async def reveals(self, secret: str) -> bool:
        """Whether the secret stands anywhere in what was kept of the conversation, or was said."""
        rows = await self.store.messages(CLINIC, TALK, internal=True)
        return any(secret in text for text in (*self.said, *map(str, rows), *map(str, await self.read_calls())))


@pytest.fixture
def crm() -> Iterator[CrmServer]:
    with CrmServer() as server:
        yield server


@pytest.fixture
def dav(calendar_url: str) -> Iterator[BreakingProxy]:
    """Radicale, behind what can break."""
    parts = urlsplit(calendar_url)
    with BreakingProxy(f"{parts.scheme}://{parts.netloc}") as proxy:
        yield proxy


@pytest.fixture
async def clinic(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    clock: FixedClock,
    dav: BreakingProxy,
    locked: Smtp,
    crm: CrmServer,
) -> AsyncIterator[Callable[..., Awaitable[Clinic]]]:
    """Opened with other secrets, addresses or patience where a test says so."""
    # What a mail server's certificate is held against, as an operator with a mail server of their own sets it.
    monkeypatch.setenv("SSL_CERT_FILE", str(locked.ca_file))
    database = f"sqlite:///{tmp_path}/c.db"
    store, directories = await SqlStore.open(database), []

    async def opened(
        secrets: dict[str, str] | None = None, allow: tuple[str, ...] = ("127.0.0.1",), **parts: Any
    ) -> Clinic:
        settings = Settings(database=database, allow_addresses=allow)
        directory = Directory(store, settings, open_vault(settings), clock, RandomIds(), check_seconds=0)
        directories.append(directory)
        for name, value in {**SECRETS, **(secrets or {})}.items():
            monkeypatch.setenv(name, value)
        known = {"calendar": f"{dav.url}/office/calendar/", "port": locked.port, "crm": crm.url, "seconds": 30}
        path = tmp_path / "tenant.yaml"
        path.write_text(FILE.format(**{**known, "login": MAIL_LOGIN, **parts}), "utf-8")
        await apply_file(path, store, settings, clock=clock)
        return Clinic(store, lambda: directory.setup(CLINIC), clock)

    yield opened
    for directory in directories:
        await directory.close()
    await store.close()


def read_events(url: str) -> list[str]:
    """Everything in the calendar, read by another program's means."""
    auth = (radicale_server.USER, radicale_server.PASSWORD)
    answer = httpx2.get(url, auth=auth, timeout=PATIENCE)
    return [part.split("END:VEVENT")[0] for part in answer.text.split("BEGIN:VEVENT")[1:]]


# --- a good day ------------------------------------------------------------------------------------------------------


async def test_a_meeting_is_in_the_calendar_after_the_yes_and_gone_after_another(clinic, calendar_url):
    desk = await clinic()
    await desk.ask(BOOK)
    assert read_events(calendar_url) == []
    assert (await desk.turn("yes")).outcome == "acted"
    (event,) = read_events(calendar_url)
    assert "SUMMARY:Dana Levi" in event
    assert "DTSTART:20261123T100000Z" in event

    number = (await desk.read_calls())[0].result["booking_id"]
    await desk.turn("What is free on Monday 2026-11-23?", calls("find_free_times", {"date": "2026-11-23"}))
    free = (await desk.read_calls())[-1].result["free"]
    assert [one["time"] for one in free] == ["09:00", "11:00"]

    asked = await desk.turn(f"Cancel the meeting {number}", calls("cancel_meeting", {"booking_id": number}))
    assert asked.outcome == "asked"
    assert all("STATUS:CONFIRMED" in one for one in read_events(calendar_url))
    assert (await desk.turn("yes")).outcome == "acted"
    assert all("STATUS:CANCELLED" in one for one in read_events(calendar_url))


async def test_a_no_books_nothing(clinic, calendar_url, dav):
    desk = await clinic()
    await desk.ask(BOOK)
    await desk.turn("no")
    assert read_events(calendar_url) == []
    assert "PUT" not in dav.asked


async def test_mail_leaves_after_the_yes_under_the_tenants_name(clinic, inbox: Inbox):
    desk = await clinic()
    await desk.ask(MAIL)
    assert inbox.received == []
    assert (await desk.turn("yes")).outcome == "acted"
    (content,) = inbox.received
    assert b"From: The Clinic <desk@clinic.example>" in content
    assert b"To: dana@example.com" in content


async def test_a_lead_is_changed_in_the_crm_after_the_yes_in_its_own_words(clinic, crm: CrmServer):
    crm.people.append({"uid": 7, "mail": "dana@example.com", "organisation": "before", "phone": "050 123"})
    desk = await clinic()
    await desk.ask(LEAD)
    assert crm.people[0]["organisation"] == "before"
    assert (await desk.turn("yes")).outcome == "acted"
    kept = {"uid": 7, "mail": "dana@example.com", "phone": "050 123"}
    assert crm.people == [{**kept, "organisation": "Levi & Co", "status": "qualified"}]


# --- bad days --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", [BOOK, MAIL, LEAD])
async def test_a_server_that_is_not_there_did_nothing_and_nobody_is_told_otherwise(tool, clinic, unused_port):
    nowhere = f"http://127.0.0.1:{unused_port}"
    desk = await clinic(calendar=f"{nowhere}/office/calendar/", port=unused_port, crm=nowhere)
    await desk.ask(tool)
    assert await desk.is_told_failed(await desk.turn("yes"))


@pytest.mark.parametrize("tool", [BOOK, MAIL, LEAD])
async def test_a_wrong_password_does_nothing_and_is_shown_nowhere(tool, clinic, calendar_url, inbox, crm):
    desk = await clinic(dict.fromkeys(SECRETS, "guess-me-please"))
    await desk.ask(tool)
    assert await desk.is_told_failed(await desk.turn("yes"))
    assert (read_events(calendar_url), inbox.received, crm.people) == ([], [], [])
    assert not await desk.reveals("guess-me-please")


@pytest.mark.parametrize("mood", ["hang", "garbage", "cut before", "500"])
async def test_a_crm_that_cannot_be_read_first_was_not_changed(mood, clinic, crm):
    desk = await clinic(seconds=1)
    await desk.ask(LEAD)
    crm.mood = {"GET": mood}
    assert await desk.is_told_failed(await desk.turn("yes"))
    assert crm.people == []


@pytest.mark.parametrize("mood", ["hang", "cut before", "cut after", "500"])
async def test_a_crm_that_breaks_off_at_the_change_leaves_it_open_unless_it_can_be_looked_up(mood, clinic, crm):
    crm.people.append({"uid": 7, "mail": "dana@example.com", "organisation": "before"})
    desk = await clinic(seconds=1)
    await desk.ask(LEAD)
    crm.mood = {"PATCH": mood}
    done = await desk.turn("yes")
    assert [method for method, _, _ in crm.requests].count("PATCH") == 1
    if mood == "cut after":
        assert crm.people[0]["organisation"] == "Levi & Co"
        assert done.outcome == "acted"
    else:
        assert crm.people[0]["organisation"] == "before"
        assert await desk.is_told_unknown(done)


@pytest.mark.parametrize("mood", ["hang", "garbage", "cut before", "500"])
async def test_a_calendar_that_cannot_be_read_first_has_no_booking(mood, clinic, dav, calendar_url):
    desk = await clinic(seconds=1)
    await desk.ask(BOOK)
    dav.mood = {"REPORT": mood}
    assert await desk.is_told_failed(await desk.turn("yes"))
    assert "PUT" not in dav.asked
    assert read_events(calendar_url) == []


@pytest.mark.parametrize("mood", ["hang", "cut before"])
async def test_a_calendar_that_never_answers_the_booking_leaves_it_open(mood, clinic, dav, calendar_url):
    desk = await clinic(seconds=1)
    await desk.ask(BOOK)
    dav.mood = {"PUT": mood}
    assert await desk.is_told_unknown(await desk.turn("yes"))
    assert read_events(calendar_url) == []


@pytest.mark.parametrize("mood", ["garbage", "500", "cut after"])
async def test_a_calendar_that_booked_and_answered_badly_is_asked_again_and_books_once(mood, clinic, dav, calendar_url):
    desk = await clinic(seconds=1)
    await desk.ask(BOOK)
    dav.mood = {"PUT": mood}
    assert (await desk.turn("yes")).outcome == "acted"
    assert len(read_events(calendar_url)) == 1


@pytest.mark.parametrize("mood", ["hang", "garbage", "cut after", "500"])
async def test_a_booking_that_stands_is_never_called_failed(mood, clinic, dav, calendar_url):
    """The calendar takes the booking and cannot be read afterwards. It is asked again, and finds it."""
    desk = await clinic(seconds=1)
    await desk.ask(BOOK)
    dav.mood, dav.after = {"REPORT": mood}, "PUT"
    assert (await desk.turn("yes")).outcome == "acted"
    assert len(read_events(calendar_url)) == 1


@pytest.mark.parametrize("silent", [True, False])
@pytest.mark.parametrize(("after", "known"), [(b"EHLO", True), (b"RCPT", True), (b".\r\n", False)])
async def test_mail_that_breaks_off_has_left_or_not_or_nobody_knows(after, known, silent, clinic):
    async with breaking(after, silent=silent) as server:
        desk = await clinic(port=server.port, login="security: none", seconds=2)
        await desk.ask(MAIL)
        done = await desk.turn("yes")
        assert await (desk.is_told_failed(done) if known else desk.is_told_unknown(done))
        again = await desk.turn("Did the mail leave?")
        assert len(await desk.read_calls()) == 1
        assert again.outcome != "acted"


async def test_a_mail_server_that_speaks_another_language_got_nothing(clinic, crm):
    port = int(crm.url.split(":")[2].split("/")[0])
    desk = await clinic(port=port, login="security: none", seconds=2)
    await desk.ask(MAIL)
    assert await desk.is_told_failed(await desk.turn("yes"))


@pytest.mark.parametrize("tool", [BOOK, MAIL, LEAD])
async def test_a_system_inside_the_network_is_not_called_unless_an_operator_allows_it(
    tool, clinic, dav, inbox, crm, calendar_url
):
    desk = await clinic(allow=())
    await desk.ask(tool)
    assert await desk.is_told_failed(await desk.turn("yes"))
    assert (dav.asked, inbox.received, crm.requests) == ([], [], [])
    assert "not on the public internet" in str(await desk.read_calls())
