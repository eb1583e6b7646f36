"""The policy file's model: what the application says about each tool. `load.py` reads it, `lint.py` checks its sense.

A setting left out is not a loosening: the effect falls back to what the tool declares, the cap to what the effect gets.
Conditions are kept as the text they were written in; `expressions.py` compiles them, once, on first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from circumspect.values import Effect, Recovery, TenantId, ToolSpec, digest

UnitShare = Annotated[float, Field(ge=0.0, le=1.0)]
ConfirmWhen = Literal["never", "when_implied", "always", "four_eyes"]
ArgumentSource = Literal["user", "trusted", "any"]
Consequence = Literal["confirm", "ask", "four_eyes", "escalate", "deny"]
Window = Annotated[str, Field(pattern=r"^(turn|conversation|[1-9][0-9]{0,4}[smhdw])$")]
Expression = Annotated[str, Field(min_length=1, max_length=4000)]
ReasonSentence = Annotated[str, Field(min_length=1, max_length=1000)]

CAP_OF_CHANGES = 0.6
"""What the model's confidence counts for at most, where a call changes something and the file sets no cap."""

EFFECTS: tuple[Effect, ...] = ("read", "write", "destructive")


class FileSection(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, validate_by_name=True, validate_by_alias=True
    )


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _as_requirement(value: Any) -> Any:
    return {"call": (value,)} if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple, json_schema_input_type=str | tuple[str, ...])]


class ParameterPolicy(FileSection):
    source: ArgumentSource | None = None
    """Where a value must come from: the user's own words, those or a trusted tool's result, or anywhere."""


class Requirement(FileSection):
    call: Annotated[Names, Field(min_length=1)]
    """A tool that must have succeeded earlier in the conversation; of several, one is enough."""
    same: Names = ()
    """Only a call with the same value of these parameters counts."""
    where: Expression | None = None
    """Only a call of which this holds counts: `call.args.id == args.order_id`. Also `call.result`."""
    because: ReasonSentence | None = None
    """What the model is told when it is missing; without it, to call the tool first."""


class Precondition(FileSection):
    condition: Expression = Field(alias="if")
    """The call is denied unless this holds."""
    because: ReasonSentence
    """Why, in one sentence. The model is told, so that it can do better."""


class Reaction(FileSection):
    condition: Expression = Field(alias="if")
    """When this holds, `then` happens."""
    then: Consequence
    """Have it confirmed, ask the user, have a colleague approve it (four_eyes), hand over (escalate), or deny."""
    because: ReasonSentence
    """Why, in one sentence."""


class CallLimit(FileSection):
    count: Annotated[int, Field(ge=1)] | None = None
    """At most this many successful calls."""
    sum: str | None = None
    """A number parameter that is added up over successful calls; with `at_most`."""
    at_most: Annotated[float, Field(gt=0)] | None = None
    """The most that `sum` may come to, this call included."""
    per: Names = ()
    """Counted apart for each value of these parameters."""
    window: Window = "conversation"
    """Since the user's last message (turn), in the conversation, or within 90m, 24h, 7d, 2w."""
    across: Names = ()
    """Other tools whose calls count together with this one's."""
    because: ReasonSentence | None = None
    """What the model is told; without it, which limit was reached."""


class Verify(FileSection):
    call: str
    """A read tool that shows whether the call had its effect."""
    args: Mapping[str, Expression] = Field(default_factory=dict)
    """Its arguments, each an expression over the call that ran: `{order_id: args.order_id}`."""
    expect: Expression
    """What must hold of its `result`: `result.status == 'cancelled'`."""


class FactSource(FileSection):
    key: str | None = None
    """The parameter by whose value results are kept. Else the only argument, or the only one that ends in `id`."""
    updated_by: Names = ()
    """Tools whose results are newer versions of the same thing, under the same parameter."""


@dataclass(frozen=True)
class ConditionScope:
    """What the names in a tool's conditions stand for. `compiled` is the memory of `expressions.py`."""

    let: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, FactSource] = field(default_factory=dict)
    timezone: str = "UTC"
    tenant: str = ""
    compiled: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)


