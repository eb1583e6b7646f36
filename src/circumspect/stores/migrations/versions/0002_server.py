"""What a server needs: who may come in, what it serves, who did what, and people in conversations."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def _partial(name: str, table: str, columns: list[str], where: str, *, unique: bool = False) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def _client_keys(*columns: str) -> None:
    """With the key before the conversation, a client's key is found without knowing its conversation."""
    op.drop_index("uq_turns_client_key", table_name="turns")
    _partial("uq_turns_client_key", "turns", list(columns), "client_key IS NOT NULL", unique=True)


def upgrade() -> None:
    _client_keys("tenant", "client_key", "conversation")
    op.create_index("ix_turns_tenant_started_at", "turns", ["tenant", "started_at"], unique=False)
    op.add_column("tenants", sa.Column("settings", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("tenants", sa.Column("revision", sa.Integer(), server_default="0", nullable=False))
    for column in ("person", "paused_by", "thread"):
        op.add_column("conversations", sa.Column(column, sa.Text(), nullable=True))
    _partial("ix_conversations_person", "conversations", ["tenant", "person"], "person IS NOT NULL")
    _partial("ix_conversations_thread", "conversations", ["tenant", "thread"], "thread IS NOT NULL")
    op.add_column("intents", sa.Column("settled_by", sa.Text(), nullable=True))
    _partial("ix_intents_waiting", "intents", ["tenant", "kind", "created_at"], "state = 'pending'")
    op.add_column("escalations", sa.Column("suggestion", sa.Text(), nullable=True))
    for who in ("taken", "resolved"):
        op.add_column("escalations", sa.Column(f"{who}_by", sa.Text(), nullable=True))
        op.add_column("escalations", sa.Column(f"{who}_at", sa.Double(), nullable=True))
    op.create_table(
        "policies",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "version", name=op.f("pk_policies")),
    )
    op.create_index("ix_policies_tenant_hash", "policies", ["tenant", "hash"], unique=False)
    op.create_table(
        "secrets",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "name", name=op.f("pk_secrets")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("scopes", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("revoked_at", sa.Double(), nullable=True),
        sa.Column("used_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_api_keys_hash")),
    )
    op.create_index("ix_api_keys_tenant", "api_keys", ["tenant"], unique=False)
    op.create_table(
        "operators",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("tenants", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("disabled_at", sa.Double(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("locked_until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operators")),
        sa.UniqueConstraint("name", name=op.f("uq_operators_name")),
    )
    op.create_table(
        "operator_sessions",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("operator", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["operator"], ["operators.id"], name=op.f("fk_operator_sessions_operator_operators"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_operator_sessions")),
    )
    op.create_index("ix_operator_sessions_operator", "operator_sessions", ["operator"], unique=False)
    op.create_table(
        "operator_log",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("operator", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=True),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", sa.JSON(none_as_null=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operator_log")),
    )
    op.create_index("ix_operator_log_at", "operator_log", ["at"], unique=False)
    op.create_index("ix_operator_log_tenant_at", "operator_log", ["tenant", "at"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_turns_tenant_started_at", table_name="turns")
    _client_keys("tenant", "conversation", "client_key")
    for table in ("operator_log", "operator_sessions", "operators", "api_keys", "secrets", "policies"):
        op.drop_table(table)
    for name, table in (("person", "conversations"), ("thread", "conversations"), ("waiting", "intents")):
        op.drop_index(f"ix_{table}_{name}", table_name=table)
    for table, columns in (
        ("escalations", ("suggestion", "taken_by", "taken_at", "resolved_by", "resolved_at")),
        ("intents", ("settled_by",)),
        ("conversations", ("person", "paused_by", "thread")),
        ("tenants", ("settings", "revision")),
    ):
        with op.batch_alter_table(table) as batch:
            for column in columns:
                batch.drop_column(column)
