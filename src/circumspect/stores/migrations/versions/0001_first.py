"""The first schema, with the plans that are shipped."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "conversations",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("next_seq", sa.Integer(), nullable=False),
        sa.Column("lease_token", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.Double(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=True),
        sa.Column("intent", sa.Text(), nullable=True),
        sa.Column("calls", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id", name=op.f("pk_conversations")),
    )
    op.create_index("ix_conversations_tenant_updated_at", "conversations", ["tenant", "updated_at"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("token", sa.Text(), nullable=True),
        sa.Column("next_at", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
    )
    op.create_index(
        "ix_outbox_waiting",
        "outbox",
        ["next_at"],
        unique=False,
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_table(
        "plans",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("multiplier", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_plans")),
    )
    op.create_table(
        "usage",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("messages", sa.BigInteger(), nullable=False),
        sa.Column("critiques", sa.BigInteger(), nullable=False),
        sa.Column("context_fetches", sa.BigInteger(), nullable=False),
        sa.Column("escalations", sa.BigInteger(), nullable=False),
        sa.Column("model_calls", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.Double(), nullable=False),
        sa.Column("billed", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "period", "mode", "model", name=op.f("pk_usage")),
    )
    op.create_table(
        "escalations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("execution", sa.Text(), nullable=True),
        sa.Column("reason_code", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "conversation"],
            ["conversations.tenant", "conversations.id"],
            name=op.f("fk_escalations_tenant_conversation_conversations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_escalations")),
    )
    op.create_index(
        "ix_escalations_tenant_state_created_at", "escalations", ["tenant", "state", "created_at"], unique=False
    )
    op.create_table(
        "intents",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("call", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("tool_version", sa.Text(), nullable=False),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("principal", sa.Text(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("question_hash", sa.Text(), nullable=False),
        sa.Column("question_seq", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("settled_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant", "conversation"],
            ["conversations.tenant", "conversations.id"],
            name=op.f("fk_intents_tenant_conversation_conversations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intents")),
    )
    op.create_index(
        "ix_intents_tenant_conversation_created_at", "intents", ["tenant", "conversation", "created_at"], unique=False
    )
    op.create_table(
        "messages",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("reason_code", sa.Text(), nullable=True),
        sa.Column("meta", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "conversation"],
            ["conversations.tenant", "conversations.id"],
            name=op.f("fk_messages_tenant_conversation_conversations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "conversation", "seq", name=op.f("pk_messages")),
    )
    op.create_index(
        "ix_messages_reason_code",
        "messages",
        ["reason_code", "tenant", "at"],
        unique=False,
        sqlite_where=sa.text("reason_code IS NOT NULL"),
        postgresql_where=sa.text("reason_code IS NOT NULL"),
    )
    op.create_index(
        "ix_messages_visible",
        "messages",
        ["tenant", "conversation", "seq"],
        unique=False,
        sqlite_where=sa.text("role <> 'internal'"),
        postgresql_where=sa.text("role <> 'internal'"),
    )
    op.create_table(
        "tenants",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("config", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["plan"], ["plans.name"], name=op.f("fk_tenants_plan_plans")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tenants")),
    )
    op.create_table(
        "tools",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("spec", sa.JSON(none_as_null=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "name", name=op.f("pk_tools")),
    )
    op.create_table(
        "turns",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("client_key", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("first_seq", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant", "conversation"],
            ["conversations.tenant", "conversations.id"],
            name=op.f("fk_turns_tenant_conversation_conversations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turns")),
    )
    op.create_index(
        "uq_turns_client_key",
        "turns",
        ["tenant", "conversation", "client_key"],
        unique=True,
        sqlite_where=sa.text("client_key IS NOT NULL"),
        postgresql_where=sa.text("client_key IS NOT NULL"),
    )
    op.create_table(
        "tool_executions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("arguments", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("effect", sa.Text(), nullable=False),
        sa.Column("recovery", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.Column("intent", sa.Text(), nullable=True),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("reason_code", sa.Text(), nullable=True),
        sa.Column("reported", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["intent"], ["intents.id"], name=op.f("fk_tool_executions_intent_intents")),
        sa.ForeignKeyConstraint(
            ["tenant", "conversation"],
            ["conversations.tenant", "conversations.id"],
            name=op.f("fk_tool_executions_tenant_conversation_conversations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tool_executions")),
        sa.UniqueConstraint("intent", name=op.f("uq_tool_executions_intent")),
    )
    op.create_index(
        "ix_tool_executions_reason_code",
        "tool_executions",
        ["reason_code", "tenant"],
        unique=False,
        sqlite_where=sa.text("reason_code IS NOT NULL"),
        postgresql_where=sa.text("reason_code IS NOT NULL"),
    )
    op.create_index(
        "ix_tool_executions_running",
        "tool_executions",
        ["lease_until"],
        unique=False,
        sqlite_where=sa.text("state = 'started'"),
        postgresql_where=sa.text("state = 'started'"),
    )
    op.create_index(
        "ix_tool_executions_tenant_conversation_started_at",
        "tool_executions",
        ["tenant", "conversation", "started_at"],
        unique=False,
    )
    op.create_index(
        "ix_tool_executions_tenant_tool_started_at",
        "tool_executions",
        ["tenant", "tool", "started_at"],
        unique=False,
    )
    op.create_index(
        "ix_tool_executions_unreported",
        "tool_executions",
        ["tenant", "conversation"],
        unique=False,
        sqlite_where=sa.text("NOT reported"),
        postgresql_where=sa.text("NOT reported"),
    )
    plans = sa.table("plans", sa.column("name"), sa.column("mode"), sa.column("multiplier"))
    op.bulk_insert(
        plans,
        [
            {"name": "free", "mode": "standard", "multiplier": 1.0},
            {"name": "pro", "mode": "adaptive", "multiplier": 1.0},
            {"name": "enterprise", "mode": "adaptive", "multiplier": 1.0},
        ],
    )


def downgrade() -> None:
    for table in (
        "tool_executions",
        "turns",
        "tools",
        "tenants",
        "messages",
        "intents",
        "escalations",
        "usage",
        "plans",
        "outbox",
        "conversations",
    ):
        op.drop_table(table)
