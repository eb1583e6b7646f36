"""Problems: whatever goes wrong in, `{"code", "problem", "fix"}` with the right status out.

Ours, the framework's (404, 405, 422) and what nobody foresaw (500, without details) look the same to a client. What a
caller sent is never repeated back: a message may name the field, not its content.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from circumspect import errors
from circumspect.errors import CircumspectError
from circumspect.server.directory import TenantUnavailable
from circumspect.server.refusals import note_refusal
from circumspect.server.schemas.bodies import IN_WORDS
from circumspect.server.stores.policies import PolicyChanged
from circumspect.stores.codec import dumps
from circumspect.stores.people import NotThere, OutcomeNeeded, TakenByAnother
from circumspect.web.browsing.interaction import NothingToDo

log = logging.getLogger(__name__)
T = TypeVar("T")


class HttpProblem(CircumspectError):
    """A refusal that only exists over HTTP: `raise HttpProblem(401, "no_key", "…", fix="…")`."""

    def __init__(
        self, status: int, code: str, problem: str, *, fix: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(problem, fix=fix)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


STATUSES: Mapping[type[CircumspectError], int] = {
    errors.UnknownTenant: 404,
    TenantUnavailable: 503,
    errors.PolicyError: 422,
    errors.ConfigError: 422,
    errors.ModelUnavailable: 503,
    errors.ModelError: 502,
    errors.ToolTimeout: 504,
    errors.ToolError: 502,
    NothingToDo: 422,
    errors.ConversationBusy: 409,
    errors.LeaseLost: 409,
    errors.CallUnderWay: 409,
    NotThere: 404,
    errors.NotYourConversation: 404,
    errors.ApproverRefused: 403,
    TakenByAnother: 409,
    OutcomeNeeded: 422,
    PolicyChanged: 409,
    errors.StoreError: 503,
    CircumspectError: 500,
}
"""The most particular class that fits decides."""

_RETRY: Mapping[type[CircumspectError], str] = {
    errors.ConversationBusy: "1",
    errors.LeaseLost: "1",
    errors.CallUnderWay: "5",
    errors.StoreError: "2",
    errors.StoreNotLasting: "60",
    TenantUnavailable: "10",
    errors.ModelUnavailable: "5",
}
"""When it is worth trying again, in seconds. For those that a moment can mend."""
_FRAMEWORK = {
    400: ("bad_request", "Send what the API description at /openapi.json says."),
    404: ("not_found", "The API description at /openapi.json lists every path."),
    405: ("method_not_allowed", "The API description at /openapi.json lists the methods of every path."),
    406: ("not_acceptable", "Ask for application/json or text/event-stream."),
    413: ("too_large", "Send less at once."),
    415: ("unsupported_media_type", "Send JSON with `Content-Type: application/json`."),
}


def not_found(what: str) -> HttpProblem:
    """Also what somebody else's thing looks like: whether it exists is nobody's business."""
    return HttpProblem(404, "not_found", f"There is no such {what}.", fix="Check the id, and whose key you use.")


def require_found(row: T | None, what: str) -> T:
    """The row, or the problem that there is no such thing."""
    if row is None:
        raise not_found(what)
    return row


def status_of(error: CircumspectError) -> int:
    own: int | None = getattr(error, "status", None)
    return own or next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def body_of(error: CircumspectError) -> dict[str, Any]:
    body: dict[str, Any] = {"code": error.code, "problem": error.problem, "fix": error.fix}
    if findings := getattr(error, "findings", ()):
        body["findings"] = list(findings)
    return body


ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def with_error(body: Mapping[str, Any], status: int) -> dict[str, Any]:
    """A problem as we say it, and once more where OpenAI's clients look for words."""
    kind = ERROR_TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")
    message = f"{body['problem']} {body['fix']}".strip()
    return {**body, "error": {"message": message, "type": kind, "param": None, "code": body["code"]}}


_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}


