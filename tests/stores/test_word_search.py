"""Which words the index of words is asked for: of several, the one that few messages have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from bench.growth_rows import conversation_id, fill, rare_word

from circumspect.stores.engine import connect
from circumspect.stores.schema import prepare
from circumspect.stores.word_search import list_conversations_with

RARE = 7


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sa.Connection]:
    url = f"sqlite:///{tmp_path}/words.db"
    database = connect(url)
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


def test_the_words_of_a_message_are_not_counted(connection):
    """Nobody ranks by their number, and a turn would write it twice."""
    named = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE name LIKE 'message_words%'")
    tables = {name for (name,) in named}
    assert "message_words_data" in tables
    assert "message_words_docsize" not in tables


def test_what_is_taken_out_of_the_index_is_not_found_any_more(connection):
    visible, word = f"role <> 'internal' AND content LIKE '%%{rare_word(RARE)}%%'", rare_word(RARE)
    assert asked(connection, [word], 10)[1] == {conversation_id(RARE)}
    connection.exec_driver_sql(f"UPDATE messages SET content = 'unheardof' WHERE {visible}")
    assert asked(connection, [word], 10)[1] == set()
    assert asked(connection, ["unheardof"], 10)[1] == {conversation_id(RARE)}
    connection.exec_driver_sql("DELETE FROM messages WHERE content = 'unheardof'")
    assert asked(connection, ["unheardof"], 10)[1] == set()
    connection.exec_driver_sql("INSERT INTO message_words (message_words) VALUES ('integrity-check')")
