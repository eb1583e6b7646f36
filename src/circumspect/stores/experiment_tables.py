"""The tables of the lab, on the same metadata as all others: experiments, what their arms did, shadows, versions of
prompts, and what people said about decisions.

A live experiment is one row that every worker reads once a second. The surprising choice: nothing says which arm a
conversation is in. That is computed from its id, from when it began and from the shares that held since, so that all
workers agree without asking each other.
"""

from __future__ import annotations

import sqlalchemy as sa

from circumspect.stores.tables import JsonType, metadata

LIVE = "live"

experiments = sa.Table(
    "experiments",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("live", sa.Boolean, nullable=False),
    sa.Column("arms", JsonType, nullable=False),
    sa.Column("shares", JsonType, nullable=False),
    sa.Column("plan", JsonType, nullable=False),
    sa.Column("winner", sa.Text),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("dropped", sa.Integer, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("started_at", sa.Double),
    sa.Column("ended_at", sa.Double),
    sa.Index("ix_experiments_tenant_created_at", "tenant", "created_at"),
    sa.Index(
        "uq_experiments_live",
        "tenant",
        "kind",
        "unit",
        unique=True,
        sqlite_where=sa.text(LIVE),
        postgresql_where=sa.text(LIVE),
    ),
)
"""`kind` is `ab` or `shadow`; `unit` what is drawn: `conversation` or `case`. `shares` holds every share and the moment
from which it held. At most one of a kind is live for a tenant and unit."""

exposures = sa.Table(
    "exposures",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("experiment", sa.Text, primary_key=True),
    sa.Column("turn", sa.Text, primary_key=True),
    sa.Column("conversation", sa.Text),
    sa.Column("case_id", sa.Text),
    sa.Column("arm", sa.Text, nullable=False),
    sa.Column("period", sa.Integer, nullable=False),
    sa.Column("fell_back", sa.Boolean, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("denied", sa.Boolean, nullable=False),
    sa.Column("corrected", sa.Boolean, nullable=False),
    sa.Column("cost_usd", sa.Double, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("calls", sa.Integer, nullable=False),
    sa.Column("prompts", JsonType),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("consistency", sa.Double),
    sa.Column("similarity", sa.Double),
    sa.Column("citations", sa.Double),
    sa.ForeignKeyConstraint(
        ["tenant", "conversation"], ["conversations.tenant", "conversations.id"], ondelete="CASCADE"
    ),
    sa.Index("ix_exposures_tenant_experiment_arm", "tenant", "experiment", "arm"),
    sa.Index("ix_exposures_tenant_conversation", "tenant", "conversation"),
    sa.Index("ix_exposures_tenant_case_id", "tenant", "case_id"),
)
"""One row a turn (or reviewed case) under an experiment. `arm` is the arm that was drawn, also where the turn fell back
to control; `period` which of the experiment's shares held when the conversation began."""

shadows = sa.Table(
    "shadows",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("experiment", sa.Text, primary_key=True),
    sa.Column("turn", sa.Text, primary_key=True),
    sa.Column("conversation", sa.Text),
    sa.Column("same", sa.Boolean, nullable=False),
    sa.Column("differences", JsonType, nullable=False),
    sa.Column("live", JsonType, nullable=False),
    sa.Column("shadow", JsonType, nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("cost_usd", sa.Double, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("case_id", sa.Text),
    sa.ForeignKeyConstraint(
        ["tenant", "conversation"], ["conversations.tenant", "conversations.id"], ondelete="CASCADE"
    ),
    sa.Index("ix_shadows_tenant_case_id", "tenant", "case_id"),
    sa.Index("ix_shadows_tenant_experiment_at", "tenant", "experiment", "at"),
    sa.Index("ix_shadows_at_turn", "at", "turn"),
    sa.Index("ix_shadows_tenant_at_turn", "tenant", "at", "turn"),
    sa.Index("ix_shadows_tenant_conversation_at", "tenant", "conversation", "at"),
)
"""What a second configuration would have done with a turn, or said of a case, beside what was done. Nothing of it
happened. `turn` is the evaluation where there is a `case_id`."""

prompt_versions = sa.Table(
    "prompt_versions",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("parent", sa.Text),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Index("ix_prompt_versions_tenant_name_created_at", "tenant", "name", "created_at"),
)
"""Texts of prompts that do not come with the package, under the id (name@hash) that stored answers name."""

labels = sa.Table(
    "labels",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("conversation", sa.Text, nullable=False),
    sa.Column("turn", sa.Text),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("tool", sa.Text),
    sa.Column("decision", sa.Text),
    sa.Column("confidence", sa.Double),
    sa.Column("value", JsonType),
    sa.Column("split", sa.Text, nullable=False),
    sa.Column("by", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Index("ix_labels_tenant_conversation", "tenant", "conversation"),
    sa.Index("ix_labels_tenant_kind_at", "tenant", "kind", "at"),
    sa.Index("ix_labels_kind_at", "kind", "at"),
)
"""What a person said or did about a decision, and how things turned out. No reference to the conversation: outcomes may
be brought in from elsewhere."""
