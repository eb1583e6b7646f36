"""The schema: one history for both databases, upgraded once however many start, and no drift from the tables."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from tests.patience import PATIENCE
from tests.stores.words import CONVERSATION, TENANT, whole_turn

from circumspect.errors import StoreError
from circumspect.stores import SqlStore
from circumspect.stores.engine import connect
from circumspect.stores.schema import FIRST, HEAD, MIGRATIONS
from circumspect.stores.tables import metadata


def alembic(connection: sa.Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


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
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    script = ScriptDirectory.from_config(config)
    assert script.get_heads() == [HEAD]
    assert script.get_bases() == [FIRST]
    revisions = [revision.revision for revision in script.walk_revisions()]
    assert revisions == [f"{number:04}" for number in range(int(HEAD), int(FIRST) - 1, -1)]


async def test_migrations_and_tables_say_the_same(empty):
    await (await SqlStore.open(empty)).close()
    on(empty, lambda connection: command.check(alembic(connection)))
    migrated = on(empty, described)
    on(empty, lambda connection: command.downgrade(alembic(connection), "base"))
    made = on(empty, metadata.create_all, described)
    assert migrated == made


async def test_the_schema_goes_down_and_up_again(empty):
    await (await SqlStore.open(empty)).close()
    before = on(empty, described)
    on(empty, lambda connection: command.downgrade(alembic(connection), "base"))
    left = on(empty, lambda connection: sa.inspect(connection).get_table_names())
    assert left == ["alembic_version"]
    store = await SqlStore.open(empty)
    await whole_turn(store)
    assert len(await store.plans()) == 3
    await store.close()
    assert on(empty, described) == before


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


async def test_a_database_that_is_up_to_date_is_opened_without_alembic(url):
    """Alembic takes longer to import than everything else that opening does."""
    script = (
        "import asyncio, sys\n"
        "from circumspect.stores import SqlStore\n"
        "async def main():\n"
        "    await (await SqlStore.open(sys.argv[1])).close()\n"
        "asyncio.run(main())\n"
        "assert 'alembic' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script, url], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
