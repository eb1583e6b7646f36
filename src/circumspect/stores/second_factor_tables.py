"""How operators prove who they are beside a password, on the same metadata as all other tables."""

from __future__ import annotations

import sqlalchemy as sa

from circumspect.stores.tables import metadata


def _operator(*, primary_key: bool = False, nullable: bool = False) -> sa.Column[str]:
    owner = sa.ForeignKey("operators.id", ondelete="CASCADE")
    return sa.Column("operator", sa.Text, owner, primary_key=primary_key, nullable=nullable)


operator_code_apps = sa.Table(
    "operator_code_apps",
    metadata,
    _operator(primary_key=True),
    sa.Column("sealed", sa.Text),
    sa.Column("created_at", sa.Double),
    sa.Column("step", sa.BigInteger, nullable=False),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("locked_until", sa.Double, nullable=False),
)
"""The secret that an operator shares with an app that shows codes, encrypted before it comes here; null when there is
none. `step` is the last half-minute whose code was used: no code is good twice. Failures of recovery codes count here
too, so the row is there for operators who have passkeys only."""

operator_recovery_codes = sa.Table(
    "operator_recovery_codes",
    metadata,
    _operator(primary_key=True),
    sa.Column("hash", sa.Text, primary_key=True),
)
"""Those that are still good: a code that was used is gone."""

operator_passkeys = sa.Table(
    "operator_passkeys",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _operator(nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("public_key", sa.LargeBinary, nullable=False),
    sa.Column("uses", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("used_at", sa.Double),
    sa.Index("ix_operator_passkeys_operator", "operator"),
)
"""`id` is the authenticator's name for it, in base64url; `uses` what its counter last said."""

operator_challenges = sa.Table(
    "operator_challenges",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("purpose", sa.Text, nullable=False),
    _operator(nullable=True),
    sa.Column("expires_at", sa.Double, nullable=False),
    sa.Index("ix_operator_challenges_expires_at", "expires_at"),
    sa.Index("ix_operator_challenges_operator", "operator"),
)
"""What was asked and waits for its one answer: a passkey's signature, or the second step of a sign-in. Without an
operator it is for whoever can answer it."""
