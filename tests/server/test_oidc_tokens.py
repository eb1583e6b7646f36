"""Tokens of a provider that lies, errs or was broken into: none of them signs anybody in."""

from __future__ import annotations

import base64
import hmac
import json
from dataclasses import replace
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from circumspect.clock import FixedClock
from circumspect.server.config import Settings
from circumspect.server.oidc import (
    DOWN_SECONDS,
    KEYS_SECONDS,
    LOGOUT_EVENT,
    Provider,
    ProviderDown,
    SignInRefused,
    new_departure,
    read_departure,
)
from circumspect.server.vault import Vault

ISSUER = "https://id.example"
SITE = "https://shop.example/login/oidc/callback"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE = ec.generate_private_key(ec.SECP256R1())


def show_key(key: Any, kid: str, **more: str) -> dict[str, Any]:
    kind = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    return {**json.loads(kind.to_jwk(key.public_key())), "kid": kid, "use": "sig", **more}


class Liar:
    """A provider that says what it is told to."""

    def __init__(self, clock: FixedClock) -> None:
        self.clock = clock
        self.asked: list[str] = []
        self.form: dict[str, str] = {}
        self.metadata: dict[str, Any] = {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/auth",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys",
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "HS256", "none"],
        }
        self.keys = [show_key(KEY, "k1", alg="RS256"), show_key(CURVE, "k2")]
        self.token = ""
        self.answers: dict[str, httpx2.Response] = {}
        settings = Settings(oidc_issuer=ISSUER, oidc_client_id="us", oidc_client_secret="shared")
        self.provider = Provider(settings, clock, transport=httpx2.MockTransport(self.answer))
        self.departure = new_departure(clock.now(), "/")

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request.url.path)
        if request.url.path in self.answers:
            return self.answers[request.url.path]
        match request.url.path:
            case "/.well-known/openid-configuration":
                return httpx2.Response(200, json=self.metadata)
            case "/keys":
                return httpx2.Response(200, json={"keys": self.keys})
            case "/token":
                return httpx2.Response(200, json={"id_token": self.token})
        return httpx2.Response(404)

    def claims(self, **changed: Any) -> dict[str, Any]:
        now = int(self.clock.now().timestamp())
        usual = {
            "iss": ISSUER, "aud": "us", "sub": "u1", "iat": now, "exp": now + 300, "nonce": self.departure.nonce
        }  # fmt: skip
        return {name: value for name, value in {**usual, **changed}.items() if value is not None}

    def sign(self, key: Any = KEY, alg: str = "RS256", kid: str | None = "k1", **changed: Any) -> None:
        headers = {"kid": kid} if kid else {}
        self.token = jwt.encode(self.claims(**changed), key, alg, headers=headers)

    async def redeem(self, **returned: str) -> Any:
        said = {"code": "c", "state": self.departure.state, **returned}
        return await self.provider.redeem(self.departure, said, SITE)


@pytest.fixture
def liar(clock: FixedClock) -> Liar:
    return Liar(clock)


async def test_a_token_that_is_right_in_everything_is_taken(liar: Liar):
    liar.sign()
    assert (await liar.redeem())["sub"] == "u1"
    liar.sign(CURVE, "ES256", "k2", aud=["us"], azp="us")
    assert (await liar.redeem())["sub"] == "u1"


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://evil.example"}, {"iss": ISSUER + "/"}, {"iss": None},
        {"aud": "another"}, {"aud": []}, {"aud": None}, {"aud": ["us", "another"]},
        {"aud": ["us", "another"], "azp": "another"}, {"azp": "another"},
        {"nonce": "another"}, {"nonce": None}, {"nonce": ["x"]},
        {"exp": 1}, {"exp": None}, {"exp": True}, {"iat": 99_999_999_999}, {"iat": None},
        {"sub": None}, {"sub": ""}, {"sub": "x" * 256}, {"sub": 7},
    ],
    ids=str,
)  # fmt: skip
async def test_a_token_for_another_at_another_time_or_of_another_is_refused(liar: Liar, changed):
    liar.sign(**changed)
    with pytest.raises(SignInRefused):
        await liar.redeem()


