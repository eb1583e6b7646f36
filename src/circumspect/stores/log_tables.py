"""The tables of the operators' log, on the same metadata as all others, and the triggers that let nothing change in it.

The database itself refuses to update a row, and to delete one that no `log.cut` row of the log has given up. That stops
mistakes and whoever gets a statement through to it; who owns the database can drop the triggers, and that is what the
chain of hashes is for (`log_chain.py`). The one choice that may surprise: SQLite also refuses an insert that would
replace a row, because `INSERT OR REPLACE` deletes without asking a trigger.
"""

from __future__ import annotations

import sqlalchemy as sa

from circumspect.stores.tables import JsonType, metadata

CUT = "log.cut"
"""The action of a row that gives up all rows up to the one whose number is its subject."""

operator_log = sa.Table(
    "operator_log",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("operator", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("tenant", sa.Text),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("detail", JsonType),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("result", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.UniqueConstraint("seq"),
    sa.Index("ix_operator_log_at_id", "at", "id"),
    sa.Index("ix_operator_log_operator_at_id", "operator", "at", "id"),
    sa.Index("ix_operator_log_action_at_id", "action", "at", "id"),
    sa.Index("ix_operator_log_subject_tenant_at_id", "subject", "tenant", "at", "id"),
    sa.Index("ix_operator_log_tenant_at_id", "tenant", "at", "id"),
    sa.Index(
        "ix_operator_log_cuts",
        "seq",
        sqlite_where=sa.text(f"action = '{CUT}'"),
        postgresql_where=sa.text(f"action = '{CUT}'"),
    ),
)
"""Who did what: written in the transaction that does it, numbered without a gap, and never changed."""

log_persons = sa.Table(
    "log_persons",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("person", sa.Text, primary_key=True),
    sa.Column("pseudonym", sa.Text, nullable=False),
    sa.UniqueConstraint("pseudonym"),
)
"""By which name the log speaks of an end user. Without the row, nobody can tell who was meant."""

log_exports = sa.Table(
    "log_exports",
    metadata,
    sa.Column("target", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("token", sa.Text),
    sa.Column("leased_until", sa.Double, nullable=False),
)
"""How far each receiver has got the log, and which worker is sending to it."""

_GIVEN_UP = f"COALESCE((SELECT MAX(CAST(subject AS BIGINT)) FROM operator_log WHERE action = '{CUT}'), 0)"  # noqa: S608
_REFUSAL = "the operators log is only added to"

LOG_DDL = {
    "sqlite": (
        "CREATE TRIGGER operator_log_unchanged BEFORE UPDATE ON operator_log"
        f" BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END",
        f"CREATE TRIGGER operator_log_kept BEFORE DELETE ON operator_log WHEN old.seq > {_GIVEN_UP}"
        f" BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END",
        "CREATE TRIGGER operator_log_added BEFORE INSERT ON operator_log"  # noqa: S608
        " WHEN new.seq <= (SELECT MAX(seq) FROM operator_log) OR EXISTS (SELECT 1 FROM operator_log WHERE id = new.id)"
        f" BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END",
    ),
    "postgresql": (
        "CREATE OR REPLACE FUNCTION keep_operator_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF TG_OP = 'DELETE' THEN IF OLD.seq <= {_GIVEN_UP} THEN RETURN OLD; END IF; END IF;"
        f" RAISE EXCEPTION '{_REFUSAL}'; END $$",
        "CREATE TRIGGER operator_log_kept BEFORE UPDATE OR DELETE ON operator_log"
        " FOR EACH ROW EXECUTE FUNCTION keep_operator_log()",
        "CREATE TRIGGER operator_log_whole BEFORE TRUNCATE ON operator_log"
        " FOR EACH STATEMENT EXECUTE FUNCTION keep_operator_log()",
    ),
}

for _dialect, _statements in LOG_DDL.items():
    for _statement in _statements:
        _ddl: sa.schema.ExecutableDDLElement = sa.DDL(_statement).execute_if(dialect=_dialect)  # type: ignore[no-untyped-call]
        sa.event.listen(operator_log, "after_create", _ddl)
