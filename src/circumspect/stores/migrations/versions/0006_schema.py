"""The whole schema, with the plans that are shipped. The tables are in `0006_schema.sql`.

It is numbered 0006 because it stands for the six steps that made it: a database made by those is up to date as it is,
and no later revision can be mistaken for one of theirs. On SQLite its index of words also counts the
words of each message, which nothing asks for.
"""

from pathlib import Path

import sqlalchemy as sa

_SCHEMA = Path(__file__).with_suffix(".sql").read_text("utf-8")
_IN_SQLITE = {
    "DOUBLE PRECISION": "DOUBLE",
    "BYTEA": "BLOB",
    "BIGSERIAL": "INTEGER",
    "SERIAL": "INTEGER",
    "TSVECTOR": "TEXT",
    # The column is empty there, and so is the index.
    "USING gin (search)": "(search) WHERE search IS NOT NULL",
}
_FTS = (
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
    "CREATE VIRTUAL TABLE knowledge_words USING fts5(scope, head, body, grams,"
    " content='knowledge_passages', content_rowid='id', tokenize='unicode61 remove_diacritics 0')",
    "CREATE TRIGGER knowledge_words_added AFTER INSERT ON knowledge_passages BEGIN"
    " INSERT INTO knowledge_words (rowid, scope, head, body, grams)"
    " VALUES (new.id, new.scope, new.head, new.body, new.grams);"
    " END",
    "CREATE TRIGGER knowledge_words_removed AFTER DELETE ON knowledge_passages BEGIN"
    " INSERT INTO knowledge_words (knowledge_words, rowid, scope, head, body, grams)"
    " VALUES ('delete', old.id, old.scope, old.head, old.body, old.grams);"
    " END",
)
# It cuts a word out of what a message says, so that "ORD-12" is none of PostgreSQL's numbers.
_GIN = (
    "CREATE INDEX ix_messages_words ON messages USING gin ((to_tsvector('simple'::regconfig,"
    " regexp_replace(\"left\"(content, 100000), '[[:punct:]]+', ' ', 'g'))"
    " || array_to_tsvector(ARRAY[('@' || tenant)]))) WHERE role <> 'internal'",
)
_GIVEN_UP = "COALESCE((SELECT MAX(CAST(subject AS BIGINT)) FROM operator_log WHERE action = 'log.cut'), 0)"
_REFUSAL = "the operators log is only added to"
_LOG_IN_SQLITE = (
    f"CREATE TRIGGER operator_log_unchanged BEFORE UPDATE ON operator_log BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END",
    f"CREATE TRIGGER operator_log_kept BEFORE DELETE ON operator_log WHEN old.seq > {_GIVEN_UP}"
    f" BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END",
    "CREATE TRIGGER operator_log_added BEFORE INSERT ON operator_log"  # noqa: S608
    " WHEN new.seq <= (SELECT MAX(seq) FROM operator_log) OR EXISTS (SELECT 1 FROM operator_log WHERE id = new.id)"
    f" BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END",
)
_LOG_IN_POSTGRESQL = (
    "CREATE OR REPLACE FUNCTION keep_operator_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    f" IF TG_OP = 'DELETE' THEN IF OLD.seq <= {_GIVEN_UP} THEN RETURN OLD; END IF; END IF;"
    f" RAISE EXCEPTION '{_REFUSAL}'; END $$",
    "CREATE TRIGGER operator_log_kept BEFORE UPDATE OR DELETE ON operator_log"
    " FOR EACH ROW EXECUTE FUNCTION keep_operator_log()",
    "CREATE TRIGGER operator_log_whole BEFORE TRUNCATE ON operator_log"
    " FOR EACH STATEMENT EXECUTE FUNCTION keep_operator_log()",
)


def upgrade(connection: sa.Connection) -> None:
    schema, sqlite = _SCHEMA, connection.dialect.name == "sqlite"
    if sqlite:
        for word, spelling in _IN_SQLITE.items():
            schema = schema.replace(word, spelling)
    for statement in (
        *schema.strip().rstrip(";").split(";\n"),
        *(_FTS + _LOG_IN_SQLITE if sqlite else _GIN + _LOG_IN_POSTGRESQL),
    ):
        connection.exec_driver_sql(statement)
    plans = sa.table("plans", sa.column("name"), sa.column("mode"), sa.column("multiplier"))
    connection.execute(
        sa.insert(plans),
        [
            {"name": "free", "mode": "standard", "multiplier": 1.0},
            {"name": "pro", "mode": "adaptive", "multiplier": 1.0},
            {"name": "enterprise", "mode": "adaptive", "multiplier": 1.0},
        ],
    )
