"""The name of a model, as a chat client of another maker has it -> the tenant's setup with the model it stands for.

A client asks for `gpt-4o` because that is what it was written with. The tenant's `clients.models` says what that means;
whatever is not in there gets the tenant's own model, and so no client has to be changed to be served.
"""

from __future__ import annotations

from dataclasses import replace

from circumspect.server.services import Services
from circumspect.setup import TurnSetup
from circumspect.values import TenantId

MODEL = "circumspect"


async def find_setup(services: Services, tenant: TenantId, name: str) -> TurnSetup:
    """Raises as `Directory.setup` does, and `ConfigError` for a model that cannot be had."""
    setup = await services.directory.setup(tenant)
    aliases = (await services.directory.settings(tenant)).clients.models
    if name not in aliases:
        return setup
    model = await services.directory.model(aliases[name])
    return replace(setup, ports=replace(setup.ports, model=model))


async def list_names(services: Services, tenant: TenantId) -> list[str]:
    """The names that a client may ask for. Every other one gets what the first of these gets."""
    return [MODEL, *(await services.directory.settings(tenant)).clients.models]
