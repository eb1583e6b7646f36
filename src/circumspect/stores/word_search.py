"""Which conversations have certain words in them: what somebody types in, queries that name conversations out.

Every word has to be there, in one message that people could see. A word may go on ("refund" finds "refunds"), and in a
language that writes small words together with the next, it may have one before it.
"""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa

from circumspect.language.word_lists import spell_glued
from circumspect.stores.people import VisibleTenants
from circumspect.stores.search_tables import POSTGRES_WORDS
from circumspect.stores.statements import has_rows, run, sql
from circumspect.stores.tables import VISIBLE, messages

MOST_WORDS = 8
_WORD = re.compile(r"[^\W_]+")

_SQLITE = sa.text(
    "messages.id IN (SELECT rowid FROM message_words WHERE message_words MATCH :words ORDER BY rowid DESC LIMIT :most)"
)
_FEW = sql("SELECT count(*) FROM (SELECT 1 FROM message_words WHERE message_words MATCH :words LIMIT :most)")
# Asked for in a query of its own, so that PostgreSQL does not know the words while it plans: of every spelling that may
# go on it believes that it is in two messages of a hundred, and would then rather read all messages than their index.
_POSTGRES = sa.text(f"{POSTGRES_WORDS} @@ (SELECT CAST(:words AS tsquery))")


def split_words(text: str) -> list[str]:
    return _WORD.findall(text)[:MOST_WORDS]


def list_conversations_with(
    connection: sa.Connection, tenants: VisibleTenants, words: list[str], most: int
) -> sa.Select[Any]:
    """Tenant and conversation of so many messages at most; there may be some among them that lack a word. For rare
    words: what begins like them is all read, and so only the most telling of them is where it is rare alone."""
    telling = max((one for one in words if any(map(str.isdigit, one))), key=len, default=None)
    if telling and len(words) > 1 and _count_few(connection, tenants, telling, most) < most:
        words = [telling]
    return _list_with(connection, tenants, words, most)


def _list_with(connection: sa.Connection, tenants: VisibleTenants, words: list[str], most: int) -> sa.Select[Any]:
    query = sa.select(messages.c.tenant, messages.c.conversation)
    if connection.dialect.name == "sqlite":
        return query.where(_SQLITE.bindparams(words=_ask_sqlite(tenants, words), most=most))
    asked = _POSTGRES.bindparams(words=_ask_postgres(tenants, words))
    # On its own: with a limit PostgreSQL may think it quicker to read messages until enough of them fit.
    found = query.where(sa.text(VISIBLE), asked).cte("found").prefix_with("MATERIALIZED")
    return sa.select(found.c.tenant, found.c.conversation).limit(most)


def _count_few(connection: sa.Connection, tenants: VisibleTenants, word: str, most: int) -> int:
    if connection.dialect.name == "sqlite":  # without a look at the messages
        found: int = run(connection, _FEW, {"words": _ask_sqlite(tenants, [word]), "most": most}).fetchone()[0]
        return found
    query = _list_with(connection, tenants, [word], most)
    return int(connection.execute(sa.select(sa.func.count()).select_from(query.subquery())).scalar_one())


def _ask_sqlite(tenants: VisibleTenants, words: list[str]) -> str:
    each = (" OR ".join(f'"{form}" *' for form in spell_glued(word)) for word in words)
    said = "content : (" + " AND ".join(f"({one})" for one in each) + ")"
    if tenants is None:
        return said
    return "scope : (" + " OR ".join(f'"{one.encode().hex()}"' for one in sorted(tenants)) + f") AND {said}"


def _ask_postgres(tenants: VisibleTenants, words: list[str]) -> str:
    """A database whose locale knows no other letters folds the case of Latin ones only."""
    each = []
    for word in words:
        forms = dict.fromkeys(form for one in (word, word.lower(), word.capitalize()) for form in spell_glued(one))
        each.append(" | ".join(f"'{form}':*" for form in forms))
    said = " & ".join(f"({one})" for one in each)
    if tenants is None:
        return said
    whose = " | ".join("'@" + one.replace("\\", "\\\\").replace("'", "''") + "'" for one in sorted(tenants))
    return f"({whose}) & {said}"


_MERGE = sql("INSERT INTO message_words (message_words, rank) VALUES ('merge', :pages)")


def merge_words(connection: sa.Connection, pages: int = 64) -> int:
    """Write the next pages of SQLite's index anew, without the words of messages that are gone, which stay in it until
    then. Zero when all of it is done. Elsewhere it is the database's own business."""
    if connection.dialect.name != "sqlite":
        return 0
    driver: Any = connection.connection.driver_connection
    before = driver.total_changes
    # A negative number takes up all there is; a merge under way goes on.
    run(connection, _MERGE, {"pages": -pages})
    # One change is the command itself.
    return int(driver.total_changes - before >= 2)


def has_words(words: list[str], *within: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Is there a message with all of them, asked of one conversation after the other?"""
    spelt = (dict.fromkeys((word, word.lower(), word.capitalize())) for word in words)
    each = (sa.or_(*(messages.c.content.icontains(form, autoescape=True) for form in forms)) for forms in spelt)
    return has_rows(sa.select(messages.c.id).where(*within, sa.text(VISIBLE), *each))
