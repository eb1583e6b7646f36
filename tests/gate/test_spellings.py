"""The same call in another spelling is the same call: a model that was told no writes it otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from tests.gate.talks import Talk

from circumspect import Gate
from circumspect.reasons import ReasonCode

POLICY = {
    "version": 1,
    "tools": {
        "adjust": {"effect": "write"},
        "once": {"effect": "write", "limits": [{"count": 1, "per": "sku", "window": "24h"}]},
        "pay": {"effect": "write", "limits": [{"sum": "amount", "at_most": 100, "per": "to"}]},
    },
}
PROPERTIES = {"sku": {"type": "string"}, "quantity": {"type": "integer"}}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": PROPERTIES}}}
    for name in ("adjust", "once")
]
SPELLINGS: list[dict[str, Any]] = [
    {"sku": "SKU-3", "quantity": 5.0},
    {"sku": "SKU-3 ", "quantity": 5},
    {"sku": "sku-3", "quantity": 5},
    {"sku": "SKU\u20113", "quantity": 5},
    {"sku": "SKU-3", "quantity": "5"},
    {"quantity": 5, "sku": "SKU-3", "note": None},
    {"quantity": 5, "sku": "SKU-3", "note": ""},
]


@pytest.mark.parametrize("again", SPELLINGS, ids=str)
@pytest.mark.parametrize("with_schema", [True, False])
async def test_a_call_that_ran_is_not_made_again_in_another_spelling(again: dict[str, Any], with_schema: bool) -> None:
    if with_schema:
        again = {name: value for name, value in again.items() if name != "note"}
    async with Gate(
        {**POLICY, "tools": {"adjust": {"effect": "write"}}}, tools=TOOLS[:1] if with_schema else None
    ) as gate:
        talk = Talk("set the stock of SKU-3 to 5")
        first = await gate.rule(
            {"name": "adjust", "arguments": {"sku": "SKU-3", "quantity": 5}}, messages=talk.messages
        )
        await gate.run(first, lambda **_: "set")
        second = await gate.rule({"name": "adjust", "arguments": again}, messages=talk.messages)
        assert (second.verdict, second.reason_codes) == ("deny", (ReasonCode.REPEATED_CALL,))
        other = {"name": "adjust", "arguments": {"sku": "SKU-3", "quantity": 6}}
        talk.agent("Done.").user("make it 6")
        assert (await gate.rule(other, messages=talk.messages)).verdict == "allow"


@pytest.mark.parametrize("sku", ["SKU-3", "SKU-3 ", "sku-3", "ＳＫＵ-3", "SKU-3."])
async def test_a_limit_counts_every_spelling_of_a_value(sku: str) -> None:
    async with Gate(POLICY) as gate:
        talk = Talk("set SKU-3. to 15")
        first = await gate.rule({"name": "once", "arguments": {"sku": "SKU-3", "quantity": 15}}, messages=talk.messages)
        await gate.run(first, lambda **_: "ok")
        talk.agent("Done.").user("now set it to 16")
        second = await gate.rule({"name": "once", "arguments": {"sku": sku, "quantity": 16}}, messages=talk.messages)
        assert (second.verdict, second.reason_codes[0]) == ("deny", ReasonCode.LIMIT_REACHED)


async def test_a_sum_counts_every_spelling_of_whom_it_is_for() -> None:
    async with Gate(POLICY) as gate:
        talk = Talk("pay 60 to anna@corp.example, twice")
        for to, verdict in (("anna@corp.example", "allow"), ("Anna@Corp.example ", "deny")):
            ruling = await gate.rule({"name": "pay", "arguments": {"to": to, "amount": 60}}, messages=talk.messages)
            assert ruling.verdict == verdict
            if ruling.allowed:
                await gate.run(ruling, lambda **_: "paid")
            talk.agent("Done.").user("and again: pay 60 to anna@corp.example")


async def test_a_call_that_was_handed_out_is_not_handed_out_once_more_in_another_spelling() -> None:
    async with Gate(POLICY) as gate:
        talk = Talk("set the stock of SKU-3 to 5")
        first, second = [
            await gate.rule({"name": "adjust", "arguments": given}, messages=talk.messages)
            for given in ({"sku": "SKU-3", "quantity": 5}, {"sku": "sku-3", "quantity": 5.0})
        ]
        assert first.execution == second.execution
        assert second.call.arguments == {"sku": "SKU-3", "quantity": 5}


async def test_what_runs_is_in_the_types_of_the_schema_and_without_blanks_that_nobody_said() -> None:
    async with Gate(POLICY, tools=TOOLS, learns=True) as gate:
        given = {"sku": " SKU-3\u00a0", "quantity": 60.0}
        ruling = await gate.rule({"name": "adjust", "arguments": given}, messages=Talk("set SKU-3 to 60").messages)
        assert (ruling.verdict, ruling.call.arguments) == ("allow", {"sku": "SKU-3", "quantity": 60})
        assert isinstance(ruling.call.arguments["quantity"], int)


@pytest.mark.parametrize(
    ("said", "to"),
    [
        ("send it to dave.b@corp.example", "daveb@corp.example"),
        ("send it to carol@corp.example", "carol@cor.pexample"),
        ("the host is db1.corp.example", "db1corp.example"),
        ("it runs at 10.0.1.111", "10.0.11.11"),
    ],
)
async def test_an_address_with_a_dot_elsewhere_is_another_address(said: str, to: str) -> None:
    async with Gate({"version": 1, "tools": {"send": {"effect": "write"}}}) as gate:
        ruling = await gate.rule({"name": "send", "arguments": {"to": to}}, messages=Talk(said).messages)
        assert (ruling.verdict, ruling.reason_codes[0]) == ("ask", ReasonCode.UNGROUNDED_PARAM)
