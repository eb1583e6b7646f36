"""Questions about the business: answered from its own texts, word for word, or asked for by their key first.

Which sentence answers is decided by shared words (concepts where a word has one, so that a Russian question can meet
an English text). What a text says is quoted and never obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from circumspect.demo.offline.free_text import keys_in
from circumspect.demo.offline.lexicon import ParsedText, concepts, read, say, say_anywhere
from circumspect.demo.offline.quoting import SENTENCE_FITS, OfflineAnswer, Sentences, quote_text, sentences_of
from circumspect.demo.offline.request_view import RequestContents
from circumspect.demo.offline.result_words import make_quotable
from circumspect.demo.offline.source_quotes import find_citation
from circumspect.knowledge.business_texts import asks_opening
from circumspect.language.registry import Language

_BETWEEN = re.compile(r"\n[^\S\n]*\n(?=Q:)")
FAQ_FITS = 0.5
_QUOTED_SENTENCES = 2
_FACTS = (("hours", "Hours", "hours"), ("ask_phone", "Phone", "phone"), ("ask_email", "E-mail", "email"))


def answer(utterance: ParsedText, seen: RequestContents) -> OfflineAnswer:
    facts = [
        _say_fact(sentence, make_quotable(seen.business[line]), seen.language)
        for concept, line, sentence in _FACTS
        if _asks_for(concept, utterance) and line in seen.business
    ]
    if facts:
        return OfflineAnswer(" ".join(facts), 9)
    if told := find_citation(utterance, seen):
        return told
    wanted = _keys(utterance, seen)
    if not wanted and any(_asks_for(concept, utterance) for concept, _, _ in _FACTS):
        wanted = ["contact.full"]
    fetch = tuple(key for key in wanted if seen.may_ask(key))
    if fetch:
        return OfflineAnswer(keys=fetch)
    faq, fits = _best_faq(utterance, seen)
    texts = [(key, text) for key in wanted if (text := seen.text_of(key))]
    if faq and (fits >= FAQ_FITS * 1.5 or not texts):
        return OfflineAnswer(quote_text(faq, seen), 8)
    if texts:
        picked = [_excerpt(utterance, key, text) for key, text in texts]
        sure = [text for text, is_sure in picked if is_sure]
        if sure:
            return OfflineAnswer(" ".join(quote_text(text, seen) for text in sure), 8)
        if seen.may_ask("faqs"):
            return OfflineAnswer(keys=("faqs",))
        return OfflineAnswer(quote_text(faq, seen), 8) if faq else OfflineAnswer(quote_text(picked[0][0], seen), 6)
    if "faqs" not in wanted and seen.may_ask("faqs"):
        return OfflineAnswer(keys=("faqs",))
    return _anywhere(utterance, seen)


def _say_fact(sentence: str, value: str, language: Language) -> str:
    """Hours are said in every language, also in those that this model has no words of."""
    if sentence == "hours":
        return say_anywhere(language, "opening-hours", hours=value)
    return say(language, sentence, value=value)


def _asks_for(concept: str, utterance: ParsedText) -> bool:
    """The word is said, and not as a measure: "30 hours before"."""
    if concept == "hours" and asks_opening(utterance.text):
        return True
    text, tokens = utterance.text, utterance.tokens
    said = [
        text[: tokens[mention.first].start].rstrip() for mention in utterance.mentions if concept in mention.concepts
    ]
    return any(not before[-1:].isdigit() for before in said)


def _keys(utterance: ParsedText, seen: RequestContents) -> list[str]:
    by_concept = concepts().keys
    found: list[str] = []
    for mention in utterance.mentions:
        for concept in sorted(mention.concepts):
            found += [key for key in by_concept.get(concept, ()) if key not in found]
    if "contact.full" in found and utterance.has("delivery", "change"):
        found.remove("contact.full")  # a delivery address is not where the business is
    return [key for key in found if key in seen.keys or key in seen.blocks]


def _best_faq(utterance: ParsedText, seen: RequestContents) -> tuple[str, float]:
    asked = keys_in(utterance)
    best, best_fit = "", 0.0
    pairs = _pairs(seen.text_of("faqs"))
    known: dict[str, int] = {}
    for _, _, keys in pairs:
        for key in keys:
            known[key] = known.get(key, 0) + 1
    for _, said, keys in pairs:
        # A word that few questions have tells more than one that many have.
        weight = {key: 1 / known.get(key, 1) ** 0.5 for key in asked | keys}
        shared = sum(weight[key] for key in asked & keys)
        total = sum(weight[key] for key in asked) + sum(weight[key] for key in keys)
        fit = 2 * shared / total if total else 0.0
        tells_enough = len(asked & keys) > 1 or len(keys) < 3
        if fit > best_fit and tells_enough:
            best, best_fit = said, fit
    return (best, best_fit) if best_fit >= FAQ_FITS else ("", 0.0)


@lru_cache(maxsize=128)
def _pairs(text: str) -> tuple[tuple[str, str, frozenset[str]], ...]:
    return tuple((asked, said, frozenset(keys_in(read(asked)))) for asked, said in _find_pairs(text))


def _find_pairs(text: str) -> Iterator[tuple[str, str]]:
    for block in _BETWEEN.split(text):
        asked, answered, said = block.partition("Q:")[2].partition("\nA:")
        if answered:
            yield asked.strip(), said.strip()


def _excerpt(utterance: ParsedText, key: str, text: str) -> tuple[str, bool]:
    """The sentences that share most with the question, in their order; the first ones when nothing is shared."""
    sentences = sentences_of(text)
    # In a text about deliveries "delivery" tells one sentence from another as little as "the" does.
    elsewhere = {concept for concept, keys in concepts().keys.items() if keys[0] != key}
    general = {*concepts().keys, *concepts().topics} - elsewhere
    asked = keys_in(utterance) - general
    lead = " ".join(sentence for sentence, _ in sentences[:_QUOTED_SENTENCES])
    if not asked:
        return lead, True
    best = _closest(asked, sentences, SENTENCE_FITS)
    if best:
        return best, True
    return _closest(keys_in(utterance), sentences, 0.0) or lead, False


def _closest(asked: set[str], sentences: Sentences, least: float) -> str:
    """The one or two sentences that share most; words that few sentences have count for more."""
    often = {key: sum(key in keys for _, keys in sentences) for key in asked}
    weight = {key: 1 / max(1, often[key]) ** 0.5 for key in asked}
    total = sum(weight.values())
    fits = [(sum(weight[key] for key in asked & keys) / total, -at) for at, (_, keys) in enumerate(sentences)]
    best = [(fit, at) for fit, at in sorted(fits, reverse=True)[:_QUOTED_SENTENCES] if fit > 0 and fit >= least]
    chosen = sorted(-at for fit, at in best if fit >= best[0][0] * 0.75)
    return " ".join(sentences[at][0] for at in chosen)


def _anywhere(utterance: ParsedText, seen: RequestContents) -> OfflineAnswer:
    """No key says where to look: any text at hand that shares nearly all of the question's words."""
    asked = keys_in(utterance)
    if len(asked) < 2:
        return OfflineAnswer()
    for key in sorted(seen.blocks):
        if key.startswith(("policies.", "about.", "contact.")):
            for sentence, keys in sentences_of(seen.text_of(key)):
                if len(asked & keys) / len(asked) >= 0.75:
                    return OfflineAnswer(quote_text(sentence, seen), 6)
    return OfflineAnswer()
