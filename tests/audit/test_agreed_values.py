"""One yes covers what was listed and nothing else: values of a call against the words that were agreed to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.audit.audit_talk import SHOP, Talk, codes, last, policy

from circumspect.language.written_values import amounts_in


def tool(name: str, **properties: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return {"type": "function", "function": {"name": name, "parameters": {**schema, "required": list(properties)}}}


BANK = [
    *SHOP,
    tool("refund_order", order_id="string", amount="number"),
    tool("close_account", account="string"),
    tool("cancel_ticket", ticket_id="integer"),
    {
        "type": "function",
        "function": {
            "name": "return_items",
            "parameters": {
                "type": "object",
                "properties": {"item_ids": {"type": "array", "items": {"type": "string"}}},
                "required": ["item_ids"],
            },
        },
    },
]
RULES = policy(
    """
version: 1
tools:
  get_order: {effect: read}
  get_customer: {effect: read}
  cancel_order: {effect: write, confirm: always}
  refund_order: {effect: write, confirm: always}
  close_account: {effect: write, confirm: always}
  cancel_ticket: {effect: write, confirm: always}
  return_items: {effect: write, confirm: always}
  send_email: {effect: write, confirm: always}
"""
)


def verdict(tmp_path: Path, talk: Talk) -> tuple[str, set[str]]:
    row = last(tmp_path, talk, RULES, tools=BANK)
    return row.verdict, codes(row)


def asked(question: str, wish: str = "Hello.", answer: str = "Yes.") -> Talk:
    return Talk().user(wish).says(question).user(answer)


CONFLICT = ("deny", {"CONFLICTS_WITH_CONFIRMED"})
BOTH = "I have the orders 12345 and 55555, please cancel the first."


def test_a_yes_to_one_number_is_none_to_another_that_the_model_looked_up(tmp_path: Path) -> None:
    talk = asked("Shall I cancel order 12345?", "Cancel order 12345, please.")
    talk.calls("get_order", order_id="55555").returns({"order_id": "55555", "status": "open"})
    row = last(tmp_path, talk.calls("cancel_order", order_id="55555", reason="mistake"), RULES)
    assert (row.verdict, codes(row)) == ("deny", {"CONFLICTS_WITH_CONFIRMED", "UNGROUNDED_PARAM"})


@pytest.mark.parametrize(
    "question",
    [
        "Shall I cancel order 12345?",
        "Shall I cancel order number 12345?",
        "Cancel it (order ID: **12345**)?",
        "Shall I cancel 12345?",
        "לבטל את ההזמנה 12345?",
        "Отменить заказ 12345?",
        "Soll ich die Bestellung 12345 stornieren?",
    ],
)
def test_a_yes_to_one_number_is_none_to_another_that_the_user_named_too(tmp_path: Path, question: str) -> None:
    other = asked(question, BOTH).calls("cancel_order", order_id="55555", reason="mistake")
    same = asked(question, BOTH).calls("cancel_order", order_id="12345", reason="mistake")
    assert verdict(tmp_path, other) == CONFLICT
    assert verdict(tmp_path, same) == ("allow", set())


def test_a_number_is_not_covered_by_a_longer_one(tmp_path: Path) -> None:
    talk = asked("Shall I cancel order 12345?", "I have the orders 1234 and 12345.")
    assert verdict(tmp_path, talk.calls("cancel_order", order_id="1234", reason="mistake")) == CONFLICT


def test_ids_that_are_numbers_are_compared_like_any_other(tmp_path: Path) -> None:
    talk = asked("Shall I cancel ticket 12345?", "I have the tickets 12345 and 55555.")
    assert verdict(tmp_path, talk.calls("cancel_ticket", ticket_id=55555)) == CONFLICT


def test_another_account_of_the_same_customer_is_another_account(tmp_path: Path) -> None:
    accounts = {"customer_id": "cu_5", "accounts": ["40010001", "40010002"]}
    talk = Talk().user("I am cu_5.").calls("get_customer", customer_id="cu_5").returns(accounts)
    talk.says("Shall I close account 40010001?").user("Yes.")
    assert verdict(tmp_path, talk.calls("close_account", account="40010002")) == CONFLICT


def test_another_address_than_the_one_that_was_shown_is_another_address(tmp_path: Path) -> None:
    talk = asked("Shall I send it to anna@example.com?", "Write to anna@example.com, not to bob@example.com.")
    row = talk.calls("send_email", recipients=["bob@example.com"], body="Hello")
    assert verdict(tmp_path, row) == ("deny", {"CONFLICTS_WITH_CONFIRMED", "UNGROUNDED_PARAM"})


@pytest.mark.parametrize(
    ("items", "expected"),
    [(["1111111111"], "allow"), (["3333333333"], "deny"), (["1111111111", "3333333333"], "deny")],
)
def test_a_list_has_nothing_in_it_that_was_not_agreed_to(tmp_path: Path, items: list[str], expected: str) -> None:
    known = {"order_id": "A10077", "items": [{"item_id": one} for one in ("1111111111", "3333333333")]}
    talk = Talk().user("It is order A10077.").calls("get_order", order_id="A10077").returns(known)
    talk.says("Shall I return the lamp (item id 1111111111)?").user("Yes.")
    assert verdict(tmp_path, talk.calls("return_items", item_ids=items))[0] == expected


# --- amounts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "amount", "expected"),
    [
        ("Shall I refund $250 for order A10077?", 250, "allow"),
        ("Shall I refund $250 for order A10077?", 350, "deny"),
        ("Shall I refund 250 for order A10077?", 350, "deny"),
        ("Shall I refund 1.250,00 € for order A10077?", 1250, "allow"),
        ("Shall I refund 1.250,00 € for order A10077?", 1350, "deny"),
        ("לזכות 250 ₪ עבור A10077?", 350, "deny"),
        ("Вернуть 250 ₽ за A10077?", 350, "deny"),
        ("The lamp was $200 and the desk $150. Shall I refund both for order A10077?", 350, "allow"),
        ("You paid $400 and $50 stay with us. Shall I refund the rest of order A10077?", 350, "allow"),
        ("Each of the two tickets was $175. Shall I refund both for order A10077?", 350, "allow"),
        ("Shall I refund order A10077?", 350, "allow"),
    ],
)
def test_an_amount_is_the_one_shown_or_what_the_shown_ones_come_to(
    tmp_path: Path, question: str, amount: float, expected: str
) -> None:
    talk = asked(question, "Please refund order A10077.").calls("refund_order", order_id="A10077", amount=amount)
    assert verdict(tmp_path, talk)[0] == expected


def test_amounts_are_read_as_people_write_them() -> None:
    assert amounts_in("$250, 1,234.50 usd, 1.234,50 € and 99 euros, but not 12 items") == (250, 1234.5, 1234.5, 99)


# --- what the model brought up itself ---------------------------------------------------------------------------------


def test_an_id_that_the_model_brought_up_is_covered_once_the_user_agreed_to_it_by_name(tmp_path: Path) -> None:
    talk = Talk().user("Cancel my last order.").calls("get_order", order_id="55555").returns({"order_id": "55555"})
    unnamed = Talk()
    unnamed.messages, unnamed.open = list(talk.messages), []
    call = {"order_id": "55555", "reason": "mistake"}
    unnamed.says("Shall I cancel it?").user("Yes.").calls("cancel_order", **call)
    assert verdict(tmp_path, unnamed) == ("ask", {"UNGROUNDED_PARAM"})
    named = talk.says("Shall I cancel order 55555?").user("Yes.").calls("cancel_order", **call)
    assert verdict(tmp_path, named) == ("allow", set())
