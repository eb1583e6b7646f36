"""End users by signed token: what a tenant's key vouches for counts, and nothing else does."""

from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import jwt
import pytest
import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from pydantic import ValidationError
from tests.server.house import OURS, SECRET, THEIRS, House, is_a_problem, say

from circumspect.server.stores import access
from circumspect.server.stores.tenants import touch
from circumspect.server.tenants.end_user_keys import EndUserKey, EndUsersSection
from circumspect.server.vault import Vault
from circumspect.stores import SqlStore
from circumspect.stores.tables import tenants
from circumspect.values import Incoming, TenantId

SHARED, OTHERS = "a shared secret of the shop " * 3, "a secret of another tenant " * 3
RSA, EC = rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def pem(key: Any) -> str:
    return str(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode())


KEYS = [
    {"kid": "shared", "algorithm": "HS256", "secret": "end_users"},
    {"kid": "rsa", "algorithm": "RS256", "public_key": pem(RSA)},
    {"kid": "ec", "algorithm": "ES256", "jwk": json.loads(jwt.algorithms.ECAlgorithm.to_jwk(EC.public_key()))},
    {"kid": "ed", "algorithm": "EdDSA", "public_key": pem(ED)},
]
ISSUER, AUDIENCE = "https://id.shop.example", "circumspect"


def sign(
    sub: Any = "anna", key: Any = SHARED, kid: str | None = "shared", algorithm: str = "HS256", **more: Any
) -> str:
    said = {"sub": sub, "exp": time.time() + 300, "iss": ISSUER, "aud": AUDIENCE, **more}
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode({k: v for k, v in said.items() if v is not None}, key, algorithm, headers)


def part(value: object) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def forged(header: dict[str, Any], **said: Any) -> str:
    return f"{part(header)}.{part({'sub': 'anna', 'exp': time.time() + 300, **said})}."


async def vouch(store: SqlStore, tenant: str, section: dict[str, Any], secret: str) -> None:
    """The tenant's file, as if it had been applied."""

    def body(connection: sa.Connection) -> None:
        settings = connection.execute(sa.select(tenants.c.settings).where(tenants.c.id == tenant)).scalar_one()
        changed = {**settings, "end_users": section}
        connection.execute(sa.update(tenants).where(tenants.c.id == tenant).values(settings=changed))
        access.put_secret(connection, TenantId(tenant), "end_users", Vault(SECRET).seal(secret), time.time())
        touch(connection, TenantId(tenant))

    await store.tx(body)


@pytest.fixture(scope="module")
def desk(house: House) -> House:
    """The shop takes a name or a token; the other one takes nobody's word."""
    ours = {"keys": KEYS, "issuer": ISSUER, "audience": AUDIENCE}
    house.stored(lambda store: vouch(store, OURS, ours, SHARED))
    house.stored(lambda store: vouch(store, THEIRS, {"keys": KEYS[:1], "required": True}, OTHERS))
    return house


def ask(client: httpx.Client, token: str | None, talk: str, text: str = "hello", **fields: str) -> httpx.Response:
    headers = {} if token is None else {"X-End-User-Token": token}
    body = {"content": text, **fields}
    return client.post(f"/v1/conversations/{talk}/messages", json=body, headers=headers)


def begin(client: httpx.Client, token: str) -> str:
    made = client.post("/v1/conversations", json={}, headers={"X-End-User-Token": token})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


@pytest.mark.parametrize(
    "token",
    [
        lambda: sign(),
        lambda: sign(key=RSA, kid="rsa", algorithm="RS256"),
        lambda: sign(key=EC, kid="ec", algorithm="ES256"),
        lambda: sign(key=ED, kid="ed", algorithm="EdDSA"),
        lambda: sign(aud=["somebody", AUDIENCE]),
        lambda: sign(exp=time.time() - 5, nbf=time.time() + 5),
    ],
    ids=["shared", "rsa", "ec", "ed", "several audiences", "clocks that differ a little"],
)
def test_a_token_says_whose_conversation_it_is(desk: House, token: Callable[[], str]) -> None:
    client = desk.key(OURS, "chat")
    talk = begin(client, token())
    assert client.get(f"/v1/conversations/{talk}").json()["person"] == "anna"
    assert ask(client, token(), talk).status_code == 200
    assert ask(client, token(), talk, person="anna").status_code == 200
    assert ask(client, None, talk, person="anna").status_code == 200, "a trusted key may still name her"


