"""The name of a model, as a chat client of another maker has it -> the tenant's setup with the model it stands for.

A client asks for `gpt-4o` because that is what it was written with. The tenant's `clients.models` says what that means;
whatever is not in there gets the tenant's own model, and so no client has to be changed to be served. A name that
begins with `passthrough/` asks that the client's agent be left as it is.
"""

from __future__ import annotations

from dataclasses import replace

from circumspect.profiles import PASSTHROUGH, keep_choices
from circumspect.server.problems import HttpProblem
from circumspect.server.services import Services
from circumspect.server.tenants.tenant_file import TenantSettings
from circumspect.setup import TurnSetup
from circumspect.values import TenantId

MODEL = "circumspect"
AS_IT_IS = "passthrough"


async def find_setup(services: Services, tenant: TenantId, name: str) -> TurnSetup:
    """Raises as `Directory.setup` does, and `ConfigError` for a model that cannot be had."""
    setup = await services.directory.setup(tenant)
    settings = await services.directory.settings(tenant)
    prefix, _, rest = name.partition("/")
    asks = prefix == AS_IT_IS
    if _is_passed_through(settings, asks=asks):
        passing = keep_choices(PASSTHROUGH, setup.profiles["standard"])
        setup = replace(setup, profiles=dict.fromkeys(setup.profiles, passing))
    alias = settings.clients.models.get(rest if asks else name)
    if alias is None:
        return setup
    model = await services.directory.model(alias)
    return replace(setup, ports=replace(setup.ports, model=model))


def _is_passed_through(settings: TenantSettings, *, asks: bool) -> bool:
    said = _find_rule(settings)
    if asks and said == "never":
        raise HttpProblem(
            422,
            "no_passthrough",
            "This tenant's agent is not left out.",
            fix="Ask for a model without `passthrough/`, or set `clients: passthrough: on_request` in its file.",
        )
    return asks or said == "always"


def _find_rule(settings: TenantSettings) -> str:
    """A client's word leaves out what the tenant wants done with every message only if the tenant says so."""
    return settings.clients.passthrough or ("never" if settings.understanding else "on_request")


async def list_names(services: Services, tenant: TenantId) -> list[str]:
    """The names that a client may ask for. Every other one gets what the first of these gets."""
    settings = await services.directory.settings(tenant)
    own = [MODEL, *settings.clients.models]
    return own if _find_rule(settings) == "never" else [*own, *(f"{AS_IT_IS}/{name}" for name in own)]
