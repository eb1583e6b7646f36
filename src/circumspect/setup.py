"""TurnSetup: everything about a tenant that a turn needs and that no message can change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from circumspect.guardian.port import Guardian
from circumspect.policy.judge import Rule
from circumspect.policy.policy_file import Policy
from circumspect.policy.rules import RULES
from circumspect.policy.understanding.understood import Understanding
from circumspect.ports import PassageSearch, Ports, SceneGuide
from circumspect.values import Incoming, Mode, PersonDecision, Profile, Tenant, ToolSpec


@dataclass(frozen=True)
class TurnSetup:
    tenant: Tenant
    policy: Policy
    profiles: Mapping[Mode, Profile]
    ports: Ports
    rules: tuple[Rule, ...] = RULES
    understanding: Understanding | None = None
    """How messages are understood before anything is drafted; None leaves that out."""
    guardian: Guardian | None = None
    searches: tuple[PassageSearch, ...] = ()
    guide: SceneGuide | None = None
    """How what is on the user's screen is dealt with, where the agent is there to act on it."""

    clients: Mapping[str, ToolSpec] = field(default_factory=dict)
    """Tools that the tenant's clients run, as somebody reviewed them. The model is not offered them: that is up to the
    client that brings them along."""

    repeat_within: timedelta = timedelta(days=1)
    """A call that was begun, whose end nobody knows, and that may be made again: not after this long."""

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """Enabled for this tenant."""
        specs, enabled = self.policy.mark_strangers(self.ports.tools.specs(), self.tenant.id), self.tenant.tools
        return specs if enabled is None else {name: spec for name, spec in specs.items() if name in enabled}

    def tools_of(self, incoming: Incoming) -> Mapping[str, ToolSpec]:
        """What a turn may be about. A person decides on a client's call long after the client has gone."""
        decided = isinstance(incoming.errand, PersonDecision)
        if not decided or not self.clients:
            return self.tools
        return {**self.policy.mark_strangers(self.clients, self.tenant.id), **self.tools}
