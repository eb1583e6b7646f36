"""queries: a query as the model wrote it -> the query as it is sent.

On one line, of a length every provider takes. What names the house goes: the host of an internal page, links to
internal hosts, and of every other link the password before the host and what follows `?` or `#`.
"""

from __future__ import annotations

import re

from circumspect.knowledge.parsed import clean
from circumspect.web.search.domains import host_of, is_internal

LONGEST = 400
"""Tavily refuses longer ones; other engines ignore what comes later."""

_SITE = re.compile(r"-?(?:site|inurl):", re.IGNORECASE)
_LINK = re.compile(r"https?://", re.IGNORECASE)
_FRAGMENT = re.compile(r"[?#]")
_AROUND = "\"'`()[]{}<>,;!?“”«»„"


def tidy(query: str) -> str:
    text = " ".join(clean(query).split())
    return text if len(text) <= LONGEST else text[: LONGEST + 1].rpartition(" ")[0] or text[:LONGEST]


def without_internal(query: str, page_url: str) -> str:
    """The query, tidied, without what only this house would understand."""
    host = host_of(page_url)
    hidden = host if host and is_internal(host) else ""
    kept = (_shareable(word, hidden) for word in clean(query).split())
    return tidy(" ".join(word for word in kept if word))


def _shareable(word: str, hidden: str) -> str:
    """The word, or less of it, or nothing. `hidden` is the host of an internal page."""
    bare = word.strip(_AROUND)
    limit = _SITE.match(bare)
    link = _LINK.search(bare)
    if limit or link:
        address = bare[link.start() :] if link else f"http://{bare[limit.end() :]}" if limit else ""
        host = host_of(address)
        # A host that cannot be read, or a password before it, is nobody's business either.
        if host is None or is_internal(host) or "@" in address.partition("//")[2].partition("/")[0]:
            return ""
    if hidden and not limit and _names(bare, hidden):
        return ""
    fragment = _FRAGMENT.search(word)
    return word[: fragment.start()] if fragment and (link or "=" in word[fragment.end() :]) else word


def _names(word: str, hidden: str) -> bool:
    """A host of one label (`wiki`, `localhost`) is a plain word too: alone it stays, with a port or path it goes."""
    host = host_of(f"http://{word.rpartition('@')[2]}") or ""
    if "." in hidden or ":" in hidden:
        above = "." in host and hidden.endswith(f".{host}")
        return above or hidden in host or hidden in word.lower()
    return host == hidden and word.lower().rstrip(".:") != hidden


def without_sites(query: str) -> str:
    """Less what limits the search to a site: two such limits find nothing."""
    return tidy(" ".join(word for word in query.split() if not _SITE.match(word.strip(_AROUND))))
