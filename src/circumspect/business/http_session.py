"""send: one HTTP request of a tool -> the response, or `ToolError` (it did not happen) or `ToolTimeout` (nobody knows).

A request that never left is a failure, and so is one that only reads; another that was cut off, or that a gateway
answered for, may have arrived. What the server wrote into an error is not repeated: it may hold what it should not.
Whoever reads after a change has to say that the change was made: `after_the_change`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from circumspect.errors import ConfigError, ToolError, ToolTimeout

if TYPE_CHECKING:
    import httpx2


_READS = frozenset({"GET", "REPORT"})


def client(
    timeout: float,
    allow: Sequence[str] | None,
    *,
    headers: Mapping[str, str] | None = None,
    auth: tuple[str, str] | None = None,
) -> httpx2.AsyncClient:
    """With `allow`, one that reaches the public internet and what is listed, and nothing else."""
    try:
        import httpx2
    except ImportError:
        raise ConfigError("The package httpx2 is missing.", fix="Install circumspect[business].") from None
    if allow is None:
        made = httpx2.AsyncClient(timeout=httpx2.Timeout(timeout, connect=min(5.0, timeout)))
    else:
        from circumspect import outgoing

        made = outgoing.client(allow=allow, timeout=timeout)
    made.headers.update(headers or {})
    if auth is not None:
        made.auth = auth
    return made


async def send(
    http: httpx2.AsyncClient, what: str, method: str, url: str, *, accept: tuple[int, ...] = (), **parts: Any
) -> httpx2.Response:
    """The response, if its status is 2xx or one of `accept`."""
    import httpx2

    from circumspect import outgoing

    try:
        response = await http.request(method, url, **parts)
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.InvalidURL):
        raise ToolError(f"The {what} cannot be reached; nothing was changed.") from None
    except outgoing.BlockedAddress as error:
        raise ToolError(f"The {what} may not be called: {error.problem}", fix=error.fix) from None
    except outgoing.UnusableAnswer as error:
        raise _break_off(what, method, f"gave an answer that cannot be used ({error.problem.rstrip('.')})") from None
    except httpx2.HTTPError as error:
        raise _break_off(what, method, f"was cut off ({type(error).__name__})") from None
    status = response.status_code
    if response.is_success or status in accept:
        return response
    if status in (401, 403):
        raise ToolError(f"The {what} does not accept our credentials (HTTP {status}).", fix="Check user and password.")
    if status == 429:
        raise ToolError(f"The {what} has too many requests just now; nothing was changed.")
    if status >= 500:
        raise _break_off(what, method, f"failed (HTTP {status})")
    raise ToolError(f"The {what} refused the request (HTTP {status}).")


class BrokenRead(ToolError):
    """A question that got no answer: nothing was changed, and it may be asked again."""


def _break_off(what: str, method: str, how: str) -> ToolError:
    if method in _READS:
        return BrokenRead(f"The {what} {how}; nothing was changed.")
    return ToolTimeout(f"The {what} {how}; it is not known what it did.")


@contextmanager
def only_read() -> Iterator[None]:
    """For a call that changes nothing at all: what broke is worth asking again."""
    try:
        yield
    except BrokenRead as error:
        raise ToolTimeout(error.problem) from None


@contextmanager
def after_the_change(what: str, certain: type[ToolError] = ToolTimeout) -> Iterator[None]:
    """What fails in here fails with the change made, whatever it says itself; `certain` is an answer, not a failure."""
    try:
        yield
    except (ToolTimeout, certain):
        raise
    except ToolError as error:
        raise ToolTimeout(f"The {what} took the change and could not be asked for it: {error.problem}") from None
