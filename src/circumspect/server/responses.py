"""What routes have in common: answers written by orjson, pages, who may see what, and how errors are described."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypeVar

import orjson
import sqlalchemy as sa
from fastapi import APIRouter, Header, Path, Query
from starlette.responses import Response

from circumspect.server.access import Principal
from circumspect.server.problems import HttpProblem, not_found
from circumspect.server.request_log import add_log_context
from circumspect.server.schemas.bodies import ID, NO_NUL, PERSON_ID, TENANT, AnswerBody, AnswerPage, ProblemBody
from circumspect.server.services import Services
from circumspect.server.strict_routes import StrictRoute
from circumspect.stores import action_log
from circumspect.stores.codec import dumps
from circumspect.stores.people import ListCursor
from circumspect.values import JsonObject, TenantId

T = TypeVar("T")
U = TypeVar("U")

MEANINGS = {
    400: "The body cannot be read.",
    401: "No key or sign-in, or not a valid one.",
    403: "The key lacks a scope, or the operator the role.",
    404: "There is no such thing, or it is somebody else's.",
    408: "The body took too long.",
    409: "It is not in a state for this, or somebody was quicker.",
    413: "Too large.",
    415: "The body is not sent as JSON.",
    422: "A field is missing, unknown or wrong.",
    429: "Too many requests; `Retry-After` says when to come back.",
    503: "The database or the tenant's configuration cannot be used now.",
}
KEY: list[dict[str, list[str]]] = [{"key": []}]
OPERATOR: list[dict[str, list[str]]] = [{"session": []}, {"cookie": []}]
SCHEMES = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "csk_…",
        "description": "A tenant's API key: `circumspect keys create --tenant NAME`. What it may do is said by its "
        "scopes: chat, read, manage, admin. Beside it, `X-End-User-Token` may say by a signed token which end user the "
        "request speaks for.",
    },
    "session": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "ses_…",
        "description": "An operator's sign-in: the token of `POST /v1/session`.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "circumspect_session",
        "description": "The same in a browser; over HTTPS it is called `__Host-circumspect_session`. A change has to "
        "come from a page of this server.",
    },
    "metrics": {
        "type": "http",
        "scheme": "bearer",
        "description": "The `metrics_token` of the settings, for scraping.",
    },
}


def resource(tag: str, route_class: type[StrictRoute] = StrictRoute) -> APIRouter:
    return APIRouter(tags=[tag], route_class=route_class)


def describe_route(
    model: Any = None,
    *statuses: int,
    status: int = 200,
    security: Sequence[Mapping[str, list[str]]] = (*KEY, *OPERATOR),
    **more: Any,
) -> dict[str, Any]:
    """Keyword arguments for a route: what it answers, every error it may answer with, who may call it."""
    wrong = sorted({401, 403, 422, 429, 503, *statuses}) if security else sorted({422, *statuses})
    responses: dict[int | str, dict[str, Any]] = {
        code: {"model": ProblemBody, "description": MEANINGS.get(code, "An error.")} for code in wrong
    }
    if model is not None:
        responses[status] = {"model": model, "description": "Done."}
    responses |= more.pop("responses", {})
    extra = {"security": [dict(one) for one in security], **more.pop("openapi_extra", {})}
    # `response_model=None`: answers are written by orjson, not taken apart and put together by the framework.
    return {"responses": responses, "status_code": status, "openapi_extra": extra, "response_model": None, **more}


def to_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer, several of them, or what is JSON already, written as the body."""
    match value:
        case AnswerBody():
            value = value.to_json()
        case [AnswerBody(), *_]:
            value = [one.to_json() if isinstance(one, AnswerBody) else one for one in value]
    return Response(encode_json(value), status, headers=headers, media_type="application/json")


