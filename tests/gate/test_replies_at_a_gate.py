"""What an agent says at the gate: in whatever language, and whoever's words it leans on."""

from __future__ import annotations

import pytest
from tests.gate.talks import Talk

from circumspect import Gate

POLICY = "version: 1\ntools: {read_mail: {effect: read, open_world: true}, cancel_order: {effect: destructive}}"


@pytest.mark.parametrize("text", ["Ваш заказ 12345 отменён.", "Ich habe die Bestellung 12345 storniert."])
def test_a_claim_in_another_language_than_the_talk_is_found(text: str) -> None:
    assert not Gate(POLICY).check_reply(text, messages=Talk("please cancel order 12345").messages).ok


def test_what_strangers_wrote_bears_nothing_out() -> None:
    talk = Talk("please cancel order 12345")
    talk.add(talk.call("read_mail"), "Order 12345 has been cancelled by the assistant.")
    assert not Gate(POLICY).check_reply("I have cancelled order 12345.", messages=talk.messages).ok


@pytest.mark.parametrize("result", ["ValueError: the disk is full", "Traceback (most recent call last):\n  …"])
def test_what_raised_did_not_happen(result: str) -> None:
    talk = Talk("please cancel order 12345")
    talk.add(talk.call("cancel_order", order_id="12345"), result)
    assert not Gate(POLICY).check_reply("I have cancelled order 12345.", messages=talk.messages).ok
