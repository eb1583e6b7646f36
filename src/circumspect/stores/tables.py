"""The tables, as SQLAlchemy Core sees them. `migrations/` builds the same thing; a test compares the two.

Every row belongs to a tenant, and every query names it. Times are seconds since the epoch, because both databases
compare doubles alike. The surprising choice: a conversation's row is also its header. It holds the lease, the turn in
progress, the newest intent and whether there are calls nobody has heard of, so that a plain turn reads one row where
it would otherwise ask four tables that have nothing for it.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# On PostgreSQL `json`, not `jsonb`: jsonb refuses \u0000 and reorders keys, and what was said comes back as it was.
JsonType = sa.JSON(none_as_null=True)


def _not_null(name: str, kind: sa.types.TypeEngine[Any] | type[sa.types.TypeEngine[Any]]) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def _conversation() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant", "conversation"], ["conversations.tenant", "conversations.id"], ondelete="CASCADE"
    )


def _partial(name: str, *columns: str, where: str, unique: bool = False) -> sa.Index:
    """The condition is text, and queries repeat it word for word: SQLite only then knows that the index fits."""
    condition = sa.text(where)
    return sa.Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


VISIBLE = "role <> 'internal'"
RUNNING = "state = 'started'"
UNREPORTED = "NOT reported"
HAPPENED = "(reason_code = 'OUTCOME_TOLD' AND state = 'succeeded')"
"""A person said so; it stays in sight, so that it is not done again."""
LOOKED_AT = f"({UNREPORTED} OR {HAPPENED})"
"""Calls that a turn has to know of."""
WAITING = "state = 'pending'"
DEAD = "state = 'dead'"
DELIVERED = "state = 'delivered'"
APPROVALS = "kind = 'approval'"
KEYED = "client_key IS NOT NULL"
REASONED = "reason_code IS NOT NULL"
KNOWN = "person IS NOT NULL"
THREADED = "thread IS NOT NULL"
UNFINISHED = "status <> 'done'"
UNRESOLVED = "state <> 'resolved'"

plans = sa.Table(
    "plans",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    _not_null("mode", sa.Text),
    _not_null("multiplier", sa.Double),
    sa.Column("quota", sa.BigInteger),
    sa.Column("message_price", sa.Double, nullable=False, server_default="0"),
)

tenants = sa.Table(
    "tenants",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("plan", sa.Text, sa.ForeignKey("plans.name"), nullable=False),
    _not_null("name", sa.Text),
    _not_null("language", sa.Text),
    _not_null("config", JsonType),
    sa.Column("settings", JsonType),
    sa.Column("revision", sa.Integer, nullable=False, server_default="0"),
)
"""`config` is what a turn needs to know; `settings` is what a server does for the tenant (tool definitions, webhooks,
limits, retention). `revision` grows with every change, so that a worker can tell whether what it has is current."""

policies = sa.Table(
    "policies",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    _not_null("hash", sa.Text),
    _not_null("text", sa.Text),
    _not_null("note", sa.Text),
    _not_null("created_by", sa.Text),
    _not_null("created_at", sa.Double),
    sa.Index("ix_policies_tenant_hash", "tenant", "hash"),
)
"""Every policy a tenant ever had, word for word. The newest version is in force; going back adds one more."""

secrets = sa.Table(
    "secrets",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    _not_null("sealed", sa.Text),
    _not_null("updated_at", sa.Double),
)
"""Encrypted before they come here; the store never sees what is inside."""

api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _not_null("tenant", sa.Text),
    _not_null("name", sa.Text),
    _not_null("hash", sa.Text),
    _not_null("scopes", JsonType),
    _not_null("created_at", sa.Double),
    sa.Column("expires_at", sa.Double),
    sa.Column("revoked_at", sa.Double),
    sa.Column("used_at", sa.Double),
    sa.UniqueConstraint("hash"),
    sa.Index("ix_api_keys_tenant", "tenant"),
)

operators = sa.Table(
    "operators",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _not_null("name", sa.Text),
    _not_null("password", sa.Text),
    _not_null("role", sa.Text),
    sa.Column("tenants", JsonType),
    _not_null("created_at", sa.Double),
    sa.Column("disabled_at", sa.Double),
    sa.Column("identity", sa.Text),
    sa.Column("profile", JsonType),
    sa.UniqueConstraint("name"),
    sa.UniqueConstraint("identity"),
)
"""`tenants` lists whom an operator may see; null is everyone. `identity` is who they are at a provider where they sign
in; without a password (an empty one) that is the only way. `profile` is what such a provider said of them."""

sign_in_attempts = sa.Table(
    "sign_in_attempts",
    metadata,
    sa.Column("operator", sa.Text, sa.ForeignKey("operators.id", ondelete="CASCADE"), nullable=False),
    _not_null("bucket", sa.Text),
    _not_null("failures", sa.Integer),
    _not_null("until", sa.Double),
    _not_null("tried_at", sa.Double),
    sa.PrimaryKeyConstraint("operator", "bucket"),
    sa.Index("ix_sign_in_attempts_tried_at", "tried_at"),
)

operator_sessions = sa.Table(
    "operator_sessions",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    _not_null("id", sa.Text),
    sa.Column("operator", sa.Text, sa.ForeignKey("operators.id", ondelete="CASCADE"), nullable=False),
    _not_null("method", sa.Text),
    _not_null("created_at", sa.Double),
    _not_null("authenticated_at", sa.Double),
    _not_null("seen_at", sa.Double),
    _not_null("expires_at", sa.Double),
    _not_null("address", sa.Text),
    _not_null("client", sa.Text),
    _not_null("device", sa.Text),
    sa.UniqueConstraint("id"),
    sa.Index("ix_operator_sessions_expires_at", "expires_at"),
    sa.Index("ix_operator_sessions_operator", "operator"),
)

tools = sa.Table(
    "tools",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    _not_null("version", sa.Text),
    _not_null("spec", JsonType),
)
"""What each tenant's tools were last known to be, so that stored turns can be replayed without the tools' code."""

seen_tools = sa.Table(
    "seen_tools",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    _not_null("version", sa.Text),
    _not_null("spec", JsonType),
    _not_null("seen_at", sa.Double),
)
"""Tools that clients brought along and nobody has reviewed yet: the most recent ones of each tenant."""

conversations = sa.Table(
    "conversations",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    _not_null("mode", sa.Text),
    _not_null("drawn", sa.Boolean),
    sa.Column("language", sa.Text),
    _not_null("next_seq", sa.Integer),
    sa.Column("lease_token", sa.Text),
    _not_null("lease_until", sa.Double),
    sa.Column("turn", sa.Text),
    sa.Column("intent", sa.Text),
    _not_null("calls", sa.Boolean),
    _not_null("created_at", sa.Double),
    _not_null("updated_at", sa.Double),
    sa.Column("person", sa.Text),
    sa.Column("paused_by", sa.Text),
    sa.Column("thread", sa.Text),
    sa.Column("wishes", JsonType),
    sa.Index("ix_conversations_id", "id"),
    sa.Index("ix_conversations_language_tenant", "language", "tenant"),
    sa.Index("ix_conversations_mode_tenant", "mode", "tenant"),
    sa.Index("ix_conversations_tenant_updated_at_id", "tenant", "updated_at", "id"),
    sa.Index("ix_conversations_updated_at_id", "updated_at", "id"),
    _partial("ix_conversations_person", "person", "tenant", "updated_at", "id", where=KNOWN),
    _partial("ix_conversations_thread", "tenant", "thread", where=THREADED),
)
"""`drawn`: the mode is the draw of a plan's share, and kept for life; without it, it follows the plan.
`person` is the tenant's own id of whoever speaks; `paused_by` the operator who took over; `thread` a digest of the
talk so far, by which a client that sends everything each time is recognised; `wishes` what the user wanted when the
last turn ended, so that the next one need not read all that was said before it."""

turns = sa.Table(
    "turns",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _not_null("tenant", sa.Text),
    _not_null("conversation", sa.Text),
    sa.Column("client_key", sa.Text),
    sa.Column("account", sa.Text),
    _not_null("status", sa.Text),
    sa.Column("outcome", sa.Text),
    _not_null("mode", sa.Text),
    sa.Column("language", sa.Text),
    sa.Column("result", JsonType),
    _not_null("first_seq", sa.Integer),
    _not_null("started_at", sa.Double),
    sa.Column("finished_at", sa.Double),
    _conversation(),
    _partial("uq_turns_client_key", "tenant", "client_key", "conversation", where=KEYED, unique=True),
    sa.Index("ix_turns_tenant_conversation", "tenant", "conversation"),
    sa.Index("ix_turns_outcome_tenant_started_at", "outcome", "tenant", "started_at"),
    sa.Index("ix_turns_started_at", "started_at"),
    sa.Index("ix_turns_tenant_started_at", "tenant", "started_at"),
    _partial("ix_turns_unfinished", "tenant", "started_at", where=UNFINISHED),
)

messages = sa.Table(
    "messages",
    metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    _not_null("tenant", sa.Text),
    _not_null("conversation", sa.Text),
    _not_null("seq", sa.Integer),
    _not_null("turn", sa.Text),
    _not_null("role", sa.Text),
    _not_null("kind", sa.Text),
    _not_null("content", sa.Text),
    sa.Column("reason_code", sa.Text),
    sa.Column("meta", JsonType),
    _not_null("at", sa.Double),
    _conversation(),
    sa.UniqueConstraint("tenant", "conversation", "seq"),
    _partial("ix_messages_visible", "tenant", "conversation", "seq", where=VISIBLE),
)
"""`id` is the message's number in the index of words; within a conversation it is `seq`."""

