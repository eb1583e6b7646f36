"""Codes and passkeys as rows, on both databases: what is good once is good once, whoever comes second."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from datetime import timedelta

import pyotp
import pytest
import sqlalchemy as sa
from tests.stores.words import NOON

from circumspect.clock import RandomIds
from circumspect.server import second_factors as flows
from circumspect.server import totp
from circumspect.server.second_factors import CodeRefused
from circumspect.server.stores import access
from circumspect.server.stores import second_factors as rows
from circumspect.server.stores.access import OperatorRow
from circumspect.server.stores.second_factors import FREE_CODES, LONGEST_LOCK_SECONDS, PasskeyRow
from circumspect.server.vault import Vault
from circumspect.stores import SqlStore, action_log

DANA = OperatorRow("opr_1", "dana", "operator", None, 0.0)
ELI = OperatorRow("opr_2", "eli", "operator", None, 0.0)
VAULT = Vault("a secret key for tests only which is long enough")
IDS = RandomIds()
KEY = PasskeyRow("cred-1", "opr_1", "laptop", b"\x01\x02", 0, 1.0)


def later(seconds: float):
    return NOON + timedelta(seconds=seconds)


def code_of(secret: str, at) -> str:
    return pyotp.TOTP(secret).generate_otp(int(at.timestamp() // 30))


def wrong(secret: str, at) -> str:
    good = {code_of(secret, later_by(at, by)) for by in (-30, 0, 30)}
    return next(code for code in (f"{number:06d}" for number in range(10)) if code not in good)


def later_by(at, seconds):
    return at + timedelta(seconds=seconds)


@pytest.fixture
async def people(store: SqlStore) -> SqlStore:
    for one in (DANA, ELI):
        await store.tx(access.add_operator, one, "hash")
    return store


@pytest.fixture
async def secret(people: SqlStore) -> str:
    """Of dana's app, which was set up ten minutes ago."""
    begun = flows.begin_enrolment(VAULT, DANA, later(-600))
    await flows.add_code_app(people, IDS, VAULT, DANA, begun, code_of(begun.secret, later(-600)), later(-600))
    return begun.secret


async def check(store: SqlStore, code: str, at=NOON, operator: OperatorRow = DANA) -> bool:
    return await flows.check_code(store, IDS, VAULT, operator, code, at)


async def test_a_code_is_good_once_and_the_one_before_it_no_more(people, secret):
    assert await check(people, code_of(secret, NOON))
    assert not await check(people, code_of(secret, NOON))
    assert not await check(people, code_of(secret, later(-30)))
    assert await check(people, code_of(secret, later(30)), later(30))


async def test_of_two_workers_with_the_same_code_one_is_let_in(people, secret, url):
    other = await SqlStore.open(url)
    try:
        for round_ in range(5):
            at = later(60 * round_)
            code = code_of(secret, at)
            found = await asyncio.gather(*(check(store, code, at) for store in (people, other) * 2))
            assert sorted(found) == [False, False, False, True]
    finally:
        await other.close()


@pytest.mark.parametrize(("seconds", "good"), [(-60, False), (-30, True), (0, True), (30, True), (60, False)])
async def test_clocks_may_differ_by_half_a_minute(people, secret, seconds, good):
    assert await check(people, code_of(secret, later(seconds))) is good


async def test_spaces_in_a_code_do_not_matter(people, secret):
    code = code_of(secret, NOON)
    assert await check(people, f" {code[:3]} {code[3:]} ")


async def test_the_app_of_somebody_else_shows_nothing_that_is_good(people, secret):
    assert not await check(people, code_of(secret, NOON), operator=ELI)
    assert await check(people, code_of(secret, NOON))


async def test_guesses_are_counted_also_when_they_come_at_once_and_the_right_code_has_to_wait(people, secret):
    guess = wrong(secret, NOON)
    assert not any(await asyncio.gather(*(check(people, guess) for _ in range(30))))
    assert not await check(people, code_of(secret, NOON)), "while it is locked no code is right"
    assert await check(people, code_of(secret, later(61)), later(61)), (
        "what is tried during a lock does not lengthen it"
    )
    assert not await check(people, wrong(secret, later(90)), later(90)), "and the count begins anew"
    assert await check(people, code_of(secret, later(91)), later(91))