async def test_an_expired_token_is_refused_after_what_clocks_may_differ(liar: Liar):
    liar.sign()
    liar.clock.advance(seconds=359)
    assert await liar.redeem()
    liar.clock.advance(seconds=1)
    with pytest.raises(SignInRefused, match="expired"):
        await liar.redeem()


async def test_a_signature_of_nobody_of_another_or_with_a_shared_secret_is_refused(liar: Liar):
    for key, alg, kid in ((OTHER, "RS256", "k1"), (OTHER, "RS256", "k9"), (CURVE, "ES256", "k1"), (KEY, "RS256", "k2"),
                          ("shared-but-thirty-two-bytes-long", "HS256", "k1"),
                          (None, "none", "k1"), (KEY, "RS256", None), (KEY, "RS512", "k1")):  # fmt: skip
        liar.sign(key, alg, kid)
        with pytest.raises(SignInRefused):
            await liar.redeem()
    liar.sign()
    head, body, signature = liar.token.split(".")
    public = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    shared = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"k1"}').rstrip(b"=").decode()
    digest = hmac.digest(public, f"{shared}.{body}".encode(), "sha256")
    mixed_up = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    for token in (
        f"{shared}.{body}.{mixed_up}",
        f"{head}.{body}.",
        f"{head}.{body}",
        f"{head}.{body}x.{signature}",
        "",
        "x.y.z",
        "a" * 10_000,
    ):
        liar.token = token
        with pytest.raises(SignInRefused):
            await liar.redeem()


async def test_unknown_keys_make_us_ask_once_a_minute_at_most(liar: Liar):
    for _ in range(5):
        liar.sign(OTHER, "RS256", "k9")
        with pytest.raises(SignInRefused):
            await liar.redeem()
    assert liar.asked.count("/keys") == 1
    liar.keys.append(show_key(OTHER, "k9"))
    liar.clock.advance(seconds=KEYS_SECONDS)
    liar.sign(OTHER, "RS256", "k9")
    assert await liar.redeem()
    assert liar.asked.count("/keys") == 2


async def test_an_answer_of_another_provider_is_refused(liar: Liar):
    liar.sign()
    with pytest.raises(SignInRefused, match="another provider"):
        await liar.redeem(iss="https://evil.example")
    assert await liar.redeem(iss=ISSUER)
    liar.metadata["authorization_response_iss_parameter_supported"] = True
    liar.provider._metadata = None
    with pytest.raises(SignInRefused, match="another provider"):
        await liar.redeem()


@pytest.mark.parametrize("state", ["", "x", "\N{SNOWMAN}"])
async def test_another_state_is_refused_before_the_provider_is_asked(liar: Liar, state):
    with pytest.raises(SignInRefused):
        await liar.redeem(state=state)
    assert liar.asked == []


async def test_who_was_to_be_asked_again_has_to_have_been(liar: Liar):
    liar.departure = replace(liar.departure, fresh=True)
    now = int(liar.clock.now().timestamp())
    for auth_time in (None, now - 3600, now + 3600, "now", True):
        liar.sign(auth_time=auth_time)
        with pytest.raises(SignInRefused, match="asked again"):
            await liar.redeem()
    liar.sign(auth_time=now - 5)
    assert await liar.redeem()


@pytest.mark.parametrize(
    "changed",
    [
        {"issuer": "https://evil.example"}, {"token_endpoint": "http://id.example/token"}, {"jwks_uri": None},
        {"authorization_endpoint": "javascript:alert(1)"}, {"token_endpoint": "file:///etc/passwd"},
    ],
    ids=str,
)  # fmt: skip
async def test_a_provider_that_describes_itself_wrongly_is_not_used(liar: Liar, changed):
    liar.metadata |= changed
    with pytest.raises(ProviderDown):
        await liar.provider.find_way_there(liar.departure, SITE)


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(500), httpx2.Response(302, headers={"Location": "https://evil.example/"}),
        httpx2.Response(200, content=b"<html>"), httpx2.Response(200, content=b"[]"),
        httpx2.Response(200, content=b"[" * 100_000), httpx2.Response(200, content=b"x" * 1_000_001),
    ],
    ids=["500", "redirect", "html", "list", "deep", "large"],
)  # fmt: skip
async def test_an_answer_that_is_none_is_a_provider_that_is_down(liar: Liar, answer):
    for path in ("/.well-known/openid-configuration", "/token", "/keys"):
        fresh = Liar(liar.clock)
        fresh.sign()
        fresh.answers[path] = answer
        with pytest.raises((ProviderDown, SignInRefused)):
            await fresh.redeem()


