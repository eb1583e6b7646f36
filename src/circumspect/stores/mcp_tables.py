"""The tables of MCP sessions over HTTP, on the same metadata as all others.

A session is a row and nothing else, so that any worker can serve any request of it. What it looked up and proposed is
in the conversation that has its id, and outlives it.
"""

from __future__ import annotations

import sqlalchemy as sa

from circumspect.stores.tables import JsonType, metadata

sessions = sa.Table(
    "mcp_sessions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("can_ask", sa.Boolean, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("used_at", sa.Double, nullable=False),
    sa.Index("ix_mcp_sessions_tenant_owner_used_at", "tenant", "owner", "used_at"),
    sa.Index("ix_mcp_sessions_used_at", "used_at"),
)
"""`owner` is a digest of who opened it, since that may be a person; `can_ask`: the client shows forms to its user."""

questions = sa.Table(
    "mcp_questions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("session", sa.Text, sa.ForeignKey("mcp_sessions.id", ondelete="CASCADE"), nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("answer", JsonType),
    sa.Index("ix_mcp_questions_session", "session"),
)
"""Forms that stand before a user, each with the request whose answer waits for it. What the user says comes in another
request, perhaps to another worker, and is put here for the one that asked."""
