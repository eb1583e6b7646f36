"""The cookies of a browser that signs in: its session, and which browser it is.

Over HTTPS their names begin with `__Host-`: then no other host of the same domain, and no page that came by plain HTTP,
can put one of its own in their place. Plain HTTP has no such names, and stays usable on a machine of one's own.

The device's cookie says which operators have signed in here before. It lets nobody in; it only keeps a browser that is
known from waiting when strangers guess at its owner's password. It is sealed with the server's secret key, so nobody
can make one.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from circumspect.errors import ConfigError
from circumspect.server.stores.sessions import KnownDevice

if TYPE_CHECKING:
    from circumspect.server.services import Services

COOKIE = "circumspect_session"
DEVICE = "circumspect_device"
DEVICE_SECONDS = 180 * 24 * 3600
MOST_OPERATORS = 8
"""Who share one browser; whoever signed in last stays."""
_PURPOSE = "device"


def is_secure(request: Request) -> bool:
    """Are cookies for HTTPS only? By the settings, and otherwise when the server is reached that way."""
    settings = _services(request).settings
    match settings.cookie_secure:
        case "always":
            return True
        case "never":
            return False
    return request.url.scheme == "https" or (settings.public_url or "").startswith("https://")


def read_session_cookie(request: Request) -> str | None:
    return request.cookies.get(_host_only(request, COOKIE))


def set_session_cookie(request: Request, response: Response, token: str) -> None:
    """Lasts as long as the browser is open; when the sign-in ends is for the server to know."""
    _set_cookie(request, response, COOKIE, token)


def delete_session_cookie(request: Request, response: Response) -> None:
    delete_own_cookie(request, response, COOKIE)


def read_own_cookie(request: Request, name: str) -> str | None:
    """Any other cookie of ours, under the name that it has over HTTPS or without."""
    return request.cookies.get(_host_only(request, name))


def set_own_cookie(request: Request, response: Response, name: str, value: str, seconds: int) -> None:
    _set_cookie(request, response, name, value, seconds)


def delete_own_cookie(request: Request, response: Response, name: str) -> None:
    response.delete_cookie(
        _host_only(request, name), path="/", secure=is_secure(request), httponly=True, samesite="lax"
    )


def read_device(request: Request) -> KnownDevice | None:
    sealed = request.cookies.get(_host_only(request, DEVICE))
    if not sealed:
        return None
    services = _services(request)
    try:
        said = json.loads(services.vault.unseal(sealed))
    except (ConfigError, ValueError):
        return None
    now = services.clock.now().timestamp()
    if not isinstance(said, dict) or said.get("for") != _PURPOSE or not now < said.get("until", 0):
        return None
    return KnownDevice(said["id"], tuple(said["operators"]))


def new_device() -> KnownDevice:
    return KnownDevice(f"dvc_{secrets.token_hex(12)}", ())


def set_device_cookie(request: Request, response: Response, device: KnownDevice, operator: str) -> None:
    """Remember that this operator signed in with it."""
    services = _services(request)
    known = (*(one for one in device.operators if one != operator), operator)[-MOST_OPERATORS:]
    until = services.clock.now().timestamp() + DEVICE_SECONDS
    said = {"for": _PURPOSE, "id": device.id, "operators": known, "until": until}
    _set_cookie(request, response, DEVICE, services.vault.seal(json.dumps(said)), DEVICE_SECONDS)


def _set_cookie(request: Request, response: Response, name: str, value: str, seconds: int | None = None) -> None:
    response.set_cookie(
        _host_only(request, name),
        value,
        max_age=seconds,
        path="/",
        secure=is_secure(request),
        httponly=True,
        samesite="lax",
    )


def _host_only(request: Request, name: str) -> str:
    return f"__Host-{name}" if is_secure(request) else name


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services
