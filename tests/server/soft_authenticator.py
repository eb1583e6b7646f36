"""A passkey's authenticator in software, which can also do what none in a browser would."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from webauthn.helpers import bytes_to_base64url

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


class SoftAuthenticator:
    def __init__(self, party: str = "localhost", origin: str = "http://localhost") -> None:
        self.party, self.origin = party, origin
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id, self.uses, self.flags, self.handle = secrets.token_bytes(16), 0, PRESENT | VERIFIED, b""

    def create(self, asked: str) -> str:
        """The answer to `navigator.credentials.create`."""
        options = json.loads(asked)
        numbers = self.key.public_key().public_numbers()
        public = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)})
        known = bytes(16) + len(self.id).to_bytes(2) + self.id + public
        attested = {"fmt": "none", "attStmt": {}, "authData": self._data(ATTESTED) + known}
        return self._answer(
            clientDataJSON=self._client("webauthn.create", options["challenge"]),
            attestationObject=cbor2.dumps(attested),
        )

    def get(self, asked: str) -> str:
        """The answer to `navigator.credentials.get`."""
        self.uses += 1 if self.uses else 0
        data, client = self._data(0), self._client("webauthn.get", json.loads(asked)["challenge"])
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._answer(clientDataJSON=client, authenticatorData=data, signature=signature, userHandle=self.handle)

    def _data(self, more: int) -> bytes:
        return hashlib.sha256(self.party.encode()).digest() + bytes([self.flags | more]) + self.uses.to_bytes(4)

    def _client(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _answer(self, **response: bytes) -> str:
        written: dict[str, Any] = {name: bytes_to_base64url(value) for name, value in response.items() if value}
        id_ = bytes_to_base64url(self.id)
        return json.dumps({"id": id_, "rawId": id_, "type": "public-key", "response": written})
