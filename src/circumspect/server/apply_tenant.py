"""Tenant files into the store: `apply_file` checks everything, then writes all of one file in one transaction.

Applying a file twice changes nothing the second time. With `dry_run` the difference is computed and nothing is written.
What a file does not mention of policy, secrets and documents stays as it is, so that these can also be kept elsewhere;
everything else is as the file says, including what it leaves out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from circumspect import outgoing
from circumspect.clock import RandomIds, SystemClock
from circumspect.errors import CircumspectError, ConfigError
from circumspect.models.known_providers import check_provider
from circumspect.models.opening import BUILT_IN, OFFLINE
from circumspect.models.spec import parse, split_chain
from circumspect.policy.keys.findings import Level, suggest_word
from circumspect.policy.keys.tool_policy import effect_of
from circumspect.policy.policy_file import Policy
from circumspect.policy.validators import find_validator
from circumspect.ports import Clock, Ids
from circumspect.server.config import Settings
from circumspect.server.directory import data_directory
from circumspect.server.stores import access, policies, tenants
from circumspect.server.stores.seen_tools import list_seen_tools
from circumspect.server.tenants import differences
from circumspect.server.tenants.differences import FileChange
from circumspect.server.tenants.file_findings import Located, make_file_error, sum_up_undeclared
from circumspect.server.tenants.read_tenant_file import TenantFileReading, read
from circumspect.server.tenants.tenant_file import TenantFile
from circumspect.server.tenants.tool_building import read_client_specs, tools_of
from circumspect.server.vault import Vault, open_vault
from circumspect.stores import SqlStore, action_log, admin
from circumspect.stores.prompts import load_version
from circumspect.tools.tool_context import ToolContext
from circumspect.values import Json, Plan, TenantId, ToolSpec

if TYPE_CHECKING:
    from circumspect.knowledge.tree import KnowledgeDocument


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of one file."""

    tenant: TenantId
    created: bool
    changes: tuple[FileChange, ...]
    warnings: tuple[str, ...] = ()
    dry_run: bool = False

    def to_json(self) -> dict[str, Json]:
        return {
            "tenant": self.tenant,
            "created": self.created,
            "dry_run": self.dry_run,
            "changes": [one.to_json() for one in self.changes],
            "warnings": list(self.warnings),
        }