def encode_json(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError:
        # Mappings of other types, lone surrogates, integers beyond 64 bits.
        return dumps(value).encode()


# --- who may see what -----------------------------------------------------------------------------------------------

TenantFilter = Annotated[
    str | None, Query(pattern=TENANT, description="For operators: only this tenant. A key is always its own tenant's.")
]

PersonFilter = Annotated[
    str | None,
    Query(max_length=128, pattern=NO_NUL, description="Only what is this end user's; one who signed in has no other."),
]


def find_visible_tenants(who: Principal, tenant: str | None) -> frozenset[TenantId] | None:
    """The tenants whose rows may be seen in this request; None is everyone's."""
    if tenant is None:
        seen = who.tenant_filter
    elif who.may_see(tenant):
        seen = frozenset({TenantId(tenant)})
    else:
        raise not_found("tenant")
    if seen is not None and len(seen) == 1:
        add_log_context(tenant=next(iter(seen)))
    return seen


def one_tenant(who: Principal, tenant: str | None) -> TenantId:
    """The tenant that this is about: the key's own, or the one an operator names."""
    seen = find_visible_tenants(who, tenant)
    if seen is None or len(seen) != 1:
        raise HttpProblem(422, "tenant_needed", "Several tenants can be meant.", fix="Name one with ?tenant=.")
    return next(iter(seen))


@dataclass(frozen=True, slots=True)
class LoggedAction:
    """What somebody is about to do, for the log. Written in the transaction that does it."""

    id: str
    at: datetime
    by: str
    name: str

    def log(
        self, connection: sa.Connection, tenant: str | None, subject: str, detail: JsonObject | None = None
    ) -> None:
        action_log.log_action(
            connection,
            id=self.id,
            at=self.at,
            operator=self.by,
            action=self.name,
            tenant=tenant,
            subject=subject,
            detail=detail,
        )


def action(services: Services, by: str, name: str) -> LoggedAction:
    return LoggedAction(services.ids.new("act"), services.clock.now(), by, name)


# --- pages ----------------------------------------------------------------------------------------------------------

After = Annotated[str | None, Query(max_length=400, description="`next` of the page before.")]
PageLimit = Annotated[int, Query(ge=1, le=200, description="How many at most.")]
IdPath = Annotated[str, Path(min_length=1, max_length=128, pattern=ID)]
PersonPath = Annotated[str, Path(min_length=1, max_length=128, pattern=PERSON_ID)]
TenantPath = Annotated[str, Path(pattern=TENANT)]
KeyPath = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]


def idempotency_key(description: str) -> Any:
    """The header by which a client says that it is the same request again."""
    return Header(
        alias="Idempotency-Key", min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$", description=description
    )


def page_after(after: str | None) -> ListCursor | None:
    if after is None:
        return None
    try:
        at, id_ = orjson.loads(base64.urlsafe_b64decode(after.encode("ascii") + b"=="))
        return ListCursor(float(at), _text(id_))
    except (ValueError, TypeError, binascii.Error, UnicodeEncodeError):
        raise HttpProblem(
            422, "invalid", "The place to go on from cannot be read.", fix="Pass `next` of the page before as `after`."
        ) from None


def _text(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError
    return value


def make_page(
    rows: Sequence[T], limit: int, shown: Callable[[T], U], key: Callable[[T], tuple[datetime | float, str]]
) -> AnswerPage[U]:
    kept, following = split_page(rows, limit, key)
    return AnswerPage(items=[shown(row) for row in kept], next=following)


def split_page(
    rows: Sequence[T], limit: int, key: Callable[[T], tuple[datetime | float, str]]
) -> tuple[list[T], str | None]:
    """The rows of this page, and from where the next goes on. `rows` are one more than the limit when there is one."""
    if len(rows) <= limit:
        return list(rows), None
    return list(rows[:limit]), write_place(*key(rows[limit - 1]))


def write_place(at: datetime | float, id_: str) -> str:
    """Where a list goes on, as `page_after` reads it."""
    place = orjson.dumps([at.timestamp() if isinstance(at, datetime) else at, id_])
    return base64.urlsafe_b64encode(place).decode().rstrip("=")
