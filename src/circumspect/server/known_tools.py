"""What is known of a tenant's tools: those that we run, those that its clients run, and what clients brought along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from circumspect.errors import ConfigError, UnknownTenant
from circumspect.gating.deciding import learn
from circumspect.server.problems import not_found
from circumspect.server.services import Services
from circumspect.server.stores.seen_tools import SeenTool, find_seen_tool, list_seen_tools
from circumspect.setup import TurnSetup
from circumspect.values import Intent, TenantId, ToolSpec


@dataclass(frozen=True, slots=True)
class KnownTools:
    specs: Mapping[str, ToolSpec]
    """Ours, and those of clients that the tenant declares."""
    unreviewed: Sequence[SeenTool]
    """Brought along by clients, and declared by nobody."""
    setup: TurnSetup | None = None
    """None while the tenant cannot be served: then the tools are as they were last known."""
    problem: str = ""

    @property
    def seen(self) -> frozenset[str]:
        return frozenset(one.spec.name for one in self.unreviewed)


async def find_known_tools(services: Services, tenant: TenantId) -> KnownTools:
    setup, problem = None, ""
    try:
        setup = await services.directory.setup(tenant)
        specs: Mapping[str, ToolSpec] = {**setup.clients, **setup.ports.tools.specs()}
    except UnknownTenant:
        raise not_found("tenant") from None
    except ConfigError as error:
        specs, problem = await services.store.tool_specs(tenant), error.problem
    seen = await services.store.tx(list_seen_tools, tenant)
    return KnownTools(specs, [one for one in seen if one.spec.name not in specs], setup, problem)


async def find_deciding_setup(services: Services, intent: Intent) -> TurnSetup:
    """The tenant's setup for a decision on this call. A tool that a client brought along is known as it was when the
    call was proposed, or not at all."""
    setup = await services.directory.setup(intent.tenant)
    name = intent.call.tool
    if name in setup.clients or name in setup.tools:
        return setup
    seen = await services.store.tx(find_seen_tool, intent.tenant, name)
    # A gate learns a tool from its calls alone, where nobody brings a definition.
    spec = next((one for one in (seen, learn({}, name)) if one and one.version == intent.tool_version), None)
    if spec is None:
        return setup
    return replace(setup, clients={**setup.clients, name: spec})