class ChangedMeanwhile(CircumspectError):
    """Somebody else changed the tenant since it was read: what they did is not written over."""

    code = "changed_meanwhile"
    status = 409


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file that can be applied, with everything that was found out about it."""

    file: TenantFile
    policy: Policy | None
    policy_text: str | None
    specs: Mapping[str, ToolSpec]
    documents: tuple[KnowledgeDocument, ...]
    warnings: tuple[str, ...]
    secrets: Mapping[str, str] = field(repr=False)


async def apply_file(
    path: Path,
    store: SqlStore,
    settings: Settings,
    *,
    dry_run: bool = False,
    by: str = "apply",
    clock: Clock | None = None,
    ids: Ids | None = None,
    vault: Callable[[Settings], Vault] = open_vault,
) -> Applied:
    """Raises `TenantFileError` with every finding when the file is not sound; then nothing was written."""
    return await apply_reading(read(path), store, settings, dry_run=dry_run, by=by, clock=clock, ids=ids, vault=vault)


async def apply_reading(
    reading: TenantFileReading,
    store: SqlStore,
    settings: Settings,
    *,
    dry_run: bool = False,
    by: str = "apply",
    clock: Clock | None = None,
    ids: Ids | None = None,
    vault: Callable[[Settings], Vault] = open_vault,
    at_revision: int | None = None,
    new_secrets: Mapping[str, str] | None = None,
) -> Applied:
    """The same for a file that was read. Raises `TenantFileError`; and `ChangedMeanwhile` when the tenant is not at
    that revision any more: 0 is one that must not be there yet. `new_secrets` are kept beside those that are there."""
    clock = clock or SystemClock()
    checked = await check_reading(reading, settings, clock, store)
    # Opened only when there is something to seal: a database without secrets needs no key.
    opened = vault(settings) if checked.secrets or new_secrets else None
    writing = _Writing(
        checked, opened, clock.now(), by, (ids or RandomIds()).new("log"), dry_run, at_revision, new_secrets or {}
    )
    created, changes = await store.tx(writing.run)
    return Applied(TenantId(checked.file.id), created, changes, checked.warnings, dry_run)


# --- checking -------------------------------------------------------------------------------------------------------


async def check_file(
    path: Path, settings: Settings, clock: Clock | None = None, store: SqlStore | None = None
) -> CheckedFile:
    """Read the file, import or make its tools, and hold its policy against them, and against those that the store has
    seen clients bring along. Writes nothing."""
    return await check_reading(read(path), settings, clock, store)


async def check_reading(
    reading: TenantFileReading, settings: Settings, clock: Clock | None = None, store: SqlStore | None = None
) -> CheckedFile:
    path, file = reading.path, reading.file
    if file is None:
        raise make_file_error(str(path), reading.findings)
    found = list(reading.findings)
    policy = reading.policy.check(None)[0] if reading.policy else None
    specs, whole = await _specs(reading, file, policy or Policy(), settings, clock or SystemClock(), found)
    if reading.policy is not None:
        seen = await store.tx(list_seen_tools, TenantId(file.id)) if store else ()
        policy, more = reading.policy.check(specs if whole else None, {one.spec.name for one in seen})
        found += more
    found += _names(reading, file, specs, policy, whole)
    found += await _webhooks(reading, file, settings)
    found += await _prompts(reading, file, store)
    found += _models(reading, file)
    documents = await asyncio.to_thread(_documents, reading, found)
    found += _authority(reading, file, documents)
    found += _review(reading, file, settings)
    if any(one.is_error for one in found):
        raise make_file_error(str(path), sorted(dict.fromkeys(found), key=lambda one: (one.file, one.finding.line)))
    text = reading.policy.text if reading.policy else None
    warnings = tuple(dict.fromkeys(str(one) for one in sum_up_undeclared(found)))
    return CheckedFile(file, policy, text, specs, documents, warnings, reading.secrets)


async def _specs(
    reading: TenantFileReading, file: TenantFile, policy: Policy, settings: Settings, clock: Clock, found: list[Located]
) -> tuple[dict[str, ToolSpec], bool]:
    """What the tools are; and whether that is all of them, or some could not be had."""
    specs: dict[str, ToolSpec] = {}
    whole = True
    context = ToolContext(
        tenant=TenantId(file.id),
        language=file.language,
        directory=data_directory(settings.database) or Path(".circumspect"),
        clock=clock,
        secrets=reading.secrets,
    )
    async with AsyncExitStack() as opening:
        for at, section in enumerate(file.tools):
            try:
                made = await tools_of(section, context, opening, policy=policy, allow=settings.allow_addresses)
                for one in made:
                    find_validator(one.spec)
            except CircumspectError as problem:
                whole = False
                level: Level = "warning" if section.mcp is not None else "error"
                found.append(reading.at(("tools", at), problem.problem, problem.fix, level))
                continue
            for spec in (*(one.spec for one in made), *read_client_specs((section,)).values()):
                if spec.name in specs:
                    problem_ = f"there are two tools named '{spec.name}'"
                    found.append(reading.at(("tools", at), problem_, "Take one of them out, or rename it."))
                specs[spec.name] = spec
    return specs, whole


async def _webhooks(reading: TenantFileReading, file: TenantFile, settings: Settings) -> list[Located]:
    """Those that the server will not call, as its client would tell when it is too late. Warnings: where this command
    runs, a name may lead elsewhere, and other addresses may be allowed."""
    found = []
    for at, webhook in enumerate(file.notify.webhooks):
        try:
            await outgoing.check_target(webhook.url, settings.allow_addresses)
        except outgoing.BlockedAddress as problem:
            said = f"this webhook will not be called: {problem.problem}"
            found.append(reading.at(("notify", "webhooks", at, "url"), said, problem.fix, "warning"))
    return found


async def _prompts(reading: TenantFileReading, file: TenantFile, store: SqlStore | None) -> list[Located]:
    """Versions that the store does not have: a tenant that names one could not be served."""
    if store is None:
        return []
    found = []
    for name, id_ in file.prompts.items():
        try:
            await store.tx(load_version, TenantId(file.id), id_)
        except ConfigError as problem:
            found.append(reading.at(("prompts", name), problem.problem, problem.fix))
    return found


def _models(reading: TenantFileReading, file: TenantFile) -> Iterator[Located]:
    """Names that nobody can read, and providers that nobody knows: a tenant with one could not be served. Whether there
    is such a model, and a key for it, the server says."""
    browser = file.browser
    named: dict[tuple[str, ...], str | None] = {("model",): file.model}
    if browser:
        named |= {("browser", "smart"): browser.smart, ("browser", "fast"): browser.fast}
        named[("browser", "smart_fallback")] = browser.smart_fallback
    named |= {("clients", "models", asked): name for asked, name in file.clients.models.items()}
    for place, name in named.items():
        for one in split_chain(name or ""):
            try:
                if one not in BUILT_IN:
                    check_provider(parse(one).provider)
            except ConfigError as problem:
                yield reading.at(place, problem.problem, problem.fix)


def _authority(
    reading: TenantFileReading, file: TenantFile, documents: Sequence[KnowledgeDocument]
) -> Iterator[Located]:
    """Patterns that fit none of the file's documents: probably a slip, and then a draft counts as much as the rest."""
    if not documents or file.understanding is None:
        return
    for pattern in file.understanding.authority:
        if not any(fnmatchcase(one.id, pattern) for one in documents):
            place = ("understanding", "authority", pattern)
            fix = suggest_word(pattern, [one.id for one in documents]) or "Write a document's path as in `documents`."
            yield reading.at(place, f"no document fits '{pattern}'", fix, "warning")


