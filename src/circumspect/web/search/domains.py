"""domains: a URL -> its host, its registrable domain, and whether it is known outside the house.

The public suffixes come with `publicsuffixlist`: it bundles the list, needs nothing else and never asks the network
(`tldextract` does by default, and brings `requests`). A host that no public registry could know (localhost, `wiki`,
`crm.internal`, 10.0.0.5) is internal; so is one under a top-level domain newer than the bundled list, because too
little shared is the smaller harm.
"""

from __future__ import annotations

import re
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

_SPECIAL = frozenset(("arpa", "onion"))
"""On the list of public suffixes, and yet no search engine knows what is under them."""

_UNCLEAR = re.compile(r"[\s\\\x00-\x20\x7f]")
"""Signs by which two readers of a URL come to disagree about its host."""

_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")


def host_of(url: str) -> str | None:
    """Without a port, in lower case, international names as they go over the wire (`xn--…`). None where there is none,
    or where browsers and servers would not agree on it."""
    if _UNCLEAR.search(url):
        return None
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host:
        return None
    return _normalise_host(host)


def registrable_domain(url: str) -> str | None:
    """`https://www.shop.co.uk/x` -> `shop.co.uk`. None for addresses, internal hosts and bare public suffixes."""
    host = host_of(url)
    return _registrable(host) if host else None


def is_internal(host: str) -> bool:
    """Would naming this host tell a stranger something about the house?"""
    address = _address(host)
    if address is not None:
        return not address.is_global
    # A name of one label is looked up in the house, also where there is a top-level domain of that name (`wiki`).
    if "." not in host or _ends_in_number(host):
        return True
    return host.rpartition(".")[2] in _SPECIAL or _suffixes().publicsuffix(host) is None


def belongs_to(url: str, domain: str) -> bool:
    """Whether the page is on that domain or below it."""
    host = host_of(url)
    wanted = _normalise_host(domain)
    if host is None or wanted is None:
        return False
    return host == wanted or host.endswith(f".{wanted}")


def load() -> None:
    """Read the list now, which takes a tenth of a second, instead of at the first search."""
    _suffixes()


def _registrable(host: str) -> str | None:
    if _address(host) is not None or _ends_in_number(host) or host.rpartition(".")[2] in _SPECIAL:
        return None
    return _suffixes().privatesuffix(host)


def _normalise_host(host: str) -> str | None:
    host = host.strip().strip("[]").lower().removesuffix(".")
    if _address(host) is not None:
        return str(_address(host))
    if not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True).decode("ascii").removesuffix(".")
        except UnicodeError:
            return None
    return host if _NAME.fullmatch(host) else None


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _ends_in_number(host: str) -> bool:
    """Browsers take such a host for an IPv4 address, however it is spelt (`2130706433`, `0x7f.1`)."""
    return _NUMBER.fullmatch(host.rpartition(".")[2]) is not None


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(accept_unknown=False)
