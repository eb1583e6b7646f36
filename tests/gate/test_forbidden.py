"""What the user said must not be done, or not to whom, is none of their values for a call that changes something."""

from __future__ import annotations

from typing import Any

import pytest
from tests.gate.talks import Talk

from circumspect import Gate
from circumspect.language.wanted import leave_out_forbidden
from circumspect.reasons import ReasonCode

POLICY = {
    "version": 1,
    "tools": {
        "get_user": {"effect": "read"},
        "set_role": {"effect": "write", "params": {"role": {"source": "user"}}},
        "send_email": {"effect": "write"},
        "cancel": {"effect": "write"},
    },
}


async def rule(*words: str, tool: str, **arguments: Any) -> Any:
    async with Gate(POLICY) as gate:
        return await gate.rule({"name": tool, "arguments": arguments}, messages=Talk(*words).messages)


@pytest.mark.parametrize(
    ("words", "tool", "arguments"),
    [
        ("never make u-7 an owner", "set_role", {"user_id": "u-7", "role": "owner"}),
        ("u-7 must never be an owner", "set_role", {"user_id": "u-7", "role": "owner"}),
        ("email it to carol@corp.example, not to dave@corp.example", "send_email", {"to": "dave@corp.example"}),
        ("email it to carol@corp.example but not dave@corp.example", "send_email", {"to": "dave@corp.example"}),
        ("use carol@corp.example instead of dave@corp.example", "send_email", {"to": "dave@corp.example"}),
        ("don't cancel 12345, cancel 12346", "cancel", {"order_id": "12345"}),
        ("not 12345, 12346", "cancel", {"order_id": "12345"}),
        ("cancel all of them except 12345", "cancel", {"order_id": "12345"}),
        ("תשלח ל-carol@corp.example ולא ל-dave@corp.example", "send_email", {"to": "dave@corp.example"}),
        ("לעולם אל תבטל את 12345", "cancel", {"order_id": "12345"}),
        ("отправь на carol@corp.example, а не на dave@corp.example", "send_email", {"to": "dave@corp.example"}),
        ("не отменяйте 12345", "cancel", {"order_id": "12345"}),
        ("Sende es an carol@corp.example, nicht an dave@corp.example", "send_email", {"to": "dave@corp.example"}),
        ("Storniere 12345 auf keinen Fall", "cancel", {"order_id": "12345"}),
        ("Storniere 12345 nicht", "cancel", {"order_id": "12345"}),
        ("cancel B-772, but keep B-771", "cancel", {"order_id": "B-771"}),
        ("Never send it to dave@corp.example. What is on it?", "send_email", {"to": "dave@corp.example"}),
    ],
)
async def test_what_was_excluded_is_asked_about(words: str, tool: str, arguments: dict[str, Any]) -> None:
    ruling = await rule(words, tool=tool, **arguments)
    assert (ruling.verdict, ruling.reason_codes[0]) == ("ask", ReasonCode.UNGROUNDED_PARAM)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("don't cancel 12345, cancel 12346", "12346"),
        ("not 12345, 12346", "12346"),
        ("I never received order 12345, cancel it", "12345"),
        ("I did not receive order 12345", "12345"),
        ("don't ship order 12345", "12345"),
        ("I don't want order 12345 any more", "12345"),
        ("I can't find order 12345, cancel it", "12345"),
        ("why not cancel 12345?", "12345"),
        ("No, 12345", "12345"),
        ("לא קיבלתי את הזמנה 12345, תבטלו", "12345"),
        ("заказ 12345 не пришёл, отмените", "12345"),
        ("Ich habe 12345 nicht erhalten, bitte stornieren", "12345"),
    ],
)
async def test_what_was_meant_is_the_users_own(words: str, value: str) -> None:
    ruling = await rule(words, tool="cancel", order_id=value)
    assert ReasonCode.UNGROUNDED_PARAM not in ruling.reason_codes
    assert ruling.grounding["order_id"]["origin"] == "user"


async def test_the_newest_word_about_a_value_counts() -> None:
    assert (await rule("never cancel 12345", "well, cancel 12345", tool="cancel", order_id="12345")).verdict == "allow"
    assert (await rule("cancel 12345", "no, don't cancel 12345", tool="cancel", order_id="12345")).verdict == "ask"


async def test_what_only_looks_may_look_at_what_was_excluded() -> None:
    assert (await rule("never make u-7 an owner", tool="get_user", user_id="u-7")).verdict == "allow"


def test_words_that_forbid_nothing_stay_as_they_are() -> None:
    text = "Please cancel order 12345 and send it to Carol."
    assert leave_out_forbidden(text) == text
