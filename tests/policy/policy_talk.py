"""Short ways to say, in the tests of the policy language, what a conversation established and what was proposed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from circumspect.policy.facts import Facts
from circumspect.policy.judge import judge
from circumspect.policy.load import load
from circumspect.policy.policy_file import Policy
from circumspect.policy.preconditions import PRECONDITION_RULES
from circumspect.values import (
    History,
    Intent,
    Mode,
    PastCall,
    RuleFinding,
    TenantId,
    ToolCall,
    ToolSpec,
    Utterance,
    Verdict,
)

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


def user(text: str) -> Utterance:
    return Utterance("user", text, 0)


def ran(
    tool: str,
    result: Any = "done",
    *,
    ok: bool = True,
    trusted: bool = True,
    at: datetime | None = None,
    vouched: bool = True,
    **args: Any,
) -> PastCall:
    return PastCall(ToolCall(tool, args), result, ok, trusted, 0, at, vouched)


def session(*events: Utterance | PastCall) -> History:
    """Events in order; their places are filled in."""
    made: list[Utterance | PastCall] = []
    for index, event in enumerate(events):
        if isinstance(event, Utterance):
            made.append(Utterance(event.speaker, event.text, index))
        else:
            made.append(replace(event, index=index))
    return History(tuple(made))


def facts(
    policy: Policy | str,
    proposed: ToolCall,
    *events: Utterance | PastCall,
    mode: Mode = "standard",
    confirmed: Intent | None = None,
    tenant: str | None = None,
    now: datetime = NOW,
    spec: ToolSpec | None = None,
    tools: Iterable[ToolSpec] = (),
) -> Facts:
    known = load(policy) if isinstance(policy, str) else policy
    section = known.of(proposed.tool, TenantId(tenant) if tenant else None)
    return Facts(
        call=proposed,
        spec=spec,
        policy=section,
        effect=section.effect if section else None,
        mode=mode,
        now=now,
        confirmed=confirmed,
        session=session(*events),
        tools={one.name: one for one in tools},
    )


def ruled(
    policy: Policy | str, proposed: ToolCall, *events: Utterance | PastCall, **more: Any
) -> tuple[Verdict, tuple[RuleFinding, ...]]:
    return judge(facts(policy, proposed, *events, **more), PRECONDITION_RULES)


def spec(name: str, parameters: Mapping[str, str], **more: Any) -> ToolSpec:
    """A tool whose parameters are all required; a type for each."""
    properties = {parameter: {"type": kind} for parameter, kind in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return ToolSpec(name, parameters=schema, **more)
