"""outgoing: the HTTP client for what is called because a tenant said so: tools, webhooks, remote MCP servers.

`client(...)` returns an `httpx2.AsyncClient` that reaches the public internet and nothing else. A name is resolved
once, every address it answers with is checked, and the connection goes to one of those very addresses, so that a name
cannot answer differently the second time; the Host header and the TLS certificate still go by the name. Redirects (off
unless asked for) take the same way. Exceptions are listed: `allow=("127.0.0.1", "10.0.0.0/8", "crm.internal")`.

What may surprise: proxies of the environment are not used, cookies are not kept, and compressed answers are refused,
because a limit on the size of an answer means nothing before it is unpacked.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.cookiejar
import ipaddress
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from circumspect.errors import ConfigError, ToolError
from circumspect.extras import explain_imports

with explain_imports():
    import httpcore2
    import httpx2

__all__ = ["Allowed", "BlockedAddress", "Sealed", "UnusableAnswer", "check_target", "check_url", "client", "seal"]

MAX_BYTES = 2_000_000
Address = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Awaitable[Iterable[str]]]


class BlockedAddress(ConfigError):
    """The URL leads where nothing may be called. Nothing was sent."""

    code = "blocked_address"


class UnusableAnswer(ToolError):
    """The server answered with more than we take, or packed in a way that hides how much it is."""

    code = "unusable_answer"


# --- which addresses -------------------------------------------------------------------------------------------------

_PUBLIC_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_NEVER: tuple[IPv4Network | IPv6Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",  # the virtual machine host of one cloud, under an address that looks public
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "2001::/23",
        "2001:db8::/32",
        "3fff::/20",
    )
)
"""Written out, because the standard library's idea of `is_global` changes between its patch releases."""