def with_anthropic_error(body: Mapping[str, Any], status: int) -> dict[str, Any]:
    """A problem as we say it, and once more where Anthropic's clients look for words."""
    kind = _ANTHROPIC_TYPES.get(status) or ("api_error" if status >= 500 else "invalid_request_error")
    return {**body, "type": "error", "error": {"type": kind, "message": f"{body['problem']} {body['fix']}".strip()}}


def is_from_anthropic_client(request: Request) -> bool:
    """They say which version of the format they speak, with every request."""
    return "anthropic-version" in request.headers


def problem_response(
    status: int, code: str, problem: str, fix: str, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    content = dumps({"code": code, "problem": problem, "fix": fix, **more}).encode()
    return Response(content, status, headers=headers, media_type="application/json")


def install(app: FastAPI) -> None:
    app.add_exception_handler(CircumspectError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _frameworks)
    app.add_exception_handler(Exception, _unforeseen)


async def response_to(request: Request, error: Exception) -> Response:
    """What goes out for an error, for those who want to add to it. What nobody foresaw is raised again."""
    match error:
        case CircumspectError():
            return await _ours(request, error)
        case RequestValidationError():
            return await _invalid(request, error)
        case HTTPException():
            return await _frameworks(request, error)
    raise error


async def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, CircumspectError)
    status = status_of(error)
    headers = dict(getattr(error, "headers", {}))
    if (wait := _RETRY.get(type(error))) is not None:
        headers.setdefault("Retry-After", wait)
    if status == 403:
        await note_refusal(request, error)
    if status >= 500:
        log.error("problem", extra={"problem": error.code})
    return Response(dumps(body_of(error)).encode(), status, headers=headers, media_type="application/json")


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found: Sequence[Any] = error.errors()
    if found and found[0].get("type") == "json_invalid":
        return problem_response(400, "bad_json", "The body is not valid JSON.", "Send one JSON object in UTF-8.")
    said = "; ".join(_describe_error(one) for one in found[:5])
    fix = "Correct the named fields; the API description at /openapi.json has their types."
    return problem_response(422, "invalid", f"The request is not valid: {said}.", fix)


def _describe_error(one: Mapping[str, Any]) -> str:
    """Where, and what was expected there. Pieces of the path that the caller made up are left out; the name of a header
    is ours."""
    path = one.get("loc", ())
    ours = path[:2] if path[:1] == ("header",) else ()
    where = [str(part) for part in path if part in ours or isinstance(part, int) or str(part).isidentifier()]
    expected = IN_WORDS.get(one.get("ctx", {}).get("pattern", "")) or one.get("msg", "invalid")
    return f"{'.'.join(where)[:120]}: {expected}"


async def _frameworks(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, CircumspectError):  # raised while a body was read, and wrapped by the framework
        return await _ours(request, error.__cause__)
    status = error.status_code
    code, fix = _FRAMEWORK.get(status, (HTTPStatus(status).phrase.lower().replace(" ", "_"), ""))
    phrase = HTTPStatus(status).phrase
    headers = {**(error.headers or {}), "Allow": _methods(request)} if status == 405 else error.headers
    body: dict[str, Any] = {"code": code, "problem": f"{phrase}.", "fix": fix}
    # A path that is not served may be one that another maker's client asks for.
    if is_from_anthropic_client(request):
        body = with_anthropic_error(body, status)
    elif request.url.path.startswith("/v1/"):
        body = with_error(body, status)
    return Response(dumps(body).encode(), status, headers=headers, media_type="application/json")


def _methods(request: Request) -> str:
    """Of all routes with this path: the framework names those of the first one only."""

    def is_served(method: str) -> bool:
        scope = {**request.scope, "method": method}
        return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)

    found = [method for method in ("GET", "POST", "PUT", "PATCH", "DELETE") if is_served(method)]
    return ", ".join(["HEAD", *found] if "GET" in found else found)


async def _unforeseen(request: Request, error: Exception) -> Response:
    """Logged with type and place by the middleware that knows the request; told to nobody else."""
    fix = "Try again; if it stays, report it with the X-Request-Id of this answer."
    return problem_response(500, "internal", "Something of ours failed.", fix)
