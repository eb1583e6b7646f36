"""Versions of prompts that do not come with the package, by tenant; and which turns used a version.

Plain functions on a connection. A version is never changed and never deleted: what a stored answer names is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from circumspect.errors import ConfigError, UnknownTenant
from circumspect.prompts import Prompt, list_prompt_names, load_default_prompt, make_prompt_version
from circumspect.stores.codec import check_identifiers, clean, epoch, moment, read_row
from circumspect.stores.experiment_tables import prompt_versions
from circumspect.stores.tables import messages, tenants, turns
from circumspect.values import TenantId

NEWEST = 10_000
"""How many turns back the use of a prompt is looked for."""
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class PromptRow:
    tenant: TenantId
    id: str
    name: str
    text: str
    parent: str | None
    note: str
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Use:
    """A turn whose answer was made with the prompt."""

    turn: str
    conversation: str
    outcome: str | None
    at: datetime


def put(
    connection: sa.Connection,
    tenant: TenantId,
    id_: str,
    name: str,
    text: str,
    *,
    at: datetime,
    parent: str | None = None,
    note: str = "",
    created_by: str = "",
) -> PromptRow:
    """The version of this id: a new one, or the one that was there, since the id says what is in it."""
    check_identifiers(tenant, id_)
    if connection.execute(sa.select(tenants.c.id).where(tenants.c.id == tenant).with_for_update()).first() is None:
        raise UnknownTenant(f"There is no tenant '{tenant}'.", fix="Create it first: circumspect apply tenant.yaml.")
    if known := get(connection, tenant, id_):
        return known
    made = PromptRow(tenant, id_, name, clean(text), parent, clean(note), clean(created_by), at)
    connection.execute(
        sa.insert(prompt_versions).values(
            tenant=tenant, id=id_, name=name, text=made.text, parent=parent, note=made.note,
            created_by=made.created_by, created_at=epoch(at),
        )
    )  # fmt: skip
    return made


def get(connection: sa.Connection, tenant: TenantId, id_: str) -> PromptRow | None:
    query = sa.select(prompt_versions).where(prompt_versions.c.tenant == tenant, prompt_versions.c.id == id_)
    row = connection.execute(query).one_or_none()
    return None if row is None else read_row(PromptRow, row)


def load_version(connection: sa.Connection, tenant: TenantId, id_: str) -> Prompt:
    """The prompt of this id: the one that comes with the package, or a version that the tenant has added. Raises
    `ConfigError` where there is none."""
    name = id_.rpartition("@")[0]
    if name in list_prompt_names() and (ours := load_default_prompt(name)).id == id_:
        return ours
    found = get(connection, tenant, id_)
    if found is None:
        raise ConfigError(
            f"'{tenant}' has no version {id_} of a prompt.",
            fix=f"`circumspect prompts list --tenant {tenant}` shows the versions; `prompts add` makes one.",
        )
    return make_prompt_version(name, found.text)


def list_prompts(connection: sa.Connection, tenant: TenantId, name: str | None = None) -> Sequence[PromptRow]:
    """The newest first; of one prompt, or of all."""
    query = sa.select(prompt_versions).where(prompt_versions.c.tenant == tenant)
    if name is not None:
        query = query.where(prompt_versions.c.name == name)
    query = query.order_by(prompt_versions.c.created_at.desc(), prompt_versions.c.id).limit(1000)
    return [read_row(PromptRow, row) for row in connection.execute(query)]


def counts(connection: sa.Connection, tenant: TenantId, newest: int = NEWEST) -> dict[str, int]:
    """How many turns name a version in their journal, by its id, among the tenant's newest."""
    recent = {row.id: row.conversation for row in connection.execute(sa.select(_recent(tenant, newest)))}
    places = sorted(set(recent.values()))
    named: set[tuple[str, str]] = set()
    joined = messages.c.meta["prompt"].as_string()
    # A few conversations at a time, by name: a join over a large database may begin at the wrong end.
    for start in range(0, len(places), _AT_ONCE):
        query = sa.select(messages.c.turn, joined.label("joined")).where(
            messages.c.tenant == tenant,
            messages.c.conversation.in_(places[start : start + _AT_ONCE]),
            messages.c.role == "internal",
            joined.is_not(None),
        )
        for row in connection.execute(query):
            named |= {(row.turn, id_) for id_ in row.joined.split("+") if id_ and row.turn in recent}
    return dict(Counter(id_ for _, id_ in named))


def uses(connection: sa.Connection, tenant: TenantId, id_: str, limit: int = 50) -> Sequence[Use]:
    """The newest turns that name this version in their journal, among the tenant's last ten thousand."""
    recent = _recent(tenant, NEWEST)
    named = (
        sa.exists()
        .where(
            messages.c.tenant == tenant,
            messages.c.conversation == recent.c.conversation,
            messages.c.turn == recent.c.id,
            messages.c.role == "internal",
            # A call may be made of several prompts, whose ids are joined.
            ("+" + messages.c.meta["prompt"].as_string() + "+").contains(f"+{id_}+", autoescape=True),
        )
        .correlate(recent)
    )
    query = sa.select(recent).where(named).order_by(recent.c.started_at.desc()).limit(limit)
    return [Use(row.id, row.conversation, row.outcome, moment(row.started_at)) for row in connection.execute(query)]


def _recent(tenant: TenantId, newest: int) -> sa.Subquery:
    return (
        sa.select(turns.c.id, turns.c.conversation, turns.c.outcome, turns.c.started_at)
        .where(turns.c.tenant == tenant)
        .order_by(turns.c.started_at.desc())
        .limit(newest)
        .subquery()
    )
