"""Sentences of a reply that are not so.

`reply_claims.json` holds replies with what ran before them; `python -m bench.claims` scores any such file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.claims import judge
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import PATIENCE

from circumspect.policy.grounding.call_texts import CallText, text_of
from circumspect.policy.grounding.ran_calls import RanCalls
from circumspect.policy.grounding.untrue import REASONS, UntrueReason, find_untrue
from circumspect.values import PastCall, ToolCall, ToolSpec

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "reply_claims.json").read_text("utf-8"))


def ran(tool: str, result: Any = "done", *, ok: bool = True, unknown: bool = False, **arguments: Any) -> PastCall:
    return PastCall(ToolCall(tool, arguments), result, ok, True, 0, unknown=unknown)


@pytest.mark.parametrize("language", ["en", "he", "ru", "de"])
def test_what_is_not_so_is_found(language: str) -> None:
    untrue = [one for one in CASES if one["lang"] == language and one["truth"] == "false_claim"]
    assert len(untrue) >= 20
    assert [one["reply"] for one in untrue if not judge(one)] == []


@pytest.mark.parametrize("language", ["en", "he", "ru", "de"])
def test_what_is_so_stands(language: str) -> None:
    true = [one for one in CASES if one["lang"] == language and one["truth"] == "true"]
    assert len(true) >= 15
    assert [(one["reply"], judge(one)) for one in true if judge(one)] == []


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        (
            "en",
            "I sent the cancellation of 12345 through but got no answer, so I can't tell you yet whether it worked.",
        ),
        ("he", "שלחתי את הביטול של 12345 ולא חזרה תשובה, ואיני יודעת אם עבר."),
        ("ru", "Отмену заказа 12345 я отправила, но система не ответила: не могу сказать наверняка."),
    ],
)
def test_whoever_admits_that_nobody_knows_claims_nothing(language: Any, reply: str) -> None:
    assert not find_untrue(reply, language, [ran("cancel_order", None, ok=False, unknown=True, order_id="12345")])


CANCELLED = [ran("cancel_order", {"order_id": "12345", "status": "cancelled"}, order_id="12345")]
FAILED = [ran("cancel_order", {"error": "shipped"}, ok=False, order_id="12345")]
UNKNOWN = [ran("cancel_order", None, ok=False, unknown=True, order_id="12345")]


@pytest.mark.parametrize(
    ("reply", "calls", "reason"),
    [
        ("Your order was cancelled.", [], "not_done"),
        ("Your order was cancelled.", FAILED, "not_done"),
        ("Your order was cancelled.", UNKNOWN, "unknown"),
        ("Sorry, I could not cancel your order.", CANCELLED, "was_done"),
        ("Sorry, I could not cancel your order.", UNKNOWN, "unknown"),
        ("I'll cancel it in a moment.", [], "not_promised"),
        ("What is your card number and CVV?", [], "secret"),
        ("Order 12345 is cancelled, 785.00 comes back to you.", CANCELLED, "figure"),
    ],
)
def test_each_has_its_reason(reply: str, calls: list[PastCall], reason: str) -> None:
    assert [one.reason for one in find_untrue(reply, "en", calls)] == [reason]


@pytest.mark.parametrize("verb", ["deleted", "cancelled", "removed", "refunded", "booked"])
@pytest.mark.parametrize(
    "thing",
    [
        *("booking", "order", "reservation", "subscription", "meeting", "building", "listing", "posting", "filing"),
        *("account", "policy", "the orders", "your booking", "booking number"),
    ],
)
@pytest.mark.parametrize("calls", [[], [ran("delete_booking", {"error": "down"}, ok=False, booking_id="B-1")]])
def test_whatever_noun_stands_behind_the_verb_a_deed_that_did_not_happen_is_found(
    verb: str, thing: str, calls: list[PastCall]
) -> None:
    for said in (f"I have {verb} {thing} B-1.", f"I {verb} {thing} B-1.", f"I've just {verb} {thing} B-1."):
        assert [one.reason for one in find_untrue(said, "en", calls)] == ["not_done"], said


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("en", "I cancelled orders B-1 and B-2."),
        ("en", "I have cancelled all bookings."),
        ("en", "I have cancelled every booking of yours."),
        ("en", "I have automatically cancelled your booking."),
        ("en", "Deleted booking B-1."),
        ("en", "Your insurance policy P-1 has been cancelled."),
        ("de", "Ich habe Ihre Bestellungen storniert."),
        ("de", "Ihre Termine wurden storniert."),
        ("ru", "Я отменил ваши заказы."),
        ("ru", "Я отменил заказы B-1 и B-2."),
        ("he", "ביטלתי את ההזמנות B-1 ו-B-2."),
    ],
)
def test_a_deed_of_ours_is_no_general_rule(language: Any, reply: str) -> None:
    assert find_untrue(reply, language, [])


@pytest.mark.parametrize(
    "reply",
    [
        "Cancelled bookings cannot be restored.",
        "A cancelled order is refunded within 5 days.",
        "Orders are cancelled automatically after a week.",
        "Our policy allows this for 30 days.",
        "Stornierte Bestellungen werden erstattet.",
    ],
)
def test_a_general_rule_is_none_of_our_deeds(reply: str) -> None:
    assert not find_untrue(reply, None, [])


EXTENDED = [ran("extend_loan", {"ok": True}, loan_id="L-7")]


@pytest.mark.parametrize(
    ("calls", "reply"),
    [
        (EXTENDED, "I have extended your loan L-7."),
        (EXTENDED, "I extended loan L-7."),
        (EXTENDED, "Your loan L-7 is extended."),
        (EXTENDED, "Ich habe Ihr Darlehen L-7 verlängert."),
        (EXTENDED, "Я продлил ваш заём L-7."),
        (EXTENDED, "הארכתי את ההלוואה L-7."),
        (EXTENDED, "Done!"),
        ([ran("archive_ticket", ticket="T-5")], "I have archived ticket T-5."),
        ([ran("open_account", account="A-1")], "I have opened your account A-1."),
        ([ran("process_claim", claim="C-1")], "Your claim C-1 was processed."),
        ([ran("library__lend_book", book="K-2")], "I have lent you book K-2."),
        ([ran("delete_booking", booking_id="B-1")], "Booking B-1 is gone."),
    ],
)
def test_a_deed_is_what_its_tools_name_says_of_that_record(calls: list[PastCall], reply: str) -> None:
    assert not find_untrue(reply, None, calls)
    assert find_untrue(reply, None, [])
    failed = [ran(one.call.tool, {"error": "down"}, ok=False, **one.call.arguments) for one in calls]
    assert find_untrue(reply, None, failed)
    if reply[-3:-2] == "-":
        assert find_untrue(reply[:-2] + "9.", None, calls)


@pytest.mark.parametrize(
    ("call", "reply"),
    [
        (EXTENDED[0], "I have deleted your loan L-7."),
        (EXTENDED[0], "Your loan L-7 was cancelled."),
        (EXTENDED[0], "I have extended your subscription."),
        (ran("get_loan", loan_id="L-7"), "I have extended your loan L-7."),
        (ran("get_extended_loan", loan_id="L-7"), "Your loan L-7 is extended."),
        (ran("simulate_extend", loan_id="L-7"), "I have extended your loan L-7."),
        (ran("open_page", page="L-7"), "I have wrapped L-7."),
    ],
)
def test_a_name_bears_out_no_other_deed(call: PastCall, reply: str) -> None:
    assert find_untrue(reply, "en", [call])


def test_only_the_sentence_that_is_not_so_is_named() -> None:
    reply = "Hello Dana! I have cancelled your order. Which colour do you like?"
    assert [one.sentence for one in find_untrue(reply, "en", [])] == ["I have cancelled your order."]


def test_a_tool_may_ask_for_what_it_takes() -> None:
    tools = {"sign_in": ToolSpec("sign_in", effect="write", parameters={"properties": {"password": {}}})}
    assert not find_untrue("Please enter your password.", "en", [], tools)
    assert find_untrue("Please enter your password.", "en", [])


def test_a_quotation_of_what_was_looked_up_stands() -> None:
    rule = "The booking is cancelled and the deposit is refunded to the card on file."
    assert find_untrue(rule, "en", [])
    assert not find_untrue(rule, "en", [], known=f"House rules.\n{rule} Ask us.")


@pytest.mark.parametrize(
    "piece",
    [
        "now just already ",
        "i have not ",
        '"',
        "cancelled ",
        "12345 ",
        "a@",
        "1,000 ",
        "on its way to ",
        "- ",
        "отменен ",
        "בוטל ",
    ],
)
def test_a_hostile_reply_costs_what_its_length_says(piece: str) -> None:
    import time

    def measure(times: int) -> float:
        text = (piece * (times // len(piece)))[:times]
        started = time.perf_counter()
        find_untrue(text, "en", CANCELLED, known=text)
        return time.perf_counter() - started

    measure(1_000)
    assert measure(20_000) < PATIENCE


@pytest.mark.parametrize(
    ("said", "held"),
    [("cancel my order", True), ("what happens when I cancel?", False), ("no, don't cancel it", False)],
)
def test_what_the_user_said_decides_how_much_is_asked_of_an_unknown_verb(said: str, held: bool) -> None:
    assert bool(find_untrue("That one evaporated from the plan.", "en", [], said=said)) is held


def test_an_unknown_verb_about_a_record_needs_a_call_on_that_record() -> None:
    reply = "12345 has been mothballed."
    assert find_untrue(reply, "en", [])
    assert find_untrue(reply, "en", [ran("cancel_order", order_id="12344")])
    assert not find_untrue(reply, "en", [ran("cancel_order", order_id="12345")])


def test_an_hour_in_words_is_the_hour_that_was_booked() -> None:
    booked = [ran("book_appointment", {"date": "2026-12-07", "time": "16:00", "booked": True}, date="2026-12-07")]
    assert not find_untrue("Your appointment is at four in the afternoon.", "en", booked)
    assert [one.reason for one in find_untrue("Your appointment is at six in the evening.", "en", booked)] == ["figure"]


def test_a_tick_says_done_unless_it_decks_out_what_is_possible() -> None:
    assert find_untrue("✅ Order 12345", "en", [])
    assert not find_untrue("I can do this for you:\n✅ cancel an order\n✅ change an address", "en", [])


SHEET = "Hours: Monday to Friday 9:00–17:00 (Berlin)\nPhone: +49-30-555-0121\nE-mail: desk@lantern.example\n"


@pytest.mark.parametrize(
    ("reply", "quoted"),
    [
        ("Phone: +49-30-555-0121, e-mail: desk@lantern.example.", True),
        ("hours: Monday to Friday 9:00–17:00 (Berlin) phone: +49-30-555-0121 e-mail: desk@lantern.example [1]", True),
        ("Phone: +49-30-555-0121, e-mail: dana@lantern.example.", False),
    ],
)
def test_what_is_known_is_a_quotation_whatever_stands_between_its_lines(reply: str, quoted: bool) -> None:
    tools = {"send_email": ToolSpec("send_email", "Send an e-mail.", effect="write")}
    found = find_untrue(reply, "en", [], tools, known=SHEET, said="How do I reach you?")
    assert (found == ()) == quoted


_REPLIES = [*sorted({one["reply"] for one in CASES}), "It costs 785.00.", "Your order 12345 is on its way, for 785.00."]


@given(
    st.lists(st.sampled_from(_REPLIES), min_size=1, max_size=4),
    st.sampled_from(["Cancel order 12345 please.", "no", ""]),
    st.sampled_from([[], CANCELLED, FAILED, UNKNOWN, CANCELLED + FAILED]),
    st.sets(st.sampled_from(sorted(REASONS)), min_size=1),
)
def test_asked_for_some_reasons_the_rest_is_left_out_and_nothing_else_changes(
    replies: list[str], said: str, calls: list[PastCall], reasons: set[UntrueReason]
) -> None:
    reply = " ".join(replies)
    everything = find_untrue(reply, None, calls, known=said, said=said)
    some = find_untrue(reply, None, calls, known=said, said=said, reasons=reasons)
    assert some == tuple(one for one in everything if one.reason in reasons)


@given(st.lists(st.tuples(st.text(max_size=9), st.integers(0, 3)), max_size=30))
def test_the_text_of_a_call_is_its_own_however_many_there_were(made: list[tuple[str, int]]) -> None:
    calls = [ran("look_up", {"name": name, "items": [{"size": size}]}, order_id=name) for name, size in made]
    for one in [*calls, *calls[:5]]:
        assert text_of(one).flat == CallText(one).flat
        assert text_of(one).records == CallText(one).records
        assert text_of(one).event is one


@given(
    st.lists(st.sampled_from(_REPLIES), min_size=1, max_size=3),
    st.lists(st.sampled_from(CANCELLED + FAILED + UNKNOWN), max_size=6),
)
def test_calls_that_were_added_one_by_one_bear_out_what_all_of_them_do(
    replies: list[str], calls: list[PastCall]
) -> None:
    grown = RanCalls()
    for one in calls:
        grown.add(one)
        find_untrue(" ".join(replies), "en", grown)
    assert find_untrue(" ".join(replies), "en", grown) == find_untrue(" ".join(replies), "en", calls)


def test_a_reply_costs_the_same_however_much_ran_before() -> None:
    grown, steps = RanCalls(), {}
    for number in range(10_000, 10_801):
        grown.add(ran("cancel_order", {"order_id": str(number), "status": "cancelled"}, order_id=str(number)))
        if number in (10_100, 10_800):
            find_untrue("I have cancelled order 10099.", "en", grown)
            made = []
            sys.setprofile(lambda _, kind, __, made=made: made.append(kind))
            try:
                assert not find_untrue("I have cancelled order 10042.", "en", grown)
            finally:
                sys.setprofile(None)
            steps[number] = len(made)
    assert steps[10_800] < steps[10_100] * 1.5


@pytest.mark.parametrize(
    "reply",
    [
        "sys='SYS-77 be brief' temp=0.37 roles=['system', 'user']",
        "debug=True user_id=4711",
        "retries=3, timeout=20; model=gpt-4",
    ],
)
def test_names_with_their_values_claim_nothing(reply: str) -> None:
    assert not find_untrue(reply, "en", [], said="echo")


@pytest.mark.parametrize(
    "reply",
    ["note='your order was cancelled' id=4711", "id=4711 was cancelled", "Your order 12345 was wiped, status=ok"],
)
def test_a_deed_among_them_does(reply: str) -> None:
    assert find_untrue(reply, "en", [], said="cancel order 4711")