async def test_a_day_of_guessing_is_about_a_hundred_guesses(people, secret):
    at, heard = NOON, 0
    while (at - NOON).total_seconds() < 86400:
        tried = await people.tx(rows.begin_code, DANA.id, at.timestamp())
        heard += not tried.locked
        at = later_by(at, 60)
    assert heard <= FREE_CODES + 4 + 86400 / LONGEST_LOCK_SECONDS


async def test_a_lock_is_logged(people, secret):
    for _ in range(FREE_CODES):
        await check(people, wrong(secret, NOON))
    assert "second_factor.locked" in [row.action for row in await people.tx(action_log.list_actions)]


async def test_the_secret_is_sealed_and_recovery_codes_are_hashed(people):
    begun = flows.begin_enrolment(VAULT, DANA, NOON)
    codes = await flows.add_code_app(people, IDS, VAULT, DANA, begun, code_of(begun.secret, NOON), NOON)

    def dump(connection):
        tables = ("operator_code_apps", "operator_recovery_codes", "operator_log")
        return str([connection.execute(sa.text(f"SELECT * FROM {table}")).all() for table in tables])

    kept = await people.tx(dump)
    assert begun.secret not in kept
    assert begun.secret not in begun.sealed
    assert len(codes) == len(set(codes)) == 10
    for code in codes:
        assert code not in kept
        assert code.replace("-", "") not in kept


async def test_nothing_is_kept_before_a_code_shows_that_the_app_works(people):
    begun = flows.begin_enrolment(VAULT, DANA, NOON)
    for guess in (wrong(begun.secret, NOON), "", "abcdef", "١٢٣٤٥٦"):
        with pytest.raises(CodeRefused):
            await flows.add_code_app(people, IDS, VAULT, DANA, begun, guess, NOON)
    assert not (await flows.find_second_factors(people, DANA.id)).any


async def test_the_code_that_set_the_app_up_does_not_sign_in(people):
    begun = flows.begin_enrolment(VAULT, DANA, NOON)
    code = code_of(begun.secret, NOON)
    await flows.add_code_app(people, IDS, VAULT, DANA, begun, code, NOON)
    assert not await check(people, code)


async def test_an_app_that_works_is_not_replaced(people, secret):
    begun = flows.begin_enrolment(VAULT, DANA, NOON)
    with pytest.raises(CodeRefused):
        await flows.add_code_app(people, IDS, VAULT, DANA, begun, code_of(begun.secret, NOON), NOON)
    assert await check(people, code_of(secret, NOON))


async def test_setting_up_is_for_who_began_it_and_not_for_ever(people):
    begun = flows.begin_enrolment(VAULT, DANA, NOON)
    assert flows.resume_enrolment(VAULT, DANA, begun.sealed, later(899)) == begun
    assert flows.resume_enrolment(VAULT, DANA, begun.sealed, later(900)) is None
    assert flows.resume_enrolment(VAULT, ELI, begun.sealed, NOON) is None
    for forged in (
        "",
        "x",
        VAULT.seal("{}"),
        VAULT.seal("not json"),
        VAULT.seal('{"for": "device"}'),
        begun.sealed[:-2],
    ):
        assert flows.resume_enrolment(VAULT, DANA, forged, NOON) is None


async def test_a_recovery_code_is_good_once_for_its_owner_and_a_new_list_ends_the_old_one(people, secret):
    codes = await flows.renew_recovery_codes(people, IDS, DANA, NOON)
    assert not await check(people, codes[0], operator=ELI)
    assert await check(people, codes[0].upper())
    assert not await check(people, codes[0])
    assert (await flows.find_second_factors(people, DANA.id)).recovery_codes == 9
    assert await flows.renew_recovery_codes(people, IDS, DANA, NOON) != codes
    assert not await check(people, codes[1])


