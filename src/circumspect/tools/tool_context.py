"""ToolContext: what a tenant's tools are made from.

A factory is a function that takes one and returns tools; the tenant file names it with `python: package.module:name`:

    def tools(context: ToolContext) -> list[Tool]:
        crm = Crm(token=context.secrets["crm_token"], cache=context.directory / "crm.db")
        ...
        return [find_customer, update_customer]

It is called when the tenant's configuration is first needed, and again whenever it changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from circumspect.ports import Clock
from circumspect.values import JsonObject, Language, TenantId


@dataclass(frozen=True, slots=True)
class ToolContext:
    tenant: TenantId
    language: Language
    directory: Path
    """A folder for files of the tools' own, shared by the tenants of this database. It may not exist yet."""
    clock: Clock
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The tenant's secrets by name, in the clear: hand them on, never print them."""
    options: JsonObject = field(default_factory=dict)
    """What the tenant file says beside the factory's name."""
