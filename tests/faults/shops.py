"""Tenants: one for each recovery class whose tool leaves marks, and shops whose tools call the back end.

The shops differ in how they call (an HTTP tool, or Python with httpx, requests or a socket), in what may be done about a
call that was interrupted, and in who has to agree: the user, a colleague, or nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tests.faults.remote_tools import LIBRARIES

RECOVERIES = ("keyed", "lookup", "blind")
TIMEOUT = 30.0
"""Seconds: what a tool has when nobody says otherwise."""
Agreement = Literal["user", "colleague", "nobody"]
CONFIRM = {"user": "always", "colleague": "four_eyes", "nobody": "never"}


@dataclass(frozen=True)
class Shop:
    name: str
    way: str
    """`http`, or the library of a Python tool."""
    recovery: str
    agreement: Agreement = "user"


SHOPS = (
    *(Shop(f"http-{recovery}", "http", recovery) for recovery in RECOVERIES),
    *(Shop(f"{way}-{recovery}", way, recovery) for way in LIBRARIES for recovery in RECOVERIES),
    Shop("four-eyes", "http", "keyed", "colleague"),
    Shop("unasked", "http", "keyed", "nobody"),
)


def make_marking_tenants(timeout: float, work: float) -> dict[str, dict[str, Any]]:
    made = {}
    for recovery in RECOVERIES:
        options = {"recovery": recovery, "timeout": timeout, "work": work}
        made[recovery] = _make_tenant(recovery, {"python": "tests.faults.tools:for_tenant", "options": options}, "user")
    return made


def make_shop(shop: Shop, url: str, timeout: float) -> dict[str, Any]:
    effect = "write" if shop.agreement == "nobody" else "destructive"
    if shop.way == "http":
        tools: dict[str, Any] = {"http": _make_http_tool(shop, effect, url, timeout)}
    else:
        options = {
            "tenant": shop.name, "library": shop.way, "recovery": shop.recovery, "effect": effect, "url": url,
            "timeout": timeout,
        }  # fmt: skip
        tools = {"python": "tests.faults.remote_tools:for_tenant", "options": options}
    return _make_tenant(shop.name, tools, shop.agreement, effect)


def _make_http_tool(shop: Shop, effect: str, url: str, timeout: float) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    made: dict[str, Any] = {
        "name": "cancel_order",
        "description": "Cancel an order.",
        "parameters": parameters,
        "effect": effect,
        "recovery": shop.recovery,
        "timeout": timeout,
        "request": {"method": "POST", "url": f"{url}/{shop.name}/orders/{{order_id}}/cancel", "json": {}},
    }
    if shop.recovery == "lookup":
        made["lookup"] = {"method": "GET", "url": f"{url}/{shop.name}/calls/{{idempotency_key}}"}
    return made


def _make_tenant(
    name: str, tools: Mapping[str, Any], agreement: Agreement, effect: str = "destructive"
) -> dict[str, Any]:
    rule: dict[str, Any] = {"effect": effect, "confirm": CONFIRM[agreement]}
    if agreement == "colleague":
        rule["keys_approve"] = True
    rules = {"version": 1, "tools": {"cancel_order": rule}}
    made = {"version": 1, "id": name, "business": {"name": "Shop"}, "tools": [dict(tools)], "policy": rules}
    # A second opinion would ask the user.
    return {**made, "plan": {"name": "plain", "mode": "standard"}} if agreement == "nobody" else made
