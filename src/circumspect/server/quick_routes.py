"""Quick routes: a request in, its endpoint called; without what the framework does for cases that our routes have not.

The framework looks through all routes in their order, and works out parameters, dependencies and body anew for each
request: several times the work of reading a small one. What a `StrictRoute` needs is known when the server starts, so
it is worked out then. Whatever does not fit, or is not valid, goes the framework's way, whose words for what is wrong
are the ones that count; the doors have been asked and the body was read by then, and neither happens twice.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from re import Pattern
from typing import Any, Literal

from fastapi import APIRouter, params
from starlette._utils import get_route_path
from starlette.convertors import PathConvertor, StringConvertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from circumspect.server.access import Door
from circumspect.server.json_bodies import read_json
from circumspect.server.strict_routes import StrictRequest, StrictRoute, brings_body, let_in, require_json

_OBSERVED = "fastapi.telemetry"
"""Set where the framework writes spans of its own: those need its way."""
_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    """Of the endpoint's argument."""
    alias: str
    place: Literal["path", "query", "header"]
    field: Any
    required: bool
    default: object


@dataclass(frozen=True, slots=True)
class _Plan:
    """What an endpoint is given, and from where."""

    endpoint: Callable[..., Any]
    request: str | None
    doors: Mapping[str, Door[Any]]
    parameters: tuple[_Parameter, ...]
    body: Any

    async def read(self, request: Request) -> dict[str, Any] | None:
        """The endpoint's arguments; None where something is missing or not valid. Raises what a door raises, and what
        is wrong with a body that is no JSON."""
        values: dict[str, Any] = {}
        if brought := brings_body(request):
            await let_in(request, tuple(self.doors.values()))
            if self.body:
                require_json(request)
        for name, door in self.doors.items():
            values[name] = await door(request)
        for one in self.parameters:
            if not _read_parameter(one, request, values):
                return None
        if self.body:
            sent = await _read_body(request) if brought else b""
            if not sent:
                return None
            given, errors = self.body.validate(read_json(sent), {}, loc=("body",))
            if errors:
                return None
            values[self.body.name] = given
        if self.request:
            values[self.request] = request
        return values


@dataclass(frozen=True, slots=True)
class _Known:
    """A route by its path; without a plan where it has to go the framework's way."""

    pattern: Pattern[str]
    methods: frozenset[str]
    route: StrictRoute | None
    plan: _Plan | None


class QuickRoutes:
    """Pure ASGI, innermost: what it does not serve it hands to the framework."""

    def __init__(self, app: ASGIApp, routers: Iterable[APIRouter]) -> None:
        self.app = app
        self._known: dict[str, list[_Known]] = {}
        for router in routers:
            for route in router.routes:
                if isinstance(route, Route):
                    self._known.setdefault(_beginning(route.path), []).append(_know(route))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._find(scope) if scope["type"] == "http" and _OBSERVED not in scope else None
        if found is None:
            await self.app(scope, receive, send)
            return
        route, plan, path_params = found
        scope["route"], scope["endpoint"], scope["path_params"] = route, route.endpoint, path_params
        request = StrictRequest(scope, receive, send)
        try:
            values = await plan.read(request)
            if values is None:
                await self.app(scope, _give_again(request), send)
                return
            response = await plan.endpoint(**values)
        except Exception as error:
            response = await route.answer_error(request, error)
        await response(scope, receive, send)

    def _find(self, scope: Scope) -> tuple[StrictRoute, _Plan, dict[str, str]] | None:
        """The first route in order with this path and this method, as the framework would have it."""
        path, method = get_route_path(scope), scope["method"]
        for known in self._known.get(_beginning(path), ()):
            if method in known.methods and (match := known.pattern.match(path)):
                return (known.route, known.plan, match.groupdict()) if known.route and known.plan else None
        return None


def _beginning(path: str) -> str:
    """Of all paths that one of our routes may have: none has a parameter so early."""
    return "/".join(path.split("/", 3)[:3])


def _know(route: Route) -> _Known:
    strict = route if isinstance(route, StrictRoute) else None
    return _Known(route.path_regex, frozenset(route.methods or ()), strict, make_plan(strict) if strict else None)


def make_plan(route: StrictRoute) -> _Plan | None:
    """None for a route that has what is not known here: forms, cookies, lists, dependencies of dependencies."""
    wanted = route.dependant
    doors = {one.name: one.call for one in wanted.dependencies if isinstance(one.call, Door) and one.name}
    fields: tuple[tuple[Literal["path", "query", "header"], list[Any]], ...] = (
        ("path", wanted.path_params),
        ("query", wanted.query_params),
        ("header", wanted.header_params),
    )
    parameters = [_make_parameter(place, one) for place, some in fields for one in some]
    body = wanted.body_params
    fits = (
        len(doors) == len(wanted.dependencies)
        and all(type(one) in (StringConvertor, PathConvertor) for one in route.param_convertors.values())
        and not (wanted.cookie_params or wanted.background_tasks_param_name or wanted.response_param_name)
        and not (wanted.http_connection_param_name or wanted.security_scopes_param_name)
        and (not body or (len(body) == 1 and type(body[0].field_info) is params.Body and not body[0].field_info.embed))
        and inspect.iscoroutinefunction(route.endpoint)
        and issubclass(typing.get_type_hints(route.endpoint).get("return", object), Response)
    )
    if not fits or None in parameters:
        return None
    known = tuple(one for one in parameters if one)
    return _Plan(route.endpoint, wanted.request_param_name, doors, known, body[0] if body else None)


def _make_parameter(place: Literal["path", "query", "header"], field: Any) -> _Parameter | None:
    info = field.field_info
    required = info.is_required()
    alias = info.validation_alias if isinstance(info.validation_alias, str) else field.alias
    is_plain = required or type(field.default) in _PLAIN
    is_named = place != "header" or info.alias is not None  # otherwise the framework makes up a name
    if not (is_plain and is_named and _is_single(info.annotation) and not info.validate_default):
        return None
    return _Parameter(field.name, alias, place, field, required, None if required else field.default)


def _is_single(annotation: Any) -> bool:
    """One value, and no list of them."""
    parts = typing.get_args(annotation)
    if typing.get_origin(annotation) is Literal:
        return True
    return all(map(_is_single, parts)) if parts else annotation in _PLAIN


def _read_parameter(one: _Parameter, request: Request, values: dict[str, Any]) -> bool:
    """False where it is missing or not valid."""
    given: str | None
    match one.place:
        case "path":
            given = request.path_params.get(one.alias)
        case "query":
            given = request.query_params.get(one.alias)
        case "header":
            given = request.headers.get(one.alias)
    if given is None:
        values[one.name] = one.default
        return not one.required
    values[one.name], errors = one.field.validate(given, values, loc=(one.place, one.alias))
    return not errors


async def _read_body(request: Request) -> bytes:
    try:
        return await request.body()
    except ClientDisconnect as error:
        raise HTTPException(400) from error


def _give_again(request: Request) -> Receive:
    """The messages of the request as they came: what was read of its body first."""
    read: bytes | None = getattr(request, "_body", None)

    async def receive() -> Message:
        nonlocal read
        if read is None:
            return await request.receive()
        again, read = read, None
        return {"type": "http.request", "body": again, "more_body": False}

    return receive
