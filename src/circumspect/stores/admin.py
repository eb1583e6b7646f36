"""What people ask of the store: plans, tenants, usage, escalations, conversations and what was said in them.

Plain functions on a connection, off the path of a turn. What a plan says belongs to the plan: a tenant refers to it by
name, and changing a plan changes every tenant that has it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from circumspect.stores import codec
from circumspect.stores.codec import check_identifiers, clean, dumps
from circumspect.stores.statements import Rows, Sql, SqlValues, run, sql
from circumspect.stores.tables import (
    VISIBLE,
    conversations,
    intents,
    plans,
    tenants,
    tool_executions,
    tools,
    turns,
    usage,
)
from circumspect.values import (
    REHEARSED,
    ConversationId,
    Execution,
    Intent,
    Message,
    Mode,
    Plan,
    Tenant,
    TenantId,
    ToolSpec,
    TurnId,
    TurnResult,
)


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What a tenant used of one model in one mode in one month. `billed` is the cost times the plan's multiplier,
    and the plan's price for each message that was not a failure of ours."""

    tenant: TenantId
    period: str
    mode: Mode
    model: str
    messages: int
    critiques: int
    context_fetches: int
    escalations: int
    model_calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    billed: float


# --- plans and tenants ----------------------------------------------------------------------------------------------

_PUT_PLAN = sql("""
    INSERT INTO plans (name, mode, multiplier, quota, message_price)
    VALUES (:name, :mode, :multiplier, :quota, :message_price)
    ON CONFLICT (name) DO UPDATE SET
        mode = excluded.mode, multiplier = excluded.multiplier,
        quota = excluded.quota, message_price = excluded.message_price
""")

_ADD_PLAN = sql("""
    INSERT INTO plans (name, mode, multiplier, quota, message_price)
    VALUES (:name, :mode, :multiplier, :quota, :message_price) ON CONFLICT (name) DO NOTHING
""")

_PUT_TENANT = sql("""
    INSERT INTO tenants (id, plan, name, language, config) VALUES (:id, :plan, :name, :language, :config)
    ON CONFLICT (id) DO UPDATE SET
        plan = excluded.plan, name = excluded.name, language = excluded.language, config = excluded.config
""")

_PUT_TOOL = sql("""
    INSERT INTO tools (tenant, name, version, spec) VALUES (:tenant, :name, :version, :spec)
    ON CONFLICT (tenant, name) DO UPDATE SET version = excluded.version, spec = excluded.spec
""")

TENANTS = sa.select(tenants, plans.c.mode, plans.c.multiplier, plans.c.quota, plans.c.message_price).join(plans)
"""Rows that `codec.tenant` reads."""


def put_plan(connection: sa.Connection, plan: Plan) -> None:
    check_identifiers(plan.name)
    run(connection, _PUT_PLAN, asdict(plan))


def get_plan(connection: sa.Connection, name: str) -> Plan | None:
    row: Any = connection.execute(sa.select(plans).where(plans.c.name == name)).one_or_none()
    return None if row is None else Plan(*row)


def get_plans(connection: sa.Connection) -> Sequence[Plan]:
    rows: Sequence[Any] = connection.execute(sa.select(plans).order_by(plans.c.name)).all()
    return [Plan(*row) for row in rows]


def register(connection: sa.Connection, tenant: Tenant) -> None:
    """As an agent in Python knows it; a tenant that a server serves stays as it was applied."""
    served = sa.select(tenants.c.id).where(tenants.c.id == tenant.id, tenants.c.settings.is_not(None))
    if connection.execute(served).one_or_none() is None:
        put_tenant(connection, tenant)


def put_tenant(connection: sa.Connection, tenant: Tenant) -> None:
    check_identifiers(tenant.id, tenant.plan.name)
    run(connection, _ADD_PLAN, asdict(tenant.plan))
    run(
        connection,
        _PUT_TENANT,
        {
            "id": tenant.id,
            "plan": tenant.plan.name,
            "name": clean(tenant.business.name),
            "language": tenant.language,
            "config": dumps(codec.tenant_document(tenant)),
        },
    )


def put_tools(connection: sa.Connection, tenant: TenantId, specs: Mapping[str, ToolSpec]) -> None:
    check_identifiers(tenant)
    for name, spec in specs.items():
        document = dumps(codec.spec_document(spec))
        run(connection, _PUT_TOOL, {"tenant": tenant, "name": name, "version": spec.version, "spec": document})


def get_tools(connection: sa.Connection, tenant: TenantId) -> Mapping[str, ToolSpec]:
    rows = connection.execute(sa.select(tools).where(tools.c.tenant == tenant).order_by(tools.c.name))
    return {row.name: codec.spec(row.spec) for row in rows}


def get_tenant(connection: sa.Connection, tenant: TenantId) -> Tenant | None:
    row = connection.execute(TENANTS.where(tenants.c.id == tenant)).one_or_none()
    return None if row is None else codec.tenant(row)