ATTACKS: dict[str, Callable[[], str]] = {
    "no algorithm": lambda: forged({"alg": "none", "kid": "shared"}),
    "no algorithm for a public key": lambda: forged({"alg": "nOnE", "kid": "rsa"}),
    "the public key as a shared secret": lambda: ".".join(
        (unsigned := f"{part({'alg': 'HS256', 'kid': 'rsa'})}.{part({'sub': 'anna', 'exp': time.time() + 300})}",
         part(jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(unsigned.encode(), pem(RSA).encode())))
    ),
    "another algorithm than the key's": lambda: sign(algorithm="HS512"),
    "a private key of one's own": lambda: sign(key=rsa.generate_private_key(65537, 2048), kid="rsa", algorithm="RS256"),
    "a key in the token": lambda: jwt.encode(
        {"sub": "anna", "exp": time.time() + 300}, ED, "EdDSA",
        {"kid": "rsa", "jwk": json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(ED.public_key())), "jku": "https://x.example"},
    ),
    "expired": lambda: sign(exp=time.time() - 60),
    "not yet": lambda: sign(nbf=time.time() + 600),
    "no end": lambda: sign(exp=None),
    "an end that is no time": lambda: sign(exp="tomorrow"),
    "an end that is not a number": lambda: sign(exp=float("nan")),
    "an end beyond all numbers": lambda: sign(exp=10**400),
    "an end that is true": lambda: sign(exp=True),
    "another tenant's key": lambda: sign(key=OTHERS),
    "an unknown kid": lambda: sign(kid="nobody"),
    "no kid among several keys": lambda: sign(kid=None),
    "a wrong issuer": lambda: sign(iss="https://evil.example"),
    "no issuer": lambda: sign(iss=None),
    "a wrong audience": lambda: sign(aud="somebody else"),
    "no audience": lambda: sign(aud=None),
    "nobody": lambda: sign(sub=None),
    "a number for a person": lambda: f"{(t := sign().split('.'))[0]}.{part({'sub': 7, 'exp': 9e9})}.{t[2]}",
    "an empty person": lambda: sign(sub=""),
    "a person with a line break": lambda: sign(sub="anna\nadmin"),
    "too long a person": lambda: sign(sub="a" * 129),
    "too much said": lambda: sign(role="x" * 4_200),
    "a huge token": lambda: sign(role="x" * 9_000),
    "a huge header": lambda: f"{part({'alg': 'HS256', 'kid': 'shared', 'x': 'x' * 2_000})}.{part({})}.{part(b'x')}",
    "a deep header": lambda: f"{part(b'[' * 700)}.{part({})}.{part(b'x')}",
    "words": lambda: "hello",
    "an API key": lambda: "csk_0123456789abcdef_" + "x" * 43,
    "a changed person": lambda: f"{(t := sign().split('.'))[0]}.{part({'sub': 'mallory', 'exp': 9e9})}.{t[2]}",
    "no signature": lambda: sign().rpartition(".")[0] + ".",
    "nothing": lambda: "",
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_what_no_key_vouches_for_is_refused(desk: House, attack: str, caplog: pytest.LogCaptureFixture) -> None:
    client, token = desk.key(OURS, "chat"), ATTACKS[attack]()
    talk = desk.conversation(client)
    with caplog.at_level(logging.DEBUG):
        answer = ask(client, token, talk)
    problem = is_a_problem(answer, 401, "end_user_token")
    assert problem["fix"]
    pieces = [piece for piece in token.split(".") if len(piece) > 8]
    told = answer.text + caplog.text + str(answer.headers)
    assert not [piece for piece in pieces if piece[:200] in told], "nothing of a token is repeated"