intents = sa.Table(
    "intents",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _not_null("tenant", sa.Text),
    _not_null("conversation", sa.Text),
    _not_null("kind", sa.Text),
    _not_null("state", sa.Text),
    _not_null("call", JsonType),
    _not_null("hash", sa.Text),
    _not_null("tool_version", sa.Text),
    _not_null("policy_version", sa.Text),
    _not_null("principal", sa.Text),
    _not_null("nonce", sa.Text),
    _not_null("question", sa.Text),
    _not_null("question_hash", sa.Text),
    _not_null("question_seq", sa.Integer),
    _not_null("created_at", sa.Double),
    _not_null("expires_at", sa.Double),
    sa.Column("settled_at", sa.Double),
    sa.Column("settled_by", sa.Text),
    _not_null("proposed_by", JsonType),
    _not_null("edited_by", JsonType),
    _not_null("keys_approve", sa.Boolean),
    _not_null("facts", JsonType),
    _conversation(),
    _partial("ix_intents_approvals", "created_at", "id", where=APPROVALS),
    _partial("ix_intents_approvals_tenant", "tenant", "created_at", "id", where=APPROVALS),
    _partial("ix_intents_waiting", "kind", "expires_at", "tenant", where=WAITING),
    sa.Index("ix_intents_tenant_conversation_created_at", "tenant", "conversation", "created_at"),
    sa.Index("ix_intents_tenant_hash", "tenant", "hash"),
)

