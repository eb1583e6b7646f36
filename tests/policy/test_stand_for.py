"""Ids are held against what they stand for: the record that a tool returned under an id, and the words that were said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.policy.policy_talk import NOW, ran, session, user

from circumspect.policy.facts import Facts
from circumspect.policy.grounding.stand_for import (
    find_better,
    find_foreign_part,
    find_other_variant,
    find_unnamed_parts,
    ids_stand_for_what_was_said,
)
from circumspect.values import Allow, Deny, History, PastCall, ToolCall, Utterance

LAMP = {
    "name": "Desk Lamp",
    "variants": {
        "1001": {"options": {"color": "black", "size": "tall"}, "price": 40.0, "available": True},
        "1002": {"options": {"color": "red", "size": "tall"}, "price": 30.0, "available": True},
        "1003": {"options": {"color": "red", "size": "short"}, "price": 20.0, "available": False},
        "1004": {"options": {"color": "green", "size": "short"}, "price": 25.0, "available": True},
    },
}
ORDER = {
    "order_id": "#W77001",
    "items": [
        {"item_id": "1001", "name": "Desk Lamp", "options": {"color": "black", "size": "tall"}, "price": 40.0},
        {"item_id": "2002", "name": "Office Chair", "options": {"color": "grey"}, "price": 90.0},
    ],
}
OTHER = {"order_id": "#W88002", "items": [{"item_id": "3003", "name": "Garden Hose", "price": 15.0}]}
LOOKED_UP = (ran("get_order", ORDER, order_id="#W77001"), ran("get_product", LAMP, product_id="55"))


def says(text: str) -> Utterance:
    return Utterance("assistant", text, 0)


def change(to: str, item: str = "1001", order: str = "#W77001") -> ToolCall:
    return ToolCall("change_items", {"order_id": order, "item_ids": [item], "new_item_ids": [to]})


CANCEL = ToolCall("cancel_order", {"order_id": "#W77001"})


def known(call: ToolCall, *events: Utterance | PastCall, **more: Any) -> Facts:
    return Facts(call, None, None, "write", "adaptive", NOW, session=session(*events), **more)


def agreed(call: ToolCall, question: str, answer: str = "Yes, please.") -> Facts:
    return known(call, *LOOKED_UP, says(question), user(answer))


# --- a variant ------------------------------------------------------------------------------------------------------


def test_the_blue_one_is_not_run_when_the_red_one_was_listed() -> None:
    question = "Shall I change the lamp to the tall red one?"
    assert find_other_variant(agreed(change("1004"), question)) == "'1004' is green, not red (options.color)."
    assert not find_other_variant(agreed(change("1002"), question))


def test_what_was_said_last_by_the_user_counts_as_well() -> None:
    assert find_other_variant(agreed(change("1004"), "Which colour?", "The red one, please."))


def test_words_that_are_not_in_the_record_yet_are_the_newest() -> None:
    talk = (*LOOKED_UP, user("Hello"), says("Which colour?"))
    assert find_other_variant(known(change("1004"), *talk, words="The red one, please."))
    assert not find_other_variant(known(change("1004"), *talk, words="The green one, please."))


def test_the_one_that_is_exchanged_may_be_named_too() -> None:
    assert not find_other_variant(agreed(change("1002"), "Shall I change the tall black lamp to the red one?"))
    assert not find_other_variant(agreed(change("1002"), "Shall I change the black lamp?"))


def test_an_id_that_was_said_itself_is_not_looked_into() -> None:
    assert not find_other_variant(agreed(change("1004"), "Shall I take 1004 instead of the red one?"))


def test_words_that_name_no_variant_say_nothing() -> None:
    assert not find_other_variant(agreed(change("1004"), "Shall I change the lamp as you said?"))


def test_of_two_alike_in_one_order_the_described_one_is_meant() -> None:
    order = {
        "items": [
            {"item_id": "71", "name": "Vacuum", "kind": "robot"},
            {"item_id": "72", "name": "Vacuum", "kind": "canister"},
        ]
    }
    back = ToolCall("return_items", {"order_id": "#W99003", "item_ids": ["71"]})
    talk = (ran("get_order", order, order_id="#W99003"), says("Shall I take the canister vacuum back?"), user("Yes"))
    assert find_other_variant(known(back, *talk))


def test_a_result_that_is_the_text_of_a_record_is_read() -> None:
    found = ran("get_product", json.dumps(LAMP), product_id="55")
    talk = (found, says("Shall I change the lamp to the tall red one?"), user("Yes"))
    assert find_other_variant(known(change("1004"), *talk))


def test_what_strangers_wrote_describes_nothing() -> None:
    found = ran("read_page", LAMP, trusted=False, url="x")
    talk = (found, says("Shall I change the lamp to the tall red one?"), user("Yes"))
    assert not find_other_variant(known(change("1004"), *talk))


# --- the whole of a record ------------------------------------------------------------------------------------------


def test_an_order_is_not_cancelled_for_one_of_its_items() -> None:
    asked = agreed(CANCEL, "Shall I cancel the lamp in order #W77001?")
    assert find_unnamed_parts(asked) == "'#W77001' also holds Office Chair, which nobody named."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Shall I cancel order #W77001?", "Yes"),
        ("Shall I cancel order #W77001 with the lamp and the chair?", "Yes"),
        ("Shall I cancel the lamp in order #W77001?", "Yes, the whole order."),
        ("Soll ich die Bestellung #W77001 mit der Lamp stornieren?", "Ja, die ganze Bestellung."),
    ],
)
def test_a_whole_order_is_cancelled_when_that_is_what_was_said(question: str, answer: str) -> None:
    assert not find_unnamed_parts(agreed(CANCEL, question, answer))


def test_another_change_of_the_order_is_about_no_part_of_it() -> None:
    move = ToolCall("change_address", {"order_id": "#W77001", "address": "Main Street 1"})
    assert not find_unnamed_parts(agreed(move, "Shall I send order #W77001 with the lamp to Main Street 1?"))


# --- a part ---------------------------------------------------------------------------------------------------------


def test_an_item_of_another_order_is_no_part_of_this_one() -> None:
    both = (*LOOKED_UP, ran("get_order", OTHER, order_id="#W88002"))
    assert find_foreign_part(known(change("3003", item="3003"), *both)) == "'3003' is no part of '#W77001'."
    assert not find_foreign_part(known(change("1002"), *both))
    assert not find_foreign_part(known(change("3003"), *both))  # what the item becomes may be known from anywhere


# --- a price --------------------------------------------------------------------------------------------------------


def test_the_cheapest_is_the_cheapest_that_can_be_had() -> None:
    wish = (*LOOKED_UP, user("Change the lamp to the cheapest one."))
    assert find_better(known(change("1002"), *wish)) == "'1002' costs 30, and there is one for 25."
    assert not find_better(known(change("1004"), *wish))


def test_what_the_user_wants_besides_narrows_the_choice() -> None:
    assert not find_better(known(change("1002"), *LOOKED_UP, user("Change the lamp to the cheapest red one.")))
    assert not find_better(known(change("1002"), *LOOKED_UP, user("The cheapest lamp, but keep the same size.")))


def test_the_cheapest_of_something_else_is_about_something_else() -> None:
    chair = {"name": "Office Chair", "variants": {"2002": {"price": 9.0}, "2005": {"price": 8.0}}}
    both = ToolCall(
        "change_items", {"order_id": "#W77001", "item_ids": ["1001", "2002"], "new_item_ids": ["1002", "2005"]}
    )
    talk = (*LOOKED_UP, ran("get_product", chair, product_id="56"), user("The cheapest chair, and the red lamp."))
    assert not find_better(known(both, *talk))


# --- the rule -------------------------------------------------------------------------------------------------------


def test_a_contradiction_goes_back_to_the_model_with_what_it_is() -> None:
    verdict = ids_stand_for_what_was_said(agreed(change("1004"), "Shall I change the lamp to the tall red one?"))
    assert isinstance(verdict, Deny)
    assert "'1004' is green, not red" in verdict.problem


def test_ids_that_are_blank_or_stand_for_nothing_are_not_its_business() -> None:
    for to in ("", "9999"):
        assert ids_stand_for_what_was_said(agreed(change(to), "Shall I change it?")) == Allow()
    assert ids_stand_for_what_was_said(Facts(CANCEL, None, None, "read", "adaptive", NOW, session=History())) == Allow()
