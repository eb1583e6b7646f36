"""Rows of sign-ins, on both databases."""

from __future__ import annotations

import pytest

from circumspect.server.stores import access, sessions
from circumspect.server.stores.access import OperatorRow
from circumspect.server.stores.sessions import SessionRow
from circumspect.stores import SqlStore

NOW = 1_800_000_000.0
IDLE = 60.0
DANA = OperatorRow("opr_1", "dana", "operator", None, NOW)
ELI = OperatorRow("opr_2", "eli", "operator", None, NOW)


@pytest.fixture
async def desk(store: SqlStore) -> SqlStore:
    for row in (DANA, ELI):
        await store.tx(access.add_operator, row, "hash")
    return store


async def sign_in(store: SqlStore, name: str, at: float = NOW, seconds: float = 100, operator: str = "opr_1") -> None:
    row = SessionRow(f"ssn_{name}", operator, "password", at, at, at, at + seconds, "203.0.113.7", "Firefox", "dvc_1")
    await store.tx(sessions.add_session, row, name)


async def is_signed_in(store: SqlStore, name: str = "s1", at: float = NOW + 10) -> bool:
    return await store.tx(access.operator_of, name, at, IDLE) is not None


async def test_a_sign_in_lasts_until_its_end_a_new_password_or_the_end_of_the_account(desk):
    for ending in (
        lambda connection: sessions.end_session(connection, "s1"),
        lambda connection: sessions.end_session_by_id(connection, "ssn_s1", "opr_1"),
        lambda connection: sessions.end_sessions(connection, "opr_1"),
        lambda connection: access.set_password(connection, "opr_1", "new"),
        lambda connection: access.set_disabled(connection, "opr_1", NOW),
    ):
        await sign_in(desk, "s1")
        assert await is_signed_in(desk)
        await desk.tx(ending)
        assert not await is_signed_in(desk)


async def test_a_disabled_operator_is_out_even_with_a_sign_in_made_meanwhile(desk):
    await desk.tx(access.set_disabled, "opr_1", NOW)
    await sign_in(desk, "s1")
    assert not await is_signed_in(desk)
    await desk.tx(access.set_disabled, "opr_1", None)
    assert not await is_signed_in(desk)


async def test_a_sign_in_that_is_not_used_ends_and_using_it_keeps_it(desk):
    await sign_in(desk, "s1", seconds=1000)
    assert await is_signed_in(desk, at=NOW + IDLE - 1)
    assert not await is_signed_in(desk, at=NOW + IDLE)
    await desk.tx(sessions.touch_session, "ssn_s1", NOW + IDLE - 1)
    assert await is_signed_in(desk, at=NOW + IDLE)
    await desk.tx(sessions.touch_session, "ssn_s1", NOW)
    assert await is_signed_in(desk, at=NOW + IDLE), "a worker whose clock is behind takes nothing back"
    for second in range(0, 1000, 30):
        await desk.tx(sessions.touch_session, "ssn_s1", NOW + second)
    assert not await is_signed_in(desk, at=NOW + 1000), "however busy"


async def test_the_sweep_takes_what_has_ended(desk):
    await sign_in(desk, "s1")
    await sign_in(desk, "s2", at=NOW + 100)
    await desk.tx(sessions.sweep_sessions, NOW + 100)
    assert await desk.tx(sessions.end_session, "s1") is None
    assert (await desk.tx(sessions.end_session, "s2")).id == "ssn_s2"


async def test_sign_ins_are_listed_for_one_operator_the_last_used_first(desk):
    await sign_in(desk, "s1")
    await sign_in(desk, "s2", at=NOW + 1)
    await sign_in(desk, "s3", operator="opr_2")
    await sign_in(desk, "s4", at=NOW - IDLE)
    listed = await desk.tx(sessions.list_sessions, "opr_1", NOW + 2, IDLE)
    assert [row.id for row in listed] == ["ssn_s2", "ssn_s1"]
    assert (listed[1].address, listed[1].client, listed[1].device) == ("203.0.113.7", "Firefox", "dvc_1")


async def test_an_id_ends_nothing_of_another_operator(desk):
    await sign_in(desk, "s1")
    assert await desk.tx(sessions.end_session_by_id, "ssn_s1", "opr_2") is None
    assert await is_signed_in(desk)


async def test_all_but_one_can_be_ended(desk):
    for name in ("s1", "s2", "s3"):
        await sign_in(desk, name)
    await sign_in(desk, "s4", operator="opr_2")

    def end_others(connection) -> int:
        return sessions.end_sessions(connection, "opr_1", but="ssn_s2")

    assert await desk.tx(end_others) == 2
    assert [await is_signed_in(desk, name) for name in ("s1", "s2", "s3", "s4")] == [False, True, False, True]


async def test_proving_it_again_moves_the_time_and_the_method(desk):
    await sign_in(desk, "s1")
    await desk.tx(sessions.mark_authenticated, "ssn_s1", NOW + 5)
    _, session = await desk.tx(access.operator_of, "s1", NOW + 6, IDLE)
    assert (session.authenticated_at, session.created_at, session.method) == (NOW + 5, NOW, "password")
    await desk.tx(sessions.mark_authenticated, "ssn_s1", NOW + 7, "passkey")
    _, session = await desk.tx(access.operator_of, "s1", NOW + 8, IDLE)
    assert session.method == "passkey"


async def test_what_a_program_calls_itself_is_cut_and_cleaned(desk):
    row = SessionRow("ssn_1", "opr_1", "password", NOW, NOW, NOW, NOW + 100, "", "x\0" * 5000)
    await desk.tx(sessions.add_session, row, "s1")
    (listed,) = await desk.tx(sessions.list_sessions, "opr_1", NOW, IDLE)
    assert len(listed.client) <= 200
    assert "\0" not in listed.client
