"""A number that contradicts the only one the user gave is asked about; one that may follow from something is not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.gate.talks import Talk

from circumspect import Gate
from circumspect.reasons import ReasonCode

POLICY = {
    "version": 1,
    "tools": {
        "get_order": {"effect": "read"},
        "adjust": {"effect": "write", "confirm": "when_implied"},
        "refund": {"effect": "write", "confirm": "never"},
        "remind": {"effect": "write"},
        "transfer": {"effect": "write", "params": {"amount": {"source": "any"}}},
    },
}


async def rule(talk: Talk, tool: str, **arguments: Any) -> Any:
    async with Gate(POLICY) as gate:
        return await gate.rule({"name": tool, "arguments": arguments}, messages=talk.messages)


@pytest.mark.parametrize(
    ("words", "tool", "arguments"),
    [
        ("set stock of SKU-3 to 15", "adjust", {"sku": "SKU-3", "quantity": 51}),
        ("set stock of SKU-3 to 15", "adjust", {"sku": "SKU-3", "quantity": 1500}),
        ("refund 20.50 for order 4711", "refund", {"order_id": "4711", "amount": 205}),
        ("תעדכן את המלאי של SKU-3 ל-15", "adjust", {"sku": "SKU-3", "quantity": 51}),
        ("поставь SKU-3 на 15", "adjust", {"sku": "SKU-3", "quantity": 51}),
        ("Setze SKU-3 auf 15 Stück", "adjust", {"sku": "SKU-3", "lines": [{"quantity": 51}]}),
    ],
)
async def test_a_number_that_contradicts_the_users_is_asked_about(
    words: str, tool: str, arguments: dict[str, Any]
) -> None:
    ruling = await rule(Talk(words), tool, **arguments)
    assert (ruling.verdict, ruling.reason_codes[0]) == ("ask", ReasonCode.UNGROUNDED_PARAM)


@pytest.mark.parametrize(
    ("words", "tool", "arguments"),
    [
        ("set stock of SKU-3 to 15", "adjust", {"sku": "SKU-3", "quantity": 15.0}),
        ("set stock of SKU-3 to fifteen", "adjust", {"sku": "SKU-3", "quantity": 15}),
        ("refund order 4711", "refund", {"order_id": "4711", "amount": 10}),
        ("refund order 4711", "refund", {"order_id": 4711, "amount": 10}),
        ("book 4 of us for 2 hours", "remind", {"minutes": 90}),
        ("remind me in 2 hours", "remind", {"minutes": 120}),
        ("move it to 2026-05-01, at 15:00", "remind", {"priority": 3}),
        ("pay 15 of it", "transfer", {"amount": 51}),
    ],
)
async def test_a_number_that_may_follow_is_not(words: str, tool: str, arguments: dict[str, Any]) -> None:
    ruling = await rule(Talk(words), tool, **arguments)
    assert ReasonCode.UNGROUNDED_PARAM not in ruling.reason_codes


@pytest.mark.parametrize(("amount", "verdict"), [(115, "allow"), (85, "allow"), (15, "allow"), (1000, "ask")])
async def test_what_is_reckoned_from_a_result_is_open(amount: float, verdict: str) -> None:
    talk = Talk("change the sum of order 4711 by 15")
    talk.add(talk.call("get_order", order_id="4711"), {"order_id": "4711", "total": 100})
    assert (await rule(talk, "refund", order_id="4711", amount=amount)).verdict == verdict