class ToolPolicy(FileSection):
    effect: Effect | None = None
    """What a call changes: nothing (read), something (write), or something that cannot be taken back (destructive)."""
    confidence_cap: UnitShare | None = None
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
    idempotent: bool = False
    """Calling it twice does no more than calling it once."""
    params: Mapping[str, ParameterPolicy] = Field(default_factory=dict)
    """Settings by parameter name."""
    let: Mapping[str, Expression] = Field(default_factory=dict)
    """Names for places, for the conditions of this tool: `order: facts.get_order[args.order_id]`."""
    requires: tuple[
        Annotated[Requirement, BeforeValidator(_as_requirement, json_schema_input_type=str | Requirement)], ...
    ] = ()
    """What must have been called before."""
    deny_unless: tuple[Precondition, ...] = ()
    """What must hold of the arguments and of the facts that earlier results established."""
    when: tuple[Reaction, ...] = ()
    """What is done about a call that is complete and permitted, but special."""
    limits: tuple[CallLimit, ...] = ()
    """How often, or how much."""
    unknown: Literal["deny", "ask"] = "deny"
    """When a condition cannot be decided: tell the model what to look up first (deny), or ask the user."""
    verify: Verify | None = None
    """How to see afterwards that it happened."""

    @cached_property
    def scope(self) -> ConditionScope:
        """What the names in this tool's conditions stand for."""
        return ConditionScope(let=self.let)

    @cached_property
    def conditional(self) -> bool:
        """Does any of this depend on the conversation?"""
        return bool(self.requires or self.deny_unless or self.when or self.limits)


class Pattern(ToolPolicy):
    match: str
    """Tool names, with * for any letters: `get_*`. For tools that are not named under `tools`; the first that fits."""


class TenantPolicy(FileSection):
    tools: Mapping[str, ToolPolicy] = Field(default_factory=dict)
    """Settings that replace the ones above for this tenant, field by field."""


class Policy(FileSection):
    version: Literal[1] = 1
    """Version of the file's format."""
    timezone: str = "UTC"
    """Times that say no zone are in this one: `America/New_York`."""
    let: Mapping[str, Expression] = Field(default_factory=dict)
    """Names for places, for the conditions of all tools."""
    facts: Mapping[str, FactSource] = Field(default_factory=dict)
    """How the results of a tool are kept as facts, by tool."""
    tools: Mapping[str, ToolPolicy] = Field(default_factory=dict)
    """Exact tool names, case matters."""
    patterns: tuple[Pattern, ...] = ()
    """Settings for tools that are not named above, by pattern; the first that fits holds."""
    tenants: Mapping[str, TenantPolicy] = Field(default_factory=dict)
    """Overrides by tenant id."""

    @cached_property
    def hash(self) -> str:
        """Changes with every change that could change a verdict. Bound into intents."""
        return digest(self.model_dump(mode="json", exclude_unset=True))[:16]

    def of(self, tool: str, tenant: TenantId | None) -> ToolPolicy | None:
        """What holds for this tool and tenant; None when the file does not name the tool."""
        key = (tool, tenant)
        if (known := self._tool_policies.get(key)) is None and (known := self._resolve(tool, tenant)) is not None:
            self._tool_policies[key] = known
        return known

    @cached_property
    def _tool_policies(self) -> dict[tuple[str, TenantId | None], ToolPolicy]:
        return {}

    def general(self, tool: str) -> ToolPolicy | None:
        """What the file says of the tool before any tenant's override: its own entry, or the first pattern."""
        named = self.tools.get(tool)
        return named or next((one for one in self.patterns if fnmatchcase(tool, one.match)), None)

    def _resolve(self, tool: str, tenant: TenantId | None) -> ToolPolicy | None:
        general = self.general(tool)
        theirs = self.tenants.get(tenant) if tenant else None
        override = theirs.tools.get(tool) if theirs else None
        found = general or override
        if found is None:
            return None
        changes = {name: getattr(override, name) for name in override.model_fields_set} if override and general else {}
        found = found.model_copy(update=changes)
        # The cached properties are set here, where the rest of the file is known, rather than carried over.
        found.__dict__.pop("conditional", None)
        found.__dict__["scope"] = self.scope_of(found, tenant)
        return found

    def scope_of(self, section: ToolPolicy, tenant: TenantId | None = None) -> ConditionScope:
        """What names stand for in a section of this file. Sections with the same names share what is compiled."""
        let = {**self.let, **section.let}
        compiled = self._programs.setdefault(tuple(sorted(let.items())), {})
        return ConditionScope(let, self.facts, self.timezone, tenant or "", compiled)

    @cached_property
    def _programs(self) -> dict[tuple[tuple[str, str], ...], dict[object, Any]]:
        return {}


def effect_of(spec: ToolSpec | None, policy: ToolPolicy | None) -> Effect | None:
    """The stricter of what the file says and what the tool declares; None when nobody said anything."""
    said = [effect for effect in (policy and policy.effect, spec and spec.effect) if effect]
    return max(said, key=EFFECTS.index, default=None)


def cap_of(effect: Effect, policy: ToolPolicy | None) -> float:
    """The file's cap, else none for a read and .6 for anything that changes something."""
    if policy and policy.confidence_cap is not None:
        return policy.confidence_cap
    return 1.0 if effect == "read" else CAP_OF_CHANGES
