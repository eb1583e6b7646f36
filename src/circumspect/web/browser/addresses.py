"""Addresses of pages, compared as people mean them: is this where that link was to lead?

A slash at the end, the port that goes without saying, `www.`, the way to `https` and the order of the query do not
count. The part after `#` counts only when it was asked for.
"""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, unquote, urljoin, urlsplit, urlunsplit

_PORTS = {"http": 80, "https": 443}


def split(url: str) -> SplitResult:
    """The parts of an address, all empty where it is none: pages and models write what they like."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")


def strip_secrets(url: str) -> str:
    """Without what may be secret in it: the query, and a name and a password."""
    parts = split(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))[:200]


def leads_nowhere(href: str) -> bool:
    """A link that is really a button."""
    return not href or href.endswith("#") or split(href).scheme.lower() == "javascript"


def leaves_the_browser(href: str) -> bool:
    return split(href).scheme.lower() in ("mailto", "tel", "sms", "whatsapp")


def same_place(one: str, other: str) -> bool:
    """The same address, in every part that a person would call part of it, `#` included."""
    return has_arrived(one, other) and has_arrived(other, one)


def has_arrived(wanted: str, reached: str) -> bool:
    """Is this the address that was wanted? More in the query than was asked for is no harm."""
    want, got = split(_join_address(reached, wanted)), split(reached)
    return (
        bool(wanted)
        and _site(want) == _site(got)
        and _path(want) == _path(got)
        and set(parse_qsl(want.query, keep_blank_values=True)) <= set(parse_qsl(got.query, keep_blank_values=True))
        and (not want.fragment or unquote(want.fragment) == unquote(got.fragment))
    )


def below(wanted: str, reached: str) -> bool:
    """Is it a page under the one that was wanted: `/visits/today` for `/visits`? Everything is under `/`: not that."""
    want, got = split(wanted), split(reached)
    return _site(want) == _site(got) and _path(want) != "/" and _path(got).startswith(_path(want).rstrip("/") + "/")


def same_site(one: str, other: str) -> bool:
    return _site(split(one)) == _site(split(other))


def is_front(url: str) -> bool:
    """The address of a site itself, which often leads on to another."""
    parts = split(url)
    return bool(parts.hostname) and _path(parts) == "/" and not parts.query and not parts.fragment


def _join_address(base: str, url: str) -> str:
    try:
        return urljoin(base, url)
    except ValueError:
        return url


def _site(parts: SplitResult) -> tuple[str, str, int | None]:
    """http and https of one host are one site where neither names a port."""
    scheme = parts.scheme.lower()
    try:
        port = parts.port
    except ValueError:
        port = None
    host = (parts.hostname or "").removeprefix("www.")
    return "web" if scheme in _PORTS else scheme, host, None if port == _PORTS.get(scheme) else port


def _path(parts: SplitResult) -> str:
    return unquote(parts.path).rstrip("/") or "/"
