"""Tools that clients brought along -> declared by the tenant, as if its file said so.

The policy in force is held against them first: a tenant is not stopped by what somebody adopts.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from circumspect.errors import ConfigError, PolicyError, UnknownTenant
from circumspect.policy.keys.findings import AnyName
from circumspect.policy.load import load
from circumspect.server.stores import policies, tenants
from circumspect.server.stores.seen_tools import find_seen_tool, remove_seen_tools
from circumspect.server.tenants.tenant_file import ToolSection, read_settings
from circumspect.stores import admin
from circumspect.tools import client_definition
from circumspect.tools.client_definition import ClientToolDefinition
from circumspect.values import TenantId, ToolSpec


def adopt_tools(connection: sa.Connection, tenant: TenantId, names: Sequence[str]) -> None:
    """Raises `ConfigError` for a tool that nobody brought along, or that the policy in force does not fit."""
    row = tenants.get(connection, tenant, lock=True)
    if row is None or row.settings is None:
        raise UnknownTenant(f"There is no tenant '{tenant}'.", fix="Create it first: circumspect apply tenant.yaml.")
    specs = {name: _find(connection, tenant, name) for name in names}
    known = admin.get_tools(connection, tenant)
    if taken := sorted(specs.keys() & known.keys()):
        raise ConfigError(f"There is a tool '{taken[0]}' already.", fix="Change it in the tenant's file.")
    policy = policies.current(connection, tenant)
    if policy is not None:
        try:
            load(policy.text, specs={**known, **specs}, seen=AnyName(), name=f"policy of {tenant}")
        except PolicyError as problem:
            fix = f"Correct the policy first: {'; '.join(problem.findings)}"
            raise ConfigError("The policy in force does not fit these tools.", fix=fix) from None
    sections = [*read_settings(row.settings).tools, *(ToolSection(client=_define(spec)) for spec in specs.values())]
    written = [one.model_dump(mode="json", exclude_unset=True, by_alias=True) for one in sections]
    tenants.put(connection, row.tenant, {**row.settings, "tools": written})
    admin.put_tools(connection, tenant, specs)
    remove_seen_tools(connection, tenant, names)


def _find(connection: sa.Connection, tenant: TenantId, name: str) -> ToolSpec:
    spec = find_seen_tool(connection, tenant, name)
    if spec is None:
        raise ConfigError(f"No client brought a tool '{name}' along.", fix=f"See: circumspect tools seen {tenant}")
    client_definition.check(_define(spec))
    return spec


def _define(spec: ToolSpec) -> ClientToolDefinition:
    said = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return ClientToolDefinition.model_validate(said)