def _review(reading: TenantFileReading, file: TenantFile, settings: Settings) -> Iterator[Located]:
    """Where a model has to decide and there is none, every case is refused. A warning: the server may have one."""
    if file.review.controller == "react" and (file.model or settings.model) == OFFLINE:
        fix = "Name one with `model`, or leave the controller out."
        yield reading.at(("review", "controller"), "there is no language model to review cases with", fix, "warning")


def _documents(reading: TenantFileReading, found: list[Located]) -> tuple[KnowledgeDocument, ...]:
    """Each under its path from the tenant file, which is its id."""
    from circumspect.knowledge.read_document import read_document

    read = []
    folder = reading.path.parent.resolve()
    for path, at in reading.documents.items():
        whole = path.resolve()
        name = whole.relative_to(folder).as_posix() if whole.is_relative_to(folder) else whole.name
        try:
            read.append(read_document(path.read_bytes(), name))
        except OSError as problem:
            said = f"{path} cannot be read: {problem.strerror}"
            found.append(reading.at(("documents", at), said, "Check the file and its permissions."))
        except CircumspectError as problem:
            found.append(reading.at(("documents", at), problem.problem, problem.fix))
    return tuple(read)


def _names(
    reading: TenantFileReading, file: TenantFile, specs: Mapping[str, ToolSpec], policy: Policy | None, whole: bool
) -> list[Located]:
    found = []
    for at, name in enumerate(file.enabled_tools or ()):
        if whole and name not in specs:
            fix = suggest_word(name, specs) or "Check the name; case matters."
            found.append(reading.at(("enabled_tools", at), f"no tool is named '{name}'", fix))
    for name, spec in specs.items():
        said = policy.general(name) if policy else None
        if effect_of(spec, said) is None and (policy is None or name not in policy.tools):
            problem = f"nobody says what '{name}' does, so its calls are denied"
            fix = "Declare its effect, in the tool or in the policy: read, write or destructive."
            found.append(reading.at(("tools",), problem, fix, "warning"))
    return found


