"""Passkeys (WebAuthn): what a browser is asked, and what its authenticator answers.

What was asked is a row that the answer takes away, right or wrong: an answer counts once, within minutes, and for the
operator who was asked. The authenticator has to have recognised its owner (a finger, a face, a PIN), so that a passkey
is two proofs by itself. Where people reach the server decides what a passkey is for: `public_url`, or else the host of
the request, which the browser compares with its own.
"""

from __future__ import annotations

import ipaddress
import logging
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson
import webauthn
from fastapi import Request
from webauthn.helpers import bytes_to_base64url
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from circumspect.errors import CircumspectError
from circumspect.server.credentials import hash_token
from circumspect.server.stores import access, second_factors
from circumspect.server.stores.access import OperatorRow
from circumspect.server.stores.second_factors import ChallengePurpose, PasskeyRow
from circumspect.stores import SqlStore

logger = logging.getLogger("circumspect.server")

ASKED_SECONDS = 300
LONGEST_ANSWER = 20_000
MOST_PASSKEYS = 20
_NAME = "Circumspect"


class PasskeyRefused(CircumspectError):
    code = "passkey_refused"
    status = 403


class NoPasskeysHere(CircumspectError):
    code = "no_passkeys_here"
    status = 409


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """Whom a passkey is for: a host, and the pages from which it may be used."""

    id: str
    origin: str


def find_party(request: Request, public_url: str | None) -> RelyingParty | None:
    """None where there can be no passkeys: an address of numbers is nobody's name."""
    parts = urlsplit(public_url or f"{request.url.scheme}://{request.headers.get('host', '')}")
    host = (parts.hostname or "").lower()
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return RelyingParty(host, f"{parts.scheme}://{parts.netloc.lower()}") if host else None
    return None


def require_party(request: Request, public_url: str | None) -> RelyingParty:
    party = find_party(request, public_url)
    if party is None:
        raise NoPasskeysHere("An address of numbers has no passkeys.", fix="Open the server by its name.")
    return party


# --- asking ---------------------------------------------------------------------------------------------------------


async def ask_to_register(store: SqlStore, party: RelyingParty, operator: OperatorRow, now: float) -> str:
    """What the browser is to be told, as JSON."""
    known = await store.tx(second_factors.list_passkeys, operator.id)
    if len(known) >= MOST_PASSKEYS:
        raise PasskeyRefused(f"There are {MOST_PASSKEYS} passkeys already.", fix="Remove one first.")
    options = webauthn.generate_registration_options(
        rp_id=party.id,
        rp_name=_NAME,
        user_id=operator.id.encode(),
        user_name=operator.name,
        timeout=ASKED_SECONDS * 1000,
        exclude_credentials=_describe(known),
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
        ),
    )
    await _keep(store, options.challenge, "register", operator.id, now)
    return webauthn.options_to_json(options)


async def ask_to_sign(
    store: SqlStore, party: RelyingParty, purpose: ChallengePurpose, operator: str | None, now: float
) -> str:
    """Without an operator any passkey of this server may answer: it says itself whose it is."""
    known = [] if operator is None else await store.tx(second_factors.list_passkeys, operator)
    options = webauthn.generate_authentication_options(
        rp_id=party.id,
        timeout=ASKED_SECONDS * 1000,
        allow_credentials=_describe(known),
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    await _keep(store, options.challenge, purpose, operator, now)
    return webauthn.options_to_json(options)


def _describe(known: Any) -> list[PublicKeyCredentialDescriptor]:
    return [PublicKeyCredentialDescriptor(id=webauthn.base64url_to_bytes(row.id)) for row in known]


async def _keep(store: SqlStore, challenge: bytes, purpose: ChallengePurpose, operator: str | None, now: float) -> None:
    hash_ = hash_token(bytes_to_base64url(challenge))
    await store.tx(second_factors.add_challenge, hash_, purpose, operator, now, ASKED_SECONDS)


# --- answers --------------------------------------------------------------------------------------------------------


async def read_registration(
    store: SqlStore, party: RelyingParty, operator: OperatorRow, name: str, answer: str, now: float
) -> PasskeyRow:
    """The new passkey, not kept yet. Raises `PasskeyRefused`."""
    challenge, asked = await _take(store, answer, "register", now)
    if asked != operator.id:
        raise _refuse("it was asked of somebody else")
    try:
        made = webauthn.verify_registration_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except Exception as error:  # whatever the library trips over, it is no passkey
        raise _refuse(str(error)) from None
    id_ = bytes_to_base64url(made.credential_id)
    return PasskeyRow(id_, operator.id, name, made.credential_public_key, made.sign_count, now)


async def read_signature(
    store: SqlStore, party: RelyingParty, purpose: ChallengePurpose, answer: str, now: float
) -> OperatorRow:
    """Whose passkey answered, to exactly what was asked. Raises `PasskeyRefused`."""
    challenge, asked = await _take(store, answer, purpose, now)
    credential = _read(answer)
    passkey = await store.tx(second_factors.find_passkey, str(credential.get("id", "")))
    if passkey is None or (asked is not None and asked != passkey.operator):
        raise _refuse("it is not a passkey of who was asked")
    handle = credential["response"].get("userHandle")
    if handle and webauthn.base64url_to_bytes(str(handle)) != passkey.operator.encode():
        raise _refuse("it names somebody else")
    try:
        verified = webauthn.verify_authentication_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=passkey.public_key,
            credential_current_sign_count=passkey.uses,
            require_user_verification=True,
        )
    except Exception as error:
        raise _refuse(str(error)) from None
    if not await store.tx(second_factors.note_use, passkey.id, verified.new_sign_count, now):
        raise _refuse("its counter did not move on")
    operator = await store.tx(access.get_operator, passkey.operator)
    if operator is None or operator.disabled_at is not None:
        raise _refuse("its operator may not come in")
    return operator


async def _take(store: SqlStore, answer: str, purpose: ChallengePurpose, now: float) -> tuple[bytes, str | None]:
    """What was asked, and of whom; it cannot be answered again."""
    try:
        data = orjson.loads(webauthn.base64url_to_bytes(_read(answer)["response"]["clientDataJSON"]))
        challenge = webauthn.base64url_to_bytes(data["challenge"])
    except Exception:
        raise _refuse("it cannot be read") from None
    waited, asked = await store.tx(
        second_factors.take_challenge, hash_token(bytes_to_base64url(challenge)), purpose, now
    )
    if not waited:
        raise _refuse("nothing like it was asked, or it was answered before, or too late")
    return challenge, asked


def _read(answer: str) -> dict[str, Any]:
    if len(answer) > LONGEST_ANSWER:
        raise _refuse("it is too long")
    try:
        said = orjson.loads(answer)
    except ValueError:
        raise _refuse("it cannot be read") from None
    if not isinstance(said, dict) or not isinstance(said.get("response"), dict):
        raise _refuse("it cannot be read")
    return said


def _refuse(why: str) -> PasskeyRefused:
    """Why is for the log: whoever tries is told no more than that it did not work."""
    logger.info("a passkey was refused", extra={"why": why[:200]})
    return PasskeyRefused("The passkey was not accepted.", fix="Try again, or use another way to sign in.")
