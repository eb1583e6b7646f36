"""The operators' log on both databases: nothing in it can be changed, and whoever changes it all the same is found out.

A tamperer here owns the database: the triggers are switched off first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any

import pytest
import sqlalchemy as sa

from circumspect.errors import StoreError
from circumspect.server.vault import Vault
from circumspect.stores import SqlStore, action_log, log_keeping
from circumspect.stores.action_log import acting_from, log_action
from circumspect.stores.log_chain import CHECKPOINT, LogHead, check_chain, seal, write_signature
from circumspect.stores.log_tables import CUT, log_exports, operator_log

SIGNER = Vault("the secret key of this server, which is long")
THIEF = Vault("the secret key of a thief, which is long too")
ROWS = 12


def write(connection: sa.Connection, number: int, **more: Any) -> None:
    row: dict[str, Any] = {
        "id": f"act-{number}", "at": float(number), "operator": "dana", "action": "key.created", "tenant": "shop",
        "subject": f"key-{number}", "detail": {"scopes": ["chat"], "share": 0.5, "days": 3, "name": "קופה"},
    }  # fmt: skip
    log_action(connection, **{**row, **more})


@pytest.fixture
async def log(store: SqlStore) -> SqlStore:
    for number in range(1, ROWS + 1):
        await store.tx(write, number)
    return store


async def tamper(store: SqlStore, *statements: str) -> None:
    def body(connection: sa.Connection) -> None:
        if connection.dialect.name == "sqlite":
            for trigger in ("unchanged", "kept", "added"):
                connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS operator_log_{trigger}")
        else:
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        for statement in statements:
            connection.exec_driver_sql(statement)

    await store.tx(body)


async def rewrite(store: SqlStore, first: int, **changes: Any) -> None:
    """A clever tamperer: the row is changed, and all hashes from there on are computed anew."""
    rows = await store.tx(lambda c: c.execute(sa.select(operator_log).order_by(operator_log.c.seq)).all())
    previous, statements = next((row.hash for row in rows if row.seq == first - 1), ""), []
    for row in rows[first - 1 :]:
        told = {**row._mapping, **(changes if row.seq == first else {})}
        previous = seal(previous, told)
        set_ = ", ".join(f"{name} = '{value}'" for name, value in changes.items() if row.seq == first)
        statements.append(
            f"UPDATE operator_log SET hash = '{previous}'{', ' if set_ else ''}{set_} WHERE seq = {row.seq}"
        )
    await tamper(store, *statements)


# --- the database refuses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE operator_log SET operator = 'eli' WHERE seq = 3",
        "UPDATE operator_log SET hash = '' WHERE seq = 3",
        "UPDATE operator_log SET seq = seq + 100",
        "DELETE FROM operator_log WHERE seq = 12",
        "DELETE FROM operator_log",
        "INSERT INTO operator_log (id, seq, at, operator, action, subject, origin, result, hash)"
        " VALUES ('act-3', 99, 1, 'x', 'x', 'x', '', 'done', '')",
        "INSERT INTO operator_log (id, seq, at, operator, action, subject, origin, result, hash)"
        " VALUES ('new', 3, 1, 'x', 'x', 'x', '', 'done', '')",
    ],
)
async def test_the_database_refuses_to_change_the_log(log: SqlStore, statement: str):
    with pytest.raises((StoreError, sa.exc.IntegrityError)):
        await log.tx(lambda connection: connection.exec_driver_sql(statement))
    assert (await check_chain(log, SIGNER)).rows == ROWS


async def test_nor_can_it_be_emptied_or_a_row_replaced(log: SqlStore):
    sqlite = await log.tx(lambda connection: connection.dialect.name == "sqlite")
    replacing = (
        "INSERT OR REPLACE INTO operator_log (id, seq, at, operator, action, subject, origin, result, hash)"
        " SELECT id, seq, at, 'eli', action, subject, origin, result, hash FROM operator_log WHERE seq = 3"
    )
    with pytest.raises(StoreError, match="only added to"):
        await log.tx(lambda connection: connection.exec_driver_sql(replacing if sqlite else "TRUNCATE operator_log"))
    assert (await check_chain(log, SIGNER)).rows == ROWS


async def test_what_is_undone_leaves_no_gap(log: SqlStore):
    def fail(connection: sa.Connection) -> None:
        write(connection, 100)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await log.tx(fail)
    await log.tx(write, 101)
    found = await check_chain(log, SIGNER)
    assert (found.broken, found.rows, found.head.seq) == (None, ROWS + 1, ROWS + 1)


# --- the chain ------------------------------------------------------------------------------------------------------


async def test_a_log_that_nobody_touched_is_whole(log: SqlStore):
    found = await check_chain(log, SIGNER)
    assert (found.broken, found.rows, found.head.seq, found.signed) == (None, ROWS, ROWS, 0)


async def test_an_empty_log_is_whole(store: SqlStore):
    assert (await check_chain(store, SIGNER)).broken is None


@pytest.mark.parametrize(
    ("column", "value"),
    [("operator", "'eli'"), ("action", "'key.revoked'"), ("tenant", "NULL"), ("subject", "'key-9'"), ("at", "7.5"),
     ("detail", """'{"scopes":["admin"]}'"""), ("origin", "'::1'"), ("result", "'refused'"), ("id", "'act-x'"),
     ("hash", "'00'")],
)  # fmt: skip
async def test_a_row_that_was_changed_is_named(log: SqlStore, column: str, value: str):
    await tamper(log, f"UPDATE operator_log SET {column} = {value} WHERE seq = 5")
    found = await check_chain(log, SIGNER)
    assert (found.broken, found.rows) == (5, 4)


@pytest.mark.parametrize("gone", [1, 5, ROWS - 1])
async def test_a_row_that_was_taken_out_is_named(log: SqlStore, gone: int):
    await tamper(log, f"DELETE FROM operator_log WHERE seq = {gone}")
    assert (await check_chain(log, SIGNER)).broken == gone


async def test_closing_the_gap_does_not_help(log: SqlStore):
    later = [f"UPDATE operator_log SET seq = {seq - 1} WHERE seq = {seq}" for seq in range(6, ROWS + 1)]
    await tamper(log, "DELETE FROM operator_log WHERE seq = 5", *later)
    assert (await check_chain(log, SIGNER)).broken == 5


async def test_rows_that_changed_places_are_named(log: SqlStore):
    await tamper(
        log,
        "UPDATE operator_log SET seq = 99 WHERE seq = 4",
        "UPDATE operator_log SET seq = 4 WHERE seq = 6",
        "UPDATE operator_log SET seq = 6 WHERE seq = 99",
    )
    assert (await check_chain(log, SIGNER)).broken == 4


async def test_what_was_taken_off_the_end_is_found_by_a_head_that_was_kept(log: SqlStore):
    head = (await check_chain(log, SIGNER)).head
    assert (await check_chain(log, SIGNER, head)).broken is None
    await tamper(log, f"DELETE FROM operator_log WHERE seq > {ROWS - 3}")
    assert (await check_chain(log, SIGNER)).broken is None, "of itself no chain shows it"
    found = await check_chain(log, SIGNER, head)
    assert (found.broken, found.rows) == (ROWS - 2, ROWS - 3)
    for number in range(3):
        await log.tx(write, 200 + number)
    assert (await check_chain(log, SIGNER, head)).broken == ROWS, "nor do others in their place"


# --- checkpoints ----------------------------------------------------------------------------------------------------


async def test_hashes_that_were_computed_anew_are_found_by_a_checkpoint(log: SqlStore):
    assert await log.tx(log_keeping.write_checkpoint, SIGNER, "check-1", 20.0)
    assert not await log.tx(log_keeping.write_checkpoint, SIGNER, "check-2", 21.0), "nothing is new"
    assert (await check_chain(log, SIGNER)).signed == ROWS
    await rewrite(log, 5, operator="eli")
    found = await check_chain(log, SIGNER)
    assert found.broken is not None
    assert found.broken == ROWS + 1, "the signature is of another chain"


async def test_without_a_checkpoint_they_are_not(log: SqlStore):
    """What the chain alone does not promise."""
    await rewrite(log, 5, operator="eli")
    assert (await check_chain(log, SIGNER)).broken is None


async def test_a_checkpoint_of_another_key_is_none(log: SqlStore):
    await log.tx(log_keeping.write_checkpoint, THIEF, "check-1", 20.0)
    assert (await check_chain(log, SIGNER)).broken == ROWS + 1


async def test_checkpoints_of_an_older_key_still_count(log: SqlStore):
    await log.tx(log_keeping.write_checkpoint, SIGNER, "check-1", 20.0)
    both = Vault(["a newer secret key of this server, long", "the secret key of this server, which is long"])
    assert (await check_chain(log, both)).broken is None


# --- giving up what is old ------------------------------------------------------------------------------------------


async def cut(store: SqlStore, before: float, id_: str = "cut-1", receivers: Collection[str] = ()) -> int:
    gone = 0
    if await store.tx(log_keeping.cut_log, SIGNER, id_, 50.0, before, receivers):
        while some := await store.tx(log_keeping.delete_cut):
            gone += some
    return gone


async def test_what_is_too_old_is_given_up_and_the_rest_can_be_checked(log: SqlStore):
    assert await cut(log, 6.0) == 5
    found = await check_chain(log, SIGNER)
    assert (found.broken, found.rows) == (None, ROWS - 5 + 1)
    assert await cut(log, 6.0) == 0
    assert await cut(log, 9.0, "cut-2") == 3
    assert (await check_chain(log, SIGNER)).broken is None
    await tamper(log, "DELETE FROM operator_log WHERE seq = 9")
    assert (await check_chain(log, SIGNER)).broken == 9


async def test_a_cut_that_was_broken_off_halfway_can_be_checked(log: SqlStore):
    assert await log.tx(log_keeping.cut_log, SIGNER, "cut-1", 50.0, 6.0)
    await log.tx(lambda connection: connection.execute(sa.delete(operator_log).where(operator_log.c.seq <= 2)))
    assert (await check_chain(log, SIGNER)).broken is None


async def test_rows_that_a_receiver_has_not_had_are_kept(log: SqlStore):
    await log.tx(lambda c: c.execute(sa.insert(log_exports).values(target="syslog", seq=2, leased_until=0)))
    assert await cut(log, 6.0, receivers=("syslog", "webhook")) == 0, "the webhook has had nothing"
    assert await cut(log, 6.0, receivers=("syslog",)) == 2


async def test_a_receiver_that_is_no_longer_one_holds_nothing_up(log: SqlStore):
    await log.tx(lambda c: c.execute(sa.insert(log_exports).values(target="syslog", seq=2, leased_until=0)))
    assert await cut(log, 6.0) == 5


async def test_a_forged_cut_is_found(log: SqlStore):
    """Anybody who can write a row can have older ones deleted; they cannot sign for it."""
    head = LogHead(5, (await log.tx(action_log.list_actions))[7].hash)
    detail = write_signature(CUT, head, THIEF)
    await log.tx(write, 20, action=CUT, subject="5", tenant=None, detail=detail)
    await log.tx(log_keeping.delete_cut)
    assert (await check_chain(log, SIGNER)).broken == ROWS + 1


async def test_a_checkpoint_cannot_be_passed_off_as_a_cut(log: SqlStore):
    await log.tx(log_keeping.write_checkpoint, SIGNER, "check-1", 20.0)
    (signed, *_) = await log.tx(action_log.list_actions)
    assert signed.action == CHECKPOINT
    await log.tx(write, 21, action=CUT, subject=signed.subject, tenant=None, detail=signed.detail)
    await log.tx(log_keeping.delete_cut)
    assert (await check_chain(log, SIGNER)).broken == ROWS + 2


# --- many at once ---------------------------------------------------------------------------------------------------


async def test_writers_at_once_make_one_chain(url: str):
    stores = [await SqlStore.open(url) for _ in range(3)]
    try:
        await asyncio.gather(*(store.tx(write, 100 * place + number) for number in range(25) for place, store in
                               enumerate(stores)))  # fmt: skip
        found = await check_chain(stores[0], SIGNER)
        assert (found.broken, found.rows) == (None, 75)
    finally:
        for store in stores:
            await store.close()


def test_processes_at_once_make_one_chain(url: str, race: Callable[..., Any]):
    assert race("write_log", url, 3) == [20] * 3

    async def check() -> tuple[int | None, int]:
        store = await SqlStore.open(url)
        found = await check_chain(store, SIGNER)
        await store.close()
        return found.broken, found.rows

    assert asyncio.run(check()) == (None, 60)


async def test_where_it_came_from_is_in_the_row(store: SqlStore):
    token = acting_from.set("192.0.2.7")
    await store.tx(write, 1)
    acting_from.reset(token)
    await store.tx(write, 2)
    second, first = await store.tx(action_log.list_actions)
    assert (first.origin, second.origin, first.result) == ("192.0.2.7", "", "done")
