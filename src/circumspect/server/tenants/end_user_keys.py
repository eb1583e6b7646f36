"""The part of a tenant's file that says who may vouch for its end users: keys that verify the tokens it signs.

A key has one algorithm and a token does not choose another, so a public key is never taken for a shared secret. Several
keys at once, told apart by `kid`, let one take over from another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from circumspect.policy.keys.meaning import FileSection

if TYPE_CHECKING:
    from jwt import PyJWK

SHORTEST_RSA_BITS = 2048
TokenAlgorithm = Literal["HS256", "RS256", "ES256", "EdDSA"]
OneWord = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,200}$")]


class EndUserKey(FileSection):
    kid: OneWord
    """The key's name, as in the header `kid` of a token. A token without one is taken where there is one key only."""
    algorithm: TokenAlgorithm
    """How tokens are signed: HS256 by a shared secret; RS256, ES256 or EdDSA by a private key that stays with you."""
    secret: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    """HS256: the name of the secret, of 32 bytes or more."""
    public_key: Annotated[str, Field(max_length=5_000)] | None = None
    """The public key in PEM, `-----BEGIN PUBLIC KEY-----`."""
    jwk: Mapping[str, Any] | None = None
    """The public key as JSON, as it stands in a JWKS document."""

    @model_validator(mode="after")
    def _fits(self) -> EndUserKey:
        given = [self.secret, self.public_key, self.jwk]
        if sum(one is not None for one in given) != 1 or (self.secret is not None) != (self.algorithm == "HS256"):
            raise ValueError("write secret for HS256, and one of public_key and jwk for the others")
        if self.secret is None:
            self.read_public_key()
        return self

    def read_public_key(self) -> PyJWK:
        """Raises `ValueError` for what is no public key of this algorithm."""
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
        from jwt import PyJWK
        from jwt.algorithms import get_default_algorithms
        from jwt.exceptions import PyJWTError

        reader = get_default_algorithms()[self.algorithm]
        try:
            pem = self.public_key
            written = dict(self.jwk or {}) if pem is None else reader.to_jwk(reader.prepare_key(pem), as_dict=True)
            read = PyJWK({**written, "alg": self.algorithm}, self.algorithm)
        except (PyJWTError, ValueError, TypeError, KeyError, NotImplementedError):
            raise ValueError(f"this is no public key for {self.algorithm}") from None
        if "d" in written:
            raise ValueError("this is a private key: keep it, and write the public one")
        if isinstance(read.key, RSAPublicKey) and read.key.key_size < SHORTEST_RSA_BITS:
            raise ValueError(f"an RSA key needs {SHORTEST_RSA_BITS} bits or more")
        return read


class EndUsersSection(FileSection):
    """Who the end users are: `circumspect docs access`."""

    required: bool = False
    """Nobody speaks without a signed token; what a request says of itself (`person`) does not count."""
    issuer: OneWord | None = None
    """What a token's `iss` has to be; without it, it is not looked at."""
    audience: OneWord | None = None
    """What a token's `aud` has to be or hold; without it, a token that has one is refused."""
    keys: Annotated[tuple[EndUserKey, ...], Field(max_length=10)] = ()
    """What verifies tokens; two or more while one takes over from another."""

    @model_validator(mode="after")
    def _told_apart(self) -> EndUsersSection:
        if len({one.kid for one in self.keys}) != len(self.keys):
            raise ValueError("two keys have the same kid")
        if self.required and not self.keys:
            raise ValueError("nobody can sign without a key: add one, or leave required out")
        return self