# --- writing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Writing:
    checked: CheckedFile
    vault: Vault | None
    at: datetime
    by: str
    log_id: str
    dry_run: bool
    at_revision: int | None = None
    new_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def run(self, connection: sa.Connection) -> tuple[bool, tuple[FileChange, ...]]:
        """One transaction: what is there is read under a lock, compared, and changed where it differs."""
        file, checked = self.checked.file, self.checked
        id_ = TenantId(file.id)
        row = tenants.get(connection, id_, lock=True)
        if self.at_revision is not None and (row.revision if row else 0) != self.at_revision:
            raise _changed(id_, self.at_revision)
        old_plan = admin.get_plan(connection, file.plan.name)
        plan = _plan(file, old_plan)
        tenant, settings = file.tenant(plan), file.settings_document()
        served = row is not None and row.settings is not None
        changes: list[FileChange] = []

        if plan != old_plan:
            others = sum(one.tenant.plan.name == plan.name and one.tenant.id != id_ for one in _all(connection))
            changes += differences.of_plan(old_plan, plan, others)
            if not self.dry_run:
                tenants.put_plan(connection, plan)
        own = list(differences.of_tenant(row.tenant if row else None, row.settings if row else None, tenant, settings))
        changes += own
        if (own or not served) and not self.dry_run:
            tenants.put(connection, tenant, settings)
        changes += self._policy(connection, id_)
        changes += self._secrets(connection, id_)
        changes += self._new_secrets(connection, id_)
        changes += self._documents(connection, id_)
        if not self.dry_run:
            _remember(connection, id_, checked.specs)
            if changes:
                detail: dict[str, Json] = {"changes": [str(one) for one in changes]}
                action_log.log_action(
                    connection, id=self.log_id, at=self.at, operator=self.by, action="apply", tenant=id_, subject=id_,
                    detail=detail,
                )  # fmt: skip
        return not served, tuple(changes)

    def _policy(self, connection: sa.Connection, tenant: TenantId) -> list[FileChange]:
        text, policy = self.checked.policy_text, self.checked.policy
        if text is None or policy is None:
            return []
        before = policies.current(connection, tenant)
        changes = list(differences.of_policy(before.text if before else None, text, before.version if before else 0))
        if changes and not self.dry_run:
            policies.put_policy(
                connection, tenant, text, policy.hash, at=self.at, note="circumspect apply", created_by=self.by
            )
        return changes

    def _secrets(self, connection: sa.Connection, tenant: TenantId) -> list[FileChange]:
        if "secrets" not in self.checked.file.model_fields_set:
            return []
        sealed, new = access.get_sealed_secrets(connection, tenant), self.checked.secrets
        old = {name: self._unseal(text) for name, text in sealed.items()}
        changes = list(differences.of_names("secret", old, new))
        if changes and not self.dry_run:
            for name, value in new.items():
                if self.vault is not None and old.get(name) != value:
                    access.put_secret(connection, tenant, name, self.vault.seal(value), self.at)
            for name in old.keys() - new.keys():
                access.delete_secret(connection, tenant, name)
            tenants.touch(connection, tenant)
        return changes

    def _new_secrets(self, connection: sa.Connection, tenant: TenantId) -> list[FileChange]:
        if self.vault is None or not self.new_secrets:
            return []
        known = access.get_sealed_secrets(connection, tenant)
        if not self.dry_run:
            for name, value in self.new_secrets.items():
                access.put_secret(connection, tenant, name, self.vault.seal(value), self.at)
            tenants.touch(connection, tenant)
        return [FileChange("changed" if name in known else "added", f"secret {name}") for name in self.new_secrets]

    def _documents(self, connection: sa.Connection, tenant: TenantId) -> list[FileChange]:
        if "documents" not in self.checked.file.model_fields_set:
            return []
        from circumspect.knowledge.search import language_of
        from circumspect.stores import knowledge

        old = {row.id: row.hash for row in knowledge.list_documents(connection, tenant)}
        new = {one.id: one.hash for one in self.checked.documents}
        changes = list(differences.of_names("document", old, new))
        if changes and not self.dry_run:
            for one in self.checked.documents:
                if old.get(one.id) != one.hash:
                    knowledge.put(connection, tenant, one, language_of(one.text))
            for name in old.keys() - new.keys():
                knowledge.remove(connection, tenant, name)
            tenants.touch(connection, tenant)
        return changes

    def _unseal(self, sealed: str) -> str | None:
        """None for one that nobody can open any more: whatever the file says replaces it."""
        try:
            return None if self.vault is None else self.vault.unseal(sealed)
        except ConfigError:
            return None


def _changed(tenant: TenantId, expected: int) -> ChangedMeanwhile:
    if not expected:
        return ChangedMeanwhile(f"There is a tenant '{tenant}' already.", fix="Choose another id.")
    return ChangedMeanwhile(f"'{tenant}' has been changed meanwhile.", fix="Look at it again, and repeat this.")


def _plan(file: TenantFile, known: Plan | None) -> Plan:
    """A plan that is only named has to be there; what is said about it changes it."""
    said = file.plan
    if known is None and said.mode is None:
        raise ConfigError(
            f"There is no plan '{said.name}'.",
            fix=f"Use one that is there, or make it: plan: {{name: {said.name}, mode: adaptive}}.",
        )
    mode = said.mode or (known.mode if known else "standard")
    plan = replace(known or Plan(said.name), mode=mode)
    if said.multiplier is not None:
        plan = replace(plan, multiplier=said.multiplier)
    if said.message_price is not None:
        plan = replace(plan, message_price=said.message_price)
    return replace(plan, quota=said.quota) if "quota" in said.model_fields_set else plan


def _all(connection: sa.Connection) -> list[tenants.TenantRow]:
    return list(tenants.get_all(connection))


def _remember(connection: sa.Connection, tenant: TenantId, specs: Mapping[str, ToolSpec]) -> None:
    """What the tools are, for replays."""
    known = admin.get_tools(connection, tenant)
    admin.put_tools(connection, tenant, {name: spec for name, spec in specs.items() if known.get(name) != spec})
