"""A policy's text that somebody sends: is it sound? Found out in a process that can be killed, in the tenant's lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from circumspect.confined.processes import ReadingLimits, run_confined
from circumspect.errors import PolicyError
from circumspect.policy import check_text
from circumspect.policy.keys.findings import FileFinding
from circumspect.policy.load import refuse_unsound
from circumspect.server.known_tools import KnownTools
from circumspect.server.services import Services
from circumspect.stores import codec
from circumspect.values import TenantId, ToolSpec


@dataclass(frozen=True, slots=True)
class CheckedText:
    hash: str | None
    """None when it is not sound."""
    findings: Sequence[FileFinding]


async def check_policy_text(services: Services, tenant: TenantId, text: str, known: KnownTools) -> CheckedText:
    """Raises `PolicyError` for a text that takes more time or memory than reading one may."""
    return await services.lanes.policies.compute(tenant, _check_apart, text, known, services.lanes.limits)


async def require_sound(services: Services, tenant: TenantId, text: str, known: KnownTools) -> str:
    """The text's hash. Raises `PolicyError` with all that is wrong."""
    checked = await check_policy_text(services, tenant, text, known)
    refuse_unsound(checked.findings, f"policy of {tenant}", unreadable=checked.hash is None)
    assert checked.hash is not None
    return checked.hash


def write_specs(specs: Mapping[str, ToolSpec]) -> dict[str, Any]:
    """For `check_text.read_specs`."""
    return {name: {**codec.spec_document(one), "unspoken": sorted(one.unspoken)} for name, one in specs.items()}


def _check_apart(text: str, known: KnownTools, limits: ReadingLimits) -> CheckedText:
    facts = {"specs": write_specs(known.specs), "seen": sorted(known.seen)}
    data = text.encode("utf-8", "surrogatepass")
    found = run_confined(
        check_text.TASK, data, facts, what="The policy", limits=limits, refusal=PolicyError, fix="Leave some of it out."
    )
    return CheckedText(found["hash"], [FileFinding(*one) for one in found["findings"]])