@dataclass(frozen=True)
class Allowed:
    """The exceptions: addresses and networks, and names that may answer with any address."""

    names: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[str]) -> Allowed:
        names, networks = set(), []
        for entry in (entries,) if isinstance(entries, str) else entries:
            try:
                networks.append(ipaddress.ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                names.add(_name(entry))
        return cls(frozenset(names), tuple(networks))

    def check(self, host: str, address: str) -> str:
        """The address to connect to, or `BlockedAddress`."""
        try:
            found = _unwrap(ipaddress.ip_address(address.partition("%")[0]))
        except ValueError:
            raise BlockedAddress(f"'{host}' does not lead to an IP address.") from None
        listed = _plain(host) in self.names or any(found in network for network in self.networks)
        if not listed and not _public(found):
            raise BlockedAddress(
                f"'{host}' leads to an address that is not on the public internet.",
                fix=f"Use a public address, or have an operator add '{host}' to the allowed hosts and networks "
                "(allow_addresses).",
            )
        return address


def _name(entry: str) -> str:
    name = _plain(entry)
    if not name or any(sign in name for sign in "/:*@?# "):
        raise ConfigError(
            f"'{entry}' is no host, address or network.",
            fix="Write a name without a port ('crm.internal'), an address ('127.0.0.1') or a network ('10.0.0.0/8').",
        )
    return name


def _plain(host: str) -> str:
    host = host.strip().rstrip(".").lower()
    try:
        return httpx2.URL(f"http://{host}").raw_host.decode("ascii") if not host.isascii() else host
    except httpx2.InvalidURL:
        return host


def _unwrap(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one, where it is that one which is reached."""
    if isinstance(address, IPv4Address):
        return address
    inside = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
    if not inside and address in _NAT64:
        inside = IPv4Address(int(address) & 0xFFFFFFFF)
    return inside or address


def _public(address: Address) -> bool:
    if any(address in network for network in _NEVER) or not address.is_global or address.is_multicast:
        return False
    return isinstance(address, IPv4Address) or address in _PUBLIC_V6


def check_url(url: str | httpx2.URL, allow: Iterable[str] | Allowed = ()) -> httpx2.URL:
    """The URL, if it can be called at all. Names are not resolved here: that happens when it is called."""
    allowed = allow if isinstance(allow, Allowed) else Allowed.of(allow)
    try:
        parsed = httpx2.URL(url)
        parsed.raw_host.decode("ascii")
    except (httpx2.InvalidURL, ValueError, TypeError):
        raise BlockedAddress("The URL cannot be read.", fix="Write it like https://api.example.com/path.") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise BlockedAddress("Only http:// and https:// can be called.", fix="Write the whole URL with its host.")
    if parsed.userinfo:
        raise BlockedAddress(
            f"The URL of '{parsed.host}' carries a user name or password.",
            fix="Take them out of the URL. A tool names a secret under 'auth'; a webhook is signed with its own.",
        )
    if spelled := _parse_address(parsed.host):
        allowed.check(parsed.host, spelled)
    return parsed


def _parse_address(host: str) -> str:
    """The address that a host spells, in any way a resolver would understand (2130706433, 0x7f.1, 0177.0.0.1)."""
    host = host.rstrip(".")
    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host)) if host[:1].isdigit() else ""
    except OSError:
        return ""


# --- connecting ------------------------------------------------------------------------------------------------------


async def _system_resolver(host: str, port: int) -> list[str]:
    # In a thread of whoever asks: some event loops have a few of their own for names, which one asker could fill.
    found = await asyncio.to_thread(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


async def _resolve_addresses(host: str, port: int, allowed: Allowed, resolve: Resolver) -> list[str]:
    spelled = _parse_address(host)
    try:
        found = [spelled] if spelled else list(await resolve(host, port))
    except (OSError, UnicodeError) as error:
        raise httpcore2.ConnectError(f"the name cannot be resolved ({type(error).__name__})") from None
    # One bad address among good ones is a trick or a mistake; neither is worth connecting for.
    return [allowed.check(host, address) for address in found]


async def check_target(
    url: str, allow: Iterable[str] | Allowed = (), *, resolve: Resolver = _system_resolver
) -> httpx2.URL:
    """The URL, if a client that allows the same would call it now. Nothing is sent. A name that cannot be resolved here
    passes: it may be known where the call is made."""
    allowed = allow if isinstance(allow, Allowed) else Allowed.of(allow)
    checked = check_url(url, allowed)
    with contextlib.suppress(httpcore2.ConnectError):
        await _resolve_addresses(checked.host, checked.port or 443, allowed, resolve)
    return checked


class _CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Resolves, checks, and connects to what was checked."""

    def __init__(self, allowed: Allowed, resolve: Resolver) -> None:
        self._allowed = allowed
        self._resolve = resolve
        self._plain = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                addresses = await _resolve_addresses(host, port, self._allowed, self._resolve)
                problem: Exception = httpcore2.ConnectError("no address")
                for address in addresses:
                    try:
                        return await self._plain.connect_tcp(address, port, None, local_address, socket_options)
                    except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                        problem = error
                raise problem
        except TimeoutError:
            raise httpcore2.ConnectTimeout("the connection was not made in time") from None

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        raise BlockedAddress("Sockets of this machine cannot be called.")

    async def sleep(self, seconds: float) -> None:
        await self._plain.sleep(seconds)


# --- sending ---------------------------------------------------------------------------------------------------------

_SEALED = "circumspect.sealed"


@dataclass(frozen=True, repr=False)
class Sealed:
    """Secrets of a request. They are added below the client, where nothing logs them, and only for their own origin,
    so that no redirect carries them elsewhere."""

    origin: tuple[str, str, int | None]
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)


def seal(
    url: str | httpx2.URL, *, headers: Mapping[str, str] | None = None, query: Mapping[str, str] | None = None
) -> dict[str, object]:
    """Secrets for requests to that origin, as the `extensions` of a request."""
    return {_SEALED: Sealed(_origin(httpx2.URL(url)), dict(headers or {}), dict(query or {}))}


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


class _Transport(httpx2.AsyncHTTPTransport):
    """Checks each request on its way out, redirects included, and counts each answer on its way in."""

    def __init__(
        self, allowed: Allowed, resolve: Resolver, context: ssl.SSLContext, max_bytes: int, event_streams: bool
    ) -> None:
        self._allowed = allowed
        self._max_bytes = max_bytes
        self._event_streams = event_streams
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=15,
            network_backend=_CheckedBackend(allowed, resolve),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        check_url(request.url, self._allowed)
        response = await super().handle_async_request(_unseal(request))
        try:
            self._accept(response)
        except UnusableAnswer:
            await response.aclose()
            raise
        return response

    def _accept(self, response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            raise UnusableAnswer("The server sent a compressed answer although it was asked not to.")
        if self._event_streams and response.headers.get("content-type", "").startswith("text/event-stream"):
            return
        declared = response.headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > self._max_bytes:
            raise _too_large(self._max_bytes)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, self._max_bytes)


def _unseal(request: httpx2.Request) -> httpx2.Request:
    sealed = request.extensions.get(_SEALED)
    if not isinstance(sealed, Sealed) or sealed.origin != _origin(request.url):
        return request
    url = request.url.copy_merge_params(dict(sealed.query)) if sealed.query else request.url
    headers = request.headers.copy()
    headers.update(sealed.headers)
    return httpx2.Request(request.method, url, headers=headers, stream=request.stream, extensions=request.extensions)


class _Counted(httpx2.AsyncByteStream):
    """The same bytes, as long as there are not too many."""

    def __init__(self, source: httpx2.AsyncByteStream, most: int) -> None:
        self._source = source
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for chunk in self._source:
            taken += len(chunk)
            if taken > self._most:
                raise _too_large(self._most)
            yield chunk

    async def aclose(self) -> None:
        await self._source.aclose()


def _too_large(most: int) -> UnusableAnswer:
    return UnusableAnswer(f"The server's answer is larger than {most:,} bytes.", fix="Ask it for less.")


_unlogged: ContextVar[bool] = ContextVar("circumspect.outgoing.unlogged", default=False)


def _say_nothing_of_ours() -> None:
    """The libraries log URLs and the headers of answers: what users said, and secrets that a server sends back."""
    for name in ("httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.http2"):
        logging.getLogger(name).addFilter(lambda record: not _unlogged.get())


_say_nothing_of_ours()


class _Client(httpx2.AsyncClient):
    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        before = _unlogged.set(True)
        try:
            return await super().send(request, **options)
        finally:
            _unlogged.reset(before)


@cache
def _context() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


def client(
    *,
    allow: Iterable[str] | Allowed = (),
    timeout: float = 30.0,
    connect_timeout: float = 5.0,
    max_bytes: int = MAX_BYTES,
    follow_redirects: bool = False,
    event_streams: bool = False,
    verify: ssl.SSLContext | None = None,
    resolve: Resolver = _system_resolver,
    through: Callable[[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport] = lambda inner: inner,
) -> httpx2.AsyncClient:
    """A client that cannot be sent anywhere but to the public internet and to what is allowed.

    `timeout` is the longest silence of the server, not the longest call: put `asyncio.timeout` around that.
    `event_streams` leaves answers of type text/event-stream uncounted; their reader has to count each event.
    `through` wraps the transport.
    """
    allowed = allow if isinstance(allow, Allowed) else Allowed.of(allow)
    checked = _Transport(allowed, resolve, verify or _context(), max_bytes, event_streams)
    nothing_kept = http.cookiejar.CookieJar(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
    return _Client(
        transport=through(checked),
        timeout=httpx2.Timeout(timeout, connect=min(connect_timeout, timeout), pool=min(connect_timeout, timeout)),
        follow_redirects=follow_redirects,
        max_redirects=5,
        headers={"accept-encoding": "identity", "user-agent": "circumspect"},
        cookies=nothing_kept,
        trust_env=False,
    )
