"""A policy and a tool's name -> what will happen to a call of it, in plain language.

The words follow the order in which the rules are asked, and name the file's own reasons.
"""

from __future__ import annotations

from collections.abc import Iterator

from circumspect.policy.keys.meaning import ExplainedCall, explain_section
from circumspect.policy.keys.tool_policy import ToolPolicy, effect_of
from circumspect.policy.policy_file import Pattern, Policy
from circumspect.values import Effect, TenantId, ToolSpec


def explain(policy: Policy, tool: str, spec: ToolSpec | None = None, tenant: TenantId | None = None) -> str:
    """What will happen to a call of this tool, for this tenant, line by line."""
    section = policy.of(tool, tenant)
    effect = effect_of(spec, section)
    who = f" for tenant {tenant}" if tenant and tenant in policy.tenants else ""
    lines = [f"{tool}{who}", *(f"- {line}" for line in _lines(policy, tool, section, spec, effect))]
    return "\n".join(lines)


def _lines(
    policy: Policy, tool: str, section: ToolPolicy | None, spec: ToolSpec | None, effect: Effect | None
) -> Iterator[str]:
    if section is None:
        yield "The policy file does not name it" + ("." if effect else ", and nothing declares what it does.")
    elif isinstance(section, Pattern) and tool not in policy.tools:
        yield f"It is covered by the pattern {section.match}."
    if section and section.deny:
        yield f"It is switched off. Every call is denied: {section.deny}"
        return
    if effect is None:
        yield "Every call is denied until someone says whether it reads, writes or destroys."
        return
    call = ExplainedCall(tool, section or ToolPolicy(), spec, effect)
    yield from explain_section(policy, call)
    yield from explain_section(call.section, call)
