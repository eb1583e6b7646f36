"""What a user is asked at a gate: what is to be done and what is missing, in the language of their sentence."""

from __future__ import annotations

from typing import Any

import pytest

from circumspect.errors import PolicyError
from circumspect.gate import Gate

PAY = {"effect": "destructive", "phrase": {"en": "pay {amount} to {to}"}}


def said(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize(
    ("language", "words", "label"),
    [
        ("en", "pay it", "iban"),
        ("he", "שלם את זה", "iban"),
        ("ru", "заплати это", "iban"),
        ("de", "bezahle das bitte", "iban"),
    ],
)
async def test_a_question_for_a_value_names_the_deed_and_the_value_though_nobody_gave_schema_or_phrase(
    language: Any, words: str, label: str
) -> None:
    gate = Gate(
        {"version": 1, "tools": {"transfer": {"effect": "destructive", "params": {"to_iban": {"source": "user"}}}}}
    )
    call = {"name": "transfer", "arguments": {"to_iban": "DE02120300000000202051"}}
    ruling = await gate.rule(call, messages=said(words), language=language)
    assert ruling.verdict == "ask"
    assert label in ruling.ask_user.lower()
    assert "transfer" in ruling.ask_user.lower()


@pytest.mark.parametrize(("words", "value"), [("pay 50 to שרה", "שרה"), ("pay 50 to Борис", "Борис")])
async def test_the_language_is_that_of_the_sentence_and_not_of_a_value_in_it(words: str, value: str) -> None:
    gate = Gate({"version": 1, "tools": {"pay": PAY}})
    ruling = await gate.rule({"name": "pay", "arguments": {"amount": 50, "to": value}}, messages=said(words))
    assert "you want me to pay 50 to" in ruling.ask_user


async def test_a_sentence_in_another_language_still_decides() -> None:
    gate = Gate({"version": 1, "tools": {"pay": PAY}})
    call = {"name": "pay", "arguments": {"amount": 50, "to": "Sarah"}}
    ruling = await gate.rule(call, messages=said("שלם 50 שקל לחברה שלי Sarah"))
    assert "Just to confirm" not in ruling.ask_user


async def test_a_policy_may_cover_tools_of_another_agent_and_a_slip_of_the_pen_is_still_refused() -> None:
    tools = [{"name": "pay_invoice", "parameters": {"type": "object", "properties": {"to": {"type": "string"}}}}]
    shared = {
        "version": 1,
        "tools": {"pay_invoice": {"effect": "write", "confirm": "never"}, "scan": {"effect": "read"}},
    }
    ruling = await Gate(shared, tools=tools).rule(
        {"name": "pay_invoice", "arguments": {"to": "bob"}}, messages=said("pay bob")
    )
    assert ruling.allowed
    with pytest.raises(PolicyError):
        Gate({"version": 1, "tools": {"pay_invoise": {"effect": "write"}}}, tools=tools)
