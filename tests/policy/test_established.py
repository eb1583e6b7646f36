"""What an approver is shown of what the conditions of a call read."""

from __future__ import annotations

from tests.policy.policy_talk import facts, ran
from tests.policy.test_conditions import BOOKING, CANCEL, LOOKED_UP, policy

from circumspect.policy.established import find_established


def established(*conditions: str, events: tuple[object, ...] = (LOOKED_UP,), then: str = "") -> dict[str, object]:
    found = find_established(facts(policy(*conditions, then=then), CANCEL, *events))
    return {one.place: one.value for one in found}


def test_each_place_that_a_condition_reads_stands_with_its_key_and_value() -> None:
    shown = established("booking.price < 500 && booking.owner == 'u1'", "latest.get_booking.status == 'open'")
    assert shown == {
        "facts.get_booking.B1.price": 120,
        "facts.get_booking.B1.owner": "u1",
        "latest.get_booking.status": "open",
    }


def test_so_do_those_of_conditions_that_want_four_eyes() -> None:
    assert established("booking.price > 100", then="four_eyes") == {"facts.get_booking.B1.price": 120}


def test_of_what_a_condition_goes_over_all_is_shown() -> None:
    assert established("booking.guests.all(guest, guest.age > 5)") == {"facts.get_booking.B1.guests": BOOKING["guests"]}


def test_what_was_not_looked_up_or_is_no_result_is_not_there() -> None:
    assert established("booking.price < 500", events=()) == {}
    assert established("args.booking_id != '' && size(user) > 0") == {}
    other = ran("get_booking", {"price": 1}, booking_id="B2")
    assert established("booking.price < 500", events=(other,)) == {}


def test_a_long_value_is_cut_and_says_so() -> None:
    long = ran("get_booking", {"price": 1, "notes": "x" * 5000}, booking_id="B1")
    (value,) = established("booking.notes != ''", events=(long,)).values()
    assert isinstance(value, str)
    assert (len(value), value[-1]) == (2001, "…")
