"""A search query as a model wrote it -> as it may be sent, and -> what tells it from another.

To a search engine go only words that are proved harmless: those of our own lists (`searchable` and `places` in
`pages.txt`: add, patient, invoice, error, …) and the name of the page's own site. What is somebody's (a name, an
illness, an address, a number) is in no list, whatever language it is written in and however it is cut into pieces; so
nobody has to recognise it. A word of a list that the user wrote like a name ("Bill Price") stays at home, too.

The one choice that may surprise: a query that loses too much is not sent at all, and the user is asked instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from circumspect.language.folding import fold_words
from circumspect.language.pack import packs
from circumspect.normal_forms import normalise
from circumspect.web.search.domains import registrable_domain

LONGEST = 200
_WORD = re.compile(r"\w+")
_PLAIN = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*|\d+(?:\.\d+)*")
_AROUND = ".,;:!?\"'()[]{}“”„«»"
_NAME = re.compile(r"(?<=[^\W_][^\w.!?:\n]) *([^\W\d_]+)")
_LONGEST_NUMBER = 4
_FEWEST = 2
"""A query of fewer words of some length finds nothing that was meant."""


def keep_harmless_words(query: str, page_url: str, said: str) -> str:
    """The query with nothing left in it that could be somebody's; empty where too little is left. `said` is what the
    user said."""
    site, names = _name_site(page_url), frozenset(_find_names(said))
    kept = list(_keep(query[: 2 * LONGEST], site, names))
    if sum(len(word) > 2 and not word[0].isdigit() for word in kept) < _FEWEST:
        return ""
    return " ".join(kept)[:LONGEST].rpartition(" ")[0] if len(" ".join(kept)) > LONGEST else " ".join(kept)


def tidy_own_query(query: str) -> str:
    """A query to the tenant's own documents, which nobody else sees; empty where there is nothing to look for."""
    kept = " ".join(query.split())[:LONGEST].strip()
    return kept if _WORD.search(kept) else ""


def normalise_query(query: str) -> tuple[str, ...]:
    """Neither capitals, signs nor the order of the words make another query."""
    return tuple(sorted(set(_WORD.findall(normalise("NFKC", query).casefold()))))


def _keep(query: str, site: frozenset[str], names: frozenset[str]) -> Iterator[str]:
    before: frozenset[str] = frozenset()
    for token in normalise("NFKC", query).split():
        bare = token.strip(_AROUND)
        parts = [_reduce(part) for part in _WORD.findall(fold_words(bare))]
        if not _PLAIN.fullmatch(bare):
            # An address, a file, an id: no piece of it is a word.
            before = frozenset()
            continue
        if bare[0].isdigit():
            # "error 505" and "version 7.0" are nobody's; any other number may be.
            if before & _stems("numbered") and len(bare) <= _LONGEST_NUMBER:
                yield bare
        elif fold_words(bare) in site or all(forms & _known() and not forms & names for forms in parts):
            yield bare
        before = parts[-1] if parts else frozenset()


def _find_names(said: str) -> Iterator[str]:
    """Words that begin with a capital in the middle of a sentence: a name, in every language but those that write
    their nouns so, where one word too many stays at home."""
    yield from (fold_words(word) for word in _NAME.findall(said) if word[0].isupper() and not word.isupper())


def _name_site(page_url: str) -> frozenset[str]:
    domain = registrable_domain(page_url) if page_url else None
    return frozenset(fold_words(part) for part in _WORD.findall((domain or "").partition(".")[0]))


def _reduce(word: str) -> frozenset[str]:
    """What its inflected forms share, in each language that is written with these letters."""
    return frozenset({word, *(one.stem(word) for one in packs() if one.script.letter.match(word))})


@cache
def _known() -> frozenset[str]:
    return _stems("searchable") | _stems("places")


@cache
def _stems(heading: str) -> frozenset[str]:
    listed = ((one, fold_words(word)) for one in packs() for line in one.pages.says[heading] for word in line.split())
    return frozenset(form for one, word in listed for form in (word, one.stem(word)))
