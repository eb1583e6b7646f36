"""What an authenticator answers counts once, in time, from our own pages, and for who was asked."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest
from fastapi import Request
from tests.server.soft_authenticator import PRESENT, SoftAuthenticator

from circumspect.clock import RandomIds
from circumspect.server import passkeys, second_factors
from circumspect.server.passkeys import ASKED_SECONDS, PasskeyRefused, RelyingParty, find_party
from circumspect.server.stores import access
from circumspect.server.stores.access import OperatorRow
from circumspect.stores import SqlStore

NOW = 1_800_000_000.0
HERE = RelyingParty("localhost", "http://localhost")
DANA = OperatorRow("opr_1", "dana", "operator", None, NOW)
ELI = OperatorRow("opr_2", "eli", "operator", None, NOW)


@pytest.fixture
async def store(tmp_path):
    made = await SqlStore.open(f"sqlite:///{tmp_path}/store.db")
    for one in (DANA, ELI):
        await made.tx(access.add_operator, one, "hash")
    yield made
    await made.close()


async def register(store, device, operator=DANA):
    asked = await passkeys.ask_to_register(store, HERE, operator, NOW)
    row = await passkeys.read_registration(store, HERE, operator, "laptop", device.create(asked), NOW)
    await second_factors.add_passkey(store, RandomIds(), operator, row, datetime.fromtimestamp(NOW, UTC))
    return row


@pytest.fixture
async def device(store):
    made = SoftAuthenticator()
    await register(store, made)
    return made


async def ask(store, purpose="sign_in", operator=None, party=HERE):
    return await passkeys.ask_to_sign(store, party, purpose, operator, NOW)


async def answer(store, said, purpose="sign_in", party=HERE, now=NOW):
    return await passkeys.read_signature(store, party, purpose, said, now)


async def refused(store, said, **options):
    with pytest.raises(PasskeyRefused) as problem:
        await answer(store, said, **options)
    assert problem.value.problem == "The passkey was not accepted.", "nobody is told why"


async def test_a_passkey_signs_its_owner_in_without_a_name(store, device):
    assert (await answer(store, device.get(await ask(store)))).id == DANA.id


async def test_an_answer_counts_once_also_for_two_workers_at_once(store, device):
    said = device.get(await ask(store))
    found = await asyncio.gather(*(answer(store, said) for _ in range(5)), return_exceptions=True)
    assert sorted(type(one).__name__ for one in found) == ["OperatorRow", *["PasskeyRefused"] * 4]
    await refused(store, said)


async def test_an_answer_comes_in_time(store, device):
    said = device.get(await ask(store))
    await refused(store, said, now=NOW + ASKED_SECONDS)


async def test_what_nobody_asked_is_no_answer(store, device):
    await refused(store, device.get(json.dumps({"challenge": "bm90IGFza2Vk"})))


async def test_an_answer_is_for_what_was_asked(store, device):
    await refused(store, device.get(await ask(store, "prove", DANA.id)), purpose="sign_in")
    asked = await passkeys.ask_to_register(store, HERE, DANA, NOW)
    await refused(store, device.get(asked))


async def test_the_passkey_of_somebody_else_does_not_prove_who_was_asked(store, device):
    await refused(store, device.get(await ask(store, "prove", ELI.id)), purpose="prove")
    assert (await answer(store, device.get(await ask(store, "prove", DANA.id)), purpose="prove")).id == DANA.id


async def test_a_passkey_does_not_say_that_it_is_somebody_elses(store, device):
    device.handle = ELI.id.encode()
    await refused(store, device.get(await ask(store)))
    device.handle = DANA.id.encode()
    assert (await answer(store, device.get(await ask(store)))).id == DANA.id


@pytest.mark.parametrize(
    ("party", "origin"),
    [("localhost", "http://evil.example"), ("evil.example", "http://localhost"), ("localhost", "https://localhost")],
)
async def test_other_pages_and_other_hosts_are_not_ours(store, device, party, origin):
    device.party, device.origin = party, origin
    await refused(store, device.get(await ask(store)))
    stranger = SoftAuthenticator(party, origin)
    asked = await passkeys.ask_to_register(store, HERE, ELI, NOW)
    with pytest.raises(PasskeyRefused):
        await passkeys.read_registration(store, HERE, ELI, "x", stranger.create(asked), NOW)


async def test_the_device_has_to_recognise_its_owner(store, device):
    device.flags = PRESENT
    await refused(store, device.get(await ask(store)))
    careless = SoftAuthenticator()
    careless.flags = PRESENT
    with pytest.raises(PasskeyRefused):
        await register(store, careless)


async def test_a_copy_with_an_older_counter_is_refused(store):
    device = SoftAuthenticator()
    device.uses = 10
    await register(store, device)
    assert (await answer(store, device.get(await ask(store)))).id == DANA.id
    device.uses = 9
    await refused(store, device.get(await ask(store)))


async def test_a_signature_by_another_key_is_none(store, device):
    thief = SoftAuthenticator()
    thief.id = device.id
    await refused(store, thief.get(await ask(store)))


async def test_a_registration_is_for_who_began_it_and_once(store):
    device = SoftAuthenticator()
    asked = await passkeys.ask_to_register(store, HERE, DANA, NOW)
    said = device.create(asked)
    with pytest.raises(PasskeyRefused):
        await passkeys.read_registration(store, HERE, ELI, "x", said, NOW)
    with pytest.raises(PasskeyRefused):
        await passkeys.read_registration(store, HERE, DANA, "x", said, NOW)


async def test_who_may_not_come_in_any_more_does_not_with_a_passkey_either(store, device):
    await store.tx(access.set_disabled, DANA.id, NOW)
    await refused(store, device.get(await ask(store)))


@pytest.mark.parametrize(
    "said",
    ["", "null", "[]", "{}", '{"response": 1}', '{"response": {}}', '{"response": {"clientDataJSON": "!!"}}',
     '{"response": {"clientDataJSON": "e30"}}', "x" * 30_000, '{"id": "\\u0000", "response": {"clientDataJSON": ""}}'],
    ids=range(10),
)  # fmt: skip
async def test_nonsense_is_refused_in_words(store, said):
    await refused(store, said)


@pytest.mark.parametrize(
    ("public", "host", "party"),
    [
        (None, "localhost:8000", RelyingParty("localhost", "http://localhost:8000")),
        (None, "127.0.0.1:8000", None),
        (None, "[::1]:8000", None),
        ("https://Agents.example/console", "10.0.0.7", RelyingParty("agents.example", "https://agents.example")),
        ("https://agents.example", "evil.example", RelyingParty("agents.example", "https://agents.example")),
    ],
)
def test_whom_a_passkey_is_for_is_where_people_reach_the_server(public, host, party):
    scope = {"type": "http", "scheme": "http", "path": "/", "headers": [(b"host", host.encode())], "query_string": b""}
    assert find_party(Request(scope), public) == party