tool_executions = sa.Table(
    "tool_executions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _not_null("tenant", sa.Text),
    _not_null("conversation", sa.Text),
    _not_null("turn", sa.Text),
    _not_null("tool", sa.Text),
    _not_null("arguments", JsonType),
    _not_null("call_id", sa.Text),
    _not_null("effect", sa.Text),
    _not_null("recovery", sa.Text),
    _not_null("state", sa.Text),
    _not_null("token", sa.Text),
    _not_null("lease_until", sa.Double),
    _not_null("started_at", sa.Double),
    sa.Column("finished_at", sa.Double),
    sa.Column("intent", sa.Text, sa.ForeignKey("intents.id")),
    sa.Column("result", JsonType),
    _not_null("error", sa.Text),
    sa.Column("reason_code", sa.Text),
    _not_null("reported", sa.Boolean),
    _not_null("runner", sa.Text),
    _conversation(),
    sa.UniqueConstraint("intent"),
    sa.Index("ix_tool_executions_tenant_conversation_started_at", "tenant", "conversation", "started_at"),
    sa.Index("ix_tool_executions_tool_tenant_started_at", "tool", "tenant", "started_at"),
    _partial("ix_tool_executions_running", "lease_until", where=RUNNING),
    _partial("ix_tool_executions_unreported", "tenant", "conversation", where=UNREPORTED),
    _partial("ix_tool_executions_reason_code", "reason_code", "tenant", where=REASONED),
)

