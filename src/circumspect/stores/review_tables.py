"""The tables of reviews, on the same metadata as all others: evaluations, their results, outlines of documents.

An evaluation is one case sent to the server, or a whole batch. A result is also the marker that its criterion is done:
with the hash of the case in its row, the two are written in one transaction by being one row, and a batch that was
killed knows exactly what it has.
"""

from __future__ import annotations

import sqlalchemy as sa

from circumspect.stores.tables import KEYED, JsonType, metadata

evaluations = sa.Table(
    "review_evaluations",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("case_id", sa.Text, nullable=False),
    sa.Column("client_key", sa.Text),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("controller", sa.Text, nullable=False),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("request", JsonType, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("lease_token", sa.Text),
    sa.Column("lease_until", sa.Double),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("finished_at", sa.Double),
    sa.Index("ix_review_evaluations_tenant_created_at", "tenant", "created_at"),
    sa.Index("ix_review_evaluations_tenant_case_id", "tenant", "case_id"),
    sa.Index(
        "uq_review_evaluations_client_key",
        "tenant",
        "client_key",
        unique=True,
        sqlite_where=sa.text(KEYED),
        postgresql_where=sa.text(KEYED),
    ),
)


results = sa.Table(
    "review_results",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("evaluation", sa.Text, primary_key=True),
    sa.Column("case_id", sa.Text, primary_key=True),
    sa.Column("criterion", sa.Text, primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("case_hash", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("confidence", sa.Double, nullable=False),
    sa.Column("reason_code", sa.Text),
    sa.Column("controller", sa.Text, nullable=False),
    sa.Column("prompt_id", sa.Text, nullable=False),
    sa.Column("input_tokens", sa.Integer, nullable=False),
    sa.Column("output_tokens", sa.Integer, nullable=False),
    sa.Column("cost_usd", sa.Double, nullable=False),
    sa.Column("result", JsonType, nullable=False),
    sa.Column("made_at", sa.Double, nullable=False),
    sa.ForeignKeyConstraint(
        ["tenant", "evaluation"], ["review_evaluations.tenant", "review_evaluations.id"], ondelete="CASCADE"
    ),
    sa.Index("ix_review_results_tenant_case_id", "tenant", "case_id"),
)

summaries = sa.Table(
    "review_summaries",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("summaries", JsonType, nullable=False),
)

evaluation_usage = sa.Table(
    "evaluation_usage",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("period", sa.Text, primary_key=True),
    sa.Column("controller", sa.Text, primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("verdicts", sa.BigInteger, nullable=False),
    sa.Column("met", sa.BigInteger, nullable=False),
    sa.Column("not_met", sa.BigInteger, nullable=False),
    sa.Column("uncertain", sa.BigInteger, nullable=False),
    sa.Column("model_calls", sa.BigInteger, nullable=False),
    sa.Column("input_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("cost", sa.Double, nullable=False),
    sa.Column("billed", sa.Double, nullable=False),
)
"""What verdicts came to in a month (UTC, YYYY-MM); it names no case, and stays when one is forgotten."""

TABLES = (evaluations, results, summaries, evaluation_usage)
