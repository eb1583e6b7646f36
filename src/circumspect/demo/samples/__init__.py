"""samples: three shops to try things on: the same outdoor and kitchen shop in English, Hebrew and Russian.

    sample = load("shop", directory=Path(".circumspect"), now=datetime.now(UTC))

Each has a back end of its own, an SQLite file in the directory (or in memory), which is filled when it is first used.
Two desks, which only a server has, are in `desks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from circumspect.errors import UnknownTenant
from circumspect.values import Business, Faq, Plan, Tenant, TenantId

if TYPE_CHECKING:
    from circumspect.demo.samples.shop_backend import Backend
    from circumspect.tools.toolset import Toolset

_NAMES = ("shop", "shop-he", "shop-ru")


@dataclass(frozen=True, slots=True)
class Sample:
    """A tenant with everything an agent needs to serve it, and the back end to look behind the scenes."""

    tenant: Tenant
    tools: Toolset
    policy_path: Path
    backend: Backend


def names() -> tuple[str, ...]:
    return _NAMES


def load(name: str, *, directory: Path | None, now: datetime) -> Sample:
    """A sample as of `now`. Without a directory its data lives in memory and is gone with it."""
    if name not in _NAMES:
        raise UnknownTenant(f"There is no sample named '{name}'.", fix=f"Choose one of {', '.join(_NAMES)}.")
    from circumspect.demo.samples.sample_files import DIRECTORY, read
    from circumspect.demo.samples.shop_backend import IN_MEMORY, Backend
    from circumspect.demo.samples.shop_tools import shop_tools
    from circumspect.tools.toolset import Toolset

    described = read(name)
    tenant = Tenant(
        id=TenantId(described["id"]),
        business=_business(described["business"]),
        plan=Plan(described["plan"], "adaptive"),
        language=described["language"],
    )
    backend = Backend(IN_MEMORY if directory is None else directory / f"sample-{name}.db", now=now)
    return Sample(tenant, Toolset(shop_tools(backend, tenant.language)), DIRECTORY / "policy.yaml", backend)


def _business(described: dict[str, Any]) -> Business:
    faqs = tuple(Faq(question=entry["q"], answer=entry["a"]) for entry in described["faqs"])
    return Business(**{**described, "faqs": faqs, "policies": dict(described["policies"])})
