"""A tenant's `understanding` section -> what the turn needs: settings, guardian, where to search."""

from __future__ import annotations

from dataclasses import dataclass

from circumspect.guardian import Guardian, open_guardian
from circumspect.knowledge.business_texts import BusinessTexts
from circumspect.knowledge.search import Library
from circumspect.policy.understanding.analysis import Routing
from circumspect.policy.understanding.confidence import Bands
from circumspect.policy.understanding.customer import CustomerLookup
from circumspect.policy.understanding.topics import ExtraTopic
from circumspect.policy.understanding.understood import Understanding
from circumspect.ports import PassageSearch
from circumspect.server.tenants.understanding_section import NOBODY, UnderstandingSection
from circumspect.values import Business


@dataclass(frozen=True)
class Configured:
    understanding: Understanding
    guardian: Guardian | None
    searches: tuple[PassageSearch, ...]


def configure_understanding(section: UnderstandingSection, business: Business, library: Library) -> Configured:
    """Raises `ConfigError` for a guardian that cannot be had."""
    understanding = Understanding(
        decide=section.profile == "service",
        routing=Routing(section.spam, section.clarity),
        bands=Bands(section.answer_from, section.escalate_below),
        fail_closed=section.fail_closed,
        synthetic_share=section.synthetic_share,
        shown=section.shown,
        topics=tuple(ExtraTopic(one.name, one.phrases, one.demands) for one in section.topics),
        authority=section.authority,
        customer=CustomerLookup(**section.customer.model_dump()) if section.customer else None,
    )
    guardian = None if section.guardian == NOBODY else open_guardian(section.guardian, ignore=frozenset(section.ignore))
    return Configured(understanding, guardian, (library, BusinessTexts(business)))