async def test_of_two_workers_with_the_same_recovery_code_one_is_let_in(people, secret, url):
    (code, *_) = await flows.renew_recovery_codes(people, IDS, DANA, NOON)
    other = await SqlStore.open(url)
    try:
        assert sorted(await asyncio.gather(check(people, code), check(other, code))) == [False, True]
    finally:
        await other.close()


async def test_without_a_second_factor_there_are_no_recovery_codes(people, secret):
    assert await flows.renew_recovery_codes(people, IDS, ELI, NOON) == ()
    codes = await flows.renew_recovery_codes(people, IDS, DANA, NOON)
    await flows.remove_code_app(people, IDS, DANA, NOON)
    assert (await flows.find_second_factors(people, DANA.id)).recovery_codes == 0
    assert not await check(people, codes[0])
    assert not await check(people, code_of(secret, NOON))


async def test_a_reset_takes_everything_of_one_operator_and_is_logged(people, secret):
    await flows.add_passkey(people, IDS, DANA, KEY, NOON)
    await flows.add_passkey(people, IDS, ELI, replace(KEY, id="cred-2", operator=ELI.id), NOON)
    assert await flows.reset_second_factors(people, IDS, "root", DANA, NOON)
    found = await flows.find_second_factors(people, DANA.id)
    assert (found.any, found.recovery_codes) == (False, 0)
    assert (await flows.find_second_factors(people, ELI.id)).any
    assert not await flows.reset_second_factors(people, IDS, "root", DANA, NOON)
    logged = [(row.operator, row.action, row.subject) for row in await people.tx(action_log.list_actions)]
    assert logged.count(("root", "second_factor.reset", DANA.id)) == 1


async def test_a_passkey_has_one_owner(people):
    await flows.add_passkey(people, IDS, DANA, KEY, NOON)
    with pytest.raises(CodeRefused):
        await flows.add_passkey(people, IDS, ELI, replace(KEY, operator=ELI.id), NOON)
    assert not await flows.remove_passkey(people, IDS, ELI, KEY.id, NOON)
    assert await flows.remove_passkey(people, IDS, DANA, KEY.id, NOON)


async def test_the_counter_of_a_passkey_moves_on_or_is_always_zero(people):
    await flows.add_passkey(people, IDS, DANA, KEY, NOON)
    assert await people.tx(rows.note_use, KEY.id, 0, 1.0)
    assert await people.tx(rows.note_use, KEY.id, 5, 1.0)
    for said in (5, 4, 0):
        assert not await people.tx(rows.note_use, KEY.id, said, 1.0)
    assert await people.tx(rows.note_use, KEY.id, 6, 1.0)


async def test_what_was_asked_is_answered_once_in_time_and_for_what_it_was_asked(people, url):
    await people.tx(rows.add_challenge, "h1", "prove", DANA.id, 0.0, 60)
    await people.tx(rows.add_challenge, "h2", "sign_in", None, 0.0, 60)
    assert await people.tx(rows.take_challenge, "h1", "sign_in", 1.0) == (False, None)
    assert await people.tx(rows.take_challenge, "h2", "sign_in", 60.0) == (False, None)
    other = await SqlStore.open(url)
    try:
        found = await asyncio.gather(*(store.tx(rows.take_challenge, "h1", "prove", 1.0) for store in (people, other)))
        assert sorted(found, key=str) == [(False, None), (True, DANA.id)]
    finally:
        await other.close()


def test_codes_are_those_of_the_standard():
    """RFC 6238, appendix B, the last six digits."""
    secret = base64.b32encode(b"12345678901234567890").decode()
    for at, code in ((59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (20000000000, "353130")):
        assert totp.find_step(secret, code, at) == at // 30


def test_the_picture_is_drawn_here_and_says_nothing_but_the_address():
    picture = totp.draw_picture(totp.build_address("ABCD", "dana <x>"))
    assert picture.startswith("data:image/svg+xml")
    assert "href" not in picture
    assert "script" not in picture
