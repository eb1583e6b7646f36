"""The schema: one history for both databases, upgraded once however many start, and no drift from the tables."""

from __future__ import annotations

import asyncio
import re
import sys

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from tests.stores.words import CONVERSATION, TENANT, whole_turn

from circumspect.errors import StoreError
from circumspect.stores import SqlStore, schema
from circumspect.stores.engine import connect
from circumspect.stores.knowledge_tables import FTS
from circumspect.stores.schema import FIRST, HEAD, list_revisions
from circumspect.stores.search_tables import MESSAGE_WORDS
from circumspect.stores.tables import metadata


def find_differences(connection: sa.Connection) -> list[object]:
    """Between the database and the tables, as Alembic finds them. SQLite keeps a full-text table in several of its
    own, which metadata does not know, nor an index of words."""

    def is_ours(name: str | None, kind: str, _parents: object) -> bool:
        words = kind == "table" and name is not None and name.startswith((FTS, MESSAGE_WORDS))
        return not words and not (kind == "index" and name == "ix_messages_words")

    options = {"include_name": is_ours, "compare_type": True}
    return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)


def drop_everything(connection: sa.Connection) -> None:
    for table in (FTS, MESSAGE_WORDS) if connection.dialect.name == "sqlite" else ():
        connection.exec_driver_sql(f"DROP TABLE {table}")
    metadata.drop_all(connection)
    connection.exec_driver_sql("DROP TABLE alembic_version")


def described(connection: sa.Connection) -> dict[str, object]:
    """Everything there is, in the database's own words."""
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2").all()
        # By clause, since the order in which a table's constraints are written means nothing.
        return {name: sorted(re.split(r"\s*[\n,]\s*", text or "")) for _, name, text in rows if "alembic" not in name}
    columns = connection.exec_driver_sql(
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns"
        " WHERE table_schema = 'public' AND table_name <> 'alembic_version'"
    ).all()
    indexes = connection.exec_driver_sql(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
    ).all()
    constraints = connection.exec_driver_sql(
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid <> 0"
        " AND conrelid::regclass::text <> 'alembic_version' AND connamespace = 'public'::regnamespace"
    ).all()
    return {"columns": sorted(columns), "indexes": sorted(indexes), "constraints": sorted(constraints)}


def on(url: str, *bodies):
    """Run each body in a transaction of its own."""
    database = connect(url)
    try:
        for body in bodies:
            with database.engine.begin() as connection:
                result = body(connection)
        return result
    finally:
        database.close()


async def test_a_fresh_database_gets_the_newest_schema_and_is_left_alone_after(empty):
    for _ in range(2):
        store = await SqlStore.open(empty)
        await whole_turn(store, conversation=f"c{_}")
        await store.close()
    version = on(
        empty, lambda connection: connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    )
    assert version == HEAD


def test_the_head_we_check_for_is_the_head_of_the_history():
    numbers = [name[:4] for name in list_revisions()]
    assert numbers == [f"{number:04}" for number in range(int(FIRST), int(HEAD) + 1)]


async def test_migrations_and_tables_say_the_same(empty):
    await (await SqlStore.open(empty)).close()
    assert on(empty, find_differences) == []
    migrated = on(empty, described)
    made = on(empty, drop_everything, metadata.create_all, described)
    assert migrated == made


async def test_workers_that_start_at_once_upgrade_once(empty):
    stores = await asyncio.gather(*(SqlStore.open(empty) for _ in range(4)))
    await whole_turn(stores[0])
    assert len(await stores[3].messages(TENANT, CONVERSATION)) == 2
    assert len(await stores[1].plans()) == 3
    for store in stores:
        await store.close()


async def test_an_upgrade_that_fails_halfway_leaves_the_old_schema(empty):
    on(empty, lambda connection: connection.exec_driver_sql("CREATE TABLE tool_executions (ours integer)"))
    with pytest.raises(StoreError, match="already exists"):
        await SqlStore.open(empty)
    assert on(empty, lambda connection: sa.inspect(connection).get_table_names()) == ["tool_executions"]
    on(empty, lambda connection: connection.exec_driver_sql("DROP TABLE tool_executions"))
    await (await SqlStore.open(empty)).close()


@pytest.mark.parametrize("migrate", [True, False])
async def test_a_database_of_a_newer_version_is_refused(empty, migrate):
    await (await SqlStore.open(empty)).close()
    on(empty, lambda connection: connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="newer version") as refused:
        await SqlStore.open(empty, migrate=migrate)
    assert "Upgrade" in refused.value.fix


async def test_a_database_made_by_the_six_steps_before_the_first_release_is_up_to_date(empty):
    """Their last one was 0006, and what it made is, word for word, what the one revision makes now."""
    store = await SqlStore.open(empty)
    await whole_turn(store)
    await store.close()
    on(empty, lambda connection: connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0006'"))
    store = await SqlStore.open(empty)
    assert len(await store.messages(TENANT, CONVERSATION)) == 2
    await store.close()


@pytest.mark.parametrize("migrate", [True, False])
async def test_a_database_halfway_through_those_steps_is_refused(empty, migrate):
    await (await SqlStore.open(empty)).close()
    on(empty, lambda connection: connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0005'"))
    with pytest.raises(StoreError, match="before the first release") as refused:
        await SqlStore.open(empty, migrate=migrate)
    assert "another database" in refused.value.fix


async def test_without_leave_to_migrate_a_database_without_schema_is_refused(empty):
    with pytest.raises(StoreError, match="circumspect db upgrade"):
        await SqlStore.open(empty, migrate=False)
    await (await SqlStore.open(empty)).close()
    await (await SqlStore.open(empty, migrate=False)).close()


async def test_an_older_database_gets_the_revisions_it_lacks_and_no_other(empty, monkeypatch):
    await (await SqlStore.open(empty)).close()

    class More:
        @staticmethod
        def upgrade(connection: sa.Connection) -> None:
            connection.exec_driver_sql("CREATE TABLE more (ours integer)")

    following = f"{int(HEAD) + 1:04}"
    known = list_revisions()
    monkeypatch.setitem(sys.modules, f"circumspect.stores.migrations.versions.{following}_more", More)
    monkeypatch.setattr(schema, "list_revisions", lambda: (*known, f"{following}_more"))
    monkeypatch.setattr(schema, "HEAD", following)
    for _ in range(2):
        await (await SqlStore.open(empty)).close()
    assert on(empty, lambda connection: sa.inspect(connection).has_table("more"))
    versions = on(empty, lambda connection: connection.exec_driver_sql("SELECT version_num FROM alembic_version").all())
    assert versions == [(following,)]
