"""Attempts to sign in are counted by browser, by address and by name, on both databases."""

from __future__ import annotations

import asyncio

import pytest
import sqlalchemy as sa

from circumspect.server.stores import access, privacy
from circumspect.server.stores.access import OperatorRow
from circumspect.server.stores.sessions import KnownDevice
from circumspect.server.stores.sign_in_attempts import (
    FORGOTTEN_SECONDS,
    FREE_FAILURES,
    LONGEST_LOCK_SECONDS,
    STRANGER_SECONDS,
    STRANGERS_AT_ONCE,
    Attempt,
    begin_attempt,
    forgive_attempt,
)
from circumspect.stores import SqlStore
from circumspect.stores.tables import sign_in_attempts

NOW = 1_800_000_000.0
HOME, ELSEWHERE = "203.0.113.7", "198.51.100.9"
LAPTOP = KnownDevice("dvc_1", ("opr_1",))


@pytest.fixture
async def desk(store: SqlStore) -> SqlStore:
    for id_, name in (("opr_1", "dana"), ("opr_2", "eli")):
        await store.tx(access.add_operator, OperatorRow(id_, name, "operator", None, NOW), "hash")
    return store


async def attempt(store: SqlStore, at: float = NOW, address: str = HOME, device=None, name: str = "dana") -> Attempt:
    return await store.tx(begin_attempt, name, address, device, at)


async def is_locked(store: SqlStore, *args, **more) -> bool:
    return (await attempt(store, *args, **more)).locked


async def test_the_lock_grows_to_a_quarter_of_an_hour_and_no_further(desk):
    def read_lock(connection: sa.Connection) -> float:
        own = sign_in_attempts.c.bucket == f"address:{HOME}"
        return connection.execute(sa.select(sign_in_attempts.c.until).where(own)).scalar_one()

    at, locks = NOW, []
    for _ in range(FREE_FAILURES + 9):
        assert not await is_locked(desk, at)
        until = await desk.tx(read_lock)
        locks.append(until - at)
        at = until
    assert locks == [0, 0, 0, 0, 30, 60, 120, 240, 480, 900, 900, 900, 900, 900]
    assert max(locks) == LONGEST_LOCK_SECONDS


async def test_attempts_during_a_lock_are_locked_out_and_do_not_lengthen_it(desk):
    for _ in range(FREE_FAILURES):
        assert not await is_locked(desk)
    assert [await is_locked(desk, NOW + second) for second in range(30)] == [True] * 30
    assert not await is_locked(desk, NOW + 30)


async def test_a_hundred_guesses_at_once_are_as_few_as_in_a_row(desk):
    locked = await asyncio.gather(*(is_locked(desk) for _ in range(100)))
    assert locked.count(False) == FREE_FAILURES


async def test_a_hundred_addresses_at_once_are_as_few_as_in_a_row(desk):
    locked = await asyncio.gather(*(is_locked(desk, address=f"192.0.2.{number}") for number in range(100)))
    assert locked.count(False) == STRANGERS_AT_ONCE


async def test_an_address_that_is_locked_locks_no_other_and_no_browser_that_is_known(desk):
    for _ in range(50):
        await attempt(desk)
    assert await is_locked(desk)
    assert not await is_locked(desk, address=ELSEWHERE)
    assert not await is_locked(desk, device=LAPTOP), "from the very same address"
    assert not await is_locked(desk, name="eli")


async def test_a_known_browser_has_a_lock_of_its_own_and_is_known_to_its_owners_only(desk):
    for _ in range(FREE_FAILURES):
        assert not await is_locked(desk, device=LAPTOP)
    assert await is_locked(desk, device=LAPTOP)
    assert await is_locked(desk, device=LAPTOP, address=ELSEWHERE), "it goes where the browser goes"
    assert not await is_locked(desk, device=KnownDevice("dvc_2", ("opr_1",)))
    assert not (await attempt(desk, device=LAPTOP, name="eli")).known


async def test_a_name_that_many_addresses_try_hears_strangers_one_by_one_and_its_owner_always(desk):
    heard = [not await is_locked(desk, address=f"192.0.2.{number}") for number in range(100)]
    assert heard == [True] * STRANGERS_AT_ONCE + [False] * (100 - STRANGERS_AT_ONCE)
    assert await is_locked(desk, address=ELSEWHERE)
    assert not await is_locked(desk, device=LAPTOP)
    assert not await is_locked(desk, NOW + STRANGER_SECONDS, address=ELSEWHERE)
    assert await is_locked(desk, NOW + STRANGER_SECONDS, address="192.0.2.200")


async def test_what_is_not_heard_leaves_no_row(desk):
    for number in range(200):
        await attempt(desk, address=f"192.0.2.{number}")
    rows = await desk.tx(lambda connection: connection.execute(sa.select(sign_in_attempts)).all())
    assert len(rows) == STRANGERS_AT_ONCE + 1


async def test_the_right_password_empties_the_bucket_and_takes_no_room(desk):
    for _ in range(FREE_FAILURES):
        last = await attempt(desk)
    await desk.tx(forgive_attempt, last)
    assert (await attempt(desk)).failures == 1
    for _ in range(3 * STRANGERS_AT_ONCE):
        again = await attempt(desk)
        assert not again.locked
        await desk.tx(forgive_attempt, again)


async def test_a_new_password_forgets_every_failure(desk):
    for number in range(STRANGERS_AT_ONCE):
        await attempt(desk, address=f"192.0.2.{number}")
    assert await is_locked(desk)
    await desk.tx(access.set_password, "opr_1", "new")
    assert not await is_locked(desk)


async def test_a_day_without_attempts_begins_anew_and_is_swept(desk):
    for _ in range(FREE_FAILURES + 5):
        last = await attempt(desk, NOW)
    later = NOW + FORGOTTEN_SECONDS
    await desk.tx(privacy.tidy, 0.0, later)
    assert await desk.tx(lambda connection: connection.execute(sa.select(sign_in_attempts)).all()) == []
    assert last.locked
    assert (await attempt(desk, later)).failures == 1


async def test_nobody_has_no_attempts(desk):
    for name in ("nobody", "dana\0", "\ud83d", "' OR ''='", "dana%", "x" * 5000):
        assert await desk.tx(begin_attempt, name, HOME, None, NOW) is None
