"""What the user named one record for is not done to another: the call goes back to the model, and nobody is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.gate.talks import Talk

from circumspect import Gate, Ruling
from circumspect.clock import FixedClock
from circumspect.reasons import ReasonCode

POLICY = """
version: 1
tools:
  list_orders: {effect: read}
  list_files: {effect: read}
  list_flights: {effect: read}
  cancel_order: {effect: write}
  cancel_shipment: {effect: write}
  update_order: {effect: write}
  change_flight: {effect: write}
  pay_invoice: {effect: write}
  delete_file: {effect: write}
  archive_order: {effect: write}
"""
ORDERS = [{"order_id": "A-771", "item": "lamp"}, {"order_id": "B-812", "item": "chair"}]


@pytest.fixture
def gate(open_gate: Callable[..., Gate], clock: FixedClock) -> Gate:
    return open_gate(policy=POLICY, clock=clock)


def listed(*words: str, result: Any = ORDERS) -> Talk:
    """The user and the assistant in turn, and then a look at everything there is."""
    talk = Talk()
    for at, text in enumerate(words):
        talk = talk.agent(text) if at % 2 else talk.user(text)
    return talk.add(talk.call("list_orders"), result)


async def rule(gate: Gate, talk: Talk, tool: str, **arguments: Any) -> Ruling:
    return await gate.rule(talk.call(tool, **arguments), messages=talk.messages)


async def test_the_other_order_goes_back_to_the_model(gate: Gate) -> None:
    talk = listed("Please cancel order A-771")
    ruling = await rule(gate, talk, "cancel_order", order_id="B-812")
    assert (ruling.verdict, ruling.reason_codes) == ("deny", (ReasonCode.CONFLICTS_WITH_CONFIRMED,))
    assert "The user named 'A-771', not 'B-812'." in ruling.tell_model
    assert (await rule(gate, talk, "cancel_order", order_id="A-771")).allowed


@pytest.mark.parametrize(
    ("words", "tool", "arguments"),
    [
        (("cancel a-771",), "cancel_order", {"order_id": "B-812"}),
        (("בטל בבקשה את הזמנה A-771",), "cancel_order", {"order_id": "B-812"}),
        (("Отмените, пожалуйста, заказ A-771",), "cancel_order", {"order_id": "B-812"}),
        (("Bitte storniere die Bestellung A-771",), "cancel_order", {"order_id": "B-812"}),
        (
            ("Change the address of A-771 to Mill Lane 5",),
            "update_order",
            {"order_id": "B-812", "address": "Mill Lane 5"},
        ),
        (("cancel A-771 please", "Your e-mail?", "dana@example.com"), "cancel_order", {"order_id": "B-812"}),
        (("cancel A-771 please", "Shall I cancel A-771?", "yes"), "cancel_order", {"order_id": "B-812"}),
        (("What does B-812 cost, and cancel A-771",), "cancel_order", {"order_id": "B-812"}),
        (("cancel A-771", "Cancelled.", "When does B-812 come?"), "cancel_order", {"order_id": "B-812"}),
    ],
)
async def test_another_than_the_one_that_was_named(
    gate: Gate, words: tuple[str, ...], tool: str, arguments: dict[str, Any]
) -> None:
    ruling = await rule(gate, listed(*words), tool, **arguments)
    assert (ruling.verdict, ruling.reason_codes[0]) == ("deny", ReasonCode.CONFLICTS_WITH_CONFIRMED)


@pytest.mark.parametrize(
    ("result", "words", "tool", "arguments"),
    [
        ({"orders": ["#W77001", "#W88002"]}, "cancel my order W77001", "cancel_order", {"order_id": "#W88002"}),
        ({"w-77001": {"sum": 2}, "w-88002": {"sum": 3}}, "cancel w-77001", "cancel_order", {"order_id": "w-88002"}),
        ([{"id": 4711}, {"id": 4712}], "Please pay invoice 4711", "pay_invoice", {"invoice_id": 4712}),
        ({"files": ["notes.txt", "report.txt"]}, "delete notes.txt", "delete_file", {"name": "report.txt"}),
    ],
)
async def test_records_stand_side_by_side_in_many_ways(
    gate: Gate, result: Any, words: str, tool: str, arguments: dict[str, Any]
) -> None:
    ruling = await rule(gate, listed(words, result=result), tool, **arguments)
    assert (ruling.verdict, ruling.reason_codes[0]) == ("deny", ReasonCode.CONFLICTS_WITH_CONFIRMED)


@pytest.mark.parametrize(
    ("words", "tool", "arguments"),
    [
        (("Please cancel A-771 and B-812",), "cancel_order", {"order_id": "B-812"}),
        (("Please cancel A-771. Also B-812.",), "cancel_order", {"order_id": "B-812"}),
        (("cancel A-771 and the other one",), "cancel_order", {"order_id": "B-812"}),
        (("cancel the duplicate of A-771",), "cancel_order", {"order_id": "B-812"}),
        (("cancel all my orders but A-771",), "cancel_order", {"order_id": "B-812"}),
        (
            ("cancel A-771", "It has shipped. B-812 I could cancel. Shall I?", "yes"),
            "cancel_order",
            {"order_id": "B-812"},
        ),
        (("cancel A-771", "Cancelled.", "cancel the chair, too"), "cancel_order", {"order_id": "B-812"}),
        (("I talk of B-812. Is A-771 late?", "Yes.", "Then cancel my order"), "cancel_order", {"order_id": "B-812"}),
        (("How much was A-771?", "20.", "cancel the chair"), "cancel_order", {"order_id": "B-812"}),
        (("cancel A-771",), "archive_order", {"order_id": "B-812"}),  # a deed that has no words of its own
    ],
)
async def test_what_may_be_meant_is_let_through(
    gate: Gate, words: tuple[str, ...], tool: str, arguments: dict[str, Any]
) -> None:
    ruling = await rule(gate, listed(*words), tool, **arguments)
    assert ReasonCode.CONFLICTS_WITH_CONFIRMED not in ruling.reason_codes


@pytest.mark.parametrize(
    ("result", "words", "tool", "arguments"),
    [
        ({"order_id": "4711", "shipment_id": "9917"}, "cancel order 4711", "cancel_shipment", {"shipment_id": "9917"}),
        (
            [{"flight_id": "HAT101"}, {"flight_id": "HAT205"}],
            "Change flight HAT101 of booking XQ1234 to one in the evening",
            "change_flight",
            {"booking_id": "XQ1234", "flight_id": "HAT205"},
        ),
    ],
)
async def test_what_follows_from_the_named_record_is_let_through(
    gate: Gate, result: Any, words: str, tool: str, arguments: dict[str, Any]
) -> None:
    assert (await rule(gate, listed(words, result=result), tool, **arguments)).allowed


async def test_strangers_lists_prove_nothing(open_gate: Callable[..., Gate], clock: FixedClock) -> None:
    """Whoever can write a list could otherwise stand between users and their orders."""
    policy = POLICY.replace("list_orders: {effect: read}", "list_orders: {effect: read, open_world: true}")
    ruling = await rule(open_gate(policy=policy, clock=clock), listed("cancel A-771"), "cancel_order", order_id="B-812")
    assert "The user named" not in ruling.tell_model


@pytest.mark.parametrize(
    ("result", "words", "tool", "arguments"),
    [
        ("Open: TCK-1042 (printer jams), TCK-1043 (no network).", "cancel order TCK-1043", "cancel_order", "TCK-1042"),
        ([{"order": "55102"}, {"order": "55120"}], "cancel order 55120, it is broken", "cancel_order", "55102"),
    ],
)
async def test_ids_in_texts_and_under_the_name_of_the_thing(
    gate: Gate, result: Any, words: str, tool: str, arguments: str
) -> None:
    ruling = await rule(gate, listed(words, result=result), tool, order=arguments)
    assert (ruling.verdict, ruling.reason_codes[0]) == ("deny", ReasonCode.CONFLICTS_WITH_CONFIRMED)


async def test_what_the_assistant_says_before_it_acts_is_no_answer_of_the_user(gate: Gate) -> None:
    talk = listed("When does B-812 come? And please cancel A-771.").agent("B-812 comes on Friday. I cancel A-771 now.")
    ruling = await rule(gate, talk, "cancel_order", order_id="B-812")
    assert (ruling.verdict, ruling.reason_codes[0]) == ("deny", ReasonCode.CONFLICTS_WITH_CONFIRMED)


async def test_a_row_that_is_named_by_its_ends_is_all_of_it(gate: Gate) -> None:
    talk = listed(
        "delete report-101 through report-104", result=["report-101", "report-103", "report-104", "report-110"]
    )
    assert (await rule(gate, talk, "delete_file", file_id="report-103")).allowed
    assert (await rule(gate, talk, "delete_file", file_id="report-110")).verdict == "deny"


async def test_the_order_that_replaces_the_named_one_may_be_meant(gate: Gate) -> None:
    talk = Talk("Cancel order 500121")
    talk.add(talk.call("list_orders", order_id="500121"), {"order_id": "500121", "replaced_by": "500188"})
    talk.add(talk.call("list_orders"), [{"order_id": "500121"}, {"order_id": "500188"}])
    assert (await rule(gate, talk, "cancel_order", order_id="500188")).allowed


async def test_who_corrects_themselves_in_one_breath_named_nothing_for_good(gate: Gate) -> None:
    talk = listed("תבטל את ההזמנה A-771... רגע לא, טעיתי, התכוונתי לכיסא")
    assert "The user named" not in (await rule(gate, talk, "cancel_order", order_id="B-812")).tell_model


async def test_a_wish_that_names_no_id_may_be_for_the_other_one(gate: Gate) -> None:
    talk = listed("отмените A-771 и стул тоже отмените")
    assert "The user named" not in (await rule(gate, talk, "cancel_order", order_id="B-812")).tell_model


async def test_a_path_is_one_with_its_first_slash_or_without(gate: Gate) -> None:
    files = [{"path": "/deals/bauer_v1.docx"}, {"path": "/deals/bauer_signed.pdf"}]
    talk = listed("delete /deals/bauer_v1.docx, that is old", result=files)
    assert (await rule(gate, talk, "delete_file", path="/deals/bauer_signed.pdf")).verdict == "deny"
    assert (await rule(gate, talk, "delete_file", path="/deals/bauer_v1.docx")).allowed


@pytest.mark.parametrize("answer", ["oh wait no, the lamp I need. Cancel the other one", "Nein, storniere die andere"])
async def test_the_other_one_is_not_the_one_that_the_question_describes(gate: Gate, answer: str) -> None:
    talk = listed("cancel A-771").agent("A-771 is the lamp. Shall I?").user(answer)
    ruling = await rule(gate, talk, "cancel_order", order_id="B-812")
    assert ReasonCode.CONFLICTS_WITH_CONFIRMED not in ruling.reason_codes


async def test_what_was_cancelled_before_is_not_meant_again(gate: Gate) -> None:
    orders = [{"order_id": "WX-20931", "item": "Garden hose 20m"}, {"order_id": "WX-20944", "item": "Hose reel"}]
    talk = listed("cancel WX-20944", result=orders)
    talk.add(talk.call("cancel_order", order_id="WX-20944"), {"cancelled": "WX-20944"})
    talk.agent("Done, WX-20944 (hose reel) is cancelled.").user("cool. Cancel the hose as well, then")
    ruling = await rule(gate, talk, "cancel_order", order_id="WX-20931")
    assert ReasonCode.CONFLICTS_WITH_CONFIRMED not in ruling.reason_codes