def test_a_number_for_a_person_is_refused_also_where_it_is_signed(desk: House) -> None:
    unsigned = f"{part({'alg': 'HS256', 'kid': 'shared'})}." + part(
        {"sub": 7, "exp": time.time() + 300, "iss": ISSUER, "aud": AUDIENCE}
    )
    algorithm = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    token = f"{unsigned}.{part(algorithm.sign(unsigned.encode(), SHARED.encode()))}"
    client = desk.key(OURS, "chat")
    is_a_problem(ask(client, token, desk.conversation(client)), 401, "end_user_token")


def test_keys_count_from_when_they_are_required(desk: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tenant's settings may be looked up seldom, and its key is judged by those of now."""
    monkeypatch.setattr(desk.app.state.services.directory, "_check_seconds", float("inf"))
    former, newer = ({"iss": None, "aud": None, **signed} for signed in ({"key": OTHERS}, {"kid": "new"}))
    begin(desk.key(THEIRS, "chat"), sign(**former))
    section = {"keys": [{**KEYS[0], "kid": "new"}], "required": True}
    desk.stored(lambda store: vouch(store, THEIRS, section, SHARED))
    try:
        client = desk.key(THEIRS, "chat", "read")
        begin(client, sign(**newer))
        refused = client.post("/v1/conversations", json={}, headers={"X-End-User-Token": sign(**former)})
        is_a_problem(refused, 401, "end_user_token")
    finally:
        desk.stored(lambda store: vouch(store, THEIRS, {"keys": KEYS[:1], "required": True}, OTHERS))
        begin(desk.key(THEIRS, "chat", "manage"), sign(**former))


def test_two_tokens_are_refused(desk: House) -> None:
    client = desk.key(OURS, "chat")
    headers = [("X-End-User-Token", sign()), ("X-End-User-Token", sign("mallory"))]
    is_a_problem(client.post("/v1/conversations", json={}, headers=headers), 401, "end_user_token")


def test_a_token_of_another_tenants_user_opens_nothing_here(desk: House) -> None:
    theirs = jwt.encode({"sub": "anna", "exp": time.time() + 300}, OTHERS, "HS256", {"kid": "shared"})
    begin(desk.key(THEIRS, "chat"), theirs)
    client = desk.key(OURS, "chat")
    is_a_problem(ask(client, theirs, desk.conversation(client)), 401, "end_user_token")


def test_who_signed_in_is_nobody_else_whatever_the_body_says(desk: House) -> None:
    client = desk.key(OURS, "chat")
    talk = begin(client, sign())
    is_a_problem(ask(client, sign("mallory"), talk, person="anna"), 403, "another_person")
    is_a_problem(ask(client, sign("mallory"), talk, "yes"), 404, "not_found")
    mallory = {"X-End-User-Token": sign("mallory")}
    for path in (f"/v1/conversations/{talk}", f"/v1/conversations/{talk}/messages"):
        is_a_problem(client.get(path, headers=mallory), 404, "not_found")
    is_a_problem(client.get("/v1/conversations", params={"person": "anna"}, headers=mallory), 403, "another_person")
    assert client.get("/v1/conversations", headers=mallory).json()["items"] == []
    chat = {"model": "circumspect", "messages": [{"role": "user", "content": "hello"}], "user": "anna"}
    refused = client.post("/v1/chat/completions", json=chat, headers=mallory)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "another_person")


def test_where_signing_is_required_a_name_alone_does_not_count(desk: House) -> None:
    client = desk.key(THEIRS, "chat")
    annas = jwt.encode({"sub": "anna", "exp": time.time() + 300}, OTHERS, "HS256")
    talk = begin(client, annas)
    for named in ({"person": "anna"}, {}):
        is_a_problem(ask(client, None, talk, "yes", **named), 401, "end_user_token")
        is_a_problem(client.post("/v1/conversations", json=named), 401, "end_user_token")
        given = {"intent_id": "i", "decision": "approve", **named}
        is_a_problem(client.post(f"/v1/conversations/{talk}/confirmations", json=given), 401, "end_user_token")
        thumb = {"thumb": "up", **named}
        is_a_problem(client.post(f"/v1/conversations/{talk}/turns/t/feedback", json=thumb), 401, "end_user_token")
    chat = {"model": "circumspect", "messages": [{"role": "user", "content": "hello"}], "user": "anna"}
    assert client.post("/v1/chat/completions", json=chat).json()["error"]["code"] == "end_user_token"
    assert ask(client, annas, talk).status_code == 200, "one key needs no kid"


