"""Calls and messages under whatever keys their writers use, and names that no tool has."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from circumspect import Gate
from circumspect.gating.nearest_tool import find_nearest
from circumspect.reasons import ReasonCode

POLICY = """
version: 1
tools:
  get_order: {effect: read}
  ship_order:
    effect: write
    deny_unless: [{if: "facts.get_order[args.order_id].status == 'paid'", because: Only what is paid is shipped.}]
patterns: [{match: "list_*", effect: read}]
"""
GIVEN, FOUND = {"order_id": "123"}, {"order_id": "123", "status": "paid"}
WRITTEN, RETURNED = json.dumps(GIVEN), json.dumps(FOUND)
FUNCTION = {"name": "get_order", "arguments": WRITTEN}


def says(**more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, **more}


CALLS = {
    "chat": says(tool_calls=[{"id": "1", "type": "function", "function": FUNCTION}]),
    "camel": says(toolCalls=[{"id": "1", "type": "function", "function": FUNCTION}]),
    "object": says(tool_calls=[{"id": "1", "function": {"name": "get_order", "arguments": GIVEN}}]),
    "flat": says(tool_calls=[{"toolCallId": "1", "toolName": "get_order", "args": GIVEN}]),
    "snake id": says(tool_calls=[{"tool_call_id": "1", "tool_name": "get_order", "input": WRITTEN}]),
    "number": says(tool_calls=[{"id": 1, "function": FUNCTION}]),
    "single": says(tool_calls={"id": "1", "function": FUNCTION}),
    "tool_call": says(tool_call={"id": "1", "name": "get_order", "arguments": GIVEN}),
    "old": says(function_call=FUNCTION),
    "old camel": says(functionCall={"name": "get_order", "args": GIVEN}),
    "beside parts": {
        **says(tool_calls=[{"id": "1", "function": FUNCTION}]),
        "content": [{"type": "text", "text": "."}],
    },
    "beside words": {**says(toolCalls=[{"id": "1", "function": FUNCTION}]), "content": "One moment."},
    "block": says(content=[{"type": "tool_use", "id": "1", "name": "get_order", "input": WRITTEN}]),
    "camel block": says(content=[{"type": "toolUse", "toolUseId": "1", "name": "get_order", "input": GIVEN}]),
    "loud": {**says(tool_calls=[{"id": "1", "function": FUNCTION}]), "role": "ASSISTANT"},
}
RESULTS = {
    "chat": {"role": "tool", "tool_call_id": "1", "content": RETURNED},
    "camel": {"role": "tool", "toolCallId": "1", "content": RETURNED},
    "number": {"role": "tool", "tool_call_id": 1, "content": RETURNED},
    "parts": {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": RETURNED}]},
    "object": {"role": "tool", "call_id": "1", "content": FOUND},
    "output": {"role": "tool", "tool_use_id": "1", "output": FOUND},
    "own id": {"role": "tool", "id": "msg_7", "tool_call_id": "1", "content": RETURNED},
    "no id": {"role": "tool", "content": RETURNED},
    "named": {"role": "tool", "name": "get_order", "content": RETURNED},
    "role": {"role": "toolResult", "toolCallId": "1", "content": RETURNED},
    "block": {"role": "user", "content": [{"type": "tool_result", "toolUseId": "1", "content": RETURNED}]},
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("result", ["chat", "camel"])
async def test_a_look_up_counts_whatever_its_keys_are_called(call: str, result: str) -> None:
    await check(CALLS[call], RESULTS[result])


@pytest.mark.parametrize("result", RESULTS)
async def test_a_result_counts_whatever_its_keys_are_called(result: str) -> None:
    await check(CALLS["chat"], RESULTS[result])


async def check(call: dict[str, Any], result: dict[str, Any]) -> None:
    async with Gate(POLICY) as gate:
        talk = [{"role": "user", "content": "ship order 123"}, call, result]
        ruling = await gate.rule({"name": "ship_order", "arguments": GIVEN}, messages=talk)
        assert ruling.allowed, ruling.tell_model


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"role": "tool", "tool_call_id": "9", "content": RETURNED}, "answers no call"),
        (says(tool_calls="get_order"), "tool_calls must be a list"),
        (says(calls=[{"name": "get_order"}]), "'calls'"),
        ({"role": "bystander", "content": "hi"}, "unknown role"),
    ],
)
async def test_what_cannot_be_read_is_said(caplog: pytest.LogCaptureFixture, message: Any, why: str) -> None:
    async with Gate(POLICY) as gate:
        with caplog.at_level(logging.WARNING, "circumspect.gating.talks"):
            ruling = await gate.rule({"name": "get_order", "arguments": GIVEN}, messages=[message])
    assert ruling.allowed
    assert why in caplog.text


@pytest.mark.parametrize(
    "call",
    [
        {"id": "2", "function": {"name": "get_order", "arguments": WRITTEN}},
        {"function_call": {"name": "get_order", "arguments": WRITTEN}},
        {"toolCallId": "2", "toolName": "get_order", "input": GIVEN},
        {"tool": "get_order", "tool_input": GIVEN},
        {"name": "get_order", "parameters": GIVEN},
    ],
)
async def test_a_proposal_is_read_whatever_its_keys_are_called(call: Any) -> None:
    async with Gate(POLICY) as gate:
        assert (await gate.rule(call)).call.arguments == GIVEN


@pytest.mark.parametrize(
    "arguments", ['{"order_id": 12', "[1]", "7", '{"order_id": "1", "order_id": "2"}', [], [1], 7, 1.5, False]
)
async def test_arguments_that_nobody_can_read_go_back_to_the_model(arguments: Any) -> None:
    async with Gate(POLICY) as gate:
        ruling = await gate.rule({"name": "get_order", "arguments": arguments})
    assert (ruling.verdict, ruling.reason_codes) == ("redo", (ReasonCode.INVALID_PARAM,))
    assert "cannot be read" in ruling.tell_model


ODD = [
    "ship_order ",
    " ship_order",
    "Ship_Order",
    "functions.ship_order",
    "ship-order",
    "shipOrder",
    "ship_order\u200b",
]


@pytest.mark.parametrize("name", [*ODD, "mcp__shop__ship_order", "ship_orders"])
@pytest.mark.parametrize("tools", [None, [{"name": "ship_order", "parameters": {"type": "object"}}]])
async def test_a_name_that_is_nearly_one_runs_nothing_and_is_told_the_right_one(name: str, tools: Any) -> None:
    async with Gate(POLICY, tools=tools) as gate:
        ruling = await gate.rule({"name": name, "arguments": GIVEN})
    assert ruling.verdict == "deny"
    assert ruling.reason_codes[0] in ("TOOL_NOT_COVERED", "TOOL_NOT_FOUND")
    assert "Call 'ship_order' by exactly that name" in ruling.tell_model
    assert "Do not try it again" not in ruling.tell_model


@pytest.mark.parametrize("name", ["list_orders ", "list_\u200borders", "\tlist_orders", "List_orders"])
async def test_a_pattern_covers_no_name_that_only_looks_right(name: str) -> None:
    async with Gate(POLICY) as gate:
        assert (await gate.rule({"name": "list_orders"})).allowed
        assert (await gate.rule({"name": name})).verdict == "deny"


async def test_a_name_that_is_near_none_is_not_tried_again() -> None:
    async with Gate(POLICY) as gate:
        ruling = await gate.rule({"name": "format_disk"})
    assert "Do not try it again" in ruling.tell_model
    assert "by exactly that name" not in ruling.tell_model
    assert find_nearest("a" * 100, ["a" * 100, "b"]) == "a" * 100
    assert find_nearest("a" * 100, ["a" * 99 + "b"]) == "", "how alike long names are costs too much"
    assert find_nearest("format_disk", ["ship_order"]) == find_nearest("", ["x"]) == find_nearest("a", []) == ""


async def test_a_tool_that_is_switched_off_says_why() -> None:
    async with Gate('version: 1\ntools: {old: {deny: "Use the new one."}}') as gate:
        assert "Use the new one." in (await gate.rule({"name": "old"})).tell_model
