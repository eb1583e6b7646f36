"""`/healthz`, `/readyz`, `/metrics`: for machines that look after machines."""

from __future__ import annotations

import asyncio
import hmac

import sqlalchemy as sa
from fastapi import Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from circumspect.errors import StoreError, StoreNotLasting
from circumspect.server.access import NotPermitted, NotSignedIn, services_of
from circumspect.server.config import Settings
from circumspect.server.log_export import LagCollector, name_receivers
from circumspect.server.metrics import read_backlog
from circumspect.server.responses import describe_route, resource, to_response
from circumspect.server.schemas.bodies import ProblemBody
from circumspect.server.schemas.health import Health, Readiness
from circumspect.server.services import Services
from circumspect.stores import database_time
from circumspect.stores.lasting_files import require_room
from circumspect.stores.log_exporting import read_lags
from circumspect.stores.schema import HEAD, is_usable

router = resource("health")
READY_SECONDS = 5.0
CLOCK_SECONDS = 5.0


@router.get("/healthz", **describe_route(Health, security=()))
async def healthz() -> Response:
    """The process is alive. Says nothing of what it depends on, so that a database restart kills no worker."""
    return to_response(Health(status="ok"))


@router.get(
    "/readyz",
    **describe_route(
        Readiness, security=(), responses={503: {"model": Readiness, "description": "Send requests elsewhere."}}
    ),
)
async def readyz(request: Request) -> Response:
    """Can requests be served here? The database decides; Redis, the model and the clock are reported."""
    services = services_of(request)
    database, clock = "ok", "not known"
    try:
        async with asyncio.timeout(READY_SECONDS):
            version = await services.store.tx(_version)
            await services.store.tx(require_room)
            clock = await compare_clocks(services)
        if not is_usable(version):
            database = f"schema {version or 'missing'}, {HEAD} is needed"
    except StoreNotLasting:
        database = "what is written would be lost: its file was deleted or replaced, or its disk is full"
    except StoreError:
        database = "cannot be reached"
    except TimeoutError:
        database = "does not answer"
    settings = services.settings
    redis = "not configured" if not settings.redis else "ok" if services.limiter.is_shared else "not used at the moment"
    ready = database == "ok" and not services.turns.is_stopping
    return to_response(
        Readiness(
            status="ready" if ready else "not_ready",
            database=database,
            redis=redis,
            model=settings.model.partition("@")[0],
            clock=clock,
            turns_in_flight=len(services.turns),
            stopping=services.turns.is_stopping,
        ),
        200 if ready else 503,
    )


@router.get(
    "/metrics",
    **describe_route(
        None,
        security=({"metrics": []},),
        responses={
            200: {"description": "Prometheus text.", "content": {"text/plain": {"schema": {"type": "string"}}}},
            401: {"model": ProblemBody, "description": "The token is missing or wrong."},
            403: {"model": ProblemBody, "description": "No token is configured, so nobody may read them."},
        },
    ),
)
async def metrics(request: Request) -> Response:
    """Prometheus metrics. They name tenants, so only who has the `metrics_token` reads them: a request
    that a proxy on this machine passes on looks like one of the machine's own."""
    services = services_of(request)
    _require_permission(request, services.settings)
    now = services.clock.now().timestamp()
    found = await services.store.tx(read_backlog, now)
    lags = await services.store.tx(read_lags, name_receivers(services.settings), now)
    text = await asyncio.to_thread(services.metrics.render, found, LagCollector(lags))
    return Response(text, media_type=CONTENT_TYPE_LATEST)


async def compare_clocks(services: Services) -> str:
    """`ok`, or how far this worker's clock is from the database's; what the question takes is no difference."""
    before = services.clock.now().timestamp()
    theirs = await services.store.tx(database_time.read)
    ahead, behind = before - theirs, theirs - services.clock.now().timestamp()
    if max(ahead, behind) <= CLOCK_SECONDS:
        return "ok"
    way = "ahead of" if ahead > 0 else "behind"
    return f"{max(ahead, behind):.0f} seconds {way} the database's"


def _require_permission(request: Request, settings: Settings) -> None:
    secret = settings.metrics_token
    given = request.headers.get("authorization", "").partition(" ")[2].strip()
    if secret is None:
        raise NotPermitted(
            "Metrics are closed: no metrics token is set.",
            fix="Set CIRCUMSPECT_METRICS_TOKEN, and send it as `Authorization: Bearer TOKEN`.",
        )
    if not hmac.compare_digest(given.encode(), secret.get_secret_value().encode()):
        raise NotSignedIn("The metrics token is missing or wrong.", fix="Send `Authorization: Bearer TOKEN`.")


def _version(connection: sa.Connection) -> str | None:
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
