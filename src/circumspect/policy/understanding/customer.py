"""What may be known about a customer before they say it: where a tenant looks -> may it be asked, and what it told.

The one choice that may surprise: nobody proposed this look, so no rule is asked about it. For that reason only a tool
that reads is asked, and none that the policy ties to a condition, a limit or a yes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from circumspect.policy.arguments import find_missing, find_problems
from circumspect.policy.keys.tool_policy import ToolPolicy, effect_of
from circumspect.policy.understanding.synthetic import as_data
from circumspect.values import Json, ToolCall, ToolSpec

_LONGEST = 200


@dataclass(frozen=True, slots=True)
class CustomerLookup:
    """Where the person of a conversation is looked up. The defaults are the CRM of `tools.business`."""

    tool: str = "find_lead"
    parameter: str = "email"
    """Takes the id by which the tenant itself knows the person (`Incoming.person`)."""
    at: str = "lead"
    """Where in the result the person stands, by keys with dots between; empty for the result itself."""
    fields: tuple[str, ...] = ("name", "company", "status")
    """What becomes known. The agent may say it to that person: what colleagues note for each other stays out."""

    def look(self, person: str) -> ToolCall:
        return ToolCall(self.tool, {self.parameter: person})

    def result(self, known: Mapping[str, str]) -> Json:
        """A result in which nothing else stands than this. It is what is written down of the one that came."""
        found: Json = dict(known)
        for key in reversed([*filter(None, self.at.split("."))]):
            found = {key: found}
        return found


def find_obstacle(look: ToolCall, spec: ToolSpec | None, policy: ToolPolicy | None) -> str:
    """Why the tool is not asked; empty where it may be."""
    if spec is None or spec.client or not spec.configured:
        return f"{look.tool} is not among the tools"
    if effect_of(spec, policy) != "read":
        return f"{look.tool} does more than read"
    if policy and (policy.deny or policy.conditional or policy.confirm in ("always", "four_eyes")):
        return f"the policy holds {look.tool}"
    if find_missing(spec, look.arguments) or find_problems(spec, look.arguments):
        return f"the person's id is nothing that {look.tool} takes"
    return ""


def facts_in(result: Json, customer: CustomerLookup, person: str) -> dict[str, str]:
    """Each on one line, as data. Nothing where the result is about nobody, or about somebody else."""
    for key in filter(None, customer.at.split(".")):
        result = result.get(key) if isinstance(result, Mapping) else None
    if not isinstance(result, Mapping) or not _is_same(result.get(customer.parameter, person), person):
        return {}
    told = {name: as_data(_text(result.get(name)))[:_LONGEST] for name in customer.fields}
    return {name: text for name, text in told.items() if text}


def _is_same(found: Json, person: str) -> bool:
    """Addresses are compared without case, ids to the letter."""
    one = _text(found)
    return one == person or ("@" in person and one.casefold() == person.casefold())


def _text(value: Json) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, map(_text, value)))
    return "" if value is None or isinstance(value, Mapping) else str(value)
