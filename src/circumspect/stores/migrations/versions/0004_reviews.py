"""Reviews: evaluations, their results, and the outlines of documents that a model searched."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "review_evaluations",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("client_key", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("controller", sa.Text(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("request", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("lease_token", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.Double(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("tenant", "id", name=op.f("pk_review_evaluations")),
    )
    op.create_index("ix_review_evaluations_tenant_created_at", "review_evaluations", ["tenant", "created_at"])
    op.create_index("ix_review_evaluations_tenant_case_id", "review_evaluations", ["tenant", "case_id"])
    keyed = sa.text("client_key IS NOT NULL")
    op.create_index(
        "uq_review_evaluations_client_key",
        "review_evaluations",
        ["tenant", "client_key"],
        unique=True,
        sqlite_where=keyed,
        postgresql_where=keyed,
    )
    op.create_table(
        "review_results",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("evaluation", sa.Text(), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("case_hash", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("reason_code", sa.Text(), nullable=True),
        sa.Column("controller", sa.Text(), nullable=False),
        sa.Column("prompt_id", sa.Text(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Double(), nullable=False),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "evaluation"],
            ["review_evaluations.tenant", "review_evaluations.id"],
            name=op.f("fk_review_results_tenant_evaluation_review_evaluations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "evaluation", "case_id", "criterion", name=op.f("pk_review_results")),
    )
    op.create_index("ix_review_results_tenant_case_id", "review_results", ["tenant", "case_id"])
    op.create_table(
        "review_summaries",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("summaries", sa.JSON(none_as_null=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "key", name=op.f("pk_review_summaries")),
    )


def downgrade() -> None:
    op.drop_table("review_summaries")
    op.drop_table("review_results")
    op.drop_table("review_evaluations")
