"""send: one HTTP request of a tool -> the response, or `ToolError` (it did not happen) or `ToolTimeout` (nobody knows).

A request that never left is a failure; one that was cut off, or that a gateway answered for, may have arrived. What the
server wrote into an error is not repeated: it may hold what it should not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from circumspect.errors import ConfigError, ToolError, ToolTimeout

if TYPE_CHECKING:
    import httpx2


def client(timeout: float, **options: Any) -> httpx2.AsyncClient:
    try:
        import httpx2
    except ImportError:
        raise ConfigError("The package httpx2 is missing.", fix="Install circumspect[business].") from None
    return httpx2.AsyncClient(timeout=httpx2.Timeout(timeout, connect=min(5.0, timeout)), **options)


async def send(
    http: httpx2.AsyncClient, what: str, method: str, url: str, *, accept: tuple[int, ...] = (), **parts: Any
) -> httpx2.Response:
    """The response, if its status is 2xx or one of `accept`."""
    import httpx2

    try:
        response = await http.request(method, url, **parts)
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.InvalidURL):
        raise ToolError(f"The {what} cannot be reached; nothing was changed.") from None
    except httpx2.HTTPError as error:
        raise ToolTimeout(f"The {what} was cut off ({type(error).__name__}); it is not known what it did.") from None
    status = response.status_code
    if response.is_success or status in accept:
        return response
    if status in (401, 403):
        raise ToolError(f"The {what} does not accept our credentials (HTTP {status}).", fix="Check user and password.")
    if status == 429:
        raise ToolError(f"The {what} has too many requests just now; nothing was changed.")
    if status >= 500:
        raise ToolTimeout(f"The {what} failed (HTTP {status}); it is not known what it did.")
    raise ToolError(f"The {what} refused the request (HTTP {status}).")
