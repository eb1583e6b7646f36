"""Conversations for audit tests, written the way agents write them down."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from circumspect.audit.auditor import audit
from circumspect.audit.rulings import AuditedCall
from circumspect.policy.load import load
from circumspect.policy.policy_file import Policy

SHOP = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }
    for name, description, properties, required in (
        ("get_order", "Get an order.", {"order_id": {"type": "string"}}, ["order_id"]),
        ("get_customer", "Get a customer.", {"customer_id": {"type": "string"}}, ["customer_id"]),
        ("read_page", "Read a web page.", {"url": {"type": "string"}}, ["url"]),
        (
            "cancel_order",
            "Cancel an order.",
            {"order_id": {"type": "string"}, "reason": {"type": "string", "enum": ["not needed", "mistake"]}},
            ["order_id", "reason"],
        ),
        (
            "change_items",
            "Change the items of an order.",
            {
                "order_id": {"type": "string"},
                "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
                "card_id": {"type": "string"},
            },
            ["order_id", "items", "card_id"],
        ),
        (
            "send_email",
            "Send an e-mail.",
            {"recipients": {"type": "array", "items": {"type": "string"}}, "body": {"type": "string"}},
            ["recipients", "body"],
        ),
        ("send_money", "Send money.", {"recipient": {"type": "string"}, "amount": {"type": "number"}}, ["recipient"]),
    )
]

POLICY = """
version: 1
tools:
  get_order: {effect: read}
  get_customer: {effect: read}
  read_page: {effect: read}
  cancel_order: {effect: write, confirm: always}
  change_items: {effect: write, confirm: always}
  send_email: {effect: write}
  send_money: {effect: write}
"""


class Talk:
    """`Talk().user("...").calls("get_order", order_id="A1").returns({...})`"""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.open: list[str] = []

    def user(self, text: str) -> Talk:
        self.messages.append({"role": "user", "content": text})
        return self

    def says(self, text: str) -> Talk:
        self.messages.append({"role": "assistant", "content": text})
        return self

    def calls(self, tool: str, **arguments: Any) -> Talk:
        key = f"c{len(self.messages)}"
        call = {"id": key, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
        self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        self.open.append(key)
        return self

    def returns(self, value: Any) -> Talk:
        content = value if isinstance(value, str) else json.dumps(value)
        self.messages.append({"role": "tool", "tool_call_id": self.open.pop(0), "content": content})
        return self


def written(path: Path, *lines: Mapping[str, Any] | str) -> Path:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines), "utf-8")
    return path


def conversation(talk: Talk, **more: Any) -> dict[str, Any]:
    return {"id": "c1", "tools": SHOP, "messages": talk.messages, **more}


def policy(text: str = POLICY) -> Policy:
    return load(text)


def rulings(path: Path, rules: Policy | None = None) -> list[AuditedCall]:
    return [row for row in audit([path], rules if rules is not None else policy()) if isinstance(row, AuditedCall)]


def last(tmp_path: Path, talk: Talk, rules: Policy | None = None, **more: Any) -> AuditedCall:
    """What becomes of the last call that was proposed."""
    return rulings(written(tmp_path / "talk.jsonl", conversation(talk, **more)), rules)[-1]


def codes(row: AuditedCall) -> set[str]:
    return {str(code) for code in row.reason_codes}


def kinds(rows: Iterable[object]) -> list[str]:
    return [getattr(row, "kind", "") for row in rows]
