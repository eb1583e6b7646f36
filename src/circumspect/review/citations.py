"""What somebody claims a document says -> a `Citation`, or nothing.

A claimed quote is looked for without regard to white space, case, kinds of quotation mark and dash, hyphens at line
ends, ligatures and Markdown's marks. What comes back is never the claim: it is the document's own text at the place
where it was found, so a quote that is shown can always be found. Too little to be a quote is none.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from circumspect.knowledge.tree import KnowledgeDocument, TextSpan
from circumspect.language.folding import APOSTROPHES, DASHES, QUOTES
from circumspect.normal_forms import normalise
from circumspect.review.values import Citation

SHORTEST = 8
"""Letters and digits. A word such as "the" stands in every document and shows nothing."""

_MARKS = frozenset("*`_\u00ad\u200b\u200c\u200d\u2060\ufeff")
_DASHES = frozenset("-" + DASHES)
_QUOTES = {**dict.fromkeys("'" + APOSTROPHES, "'"), **dict.fromkeys('"' + QUOTES, '"')}
_BEFORE = re.compile(r"^(?:\s|[\"'…]|\.\.\.)+")


@dataclass(frozen=True, slots=True)
class Searchable:
    """A document with its text as it is searched and where each searched character came from. Made once, kept."""

    document: KnowledgeDocument
    plain: str
    origins: array[int]

    def spans(self, claim: str) -> Iterator[TextSpan]:
        """Every place where the document says this, in reading order."""
        wanted = _strip_end(_BEFORE.sub("", plain(claim)))
        if sum(letter.isalnum() for letter in wanted) < SHORTEST:
            return
        at = self.plain.find(wanted)
        while at >= 0:
            if self._whole_words(at, at + len(wanted)):
                yield TextSpan(self.origins[at], self.origins[at + len(wanted) - 1] + 1)
            at = self.plain.find(wanted, at + 1)

    def _whole_words(self, start: int, end: int) -> bool:
        """ "MET the limit" is not said by "met the limits": a quote does not begin or end inside a word or number."""
        before = start and self.plain[start - 1].isalnum() and self.plain[start].isalnum()
        after = end < len(self.plain) and self.plain[end].isalnum() and self.plain[end - 1].isalnum()
        return not (before or after)


def _strip_end(text: str) -> str:
    """Without the white space, quotation marks and dots of an omission that it ends with."""
    end = len(text)
    while end:
        if text[end - 1].isspace() or text[end - 1] in "\"'…":
            end -= 1
        elif text.endswith("...", 0, end):
            end -= 3
        else:
            break
    return text[:end]


def searchable(document: KnowledgeDocument) -> Searchable:
    letters: list[str] = []
    origins = array("I")
    for letter, origin in _characters(document.text):
        letters.append(letter)
        origins.append(origin)
    return Searchable(document, "".join(letters), origins)


def plain(text: str) -> str:
    return "".join(letter for letter, _ in _characters(text))


def cite(
    claim: str,
    shelf: dict[str, Searchable],
    *,
    document: str = "",
    section: str = "",
    start: int | None = None,
    page: int | None = None,
) -> Citation | None:
    """The place that says it: in the named document or, where none or a wrong one is named, in any.

    Of several places the one in the named section counts, then one on the named page, then the one nearest to the
    claimed offset. The page that comes back is the one it stands on.
    """
    named = shelf.get(document)
    for one in (named,) if named else shelf.values():
        places = list(one.spans(claim))
        if not places:
            continue
        inside = one.document.section(section) if section else None
        if inside is not None:
            places = [place for place in places if inside.span.covers(place)] or places
        if page is not None:
            places = [place for place in places if one.document.page_of(place.start) == page] or places
        place = places[0] if start is None else min(places, key=lambda span: abs(span.start - start))
        return citation(one.document, place)
    return None


def citation(document: KnowledgeDocument, span: TextSpan) -> Citation:
    """Of a place that is known, for instance because a search found it."""
    section = document.section_at(span.start)
    return Citation(document.id, section.path, document.page_of(span.start), document.quote(span), span.start, span.end)


def _characters(text: str) -> Iterator[tuple[str, int]]:
    """Each searched character with its origin. Runs of white space are one blank; a hyphen between letters is none."""
    index, length, blank = 0, len(text), True
    while index < length:
        letter = text[index]
        if letter in _MARKS:
            index += 1
            continue
        if letter.isspace():
            if not blank:
                yield " ", index
            blank = True
            index += 1
            continue
        if letter in _DASHES:
            after = index + 1
            while after < length and (text[after].isspace() or text[after] in _MARKS):
                after += 1
            if index and text[index - 1].isalpha() and after < length and text[after].isalpha():
                index = after
                continue
            yield "-", index
        elif letter in _QUOTES:
            yield _QUOTES[letter], index
        elif letter.isascii():
            yield letter.lower(), index
        else:
            for one in normalise("NFKC", letter).casefold():
                yield (" " if one.isspace() else one), index
        blank = False
        index += 1
