"""What people add to whatever waits for them: who sees to it, until when it is put off, and what they noted about it.

A row is about an item of the work queue, whatever table that is in: an escalation, an approval, a notification that was
given up, a draft of a policy. `about` says which, since a notification may have the id of what it is about;
`conversation` is the one that it belongs to, with which it is exported and forgotten.
"""

from __future__ import annotations

import sqlalchemy as sa

from circumspect.stores.tables import JsonType, metadata

DRAFTED = "state = 'waiting'"

work_items = sa.Table(
    "work_items",
    metadata,
    sa.Column("about", sa.Text, primary_key=True),
    sa.Column("item", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text),
    sa.Column("conversation", sa.Text),
    sa.Column("assignee", sa.Text),
    sa.Column("snoozed_until", sa.Double),
    sa.Index("ix_work_items_tenant_conversation", "tenant", "conversation"),
)

work_notes = sa.Table(
    "work_notes",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("about", sa.Text, nullable=False),
    sa.Column("item", sa.Text, nullable=False),
    sa.Column("tenant", sa.Text),
    sa.Column("conversation", sa.Text),
    sa.Column("by", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Index("ix_work_notes_item_about_at", "item", "about", "at"),
    sa.Index("ix_work_notes_tenant_conversation", "tenant", "conversation"),
)
"""For colleagues: no user ever sees one."""

policy_drafts = sa.Table(
    "policy_drafts",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("base", sa.Integer, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("changes", JsonType, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("settled_by", sa.Text),
    sa.Column("settled_at", sa.Double),
    sa.Column("version", sa.Integer),
    sa.Index("ix_policy_drafts_tenant_version", "tenant", "version"),
    sa.Index(
        "ix_policy_drafts_waiting",
        "created_at",
        "id",
        sqlite_where=sa.text(DRAFTED),
        postgresql_where=sa.text(DRAFTED),
    ),
)
"""Policies that somebody wrote and nobody has put in force yet. A row's text never changes: what was looked at is what
is put in force. `base` is the version that its author had before them (0 for none), `changes` what it changes against
that one, in words; `version` is the one that it became."""
