"""What conversations are found by, on the same metadata as all other tables: marks of turns, calls that were held, and
words that were said.

SQLite has the words in an FTS5 table that follows `messages` by triggers and keeps no text of its own; PostgreSQL in an
index over the words of each message. What nobody could see is not in it. Either has the tenant beside the words, so
that a search never reads what belongs to others.
"""

from __future__ import annotations

import sqlalchemy as sa

from circumspect.stores.tables import VISIBLE, JsonType, messages, metadata

turn_marks = sa.Table(
    "turn_marks",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("conversation", sa.Text, primary_key=True),
    sa.Column("mark", sa.Text, primary_key=True),
    sa.Column("turn", sa.Text, primary_key=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.ForeignKeyConstraint(
        ["tenant", "conversation"], ["conversations.tenant", "conversations.id"], ondelete="CASCADE"
    ),
    sa.Index("ix_turn_marks_mark_tenant_at", "mark", "tenant", "at"),
)
"""One row for each thing about a turn that somebody may look for; `stores.turn_marks` says what they are."""

held_calls = sa.Table(
    "held_calls",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("conversation", sa.Text, primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("turn", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("tool", sa.Text, nullable=False),
    sa.Column("arguments", JsonType, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("verdict", sa.Text, nullable=False),
    sa.Column("rule", sa.Text, nullable=False),
    sa.Column("reason_code", sa.Text, nullable=False),
    sa.Column("policy", sa.Text, nullable=False),
    sa.Column("fate", sa.Text, nullable=False),
    sa.ForeignKeyConstraint(
        ["tenant", "conversation"], ["conversations.tenant", "conversations.id"], ondelete="CASCADE"
    ),
    sa.Index("ix_held_calls_fate_tenant_at", "fate", "tenant", "at"),
    sa.Index("ix_held_calls_tenant_tool_rule_at", "tenant", "tool", "rule", "at"),
)
"""State-changing calls that were held, with the rule that decided and what became of them; `seq` is the ruling's place
in the journal, `at` when its turn began. `stores.held_calls` says what a fate is."""

MESSAGE_WORDS = "message_words"

# A mark is no part of a word for either database; PostgreSQL has to be told, or it takes "ORD-12" for a number.
POSTGRES_WORDS = (
    "(to_tsvector('simple'::regconfig, regexp_replace(\"left\"(content, 100000), '[[:punct:]]+', ' ', 'g'))"
    " || array_to_tsvector(ARRAY[('@' || tenant)]))"
)

WORDS_DDL = {
    "sqlite": (
        "CREATE VIRTUAL TABLE message_words USING fts5(scope, content, content='',"
        " tokenize='unicode61 remove_diacritics 0')",
        "CREATE TRIGGER message_words_added AFTER INSERT ON messages WHEN new.role <> 'internal' BEGIN"
        " INSERT INTO message_words (rowid, scope, content) VALUES (new.id, hex(new.tenant), new.content);"
        " END",
        "CREATE TRIGGER message_words_removed AFTER DELETE ON messages WHEN old.role <> 'internal' BEGIN"
        " INSERT INTO message_words (message_words, rowid, scope, content)"
        " VALUES ('delete', old.id, hex(old.tenant), old.content);"
        " END",
        "CREATE TRIGGER message_words_changed AFTER UPDATE OF content ON messages WHEN old.role <> 'internal' BEGIN"
        " INSERT INTO message_words (message_words, rowid, scope, content)"
        " VALUES ('delete', old.id, hex(old.tenant), old.content);"
        " INSERT INTO message_words (rowid, scope, content) VALUES (new.id, hex(new.tenant), new.content);"
        " END",
    ),
    "postgresql": (f"CREATE INDEX ix_messages_words ON messages USING gin ({POSTGRES_WORDS}) WHERE {VISIBLE}",),
}


def _listen(moment: str, dialect: str, statement: str) -> None:
    ddl: sa.schema.ExecutableDDLElement = sa.DDL(statement).execute_if(dialect=dialect)  # type: ignore[no-untyped-call]
    sa.event.listen(messages, moment, ddl)


for _dialect, _statements in WORDS_DDL.items():
    for _statement in _statements:
        _listen("after_create", _dialect, _statement)
_listen("before_drop", "sqlite", f"DROP TABLE IF EXISTS {MESSAGE_WORDS}")
