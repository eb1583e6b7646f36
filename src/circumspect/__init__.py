"""Circumspect: a reasoning layer for LLM agents. The model proposes; code disposes.

from circumspect import Agent, Gate, tool
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from circumspect.agent import Agent
    from circumspect.gate import CallHeld, Gate, ReplyCheck, Ruling
    from circumspect.policy.judge import rule
    from circumspect.reasons import ReasonCode
    from circumspect.tools import IdempotencyKey, tool
    from circumspect.values import Business, Faq, Plan, Tenant, TurnResult

__all__ = [
    "Agent",
    "Business",
    "CallHeld",
    "Faq",
    "Gate",
    "IdempotencyKey",
    "Plan",
    "ReasonCode",
    "ReplyCheck",
    "Ruling",
    "Tenant",
    "TurnResult",
    "rule",
    "tool",
]
__version__ = "0.1.0"

_HOMES = {
    "Agent": "agent",
    "Business": "values",
    "CallHeld": "gate",
    "Faq": "values",
    "Gate": "gate",
    "IdempotencyKey": "tools",
    "Plan": "values",
    "ReasonCode": "reasons",
    "ReplyCheck": "gate",
    "Ruling": "gate",
    "Tenant": "values",
    "TurnResult": "values",
    "rule": "policy.judge",
    "tool": "tools",
}


def __getattr__(name: str) -> object:
    """Import on first use, so that `circumspect --help` and `audit` do not pay for what they do not need."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"circumspect.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'circumspect' has no attribute '{name}'")
