"""Sign-in at an OpenID Connect provider: Authorization Code with PKCE. A browser goes there and comes back; whom the
provider vouches for comes out, or a refusal.

What the browser takes along (`Departure`) is sealed in a cookie of its own: only the browser that left can come back,
once, within ten minutes. The provider's addresses and keys are found by discovery and read again when a token is signed
with a key that we have not seen, at most once a minute, so that nobody makes us ask by sending tokens. Tokens are
verified by PyJWT; what we add is what it does not know of: `nonce`, `azp`, and which algorithms may be used at all.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2
import jwt

from circumspect.errors import CircumspectError, ConfigError
from circumspect.ports import Clock
from circumspect.server import credentials
from circumspect.server.config import Settings
from circumspect.server.vault import Vault

AWAY_SECONDS = 600
"""How long somebody may take at the provider."""
SKEW_SECONDS = 60
"""How far the provider's clock may be from ours."""
FRESH_SECONDS = 300
"""How long ago the provider may have asked somebody who was to be asked again."""
DISCOVERY_SECONDS = 3600.0
DOWN_SECONDS = 5.0
"""How long a provider that could not be asked about itself is not asked again: who comes meanwhile need not wait."""
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
KEYS_SECONDS = 60.0
REQUEST_SECONDS = 10.0
LARGEST_ANSWER = 1_000_000
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with a key pair: `none`, and secrets that two share, are no proof of who signed."""
CALLBACK = "/login/oidc/callback"
_PURPOSE = "oidc"


class ProviderDown(CircumspectError):
    """The provider does not answer, or not as one."""

    code = "provider_down"
    status = 503


class SignInRefused(CircumspectError):
    """What came back from the provider is no sign-in of this browser."""

    code = "sign_in_refused"
    status = 401


@dataclass(frozen=True, slots=True)
class Departure:
    """What a browser takes to the provider and back."""

    state: str
    nonce: str
    verifier: str
    next: str
    until: float
    fresh: bool = False
    """The provider has to ask, however lately it did."""

    def seal(self, vault: Vault) -> str:
        return vault.seal(json.dumps({"for": _PURPOSE, **asdict(self)}))

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def new_departure(now: datetime, next_: str, *, fresh: bool = False) -> Departure:
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    return Departure(state, nonce, verifier, next_, now.timestamp() + AWAY_SECONDS, fresh)


def read_departure(vault: Vault, sealed: str, now: datetime) -> Departure | None:
    try:
        said = json.loads(vault.unseal(sealed))
        if said.pop("for") != _PURPOSE:
            return None
        departure = Departure(**said)
    except (ConfigError, ValueError, TypeError, AttributeError, KeyError):
        return None
    return departure if now.timestamp() < departure.until else None


class Provider:
    """One issuer. A worker has one, and remembers what it said about itself."""

    def __init__(self, settings: Settings, clock: Clock, *, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._settings, self._clock, self._transport = settings, clock, transport
        self._metadata: tuple[float, Mapping[str, Any]] | None = None
        self._keys: tuple[float, Mapping[str, jwt.PyJWK]] | None = None
        self._down: tuple[float, ProviderDown] | None = None
        self._asking = asyncio.Lock()

    @property
    def issuer(self) -> str:
        return self._settings.oidc_issuer or ""

    @property
    def client_id(self) -> str:
        return self._settings.oidc_client_id or ""

    async def find_way_there(self, departure: Departure, redirect_uri: str) -> str:
        """Where the browser has to go."""
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(self._settings.oidc_scopes),
            "state": departure.state,
            "nonce": departure.nonce,
            "code_challenge": departure.challenge,
            "code_challenge_method": "S256",
            **({"prompt": "login", "max_age": "0"} if departure.fresh else {}),
        }
        return _add_query(str((await self._discover())["authorization_endpoint"]), asked)

    async def find_way_out(self, return_to: str) -> str | None:
        """Where the browser ends what it has at the provider; None where the provider has no such thing."""
        address = (await self._discover()).get("end_session_endpoint")
        if not isinstance(address, str) or not self._is_usable(address):
            return None
        return _add_query(address, {"client_id": self.client_id, "post_logout_redirect_uri": return_to})

    async def redeem(self, departure: Departure, returned: Mapping[str, str], redirect_uri: str) -> Mapping[str, Any]:
        """Whom the provider vouches for: the claims of a token that is for us, for this browser, and good now."""
        if not credentials.same(returned.get("state", ""), departure.state):
            raise SignInRefused("This is not the sign-in that this browser began.", fix="Begin again.")
        metadata = await self._discover()
        named = returned.get("iss")
        if named is not None or metadata.get("authorization_response_iss_parameter_supported"):
            _require(named == self.issuer, "the answer is of another provider")
        if "error" in returned or not returned.get("code"):
            raise SignInRefused("The provider let nobody in.", fix="Begin again, and allow it there.")
        form = {
            "grant_type": "authorization_code",
            "code": returned["code"],
            "redirect_uri": redirect_uri,
            "client_id": self.client_id,
            "code_verifier": departure.verifier,
        }
        said = await self._ask("POST", str(metadata["token_endpoint"]), form, self._read_secret(metadata, form))
        token = said.get("id_token")
        if not isinstance(token, str):
            raise SignInRefused("The provider did not take the code.", fix="Begin again.")
        return await self.verify(token, departure)

    async def verify(self, token: str, departure: Departure) -> Mapping[str, Any]:
        claims = await self._read_token(token, ("iss", "sub", "aud", "exp", "iat"))
        now = self._clock.now().timestamp()
        _require(credentials.same(str(claims.get("nonce", "")), departure.nonce), "it was made for another sign-in")
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        _require("azp" in claims or not several, "it does not say for whom it is")
        _require(claims.get("azp", self.client_id) == self.client_id, "it was made for another program")
        _require(isinstance(claims["sub"], str) and 0 < len(claims["sub"]) <= 255, "it names nobody")
        if departure.fresh:
            asked: Any = claims.get("auth_time")
            _require(_is_time(asked) and now - FRESH_SECONDS < asked < now + SKEW_SECONDS, "nobody was asked again")
        return claims

    async def verify_logout(self, token: str) -> str:
        """Who was signed out at the provider (Back-Channel Logout): the `sub` of a token that says so and is no
        sign-in's. One that names a session alone is refused: the provider's sessions are not known here."""
        claims = await self._read_token(token, ("iss", "aud", "iat", "jti"))
        now, events = self._clock.now().timestamp(), claims.get("events")
        _require(isinstance(events, dict) and isinstance(events.get(LOGOUT_EVENT), dict), "it is about something else")
        _require("nonce" not in claims, "it is one of a sign-in")
        _require(claims["iat"] > now - FRESH_SECONDS, "it is old")
        sub = claims.get("sub")
        if not isinstance(sub, str) or not 0 < len(sub) <= 255:
            raise SignInRefused("The provider's token does not say who left.", fix="Have it send `sub`.")
        return sub

    async def _read_token(self, token: str, needed: tuple[str, ...]) -> Mapping[str, Any]:
        """The claims of a token that the provider signed, for us, and that is good now."""
        key, algorithm = await self._find_key(token)
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                issuer=self.issuer,
                audience=self.client_id,
                leeway=SKEW_SECONDS,
                # PyJWT's clock is the machine's; ours decides, so that a night can be simulated.
                options={"require": list(needed), "verify_exp": False, "verify_iat": False},
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise SignInRefused("The provider's token is not valid.", fix="Begin again.") from error
        now = self._clock.now().timestamp()
        if "exp" in claims:
            _require(_is_time(claims["exp"]) and now < claims["exp"] + SKEW_SECONDS, "it has expired")
        _require(_is_time(claims["iat"]) and claims["iat"] < now + SKEW_SECONDS, "it is from the future")
        return claims

    async def _find_key(self, token: str) -> tuple[jwt.PyJWK, str]:
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            raise SignInRefused("The provider's token cannot be read.", fix="Begin again.") from error
        algorithm, kid = header.get("alg"), header.get("kid")
        offered = (await self._discover()).get("id_token_signing_alg_values_supported", ["RS256"])
        if algorithm not in ALGORITHMS or algorithm not in offered:
            raise SignInRefused("The provider's token is not signed as it has to be.", fix="Begin again.")
        key = await self._key_named(kid)
        if key is None or key.key_type != _FAMILIES[algorithm[:2]]:
            raise SignInRefused("The provider's token is signed with a key that it does not show.", fix="Begin again.")
        return key, algorithm

    async def _key_named(self, kid: object) -> jwt.PyJWK | None:
        """One without a name is taken where there is only one."""
        for _ in range(2):
            read_at, keys = self._keys or (0.0, {})
            if kid is None and len(keys) == 1:
                return next(iter(keys.values()))
            if isinstance(kid, str) and kid in keys:
                return keys[kid]
            if self._keys is not None and self._seconds() - read_at < KEYS_SECONDS:
                return None
            await self._read_keys()
        return None

    async def _read_keys(self) -> None:
        metadata = await self._discover()
        said = await self._ask("GET", str(metadata["jwks_uri"]))
        listed = said.get("keys")
        found: dict[str, jwt.PyJWK] = {}
        for one in listed if isinstance(listed, list) else ():
            # One of a kind that we do not know is not for us.
            if isinstance(one, dict) and one.get("use", "sig") == "sig" and one.get("kty") in ("RSA", "EC", "OKP"):
                try:
                    found[str(one.get("kid", ""))] = jwt.PyJWK(one)
                except jwt.PyJWTError:
                    continue
        self._keys = self._seconds(), found

    async def _discover(self) -> Mapping[str, Any]:
        async with self._asking:
            if self._metadata is not None and self._seconds() - self._metadata[0] < DISCOVERY_SECONDS:
                return self._metadata[1]
            if self._down is not None and 0 <= self._seconds() - self._down[0] < DOWN_SECONDS:
                raise ProviderDown(self._down[1].problem, fix=self._down[1].fix)
            try:
                said = await self._read_metadata()
            except ProviderDown as error:
                self._down = self._seconds(), error
                raise
            self._metadata = self._seconds(), said
            return said

    async def _read_metadata(self) -> Mapping[str, Any]:
        said = await self._ask("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
        needed = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        usable = all(isinstance(said.get(one), str) and self._is_usable(said[one]) for one in needed)
        if said.get("issuer") != self.issuer or not usable:
            raise ProviderDown(
                "The provider does not say about itself what it should.",
                fix="oidc_issuer has to be written exactly as the provider writes it.",
            )
        return said

    def _is_usable(self, address: str) -> bool:
        """By HTTPS, unless the provider itself is reached without it, which only this machine's may be."""
        return urlsplit(address).scheme in {"https", urlsplit(self.issuer).scheme}

    def _read_secret(self, metadata: Mapping[str, Any], form: dict[str, str]) -> tuple[str, str] | None:
        """In the header, as is usual, or in the form, for a provider that knows nothing else."""
        if self._settings.oidc_client_secret is None:
            return None
        secret = self._settings.oidc_client_secret.get_secret_value()
        if "client_secret_basic" in metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"]):
            return quote(self.client_id, safe=""), quote(secret, safe="")
        form["client_secret"] = secret
        return None

    async def _ask(
        self, method: str, address: str, form: Mapping[str, str] | None = None, auth: tuple[str, str] | None = None
    ) -> Mapping[str, Any]:
        try:
            async with (
                asyncio.timeout(REQUEST_SECONDS),
                httpx2.AsyncClient(timeout=REQUEST_SECONDS, transport=self._transport) as client,
                client.stream(method, address, data=form, auth=auth, headers=_JSON) as response,
            ):
                body = b""
                async for part in response.aiter_bytes():
                    body += part
                    if len(body) > LARGEST_ANSWER:
                        raise ProviderDown("The provider's answer is too large.", fix="Ask whoever runs it.")
            if response.status_code >= 500 or (form is None and response.status_code != 200):
                raise ProviderDown(f"The provider answered {response.status_code}.", fix="Ask whoever runs it.")
            said = json.loads(body)
        except (httpx2.HTTPError, OSError, TimeoutError, ValueError, RecursionError) as error:
            raise ProviderDown("The provider cannot be reached.", fix="Try again, or sign in another way.") from error
        if not isinstance(said, dict):
            raise ProviderDown("The provider's answer cannot be read.", fix="Ask whoever runs it.")
        return said

    def _seconds(self) -> float:
        return self._clock.now().timestamp()


_JSON = {"Accept": "application/json"}
_FAMILIES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise SignInRefused(f"The provider's token is not valid: {otherwise}.", fix="Begin again.")


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _add_query(address: str, values: Mapping[str, str]) -> str:
    return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(values)}"