def test_what_else_the_token_says_goes_with_the_message_and_what_the_body_says_does_not(
    desk: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, turns = desk.key(OURS, "chat"), desk.app.state.services.turns
    heard: list[Incoming] = []
    take = turns.take

    async def overhear(incoming: Incoming, *rest: Any) -> Any:
        heard.append(incoming)
        return await take(incoming, *rest)

    monkeypatch.setattr(turns, "take", overhear)
    talk = begin(client, sign(tier="gold", accounts=["17", "18"], nbf=1, iat=1, jti="x"))
    assert ask(client, sign(tier="gold", accounts=["17", "18"], nbf=1, iat=1, jti="x"), talk).status_code == 200
    assert ask(client, None, talk, person="anna").status_code == 200
    is_a_problem(ask(client, None, talk, person="anna", claims="gold"), 422)
    assert [one.claims for one in heard] == [{"tier": "gold", "accounts": ["17", "18"]}, {}]
    assert {one.principal for one in heard} == {"person:anna"}


def test_an_id_that_another_system_made_is_found_again_and_forgotten(desk: House) -> None:
    client, person, admin = desk.key(OURS, "chat"), "auth0|5f/7c?x=1", desk.key(OURS, "admin")
    talk = begin(client, sign(person))
    assert ask(client, None, talk, person=person).status_code == 200
    path = f"/v1/admin/persons/{quote(person, safe='')}"
    assert [one["id"] for one in admin.get(path).json()["conversations"]] == [talk]
    assert admin.delete(path).json() == {"conversations": 1}


def test_a_yes_is_bound_to_who_was_asked(desk: House) -> None:
    """The intent names her, so it is her yes whichever way she is known."""
    client = desk.key(OURS, "chat", "read")
    talk = begin(client, sign())
    ask(client, sign(), talk, "cancel order 12348")
    rows = client.get(f"/v1/conversations/{talk}/messages", params={"internal": True}).json()["items"]
    assert {row["meta"].get("principal") for row in rows if row["role"] == "user"} == {"person:anna"}
    assert say(client, talk, "no", person="anna")["reason_codes"] == ["DENIED_BY_USER"]


@pytest.mark.parametrize(
    "key",
    [
        pytest.param({"algorithm": "none", "secret": "s"}, id="signs nothing"),
        pytest.param({"algorithm": "HS256"}, id="no secret"),
        pytest.param({"algorithm": "HS256", "public_key": pem(RSA)}, id="a public key for a shared secret"),
        pytest.param({"algorithm": "RS256", "secret": "s"}, id="a secret for a public key"),
        pytest.param({"algorithm": "RS256", "public_key": pem(EC)}, id="a key of another kind"),
        pytest.param(
            {"algorithm": "ES256", "public_key": pem(ec.generate_private_key(ec.SECP384R1()))}, id="another curve"
        ),
        pytest.param({"algorithm": "RS256", "public_key": pem(RSA), "jwk": {}}, id="two keys"),
        pytest.param({"algorithm": "RS256", "public_key": "no key"}, id="no key at all"),
        pytest.param({"algorithm": "RS256", "public_key": pem(rsa.generate_private_key(65537, 1024))}, id="too short"),
        pytest.param({"algorithm": "EdDSA", "jwk": {"kty": "oct", "k": "aaaa"}}, id="a shared secret as a public key"),
        pytest.param(
            {
                "algorithm": "EdDSA",
                "public_key": ED.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
            },
            id="a private key",
        ),
    ],
)
def test_a_key_that_is_none_is_refused_with_the_file(key: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        EndUserKey.model_validate({"kid": "one", **key})


def test_keys_have_names_of_their_own_and_nothing_is_required_of_nobody() -> None:
    with pytest.raises(ValidationError, match="same kid"):
        EndUsersSection.model_validate({"keys": [KEYS[0], KEYS[0]]})
    with pytest.raises(ValidationError, match="nobody can sign"):
        EndUsersSection.model_validate({"required": True})
