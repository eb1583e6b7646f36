"""Time of `enforce` alone: the facts about one proposed call put together, and every rule over them.

The cases are the paths a call can take: let through, held for a yes, let through by that yes, stopped for a missing
value, and a call with many arguments. The set-up is a sample shop with ten tools.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bench.clock import Series, drawn, frozen, settled
from bench.report import Aim, Section, Table, duration

if TYPE_CHECKING:
    from circumspect.values import Enforced

LIMIT = 100e-6
TIMES = 300
TITLE = "Time of enforce alone"
MOVED = (
    "Please send order 12345 to Dana Levi, 12 Harbour Street, Haifa, 3303139, IL, from 2026-03-09 on. You can reach me "
    "at +972 4 555 0100 or dana@example.com."
)


async def run(rounds: int = 30) -> Section:
    try:
        cases = _cases()
    except ModuleNotFoundError as error:
        return Section("enforce", TITLE, f"circumspect is not installed: no module {error.name}.", ())
    measured = {name: Series() for name in cases}
    for case in cases.values():
        for _ in range(TIMES):
            case()
    lots = random.Random(1)
    with frozen():
        for _ in range(rounds):
            for name, case in drawn(cases.items(), lots):
                settled()
                measured[name].measure_many(case, TIMES)
    rows = tuple(
        (name, cases[name]().verdict.kind, duration(series.median), duration(series.best), duration(series.median_cpu))
        for name, series in measured.items()
    )
    slowest = max(measured, key=lambda name: measured[name].median_cpu)
    worst, wall = measured[slowest].median_cpu, measured[slowest].median
    return Section(
        "enforce",
        TITLE,
        f"All rules over one proposed call. Medians over {rounds} interleaved rounds of {TIMES} calls each. It "
        "waits for nothing, so CPU time is what counts; wall time is longer by what other processes took.",
        (Table(("call", "verdict", "median", "best", "CPU"), rows),),
        (
            Aim(
                "enforce takes less than 100 µs",
                f"{duration(worst)} CPU, {duration(wall)} wall ({slowest})",
                worst < LIMIT,
            ),
        ),
        {name: series.to_json() for name, series in measured.items()},
    )


def _cases() -> dict[str, Callable[[], Enforced]]:
    from circumspect.journal import Journal
    from circumspect.policy.keys.tool_policy import ToolPolicy
    from circumspect.policy.policy_file import Policy
    from circumspect.policy.rules import RULES
    from circumspect.recall import recall_from_turn
    from circumspect.steps.enforce import enforce, look_at
    from circumspect.values import (
        Assessment,
        ConversationId,
        Draft,
        History,
        Incoming,
        Intent,
        IntentId,
        JsonObject,
        Opened,
        Profile,
        Screened,
        TenantId,
        ToolCall,
        ToolSpec,
        TurnId,
    )

    now = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
    order: JsonObject = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    address: JsonObject = {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "pattern": "^[0-9]{5}$"},
            "name": {"type": "string", "minLength": 1},
            "street": {"type": "string"},
            "city": {"type": "string"},
            "postcode": {"type": "string"},
            "country": {"type": "string", "enum": ["DE", "FR", "IL", "US"]},
            "phone": {"type": "string"},
            "email": {"type": "string", "format": "email"},
            "from": {"type": "string", "format": "date"},
            "express": {"type": "boolean", "default": False},
        },
        "required": ["order_id", "name", "street", "city", "postcode", "country"],
        "additionalProperties": False,
    }
    filled = {
        "order_id": "12345",
        "name": "Dana Levi",
        "street": "12 Harbour Street",
        "city": "Haifa",
        "postcode": "3303139",
        "country": "IL",
        "phone": "+972 4 555 0100",
        "email": "dana@example.com",
        "from": "2026-03-09",
    }
    tools = {
        "get_order_status": ToolSpec("get_order_status", parameters=order, effect="read"),
        "cancel_order": ToolSpec("cancel_order", parameters=order, effect="destructive"),
        "change_address": ToolSpec("change_address", parameters=address, effect="write"),
        **{f"other_{n}": ToolSpec(f"other_{n}", parameters=order, effect="write") for n in range(7)},
    }
    policy = Policy(
        tools={"cancel_order": ToolPolicy(confirm="always"), "change_address": ToolPolicy(confirm="always")}
    )
    profile = Profile("adaptive", history=5)

    def screened(words: str) -> Screened:
        incoming = Incoming(TenantId("shop"), ConversationId("c"), TurnId("t"), words, now)
        return Screened(incoming, Opened("token", "adaptive", "en", (), 1, None), "en", "other")

    def case(words: str, call: ToolCall, confirmed: Intent | None = None) -> Callable[[], Enforced]:
        drafted = Draft("", (call,), Assessment(0.9, call.tool, call.arguments)) if confirmed is None else None
        heard = screened(words)
        events = recall_from_turn(heard, tools, Journal()).events

        def once() -> Enforced:
            # A session of its own each time: what a rule works out about one must not help the next.
            session = History(events)
            facts = look_at(call, heard, drafted, policy, tools, "adaptive", now, session, confirmed=confirmed)
            return enforce(facts, RULES, policy.hash, profile)

        return once

    cancel = ToolCall("cancel_order", {"order_id": "12345"})
    yes = Intent(
        IntentId("i"), TenantId("shop"), ConversationId("c"), "confirmation", cancel, cancel.hash,
        tools["cancel_order"].version, policy.hash, "user", "nonce", "?", now, now + timedelta(minutes=5),
    )  # fmt: skip
    return {
        "read, let through": case("Where is order 12345?", ToolCall("get_order_status", {"order_id": "12345"})),
        "destructive, held": case("Please cancel order 12345.", cancel),
        "destructive, after a yes": case("yes", cancel, yes),
        "missing argument": case("Cancel my order", ToolCall("cancel_order", {})),
        "write, ten parameters": case(MOVED, ToolCall("change_address", filled)),
    }
