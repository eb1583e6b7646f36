"""What turns came to, added up by day, on the same metadata as all other tables.

An overview reads these few rows instead of every turn of a month. They name nobody, so they stay when a conversation is
forgotten, as `usage` does.
"""

from __future__ import annotations

import sqlalchemy as sa

from circumspect.stores.tables import metadata

turn_days = sa.Table(
    "turn_days",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("day", sa.Text, primary_key=True),
    sa.Column("mode", sa.Text, primary_key=True),
    sa.Column("outcome", sa.Text, primary_key=True),
    sa.Column("turns", sa.BigInteger, nullable=False),
    sa.Column("criticised", sa.BigInteger, nullable=False),
    sa.Column("fetched", sa.BigInteger, nullable=False),
    sa.Column("rounds", sa.BigInteger, nullable=False),
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.Double, nullable=False),
    sa.Column("standard_calls", sa.BigInteger, nullable=False),
    sa.Column("standard_tokens", sa.Double, nullable=False),
    sa.Column("standard_cost", sa.Double, nullable=False),
    sa.Column("standard_rate", sa.Double, nullable=False),
    sa.Index("ix_turn_days_day", "day"),
)
"""Finished turns by the day (UTC, YYYY-MM-DD) on which they began. `standard_…` is what standard mode would have used:
calls without those that adaptive mode adds, their tokens and cost, and what one token more in each of them would cost.
"""

reason_days = sa.Table(
    "reason_days",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("day", sa.Text, primary_key=True),
    sa.Column("reason_code", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Index("ix_reason_days_day", "day"),
)
"""In how many turns a reason code was."""

escalation_days = sa.Table(
    "escalation_days",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("day", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Index("ix_escalation_days_day", "day"),
)
"""How many escalations there were: everything that was ever in the inbox of people, whoever put it there."""

held_days = sa.Table(
    "held_days",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("day", sa.Text, primary_key=True),
    sa.Column("reason_code", sa.Text, primary_key=True),
    sa.Column("fate", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Index("ix_held_days_day", "day"),
)
"""How many state-changing calls were held, by why and by what became of them since; the day is that of the hold."""