async def test_a_provider_that_is_down_is_not_asked_again_at_once(liar: Liar):
    """Everybody who wants to sign in would wait for it in turn."""
    path = "/.well-known/openid-configuration"
    liar.answers[path] = httpx2.Response(503)
    for _ in range(3):
        with pytest.raises(ProviderDown):
            await liar.provider.find_way_there(liar.departure, SITE)
    assert liar.asked == [path]
    del liar.answers[path]
    liar.clock.advance(seconds=DOWN_SECONDS)
    assert (await liar.provider.find_way_there(liar.departure, SITE)).startswith(f"{ISSUER}/auth?")


EVENTS = {LOGOUT_EVENT: {}}


async def test_who_left_at_the_provider_is_known_by_a_token_that_says_so(liar: Liar):
    liar.sign(nonce=None, jti="1", events=EVENTS)
    assert await liar.provider.verify_logout(liar.token) == "u1"
    liar.sign(nonce=None, jti="1", events=EVENTS, exp=None, sid="s1")
    assert await liar.provider.verify_logout(liar.token) == "u1"


@pytest.mark.parametrize(
    "changed",
    [{"nonce": "n"}, {"jti": None}, {"events": None}, {"events": []}, {"events": {}}, {"events": {LOGOUT_EVENT: 1}},
     {"events": {"other": {}}}, {"iss": "https://evil.example"}, {"aud": "another"}, {"iat": 1}, {"iat": None},
     {"iat": 4_000_000_000}, {"exp": 1}, {"sub": None}, {"sub": None, "sid": "s1"}, {"sub": ""}, {"sub": 7}],
)  # fmt: skip
async def test_a_token_that_signs_nobody_out_is_refused(liar: Liar, changed: dict[str, Any]):
    liar.sign(**{"nonce": None, "jti": "1", "events": EVENTS, **changed})
    with pytest.raises(SignInRefused):
        await liar.provider.verify_logout(liar.token)


async def test_a_sign_in_is_no_sign_out_and_the_other_way_round(liar: Liar):
    liar.sign()
    with pytest.raises(SignInRefused):
        await liar.provider.verify_logout(liar.token)
    liar.sign(nonce=None, jti="1", events=EVENTS)
    with pytest.raises(SignInRefused):
        await liar.redeem()


async def test_what_a_browser_took_along_is_sealed_for_this_and_ends(clock: FixedClock):
    vault, other = Vault("k" * 32), Vault("o" * 32)
    departure = new_departure(clock.now(), "/usage")
    assert read_departure(vault, departure.seal(vault), clock.now()) == departure
    forged = vault.seal(json.dumps({"for": "device", "id": "dvc_1", "operators": [], "until": 9e9}))
    for sealed in ("", "x", departure.seal(other), forged, vault.seal("[]"), vault.seal("{}"), vault.seal("nonsense")):
        assert read_departure(vault, sealed, clock.now()) is None
    clock.advance(minutes=10)
    assert read_departure(vault, departure.seal(vault), clock.now()) is None


async def test_the_secret_goes_where_the_provider_takes_it(liar: Liar):
    seen: list[httpx2.Request] = []
    answer = liar.answer

    def watching(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return answer(request)

    for methods, in_form in ((["client_secret_basic", "client_secret_post"], False), (["client_secret_post"], True)):
        liar.metadata["token_endpoint_auth_methods_supported"] = methods
        liar.provider = Provider(liar.provider._settings, liar.clock, transport=httpx2.MockTransport(watching))
        liar.sign()
        await liar.redeem()
        body = seen[1].read().decode()
        assert ("client_secret=shared" in body) is in_form
        assert ("authorization" in seen[1].headers) is not in_form
        assert f"code_verifier={liar.departure.verifier}" in body
        seen.clear()
