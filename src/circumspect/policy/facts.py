"""Facts: everything a rule may look at, and nothing it could change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from circumspect.frozen_slots import fill_directly
from circumspect.policy.keys.tool_policy import ToolPolicy
from circumspect.values import (
    Assessment,
    Effect,
    Execution,
    History,
    Intent,
    JsonObject,
    Language,
    Mode,
    Scene,
    ToolCall,
    ToolSpec,
)


@fill_directly
@dataclass(frozen=True, slots=True)
class Facts:
    call: ToolCall
    """With materialised arguments: what would run."""
    spec: ToolSpec | None
    """None when the tenant has no such tool enabled."""
    policy: ToolPolicy | None
    """None when the policy file does not name the tool."""
    effect: Effect | None
    """None when nobody declared what the tool does."""
    mode: Mode
    now: datetime
    words: str = ""
    """The user's newest message."""
    language: Language = "en"
    assessment: Assessment | None = None
    disagreement: bool = False
    confirmed: Intent | None = None
    """The live intent that the user just said yes to, for exactly this call."""
    unsettled: tuple[Execution, ...] = ()
    happened: tuple[Execution, ...] = ()
    """Calls that a person said had happened, when nobody knew."""
    done: frozenset[str] = field(default_factory=frozenset)
    """Those that already ran in this turn, each by its `likeness`."""
    session: History = field(default_factory=History)
    person: str | None = None
    """The tenant's own id of the end user whose conversation this is; None when nobody said."""
    claims: JsonObject = field(default_factory=dict)
    """What a signed token says about them."""
    scene: Scene | None = None
    """What is on the user's screen, where the call acts on it."""
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    """All that are known, so that a look-up is named as it can be called."""
    mendings: tuple[str, ...] = ()
    """Arguments that were brought into the type that the tool's schema asks for, one line each."""
