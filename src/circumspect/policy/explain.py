"""A policy and a tool's name -> what will happen to a call of it, in plain language.

The words follow the order in which the rules are asked, and name the file's own reasons.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from circumspect.policy.limits import explain_limit
from circumspect.policy.policy_file import Pattern, Policy, Requirement, ToolPolicy, cap_of, effect_of
from circumspect.values import Effect, TenantId, ToolSpec

_EFFECTS: dict[Effect, str] = {
    "read": "It only reads: a call changes nothing.",
    "write": "It changes something.",
    "destructive": "It changes something that cannot be taken back.",
}
_SOURCES = {
    "user": "must be in the user's own words",
    "trusted": "must be in the user's words or in the result of a trusted tool",
    "any": "may come from anywhere",
}
_RECOVERIES = {
    "keyed": "it is run again with the same key",
    "local_tx": "it is run again",
    "lookup": "it is looked up whether it happened; it is never run again",
    "blind": "it is never run again, and a person is told",
}
_CONSEQUENCES = {
    "confirm": "the user is asked to confirm",
    "ask": "the user is asked",
    "four_eyes": "a colleague must approve it",
    "escalate": "the conversation is handed to a person",
    "deny": "it is denied",
}


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
    yield _EFFECTS[effect]
    if section is None:
        section = ToolPolicy()
    yield from _before(section)
    yield from _conditions(tool, section)
    yield _confirmation(section, effect)
    cap = cap_of(effect, section)
    if cap < 1:
        yield f"However sure the model is, that counts for at most {cap:g}."
    yield from _after(section, spec, effect)


def _before(section: ToolPolicy) -> Iterator[str]:
    for name, setting in section.params.items():
        if setting.source:
            yield f"'{name}' {_SOURCES[setting.source]}."
    for requirement in section.requires:
        yield f"Before it, {_describe_requirement(requirement)}." + (
            f" {requirement.because}" if requirement.because else ""
        )


def _describe_requirement(requirement: Requirement) -> str:
    same = f" with the same {' and '.join(requirement.same)}" if requirement.same else ""
    where = f", where {requirement.where}" if requirement.where else ""
    return f"{' or '.join(requirement.call)} must have succeeded{same}{where}"


def _conditions(tool: str, section: ToolPolicy) -> Iterator[str]:
    texts = [one.condition for one in section.deny_unless] + [one.condition for one in section.when]
    for one in section.deny_unless:
        yield f"It is denied unless {one.condition}. {one.because}"
    for reaction in section.when:
        yield f"When {reaction.condition}, {_CONSEQUENCES[reaction.then]}. {reaction.because}"
    if section.deny_unless or section.when:
        held = "the user is asked" if section.unknown == "ask" else "the model is told what to look up first"
        yield f"When that cannot be decided yet, the call is held: {held}."
    for name, place in section.scope.let.items():
        if any(re.search(rf"\b{name}\b", text) for text in texts):
            yield f"('{name}' is {place}.)"
    for limit in section.limits:
        yield f"Limit: {explain_limit(limit, tool)}" + (f" {limit.because}" if limit.because else "")


def _confirmation(section: ToolPolicy, effect: Effect) -> str:
    if section.confirm == "four_eyes":
        return "A colleague must approve it, in every mode."
    if effect == "destructive" or section.confirm == "always":
        return "The user is asked to confirm it first (in adaptive mode)."
    if section.confirm == "when_implied":
        return "The user is asked to confirm it when their words only imply the wish (in adaptive mode)."
    return "No confirmation is asked for."


def _after(section: ToolPolicy, spec: ToolSpec | None, effect: Effect) -> Iterator[str]:
    if section.verify:
        yield f"Afterwards {section.verify.call} is called, and must show: {section.verify.expect}."
    if effect == "read":
        return
    recovery = section.recovery or (spec.recovery if spec else "blind")
    yield f"If a call is interrupted, {_RECOVERIES[recovery]}."
    if section.critical:
        yield "If it fails, a person is told."
