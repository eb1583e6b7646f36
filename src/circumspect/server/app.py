"""create_app: settings in, the ASGI application out. Everything the server serves is put together here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from circumspect import __version__
from circumspect.ports import Clock, Ids
from circumspect.server import problems, telemetry
from circumspect.server.background import in_background
from circumspect.server.config import Settings, load_settings
from circumspect.server.host_names import KnownHosts
from circumspect.server.loop_watch import FollowRequests, RequestsUnderWay, watch_loop
from circumspect.server.metrics import Metrics
from circumspect.server.path_prefix import PathPrefix, list_paths, read_prefix, require_free_prefix
from circumspect.server.plain_cookies import PlainCookies
from circumspect.server.quick_routes import QuickRoutes
from circumspect.server.request_limits import BODY_SECONDS, UPLOAD_SECONDS, BodyBounds, BodyLimit
from circumspect.server.request_log import HeadAsGet, RequestLog
from circumspect.server.response_headers import ResponseHeaders
from circumspect.server.responses import KEY, MEANINGS, OPERATOR, SCHEMES
from circumspect.server.routes import (
    admin,
    approvals,
    audit,
    completions,
    confirmations,
    conversations,
    corrections,
    documents,
    escalations,
    evaluations,
    experiments,
    feedback,
    health,
    interact,
    keys,
    mcp,
    messages_api,
    outbox,
    persons,
    policies,
    prompts,
    responses_api,
    rulings,
    scim,
    session,
    sessions,
    work,
)
from circumspect.server.scim_format import ERROR_SHAPE
from circumspect.server.services import Services, open_services
from circumspect.server.uploads import UPLOAD_INSTEAD, UPLOAD_PATHS

ROUTERS = (
    conversations.router,
    confirmations.router,
    feedback.router,
    completions.router,
    responses_api.router,
    rulings.router,
    messages_api.router,
    interact.router,
    escalations.router,
    work.router,
    evaluations.router,
    corrections.router,
    approvals.router,
    admin.router,
    policies.router,
    documents.router,
    experiments.router,
    prompts.router,
    keys.router,
    scim.router,
    mcp.router,
    persons.router,
    outbox.router,
    audit.router,
    session.router,
    sessions.router,
    health.router,
)
OPEN = {("post", "/v1/session")}
"""What asks for no key and does not say so itself."""


def create_app(settings: Settings | None = None, *, clock: Clock | None = None, ids: Ids | None = None) -> FastAPI:
    """Nothing is opened before the server starts. Without settings they come from file and environment."""
    configured, metrics, under_way = settings or load_settings(), Metrics(), RequestsUnderWay()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        require_free_prefix(read_prefix(configured.public_url), list_paths(app.routes))
        telemetry.configure()
        async with (
            watch_loop(under_way, metrics.note_stall),
            open_services(configured, clock=clock, ids=ids, metrics=metrics) as services,
            in_background(services),
        ):
            app.state.services = services
            yield

    def is_closing() -> bool:
        services: Services | None = getattr(app.state, "services", None)
        return services is not None and services.turns.is_stopping

    app = FastAPI(
        title="Circumspect",
        version=__version__,
        summary="A reasoning layer for LLM agents: the model proposes, code disposes.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name.rstrip("_"),
    )
    for router in ROUTERS:
        app.include_router(router)
    problems.install(app)
    app.add_middleware(QuickRoutes, routers=ROUTERS)
    app.add_middleware(FollowRequests, under_way=under_way)
    uploads = BodyBounds(configured.max_upload_bytes, UPLOAD_SECONDS, "max_upload_bytes")
    cases = BodyBounds(configured.max_body_bytes, BODY_SECONDS, elsewhere=UPLOAD_INSTEAD)
    special = {**dict.fromkeys(UPLOAD_PATHS, uploads), "/v1/evaluations": cases}
    app.add_middleware(BodyLimit, max_bytes=configured.max_body_bytes, special=special)
    app.add_middleware(RequestLog, observe=metrics.request, is_closing=is_closing)
    app.add_middleware(HeadAsGet)
    app.add_middleware(PlainCookies)
    app.add_middleware(KnownHosts, public_url=configured.public_url, allowed=configured.allowed_hosts)
    app.add_middleware(ResponseHeaders, public_url=configured.public_url)
    if prefix := read_prefix(configured.public_url):
        app.add_middleware(PathPrefix, prefix=prefix)
    app.servers = [{"url": configured.public_url.rstrip("/")}] if configured.public_url else []
    app.openapi = lambda: openapi(app)  # type: ignore[method-assign]
    return app


def description() -> str:
    """The API's description as a file: what `docs/openapi.json` holds."""
    document = create_app(Settings.model_construct()).openapi()
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"


def openapi(app: FastAPI) -> dict[str, Any]:
    """The API's description, with what the framework does not know: how to sign in, and that every error is ours."""
    if not app.openapi_schema:
        if not _described:
            _described.update(_describe_routes(app))
        app.openapi_schema = {**_described, **({"servers": app.servers} if app.servers else {})}
    return app.openapi_schema


_described: dict[str, Any] = {}
"""Made once in a process, which takes most of a second: all apps have the same routes."""


def _describe_routes(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    components = document.setdefault("components", {})
    components["securitySchemes"] = SCHEMES
    for name in ("HTTPValidationError", "ValidationError"):
        components.get("schemas", {}).pop(name, None)
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status in (400, 408, 413, 415) if "requestBody" in operation else ():
                operation["responses"].setdefault(str(status), {"description": MEANINGS[status], "content": problem})
            if "security" not in operation:
                operation["security"] = [] if (method, path) in OPEN else [*KEY, *OPERATOR]
                for status in (400, 401, 403, 429, 503):
                    operation["responses"].setdefault(
                        str(status), {"description": MEANINGS[status], "content": problem}
                    )
            for status, response in operation.get("responses", {}).items():
                said = response.get("content", {}).get("application/json", {}).get("schema", {})
                if said.get("$ref", "").endswith("HTTPValidationError"):
                    operation["responses"][status] = {"description": "A field is wrong.", "content": problem}
                if path.startswith("/scim/") and int(status) >= 400:
                    operation["responses"][status]["content"] = {scim.SCIM: {"schema": ERROR_SHAPE}}
    return document