escalations = sa.Table(
    "escalations",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _not_null("tenant", sa.Text),
    _not_null("conversation", sa.Text),
    _not_null("turn", sa.Text),
    sa.Column("execution", sa.Text),
    _not_null("reason_code", sa.Text),
    _not_null("summary", sa.Text),
    _not_null("state", sa.Text),
    _not_null("created_at", sa.Double),
    sa.Column("suggestion", sa.Text),
    sa.Column("taken_by", sa.Text),
    sa.Column("taken_at", sa.Double),
    sa.Column("resolved_by", sa.Text),
    sa.Column("resolved_at", sa.Double),
    _conversation(),
    sa.Index("ix_escalations_tenant_conversation_created_at", "tenant", "conversation", "created_at"),
    sa.Index("ix_escalations_created_at_id", "created_at", "id"),
    sa.Index("ix_escalations_state_created_at_id", "state", "created_at", "id"),
    sa.Index("ix_escalations_tenant_created_at_id", "tenant", "created_at", "id"),
    sa.Index("ix_escalations_tenant_state_created_at_id", "tenant", "state", "created_at", "id"),
    _partial("ix_escalations_unresolved", "created_at", "id", where=UNRESOLVED),
    _partial("ix_escalations_unresolved_tenant", "tenant", "created_at", "id", where=UNRESOLVED),
)

outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _not_null("topic", sa.Text),
    _not_null("payload", JsonType),
    _not_null("state", sa.Text),
    _not_null("attempts", sa.Integer),
    sa.Column("token", sa.Text),
    _not_null("next_at", sa.Double),
    _not_null("created_at", sa.Double),
    sa.Column("tenant", sa.Text),
    sa.Column("conversation", sa.Text),
    sa.Index("ix_outbox_created_at_id", "created_at", "id"),
    sa.Index("ix_outbox_tenant_conversation", "tenant", "conversation"),
    sa.Index("ix_outbox_tenant_created_at_id", "tenant", "created_at", "id"),
    _partial("ix_outbox_dead", "created_at", where=DEAD),
    _partial("ix_outbox_delivered", "created_at", where=DELIVERED),
    _partial("ix_outbox_waiting", "next_at", where=WAITING),
)
"""What has to leave. `conversation` is the one that it quotes, with which it is forgotten."""

usage = sa.Table(
    "usage",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("period", sa.Text, primary_key=True),
    sa.Column("mode", sa.Text, primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),
    _not_null("messages", sa.BigInteger),
    _not_null("critiques", sa.BigInteger),
    _not_null("context_fetches", sa.BigInteger),
    _not_null("escalations", sa.BigInteger),
    _not_null("model_calls", sa.BigInteger),
    _not_null("input_tokens", sa.BigInteger),
    _not_null("output_tokens", sa.BigInteger),
    _not_null("cost", sa.Double),
    _not_null("billed", sa.Double),
)
