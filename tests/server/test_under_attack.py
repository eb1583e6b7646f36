"""Somebody guesses at an operator's password all night: the operator works on, and the guesses stay few.

Time is simulated, one wrong password every six seconds, and a night is one transaction: what is heard is decided by
`begin_attempt` alone, and a password is compared only with what is heard.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from tests.server.door import door as opened
from tests.server.door import hurry

from circumspect.server.stores import access
from circumspect.server.stores.access import OperatorRow
from circumspect.server.stores.sessions import KnownDevice
from circumspect.server.stores.sign_in_attempts import begin_attempt, forgive_attempt
from circumspect.stores import SqlStore

HOURS = 11
EVERY = 6
OFFICE, HOTEL, ATTACKER = "203.0.113.7", "198.51.100.9", "192.0.2.1"
LAPTOP = KnownDevice("dvc_1", ("opr_1",))
Addresses = Callable[[int], str]


@pytest.fixture
async def desk(tmp_path):
    store = await SqlStore.open(f"sqlite:///{tmp_path}/store.db")
    await store.tx(access.add_operator, OperatorRow("opr_1", "dana", "operator", None, 0.0), "hash")
    yield store
    await store.close()


class Night:
    """What is heard of an attacker, who never has the right password, and of the operator, who has it."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection

    def guess(self, at: float, address: str) -> bool:
        attempt = begin_attempt(self.connection, "dana", address, None, at)
        return attempt is not None and not attempt.locked

    def enter(self, at: float, address: str, device: KnownDevice | None = None) -> bool:
        attempt = begin_attempt(self.connection, "dana", address, device, at)
        if attempt is None or attempt.locked:
            return False
        forgive_attempt(self.connection, attempt)
        return True


def one_address(number: int) -> str:
    return ATTACKER


def own_address(number: int) -> str:
    return OFFICE


def many_addresses(number: int) -> str:
    return f"192.0.{number // 250}.{number % 250}"


@pytest.mark.parametrize("addresses", [one_address, own_address, many_addresses])
async def test_the_operator_gets_in_at_their_own_browser_every_time(desk: SqlStore, addresses: Addresses):
    def play(connection: sa.Connection) -> list[bool]:
        night, got_in = Night(connection), []
        for number, second in enumerate(range(0, HOURS * 3600, EVERY)):
            night.guess(second, addresses(number))
            if number % 15 == 0:
                got_in.append(night.enter(second + 1, OFFICE, LAPTOP))
        return got_in

    assert await desk.tx(play) == [True] * 440


async def test_a_new_browser_elsewhere_gets_in_at_once_while_one_address_guesses(desk: SqlStore):
    def play(connection: sa.Connection) -> list[bool]:
        night, got_in = Night(connection), []
        for number, second in enumerate(range(0, HOURS * 3600, EVERY)):
            night.guess(second, ATTACKER)
            if number % 15 == 0:
                got_in.append(night.enter(second + 1, HOTEL))
        return got_in

    assert await desk.tx(play) == [True] * 440


async def test_a_new_browser_gets_in_within_the_hour_while_many_addresses_guess(desk: SqlStore):
    """They stand in one line and cannot be told apart: whoever comes when there is room is heard."""

    def wait(connection: sa.Connection, seed: int) -> float:
        night, chance = Night(connection), random.Random(seed)
        for second in range(0, 3600, EVERY):
            night.guess(second, many_addresses(second))
        for second in range(3600, 7200, EVERY):
            guessed, tried = second + chance.random() * EVERY, second + chance.random() * EVERY
            if guessed < tried:
                night.guess(guessed, many_addresses(second))
            if night.enter(tried, HOTEL):
                return tried - 3600
            if guessed > tried:
                night.guess(guessed, many_addresses(second))
        return float("inf")

    waits = []
    for seed in range(5):
        waits.append(await desk.tx(wait, seed))
        await desk.tx(access.set_password, "opr_1", "hash")
    assert max(waits) < 3600, waits


@pytest.mark.parametrize(("addresses", "most"), [(one_address, 110), (many_addresses, 1_470)])
async def test_the_guesses_of_a_day_stay_few(desk: SqlStore, addresses: Addresses, most: int):
    def play(connection: sa.Connection) -> int:
        night = Night(connection)
        return sum(night.guess(second, addresses(number)) for number, second in enumerate(range(0, 86400, EVERY)))

    assert most * 0.9 < await desk.tx(play) <= most


async def test_a_browser_is_known_after_its_first_sign_in_and_to_nobody_else(tmp_path, clock, monkeypatch):
    hurry(monkeypatch)
    monkeypatch.setattr("circumspect.server.routes.session.ATTEMPTS_PER_MINUTE", 10_000)
    async with opened(tmp_path, clock) as door:
        await door.operator("dana")
        await door.operator("eli")
        assert (await door.sign_in(cookie=True)).status_code == 201
        cookies = dict(door.client.cookies)
        door.client.cookies.clear()
        for _ in range(50):
            assert (await door.sign_in(password="wrong wrong wrong")).status_code == 401
            assert (await door.sign_in("eli", "wrong wrong wrong")).status_code == 401
        assert (await door.sign_in()).status_code == 401, "a stranger at this address"
        door.client.cookies.update(cookies)
        assert (await door.sign_in(cookie=True)).status_code == 201
        assert (await door.sign_in("eli")).status_code == 401, "it is dana's browser"


async def test_nobody_makes_a_known_browser(tmp_path, clock, monkeypatch):
    hurry(monkeypatch)
    monkeypatch.setattr("circumspect.server.routes.session.ATTEMPTS_PER_MINUTE", 10_000)
    async with opened(tmp_path, clock) as door:
        operator = await door.operator()
        for _ in range(10):
            await door.sign_in(password="wrong wrong wrong")
        vault, until = door.inside.vault, clock.now().timestamp() + 100
        own = f'"id": "dvc_1", "operators": ["{operator.id}"], "until": {until}'
        forged = (
            "", "dvc_1", f'{{"for": "device", {own}}}', vault.seal(f'{{"for": "customer pages", {own}}}'),
            vault.seal("[]"), vault.seal("not json"), vault.seal('{"for": "device"}'),
            vault.seal(f'{{"for": "device", "id": "dvc_1", "operators": ["{operator.id}"], "until": 1}}'),
        )  # fmt: skip
        for cookie in forged:
            headers = {"Cookie": f"circumspect_device={cookie}"} if cookie.isascii() else {}
            assert (await door.sign_in(headers=headers)).status_code == 401, cookie
        real = vault.seal(f'{{"for": "device", {own}}}')
        assert (await door.sign_in(headers={"Cookie": f"circumspect_device={real}"})).status_code == 201


async def test_strangers_at_the_same_address_take_no_room_from_a_known_browser(tmp_path, clock, monkeypatch):
    hurry(monkeypatch)
    async with opened(tmp_path, clock) as door:
        await door.operator()
        await door.sign_in(cookie=True)
        cookies = dict(door.client.cookies)
        door.client.cookies.clear()
        while (await door.sign_in("nobody", "x")).status_code != 429:
            pass
        door.client.cookies.update(cookies)
        assert (await door.sign_in(cookie=True)).status_code == 201
