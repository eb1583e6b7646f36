"""The policy file's model: what the application says about each tool. Loading and linting are in `load.py`.

A setting left out is not a loosening: the effect falls back to what the tool declares, the cap to the shipped ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from circumspect.turn import Effect, Recovery, TenantId, ToolSpec, digest

Share = Annotated[float, Field(ge=0.0, le=1.0)]
ConfirmWhen = Literal["never", "when_implied", "always", "four_eyes"]

SHIPPED_CAPS: Mapping[str, float] = {
    "cancel_order": 0.6,
    "refund": 0.5,
    "delete_account": 0.4,
    "book_appointment": 0.7,
    "get_order_status": 0.9,
    "check_inventory": 0.9,
}
UNLISTED_CAP = 0.6

EFFECTS: tuple[Effect, ...] = ("read", "write", "destructive")


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class ToolPolicy(Section):
    effect: Effect | None = None
    """What a call changes: nothing (read), something (write), or something that cannot be taken back (destructive)."""
    confidence_cap: Share | None = None
    """The most the model's own confidence can count for, 0 to 1."""
    confirm: ConfirmWhen | None = None
    """When the user is asked first. Destructive tools are always confirmed; `four_eyes` asks a colleague."""
    deny: str | None = None
    """Switch the tool off, and say why in one sentence."""
    critical: bool = False
    """When it fails, a person is told."""
    recovery: Recovery | None = None
    """What may be done when a call was interrupted: run it again (keyed, local_tx), look it up, or never (blind)."""
    phrase: Mapping[str, str] = Field(default_factory=dict)
    """How a call is said to a person, by language: `{en: "cancel order {order_id}"}`."""


class TenantPolicy(Section):
    tools: Mapping[str, ToolPolicy] = Field(default_factory=dict)
    """Settings that replace the ones above for this tenant, field by field."""


class Policy(Section):
    version: Literal[1] = 1
    """Version of the file's format."""
    tools: Mapping[str, ToolPolicy] = Field(default_factory=dict)
    """Exact tool names, case matters."""
    tenants: Mapping[str, TenantPolicy] = Field(default_factory=dict)
    """Overrides by tenant id."""

    @cached_property
    def hash(self) -> str:
        """Changes with every change that could change a verdict. Bound into intents."""
        return digest(self.model_dump(mode="json", exclude_unset=True))[:16]

    def of(self, tool: str, tenant: TenantId | None) -> ToolPolicy | None:
        """What holds for this tool and tenant; None when the file does not name the tool."""
        key = (tool, tenant)
        if key not in self._resolved:
            self._resolved[key] = self._resolve(tool, tenant)
        return self._resolved[key]

    @cached_property
    def _resolved(self) -> dict[tuple[str, TenantId | None], ToolPolicy | None]:
        return {}

    def _resolve(self, tool: str, tenant: TenantId | None) -> ToolPolicy | None:
        general = self.tools.get(tool)
        override = self.tenants[tenant].tools.get(tool) if tenant in self.tenants else None
        if general is None or override is None:
            return general or override
        return general.model_copy(update={name: getattr(override, name) for name in override.model_fields_set})


def effect_of(spec: ToolSpec | None, policy: ToolPolicy | None) -> Effect | None:
    """The stricter of what the file says and what the tool declares; None when nobody said anything."""
    said = [effect for effect in (policy and policy.effect, spec and spec.effect) if effect]
    return max(said, key=EFFECTS.index, default=None)


def cap_of(tool: str, effect: Effect, policy: ToolPolicy | None) -> float:
    """The file's cap, else the shipped one, else .6 for anything that changes something."""
    if policy and policy.confidence_cap is not None:
        return policy.confidence_cap
    return SHIPPED_CAPS.get(tool, 1.0 if effect == "read" else UNLISTED_CAP)
