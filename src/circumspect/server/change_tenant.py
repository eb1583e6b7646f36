"""A tenant made or changed by a form: the stored tenant as a file, with the change in it, applied as any file is.

So a form has the checks, the log and the one transaction of `circumspect apply`. What a form must not say is not here:
code, commands and paths on the server are a file's alone. Somebody else's change in between refuses this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from circumspect.demo.samples import names as sample_names
from circumspect.demo.samples.sample_files import DIRECTORY, read
from circumspect.errors import ConfigError, UnknownTenant
from circumspect.server.apply_tenant import Applied, apply_reading
from circumspect.server.problems import HttpProblem
from circumspect.server.services import Services
from circumspect.server.stores import access, policies, tenants
from circumspect.server.stores.policies import PolicyVersion
from circumspect.server.stores.tenants import TenantRow
from circumspect.server.tenants.file_findings import TenantFileError
from circumspect.server.tenants.read_tenant_file import PolicySource, TenantFileReading, read_text
from circumspect.server.tenants.write_tenant_file import as_document, write_document
from circumspect.values import Language, TenantId

TenantDocument = dict[str, Any]
"""What a tenant file says, as JSON."""


async def make_tenant(
    services: Services, by: str, id_: str, *, name: str, language: Language, plan: str, sample: str = ""
) -> Applied:
    """A new tenant: with nothing but its name, or with everything that a sample shop has. Raises `HttpProblem`."""
    said: TenantDocument = {"id": id_, "language": language, "plan": plan, "business": {"name": name}}
    folder = Path()
    if sample:
        if sample not in sample_names():
            raise HttpProblem(422, "invalid", "There is no such sample.", fix=f"Choose: {', '.join(sample_names())}.")
        shop = read(sample)
        said, folder = {**shop, **said, "business": {**shop["business"], "name": name}}, DIRECTORY
    reading = read_text(write_document({"version": 1, **said}), folder / f"{id_}.yaml")
    return await _apply(services, by, reading, 0)


async def change_tenant_file(
    services: Services,
    by: str,
    tenant: TenantId,
    change: Callable[[TenantDocument], TenantDocument],
    *,
    secrets: Mapping[str, str] | None = None,
    dry_run: bool = False,
) -> Applied:
    """What `change` makes of the stored tenant, and these secrets beside those that it has. Raises `HttpProblem`."""
    stored = await services.store.tx(_read, tenant)
    said = change({**as_document(stored.row), "plan": stored.row.tenant.plan.name})
    reading = read_text(write_document(said), Path(f"{tenant}.yaml"))
    known = _unseal_all(services, stored.sealed)
    policy = PolicySource(stored.policy.text, "policy") if stored.policy else None
    reading = replace(reading, policy=policy, secrets={**known, **(secrets or {})})
    return await _apply(services, by, reading, stored.row.revision, secrets, dry_run)


async def _apply(
    services: Services,
    by: str,
    reading: TenantFileReading,
    at_revision: int,
    secrets: Mapping[str, str] | None = None,
    dry_run: bool = False,
) -> Applied:
    try:
        return await apply_reading(
            reading,
            services.store,
            services.settings,
            dry_run=dry_run,
            by=by,
            clock=services.clock,
            ids=services.ids,
            vault=lambda _: services.vault,
            at_revision=at_revision,
            new_secrets=secrets,
        )
    except TenantFileError as problem:
        # Lines of a file that nobody wrote say nothing to who filled in a form.
        first = problem.errors[0].finding
        raise HttpProblem(422, problem.code, f"{first.problem}.", fix=first.fix) from None
    except ConfigError as problem:
        raise HttpProblem(422, problem.code, problem.problem, fix=problem.fix) from None


async def open_secrets(services: Services, tenant: TenantId) -> Mapping[str, str]:
    """The tenant's secrets, for a tool that is tried."""
    return _unseal_all(services, await services.store.tx(access.get_sealed_secrets, tenant))


def _unseal_all(services: Services, sealed: Mapping[str, str]) -> dict[str, str]:
    """But for those that nobody can open any more."""
    found = {}
    for name, text in sealed.items():
        with suppress(ConfigError):
            found[name] = services.vault.unseal(text)
    return found


@dataclass(frozen=True, slots=True)
class _Stored:
    row: TenantRow
    policy: PolicyVersion | None
    sealed: Mapping[str, str] = field(repr=False)


def _read(connection: sa.Connection, tenant: TenantId) -> _Stored:
    row = tenants.get(connection, tenant)
    if row is None or row.settings is None:
        raise UnknownTenant(f"No server serves a tenant '{tenant}'.", fix="Make it first.")
    sealed = access.get_sealed_secrets(connection, tenant)
    return _Stored(row, policies.current(connection, tenant), sealed)
