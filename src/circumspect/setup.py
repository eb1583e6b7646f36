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
from circumspect.prompts import Prompt
from circumspect.values import ConversationId, Incoming, Mode, PersonDecision, Profile, Purpose, Tenant, ToolSpec


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

    mode: Mode | None = None
    """Set where something other than the plan decides about it, such as the arm of an experiment."""
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    """Versions of prompts by name, in place of those that come with the package."""
    temperatures: Mapping[Purpose, float] = field(default_factory=dict)
    """By what the model is asked for, where it is not as the step has it."""

    clients: Mapping[str, ToolSpec] = field(default_factory=dict)
    """Tools that the tenant's clients run, as somebody reviewed them. The model is not offered them: that is up to the
    client that brings them along."""

    repeat_within: timedelta = timedelta(days=1)
    """A call that was begun, whose end nobody knows, and that may be made again: not after this long."""

    @property
    def draws_mode(self) -> bool:
        """Whether a share of the plan's decides about the mode: what it gives a conversation, that one keeps. A plan
        that is standard, or the arm of an experiment, draws nothing, and holds for as long as it is there."""
        return self.mode is None and self.tenant.plan.mode == "adaptive"

    def choose_mode(self, conversation: ConversationId, kept: Mode | None = None) -> Mode:
        """`kept` is the mode that was drawn for the conversation: it stays in it for life, whatever becomes of the
        share. A plan that is standard has no adaptive conversations."""
        if self.mode is not None:
            return self.mode
        return kept if kept is not None and self.tenant.plan.mode == "adaptive" else self.tenant.mode_of(conversation)

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