def get_tenants(connection: sa.Connection) -> Sequence[Tenant]:
    return [codec.tenant(row) for row in connection.execute(TENANTS.order_by(tenants.c.id))]


# --- what happened --------------------------------------------------------------------------------------------------


def get_usage(connection: sa.Connection, tenant: TenantId, period: str | None) -> Sequence[UsageRow]:
    query = sa.select(usage).where(usage.c.tenant == tenant).order_by(usage.c.period, usage.c.mode, usage.c.model)
    if period is not None:
        query = query.where(usage.c.period == period)
    return [UsageRow(*row) for row in connection.execute(query)]


def result_of(connection: sa.Connection, turn: TurnId, tenant: TenantId | None) -> TurnResult | None:
    query = sa.select(turns.c.result).where(turns.c.id == turn, turns.c.status == "done")
    if tenant is not None:
        query = query.where(turns.c.tenant == tenant)
    row: Any = connection.execute(query).one_or_none()
    return None if row is None else codec.result(row.result)


def _read_messages(condition: str) -> Sql:
    # Only our own words are put into the statement, never a caller's data.
    return sql(f"""
        SELECT {codec.MESSAGE_COLUMNS} FROM messages
        WHERE tenant = :tenant AND conversation = :conversation AND seq > :after {condition}
        ORDER BY seq LIMIT :limit
    """)  # noqa: S608


_MESSAGES, _VISIBLE_MESSAGES = _read_messages(""), _read_messages(f"AND {VISIBLE}")


def get_messages(
    connection: sa.Connection,
    tenant: TenantId,
    conversation: ConversationId,
    internal: bool,
    after: int,
    limit: int,
) -> Sequence[Message]:
    where: SqlValues = {"tenant": tenant, "conversation": conversation, "after": after, "limit": limit}
    rows = run(connection, _MESSAGES if internal else _VISIBLE_MESSAGES, where).fetchall()
    return [codec.message_of(row) for row in rows]


_EXECUTIONS = Rows(tool_executions, "WHERE tenant = :tenant AND conversation = :conversation ORDER BY started_at, id")


def get_executions(connection: sa.Connection, tenant: TenantId, conversation: ConversationId) -> Sequence[Execution]:
    where: SqlValues = {"tenant": tenant, "conversation": conversation}
    return [codec.execution(row) for row in _EXECUTIONS.read(connection, where)]


def get_past(
    connection: sa.Connection, tenant: TenantId, conversation: ConversationId, after: int, limit: int
) -> tuple[Sequence[Message], Sequence[Execution]]:
    said = get_messages(connection, tenant, conversation, False, after, limit)
    return said, get_executions(connection, tenant, conversation)


def get_recent_executions(
    connection: sa.Connection, tenant: TenantId, tools: Collection[str], since: float, person: str | None = None
) -> Sequence[Execution]:
    """Everybody's, or those of a person's conversations; "" is everybody who did not say who they are."""
    if not tools:
        return []
    named = {f"tool_{number}": tool for number, tool in enumerate(sorted(tools))}
    whose = "" if person is None else _OF_PERSON if person else _OF_NOBODY
    values: SqlValues = {"tenant": tenant, "since": since, "rehearsed": REHEARSED, "person": person, **named}
    return [codec.execution(row) for row in _recent_executions(len(named), whose).read(connection, values)]


_OF_PERSON, _OF_NOBODY = (
    f"""
    AND EXISTS (SELECT 1 FROM conversations
        WHERE conversations.tenant = :tenant AND conversations.id = tool_executions.conversation AND {whose})
    """  # noqa: S608
    for whose in ("conversations.person = :person", "conversations.person IS NULL")
)


@lru_cache(maxsize=64)
def _recent_executions(tools: int, whose: str) -> Rows:
    """For so many tools. What was only rehearsed is no reason to hold a call: the same test as `rehearsals.is_real`."""
    named = ", ".join(f":tool_{number}" for number in range(tools))
    return Rows(
        tool_executions,
        f"""
        WHERE tenant = :tenant AND tool IN ({named}) AND started_at >= :since {whose}
          AND substr(conversation, 1, {len(REHEARSED)}) <> :rehearsed
        ORDER BY started_at, id
        """,
    )


def is_of_person(tenant: TenantId, person: str) -> sa.ColumnElement[bool]:
    """The call was made in a conversation of this person; "" is everybody who did not say who they are."""
    whose = conversations.c.person == person if person else conversations.c.person.is_(None)
    # Looked up call by call: those of everybody who did not say are too many to list.
    return sa.exists().where(
        conversations.c.tenant == tenant, conversations.c.id == tool_executions.c.conversation, whose
    )


def get_intents(connection: sa.Connection, tenant: TenantId, conversation: ConversationId) -> Sequence[Intent]:
    query = (
        sa.select(intents)
        .where(intents.c.tenant == tenant, intents.c.conversation == conversation)
        .order_by(intents.c.created_at, intents.c.id)
    )
    return [codec.intent(row) for row in connection.execute(query)]
