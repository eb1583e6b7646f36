"""BusinessTexts: what a business says about itself, found like passages of a document: Business, query -> passages.

Policies, questions and answers, hours, contact: short texts that a tenant has without having dropped any document. The
ranking is the documents' own, so scores compare. Nothing is stored: there are a few dozen such texts at the most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from circumspect.knowledge import ranking
from circumspect.knowledge.answer_terms import is_among, list_question_terms, read_words
from circumspect.knowledge.asked_question import list_asking_terms
from circumspect.knowledge.ranking import Candidate
from circumspect.knowledge.stated_facts import list_facts, without_facts
from circumspect.knowledge.terms import terms
from circumspect.knowledge.tree import TextSpan
from circumspect.language.pack import pack, packs
from circumspect.values import Business, Language

_PARAGRAPH = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class BusinessPassage:
    """`document` is the key by which the text is asked for as context: `policies.returns`, `faqs`."""

    document: str
    title: str
    section: str
    path: tuple[str, ...]
    page: None
    span: TextSpan
    text: str
    score: float


@dataclass(frozen=True)
class BusinessTexts:
    business: Business

    async def search(
        self, tenant: str, query: str, limit: int = 5, language: str | None = None
    ) -> Sequence[BusinessPassage]:
        wanted = ranking.query(query)
        if not wanted:
            return ()
        scores = ranking.scores(wanted, [candidate for _, candidate in self._index])
        found = [
            replace(passage, score=score) for (passage, _), score in zip(self._index, scores, strict=True) if score
        ]
        return sorted(found, key=lambda one: (-one.score, one.document, one.span.start))[:limit]

    @cached_property
    def _index(self) -> list[tuple[BusinessPassage, Candidate]]:
        return [
            (passage, Candidate(number, " ".join(terms(head)), " ".join(terms(body)), " ".join(_grams(head, body))))
            for number, (passage, head, body) in enumerate(_passages(self.business))
        ]


def _grams(head: str, body: str) -> Sequence[str]:
    return ranking.grams(f"{head} {body}")


def _passages(business: Business) -> Iterator[tuple[BusinessPassage, str, str]]:
    for name, text in business.policies.items():
        yield from _paragraphs(f"policies.{name}", name, text)
    for number, faq in enumerate(business.faqs, 1):
        text = f"{faq.question}\n{faq.answer}"
        yield _passage("faqs", faq.question, str(number), text, 0), faq.question, faq.answer
    yield from _paragraphs("about.full", business.name, business.about or business.description)
    yield from _paragraphs("contact.full", business.name, business.contact)
    reach = {"hours": business.hours, "phone": business.phone, "e-mail": business.email}
    told = "\n".join(f"{name}: {text}" for name, text in reach.items() if text)
    for passage, head, body in _paragraphs("contact", "contact", told):
        # Hours are asked for in words that "Monday to Friday 8:00–18:00" has not, and in any language.
        yield passage, f"{head} {list_opening_words()}" if business.hours else head, body


@cache
def list_opening_words(language: Language | None = None) -> str:
    """Those by which hours are asked for, of one language or of all."""
    spoken = (pack(language),) if language else packs()
    return " ".join(line for one in spoken for line in one.conflicts.opening)


def asks_opening(question: str) -> bool:
    """When the business is open, and not something in it."""
    days = (one for one in list_facts(question) if one.kind in ("weekday", "date", "time"))
    asked = list_question_terms(without_facts(question, days)) - list_asking_terms()
    opening = read_words(list_opening_words())
    return all(is_among(one, opening) for one in asked) and not opening.isdisjoint(read_words(question))


def _paragraphs(document: str, title: str, text: str) -> Iterator[tuple[BusinessPassage, str, str]]:
    start = 0
    for number, part in enumerate(_PARAGRAPH.split(text), 1):
        start = text.find(part, start)
        if part.strip():
            yield _passage(document, title, str(number), part.strip(), start), title, part


def _passage(document: str, title: str, section: str, text: str, start: int) -> BusinessPassage:
    return BusinessPassage(document, title, section, (title,), None, TextSpan(start, start + len(text)), text, 0.0)
