"""The lab: experiments, what their arms did, shadows, versions of prompts, and what people said about decisions."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def _conversation(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant", "conversation"],
        ["conversations.tenant", "conversations.id"],
        name=op.f(f"fk_{table}_tenant_conversation_conversations"),
        ondelete="CASCADE",
    )


def upgrade() -> None:
    op.create_table(
        "experiments",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.Column("arms", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("shares", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("plan", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("winner", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("dropped", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("tenant", "id", name=op.f("pk_experiments")),
    )
    op.create_index("ix_experiments_tenant_created_at", "experiments", ["tenant", "created_at"])
    live = sa.text("live")
    op.create_index(
        "uq_experiments_live",
        "experiments",
        ["tenant", "kind", "unit"],
        unique=True,
        sqlite_where=live,
        postgresql_where=live,
    )
    op.create_table(
        "exposures",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("experiment", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=True),
        sa.Column("case_id", sa.Text(), nullable=True),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("period", sa.Integer(), nullable=False),
        sa.Column("fell_back", sa.Boolean(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("denied", sa.Boolean(), nullable=False),
        sa.Column("corrected", sa.Boolean(), nullable=False),
        sa.Column("cost_usd", sa.Double(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("prompts", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("at", sa.Double(), nullable=False),
        _conversation("exposures"),
        sa.PrimaryKeyConstraint("tenant", "experiment", "turn", name=op.f("pk_exposures")),
    )
    op.create_index("ix_exposures_tenant_experiment_arm", "exposures", ["tenant", "experiment", "arm"])
    op.create_index("ix_exposures_tenant_conversation", "exposures", ["tenant", "conversation"])
    op.create_index("ix_exposures_tenant_case_id", "exposures", ["tenant", "case_id"])
    op.create_table(
        "shadows",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("experiment", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("same", sa.Boolean(), nullable=False),
        sa.Column("differences", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("live", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("shadow", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("cost_usd", sa.Double(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        _conversation("shadows"),
        sa.PrimaryKeyConstraint("tenant", "experiment", "turn", name=op.f("pk_shadows")),
    )
    op.create_index("ix_shadows_tenant_experiment_at", "shadows", ["tenant", "experiment", "at"])
    op.create_index("ix_shadows_tenant_conversation", "shadows", ["tenant", "conversation"])
    op.create_table(
        "prompt_versions",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("parent", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id", name=op.f("pk_prompt_versions")),
    )
    op.create_index("ix_prompt_versions_tenant_name_created_at", "prompt_versions", ["tenant", "name", "created_at"])
    op.create_table(
        "labels",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=True),
        sa.Column("decision", sa.Text(), nullable=True),
        sa.Column("confidence", sa.Double(), nullable=True),
        sa.Column("value", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("split", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id", name=op.f("pk_labels")),
    )
    op.create_index("ix_labels_tenant_conversation", "labels", ["tenant", "conversation"])
    op.create_index("ix_labels_tenant_kind_at", "labels", ["tenant", "kind", "at"])


def downgrade() -> None:
    op.drop_table("labels")
    op.drop_table("prompt_versions")
    op.drop_table("shadows")
    op.drop_table("exposures")
    op.drop_table("experiments")
