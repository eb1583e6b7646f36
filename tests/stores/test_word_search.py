"""Which words the index of words is asked for: of several, the one that few messages have."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from bench.growth_rows import conversation_id, fill, rare_word
from sqlalchemy.ext.compiler import compiles
from tests.stores.conftest import BOTH

from circumspect.stores.engine import connect
from circumspect.stores.schema import prepare
from circumspect.stores.tables import conversations, messages
from circumspect.stores.word_search import has_words, list_conversations_with

RARE = 7


@pytest.fixture(params=BOTH)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/words.db"
        return
    server, name = request.getfixturevalue("postgres"), f"words_{secrets.token_hex(4)}"
    server.sql(f"CREATE DATABASE {name}")
    yield server.url(name)
    server.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def connection(empty: str) -> Iterator[sa.Connection]:
    url, database = empty, connect(empty)
    prepare(database, migrate=True)
    with database.engine.begin() as made:
        made.exec_driver_sql(
            "INSERT INTO tenants (id, plan, name, language, config) VALUES ('shop', 'free', 'Shop', 'en', '{}')"
        )
    fill(url, ["shop"], 30, now=1_000_000_000.0)
    with database.engine.connect() as opened:
        yield opened
    database.close()


def asked(connection: sa.Connection, words: list[str], most: int) -> tuple[str, set[str]]:
    """What the index is asked for, and the conversations that come of it."""
    query = list_conversations_with(connection, None, words, most)
    return str(query.compile().params["words"]), {row.conversation for row in connection.execute(query)}


def test_an_order_number_is_looked_for_by_its_number(connection):
    words, found = asked(connection, ["ORD", f"{RARE:08d}"], 10)
    assert "ORD" not in words, "what begins like it is in every message, and all of that would be read"
    assert found == {conversation_id(RARE)}


def test_a_number_that_many_have_is_looked_for_with_the_other_words(connection):
    words, found = asked(connection, [rare_word(RARE), "0000"], 5)
    assert rare_word(RARE) in words
    assert found == {conversation_id(RARE)}
    words, _ = asked(connection, ["arrives", "0000"], 5)
    assert "arrives" in words
    assert "0000" in words


def test_words_without_a_number_are_looked_for_together(connection):
    words, found = asked(connection, ["order", "waited"], 200)
    assert "order" in words
    assert "waited" in words
    assert len(found) == 30


@pytest.mark.parametrize("empty", BOTH[:1], indirect=True)
def test_what_is_taken_out_of_the_index_is_not_found_any_more(connection):
    visible, word = f"role <> 'internal' AND content LIKE '%%{rare_word(RARE)}%%'", rare_word(RARE)
    assert asked(connection, [word], 10)[1] == {conversation_id(RARE)}
    connection.exec_driver_sql(f"UPDATE messages SET content = 'unheardof' WHERE {visible}")
    assert asked(connection, [word], 10)[1] == set()
    assert asked(connection, ["unheardof"], 10)[1] == {conversation_id(RARE)}
    connection.exec_driver_sql("DELETE FROM messages WHERE content = 'unheardof'")
    assert asked(connection, ["unheardof"], 10)[1] == set()
    connection.exec_driver_sql("INSERT INTO message_words (message_words) VALUES ('integrity-check')")


@pytest.mark.parametrize("empty", BOTH[1:], indirect=True)  # SQLite has its words in a table of their own
@pytest.mark.parametrize("words", [[rare_word(RARE)], ["nobodysaysthis"], ["ORD", f"{RARE:08d}"], ["order", "waited"]])
def test_however_many_messages_there_are_words_are_looked_up_in_their_index(connection, words):
    """PostgreSQL takes its own guess at how many messages a word is in. Where it supposes that it is in some of a
    hundred, it rather reads all there are as soon as they are many."""
    query = list_conversations_with(connection, None, words, 5000)
    plan = "\n".join(connection.execute(_Explained(query)).scalars())
    assert "Bitmap Index Scan on ix_messages_words" in plan
    # As if each page of the table held a million of them.
    connection.exec_driver_sql("UPDATE pg_class SET relpages = 1, reltuples = 1000000 WHERE relname = 'messages'")
    everything = _supposed(connection, sa.select(messages.c.id))
    assert _supposed(connection, query.limit(10**9)) <= everything / 100


@pytest.mark.parametrize("empty", BOTH[1:], indirect=True)
def test_words_are_looked_for_in_one_conversation_after_the_other(connection):
    """PostgreSQL would rather make a set of all messages with them, and of all that were ever stored."""
    own = (messages.c.tenant == conversations.c.tenant, messages.c.conversation == conversations.c.id)
    query = sa.select(conversations.c.id).where(has_words(["order"], *own)).limit(5)
    plan = "\n".join(connection.execute(_Explained(query)).scalars())
    assert "SubPlan" in plan
    assert "Join" not in plan
    assert "hashed" not in plan


def _supposed(connection: sa.Connection, query: sa.Select[Any]) -> int:
    """Rows that PostgreSQL expects of a query."""
    first = str(connection.execute(_Explained(query)).scalars().first())
    return int(first.partition("rows=")[2].partition(" ")[0])


class _Explained(sa.Executable, sa.ClauseElement):
    """What the database would do for a query."""

    inherit_cache = False

    def __init__(self, query: sa.Select[Any]) -> None:
        self.query = query


@compiles(_Explained)
def _explain(explained: _Explained, compiler: Any, **options: Any) -> str:
    return f"EXPLAIN {compiler.process(explained.query, **options)}"
