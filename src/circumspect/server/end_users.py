"""End users: a token that their tenant signed in, who speaks out, or a refusal.

    X-End-User-Token: eyJhbGciOiJIUzI1NiIsImtpZCI6Im9uZSJ9…

A token is a JWT. The tenant's file has the keys (`end_users`), each with its one algorithm; `sub` is the person, `exp`
has to be there, and what else it says goes with the message as `claims`. The one choice that may surprise: times are
compared here and not by the library, because time comes from our clock. Nothing of a token is ever repeated, neither to
who sent it nor to the log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import jwt
import orjson

from circumspect.errors import CircumspectError
from circumspect.server.directory import TenantUnavailable
from circumspect.server.schemas.bodies import PERSON_ID
from circumspect.server.stores import access
from circumspect.server.stores.access import KnownKey
from circumspect.server.tenants.end_user_keys import EndUserKey, EndUsersSection
from circumspect.values import Json, JsonObject, name_principal

if TYPE_CHECKING:
    from circumspect.server.services import Services

END_USER_TOKEN = "X-End-User-Token"  # noqa: S105
LONGEST_TOKEN = 8_192
LONGEST_HEADER = 1_024
"""Of the token's own first part, which is read before anything is verified."""
LONGEST_CLAIMS = 4_096
LEEWAY_SECONDS = 30
SHORTEST_SHARED_SECRET = 32
_PERSON = re.compile(PERSON_ID)
LONGEST_PERSON = 128
_ABOUT_THE_TOKEN = frozenset({"sub", "exp", "nbf", "iat", "iss", "aud", "jti"})


class EndUserRefused(CircumspectError):
    code = "end_user_token"
    status = 401
    headers: Mapping[str, str] = {"WWW-Authenticate": f'Bearer error="invalid_token", header="{END_USER_TOKEN}"'}


class AnotherPerson(CircumspectError):
    code = "another_person"
    status = 403


@dataclass(frozen=True, slots=True)
class EndUser:
    """Whose words these are. Without a `person` they are of the one unnamed person of their conversation."""

    person: str | None = None
    """The tenant's own id of them."""
    claims: JsonObject = field(default_factory=dict)
    """What a signed token says of them beside that."""

    @property
    def principal(self) -> str:
        return name_principal(self.person)


def is_signing_required(settings: Mapping[str, Json]) -> bool:
    """Whether the tenant, by its stored settings, takes nobody's word for who they are."""
    section = settings.get("end_users")
    return isinstance(section, Mapping) and section.get("required") is True


async def verify_end_user(services: Services, caller: KnownKey, tokens: Sequence[str]) -> EndUser | None:
    """Who the token of a request says that it speaks for; None where there is none. Raises `EndUserRefused`.

    Settings by which the caller's key was judged are the oldest that count: who was just made to sign is not refused by
    the keys from before that.
    """
    if not tokens:
        return None
    if len(tokens) > 1:
        raise EndUserRefused(f"There are several tokens in {END_USER_TOKEN}.", fix="Send one.")
    tenant = caller.row.tenant
    rules = (await services.directory.settings(tenant, since=caller.revision)).end_users
    key = _find_key(tokens[0], rules)
    secret = ""
    if key.secret is not None:
        sealed = await services.store.tx(access.get_sealed_secrets, tenant)
        secret = services.vault.unseal(sealed[key.secret]) if key.secret in sealed else ""
        if len(secret.encode()) < SHORTEST_SHARED_SECRET:
            raise TenantUnavailable(
                f"The tenant's key '{key.kid}' for end users has no secret of {SHORTEST_SHARED_SECRET} bytes or more.",
                fix="Give it one under `secrets` of the tenant's file and run: circumspect apply tenant.yaml.",
            )
    return verify_token(tokens[0], key, secret, rules, services.clock.now().timestamp())


def verify_token(token: str, key: EndUserKey, secret: str, rules: EndUsersSection, now: float) -> EndUser:
    """The end user, if the key verifies the token and its time has not passed. Raises `EndUserRefused`."""
    try:
        said: dict[str, Any] = jwt.decode(
            token,
            secret if key.secret is not None else key.read_public_key(),
            algorithms=[key.algorithm],
            audience=rules.audience,
            issuer=rules.issuer,
            options={"require": ["exp", "sub"], "verify_exp": False, "verify_nbf": False, "verify_iat": False},
        )
        claims = orjson.dumps({name: value for name, value in said.items() if name not in _ABOUT_THE_TOKEN})
    except jwt.MissingRequiredClaimError:
        raise EndUserRefused(
            "The end user's token lacks a claim.",
            fix="Sign it with `sub` and `exp`, and with `iss` and `aud` where the file has them.",
        ) from None
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        raise EndUserRefused(
            "The end user's token is not valid.",
            fix=f"Sign it with {key.algorithm} and the key of that kid, with the issuer and the audience that "
            "`end_users` of the tenant's file has.",
        ) from None
    if not _is_time(said["exp"]) or said["exp"] + LEEWAY_SECONDS <= now:
        raise EndUserRefused("The end user's token has expired.", fix="Sign a new one; `exp` is in seconds since 1970.")
    if "nbf" in said and not (_is_time(said["nbf"]) and said["nbf"] - LEEWAY_SECONDS <= now):
        raise EndUserRefused("The end user's token is not valid yet.", fix="Look at `nbf`, and at both clocks.")
    if not isinstance(said["sub"], str) or len(said["sub"]) > LONGEST_PERSON or not _PERSON.fullmatch(said["sub"]):
        raise EndUserRefused(
            "The end user's token has no usable `sub`.", fix="Your id of them: up to 128 ASCII characters, no spaces."
        )
    if len(claims) > LONGEST_CLAIMS:
        raise EndUserRefused("The end user's token says too much.", fix=f"Keep claims below {LONGEST_CLAIMS} bytes.")
    return EndUser(said["sub"], orjson.loads(claims))


def refuse_unsigned() -> NoReturn:
    raise EndUserRefused(
        "End users of this tenant sign in, and there is no token of theirs in the request.",
        fix=f"Send one that you signed in {END_USER_TOKEN}; a `person` in the body is not enough.",
    )


def refuse_other_person() -> NoReturn:
    raise AnotherPerson(
        "The request names another person than its token does.", fix="Leave `person` out: the token says who it is."
    )


def _find_key(token: str, rules: EndUsersSection) -> EndUserKey:
    unreadable = EndUserRefused("The end user's token cannot be read.", fix=f"Send one JWT in {END_USER_TOKEN}.")
    if len(token) > LONGEST_TOKEN or token.find(".") not in range(1, LONGEST_HEADER):
        raise unreadable
    try:
        kid = jwt.get_unverified_header(token).get("kid")
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise unreadable from None
    known = [one for one in rules.keys if one.kid == kid or (kid is None and len(rules.keys) == 1)]
    if not known:
        raise EndUserRefused(
            "No key of this tenant verifies the end user's token.",
            fix="Put `kid` into its header, and the key of that kid under `end_users` of the tenant's file.",
        )
    return known[0]


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10**12
