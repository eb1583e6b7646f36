"""A rule that held a call, and the policy's text -> the line of the file that the rule reads.

Most rules read a key of the tool's section; some hold for every tool, whatever the file says, and have no line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from circumspect.policy.keys.findings import Place
from circumspect.policy.load import read_yaml
from circumspect.policy.policy_file import Policy
from circumspect.values import TenantId

RULE_KEYS: Mapping[str, tuple[str, ...]] = {
    "somebody_said_what_the_tool_does": ("effect",),
    "the_policy_leaves_the_tool_on": ("deny",),
    "what_it_requires_was_called_before": ("requires",),
    "its_conditions_hold": ("deny_unless", "when"),
    "limits_are_kept": ("limits",),
    "what_its_conditions_depend_on_is_known": ("deny_unless", "when", "unknown"),
    "special_calls_are_approved": ("when",),
    "special_calls_are_confirmed": ("when",),
    "every_value_has_a_source": ("params",),
    "nothing_goes_where_strangers_say": ("params",),
    "a_colleague_approved": ("confirm",),
    "what_cannot_be_undone_is_confirmed": ("effect", "confirm"),
    "asked_for_confirmations_are_given": ("confirm",),
    "a_wish_is_not_a_command": ("confirm",),
    "a_change_is_not_guessed": ("confidence_cap", "confirm"),
}
"""The keys of a tool's section that a rule reads, what decides first. Rules that read none hold for every tool."""


@dataclass(frozen=True, slots=True)
class PolicyLine:
    number: int
    place: Place
    """Where that is: `tools`, the tool, the key."""
    is_key: bool
    """False for the head of the tool's section: the rule reads a key that is not written there."""

    @property
    def name(self) -> str:
        return ".".join(str(step) for step in self.place)


class LineFinder:
    """Lines of one text."""

    def __init__(self, text: str, policy: Policy) -> None:
        self._policy = policy
        self._lines = read_yaml(text)[1]

    def find(self, rule: str, tool: str, tenant: TenantId | None, because: str = "") -> PolicyLine | None:
        """`because` is what the rule said of the call: among several conditions it names the one that spoke."""
        sections = list(self.sections(tool, tenant))
        for key in RULE_KEYS.get(rule, ()):
            for section in sections:
                if (place := (*section, key)) in self._lines:
                    return self._clause(place, because) or PolicyLine(self._lines[place], place, True)
        if rule in RULE_KEYS and sections:
            return PolicyLine(self._lines[sections[0]], sections[0], False)
        return None

    def sections(self, tool: str, tenant: TenantId | None) -> list[Place]:
        """What is said of the tool: first for the tenant, then by its name or by the first pattern that fits."""
        found: list[Place] = [("tenants", tenant, "tools", tool)] if tenant else []
        found.append(("tools", tool))
        if tool not in self._policy.tools:
            fits = (at for at, one in enumerate(self._policy.patterns) if fnmatchcase(tool, one.match))
            found += [("patterns", at) for at in fits][:1]
        return [place for place in found if place in self._lines]

    def _clause(self, place: Place, because: str) -> PolicyLine | None:
        section = self._policy.sections.get(place[:-1])
        clauses = getattr(section, str(place[-1]), ()) if because and section else ()
        if not isinstance(clauses, tuple):
            return None
        for at, one in enumerate(clauses):
            reason = getattr(one, "because", "")
            if reason and reason in because and (*place, at) in self._lines:
                return PolicyLine(self._lines[*place, at], (*place, at), True)
        return None
