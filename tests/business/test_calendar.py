"""One suite for both calendars: the SQLite file, and Radicale over CalDAV."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, time
from urllib.parse import urlsplit

import pytest
from tests.business import radicale_server
from tests.business.breaking_proxy import BreakingProxy
from tests.business.conftest import Office

from circumspect.business import BusinessConfig, CalDav, business_tools
from circumspect.business.calendar import SlotTaken
from circumspect.errors import ConfigError, ToolError, ToolTimeout

DAY = "2026-11-17"
EVERY_DAY = dict.fromkeys(range(7), (time(9), time(12)))


async def test_a_day_offers_its_opening_hours_in_slots(office):
    assert await office(slot_minutes=60, hours=EVERY_DAY).free(DAY) == ["09:00", "10:00", "11:00"]


async def test_a_closed_day_offers_nothing(office):
    assert await office().free("2026-11-21") == []


async def test_times_that_have_passed_are_not_offered_and_cannot_be_booked(office, now):
    shop = office(slot_minutes=60, hours=EVERY_DAY)
    now.at = datetime(2026, 11, 17, 8, 30, tzinfo=UTC)
    assert await shop.free(DAY) == ["11:00"]
    with pytest.raises(ToolError, match="passed"):
        await shop.book(DAY, "09:00")


async def test_a_booked_time_is_no_longer_free_and_comes_back_when_cancelled(office):
    shop = office(slot_minutes=60, hours=EVERY_DAY)
    booked = await shop.book(DAY, "10:00")
    assert (booked["status"], booked["date"], booked["time"]) == ("booked", DAY, "10:00")
    assert await shop.free(DAY) == ["09:00", "11:00"]
    cancelled = await shop.call("cancel_meeting", "k2", booking_id=booked["booking_id"])
    assert cancelled["status"] == "cancelled"
    assert await shop.free(DAY) == ["09:00", "10:00", "11:00"]
    again = await shop.book(DAY, "10:00", key="k3")
    assert again["status"] == "booked"
    assert again["booking_id"] != booked["booking_id"]


async def test_a_taken_time_cannot_be_booked(office):
    shop = office()
    await shop.book(DAY, "10:00", key="k1")
    with pytest.raises(SlotTaken):
        await shop.book(DAY, "10:00", key="k2")


async def test_a_slot_that_overlaps_a_booking_of_another_grid_is_taken(office):
    await office(slot_minutes=30).book(DAY, "10:00", key="k1")
    with pytest.raises(SlotTaken):
        await office(slot_minutes=60, hours=dict.fromkeys(range(7), (time(9, 30), time(12, 30)))).book(
            DAY, "09:30", key="k2"
        )


async def test_the_same_call_twice_is_one_booking(office, now):
    shop = office()
    first = await shop.book(DAY, "10:00", key="same")
    now.at = datetime(2026, 11, 17, 8, 5, tzinfo=UTC)
    assert await shop.book(DAY, "10:00", key="same") == first


async def test_a_repeated_call_does_not_bring_a_cancelled_booking_back(office):
    shop = office()
    first = await shop.book(DAY, "10:00", key="same")
    await shop.call("cancel_meeting", "k2", booking_id=first["booking_id"])
    assert (await shop.book(DAY, "10:00", key="same"))["status"] == "cancelled"
    assert "10:00" in await shop.free(DAY)


async def test_cancelling_twice_is_cancelling_once_and_spares_the_next_customer(office):
    shop = office()
    first = await shop.book(DAY, "10:00", key="k1")
    await shop.call("cancel_meeting", "k2", booking_id=first["booking_id"])
    await shop.book(DAY, "10:00", key="k3")
    assert (await shop.call("cancel_meeting", "k2", booking_id=first["booking_id"]))["status"] == "cancelled"
    assert "10:00" not in await shop.free(DAY)


@pytest.mark.parametrize("number", ["nonsense", "20261117T080000Z-" + "0" * 20, "99999999T999999Z-" + "0" * 20, "../x"])
async def test_a_booking_that_never_was_cannot_be_cancelled(office, number):
    with pytest.raises(ToolError, match="no booking"):
        await office().call("cancel_meeting", booking_id=number)


async def test_of_many_customers_who_want_one_slot_exactly_one_gets_it(office):
    shop = office()
    outcomes = await asyncio.gather(
        *(shop.book(DAY, "10:00", key=f"k{number}") for number in range(12)), return_exceptions=True
    )
    assert [one["status"] for one in outcomes if isinstance(one, dict)] == ["booked"]
    assert sum(isinstance(one, SlotTaken) for one in outcomes) == 11


async def test_the_same_call_many_times_at_once_is_one_booking(office):
    shop = office()
    outcomes = await asyncio.gather(*(shop.book(DAY, "10:00", key="same") for _ in range(6)))
    assert len({one["booking_id"] for one in outcomes}) == 1
    assert {one["status"] for one in outcomes} == {"booked"}


async def test_only_times_of_the_grid_can_be_booked(office):
    with pytest.raises(ToolError, match="No meeting starts"):
        await office().book(DAY, "10:10")


async def test_a_customer_elsewhere_sees_and_books_in_their_own_time(office):
    shop = office(slot_minutes=60, hours=EVERY_DAY)
    assert await shop.free(DAY, time_zone="America/New_York") == ["02:00", "03:00", "04:00"]
    booked = await shop.book(DAY, "03:00", time_zone="America/New_York")
    assert booked["start"] == "2026-11-17T03:00:00-05:00"
    assert await shop.free(DAY) == ["09:00", "11:00"]


async def test_a_customer_beyond_the_date_line_books_the_day_that_it_is_there(office):
    shop = office(zone="America/Los_Angeles", hours={0: (time(16), time(18))}, slot_minutes=60)
    slots = (await shop.call("find_free_times", date="2026-11-23", time_zone="Asia/Tokyo"))["free"]
    assert [(slot["date"], slot["time"]) for slot in slots] == [("2026-11-24", "09:00"), ("2026-11-24", "10:00")]
    assert (await shop.book("2026-11-24", "09:00", time_zone="Asia/Tokyo"))["start"] == "2026-11-24T09:00:00+09:00"


async def test_a_zone_that_is_none_is_said_to_be_none(office):
    for zone in ("Mars/Olympus", "../../etc/passwd"):
        with pytest.raises(ToolError, match="no time zone"):
            await office().free(DAY, time_zone=zone)


async def test_a_day_on_which_the_clocks_go_forward_has_no_slot_in_the_missing_hour(office, now):
    now.at = datetime(2027, 3, 1, tzinfo=UTC)
    shop = office(zone="Europe/Berlin", hours=dict.fromkeys(range(7), (time(1), time(5))), slot_minutes=60)
    assert await shop.free("2027-03-28") == ["01:00", "03:00", "04:00"]
    with pytest.raises(ToolError, match="does not exist"):
        await shop.book("2027-03-28", "02:00")


async def test_a_time_that_comes_twice_is_not_guessed(office, now):
    now.at = datetime(2026, 10, 1, tzinfo=UTC)
    shop = office(zone="Europe/Berlin", hours=dict.fromkeys(range(7), (time(1), time(5))), slot_minutes=60)
    assert await shop.free("2026-10-25") == ["01:00", "02:00", "02:00", "03:00", "04:00"]
    with pytest.raises(ToolError, match="twice"):
        await shop.book("2026-10-25", "02:00")
    assert (await shop.book("2026-10-25", "03:00"))["start"] == "2026-10-25T03:00:00+01:00"


async def test_several_days_are_listed_at_once(office):
    shop = office(slot_minutes=180, hours=EVERY_DAY)
    slots = (await shop.call("find_free_times", date=DAY, days=3))["free"]
    assert [slot["date"] for slot in slots] == ["2026-11-17", "2026-11-18", "2026-11-19"]


async def test_what_people_write_stays_text(office):
    shop = office()
    nasty = 'x"; DROP TABLE bookings;\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:evil'
    booked = await shop.book(DAY, "10:00", note=nasty)
    assert (await shop.call("cancel_meeting", "k2", booking_id=booked["booking_id"]))["status"] == "cancelled"
    assert "10:00" in await shop.free(DAY)


# --- what only a calendar shared with people has ---------------------------------------------------------------------


async def test_a_colleagues_appointment_blocks_the_slots_it_touches(caldav):
    shop = caldav(slot_minutes=60, hours=EVERY_DAY)
    shop.add_by_hand(uid="dentist", lines="DTSTART:20261117T073000Z\nDTEND:20261117T081500Z\nSUMMARY:dentist")
    assert await shop.free(DAY) == ["11:00"]
    with pytest.raises(SlotTaken):
        await shop.book(DAY, "10:00")


async def test_a_weekly_appointment_blocks_every_week_also_across_a_change_of_the_clocks(caldav, now):
    shop = caldav(zone="Europe/Berlin", slot_minutes=60, hours=EVERY_DAY)
    shop.add_by_hand(
        uid="weekly",
        lines="DTSTART;TZID=Europe/Berlin:20260901T100000\nDTEND;TZID=Europe/Berlin:20260901T110000\n"
        "RRULE:FREQ=WEEKLY\nEXDATE;TZID=Europe/Berlin:20261124T100000\nSUMMARY:team",
    )
    assert await shop.free("2026-11-17") == ["09:00", "11:00"]
    assert await shop.free("2026-11-24") == ["09:00", "10:00", "11:00"]
    assert await shop.free("2027-04-06") == ["09:00", "11:00"]


async def test_a_whole_day_off_blocks_the_day_and_no_other(caldav):
    shop = caldav(slot_minutes=60, hours=EVERY_DAY)
    shop.add_by_hand(uid="off", lines="DTSTART;VALUE=DATE:20261117\nDTEND;VALUE=DATE:20261118\nSUMMARY:off")
    assert await shop.free("2026-11-17") == []
    assert await shop.free("2026-11-16") != []
    assert await shop.free("2026-11-18") == ["09:00", "10:00", "11:00"]


async def test_cancelled_and_transparent_appointments_block_nothing(caldav):
    shop = caldav(slot_minutes=180, hours=EVERY_DAY)
    times = "DTSTART:20261117T070000Z\nDTEND:20261117T100000Z\nSUMMARY:x\n"
    shop.add_by_hand(uid="a", lines=times + "STATUS:CANCELLED")
    shop.add_by_hand(uid="b", lines=times + "TRANSP:TRANSPARENT")
    assert await shop.free(DAY) == ["09:00"]


async def test_an_appointment_that_appears_while_we_book_takes_our_booking_back(caldav):
    """Between our look and our write a colleague puts something there: the second look finds it."""
    from circumspect.business.caldav import CalDavCalendar

    shop: Office = caldav()

    class Hurried(CalDavCalendar):
        looks = 0

        async def _others(self, http, booking):
            self.looks += 1
            if self.looks == 1:
                found = await super()._others(http, booking)
                shop.add_by_hand(uid="late", lines="DTSTART:20261117T080000Z\nDTEND:20261117T083000Z\nSUMMARY:late")
                return found
            return await super()._others(http, booking)

    from zoneinfo import ZoneInfo

    from circumspect.business.calendar import Booking, booking_id

    calendar = Hurried(shop.config.calendar, ZoneInfo("Asia/Jerusalem"))
    start = datetime(2026, 11, 17, 8, 0, tzinfo=UTC)
    wanted = Booking(booking_id(start, "k"), start, start.replace(minute=30), "Dana", "dana@example.com")
    with pytest.raises(SlotTaken):
        await calendar.book(wanted)
    assert await calendar.find(wanted.id) is None


async def test_a_wrong_password_is_a_refusal_that_does_not_show_it(caldav):
    shop = caldav()
    config = replace(shop.config, calendar=replace(shop.config.calendar, password="guess-me"))
    with pytest.raises(ToolError, match="credentials") as refused:
        await business_tools(config).call("find_free_times", {"date": DAY}, "k")
    assert "guess-me" not in str(refused.value)
    assert "guess-me" not in repr(config)


async def test_a_calendar_that_is_not_there_is_a_refusal(embedded):
    shop = embedded(calendar=CalDav("http://127.0.0.1:9/office/calendar/", "u", "p"))
    with pytest.raises(ToolError, match="cannot be reached") as refused:
        await shop.book(DAY, "10:00")
    assert not isinstance(refused.value, ToolTimeout)


async def test_a_calendar_that_breaks_off_leaves_the_outcome_open_only_where_something_was_to_be_changed(
    embedded, calendar_url
):
    parts = urlsplit(calendar_url)
    with BreakingProxy(f"{parts.scheme}://{parts.netloc}") as proxy:
        server = CalDav(f"{proxy.url}{parts.path}", radicale_server.USER, radicale_server.PASSWORD)
        proxy.mood = {"GET": "cut before"}
        with pytest.raises(ToolError, match="nothing was changed") as refused:
            await embedded(calendar=server).book(DAY, "10:00")
        assert not isinstance(refused.value, ToolTimeout)
        proxy.mood = {"PUT": "cut before"}
        with pytest.raises(ToolTimeout, match="not known"):
            await embedded(calendar=server).book(DAY, "10:00")


async def test_a_cancellation_that_cannot_be_ended_is_no_failure_and_ends_when_it_is_repeated(embedded, calendar_url):
    parts = urlsplit(calendar_url)
    with BreakingProxy(f"{parts.scheme}://{parts.netloc}") as proxy:
        server = CalDav(f"{proxy.url}{parts.path}", radicale_server.USER, radicale_server.PASSWORD)
        shop = embedded(calendar=server)
        booked = (await shop.book(DAY, "10:00"))["booking_id"]
        proxy.asked.clear()
        proxy.mood, proxy.after = {"GET": "garbage"}, "PUT"
        with pytest.raises(ToolTimeout, match="took the change"):
            await shop.call("cancel_meeting", "k2", booking_id=booked)
        proxy.mood = {}
        assert (await shop.call("cancel_meeting", "k2", booking_id=booked))["status"] == "cancelled"
        assert "10:00" in await shop.free(DAY)


def test_mistakes_in_the_configuration_are_met_at_start(tmp_path):
    for wrong in (
        {"zone": "Mars/Olympus"},
        {"slot_minutes": 0},
        {"hours": {0: (time(17), time(9))}},
        {"hours": {9: (time(9), time(17))}},
    ):
        with pytest.raises(ConfigError):
            BusinessConfig(folder=tmp_path, **wrong)
    with pytest.raises(ConfigError):
        CalDav("caldav.example.com")
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(ConfigError, match="folder"):
        business_tools(BusinessConfig(folder=file))
