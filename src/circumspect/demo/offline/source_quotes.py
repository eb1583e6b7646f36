"""Questions answered from passages that were looked up: an utterance and what was seen -> a quotation with its number.

The passages are blocks `source [1]`, a line that names the document and then quoted lines. Which sentence answers is
decided by shared words, over all passages, those that search ranked first counting for more.
"""

from __future__ import annotations

import re

from circumspect.demo.offline.free_text import keys_in
from circumspect.demo.offline.lexicon import ParsedText
from circumspect.demo.offline.quoting import SENTENCE_FITS, OfflineAnswer, quote_text, sentences_of
from circumspect.demo.offline.request_view import RequestContents
from circumspect.knowledge.answer_terms import read_words, share
from circumspect.knowledge.asked_question import goes_on, read_question
from circumspect.knowledge.passages import sentences
from circumspect.knowledge.stated_facts import list_facts
from circumspect.knowledge.stated_values import StatedValueKind

_KEY = re.compile(r"source \[(\d{1,2})\]")
_SURE, _WEAK = 8, 6
_ENOUGH = 0.6
_OTHER_KIND = 0.7
"""A price was asked for, and the sentence has none."""
_ABOUT_ELSE = 0.8
"""It has none of the words that say of what."""
_FURTHER_DOWN = 0.8
"""Search saw the whole passage; so much less does a sentence count for each rank below the first."""


def has_sources(seen: RequestContents) -> bool:
    """The question was looked up."""
    return any(map(_KEY.fullmatch, seen.blocks))


def find_citation(utterance: ParsedText, seen: RequestContents) -> OfflineAnswer | None:
    """None where no sentence of any passage shares enough with the question."""
    asked, kinds = keys_in(utterance), _list_wanted_kinds(utterance.text)
    subject = read_question(utterance.text).subject
    ranked, best, said, number = 0.0, 0.0, "", ""
    for key, text in seen.blocks.items():
        if not asked or not (numbered := _KEY.fullmatch(key)):
            continue
        named, _, quotation = text.partition("\n")
        lines = [line.removeprefix(">").strip() for line in quotation.splitlines()]
        headings = [line for line in (named, *lines) if line is named or line.startswith("#")]
        body = "\n".join("" if line.startswith("#") else line for line in lines)
        about, before = {word for heading in headings for word in _read_keys(heading)}, set[str]()
        for at, sentence in enumerate(_list_quotable(body)):
            words = _read_keys(sentence)
            # What the heading says need not be said again in every sentence under it, nor what the sentence before says
            # behind "they"; the first sentence stands for them all.
            there = about | (before if goes_on(sentence) else set[str]())
            before = words
            shared = len(asked & words) + 0.9 * len(asked & (there - words))
            fit = shared / len(asked) * _FURTHER_DOWN ** (int(numbered[1]) - 1) if asked & words or at == 0 else 0.0
            fit *= 1.0 if not kinds or kinds & {one.kind for one in list_facts(sentence)} else _OTHER_KIND
            # "Cost" is a word of every price; what of is not.
            read_under = read_words("\n".join((*headings, sentence)))
            rank = fit * (_ABOUT_ELSE + (1 - _ABOUT_ELSE) * share(subject, read_under))
            if rank > ranked:
                ranked, best, said, number = rank, fit, sentence.strip(" |"), numbered[1]
    if best < SENTENCE_FITS:
        return None
    return OfflineAnswer(f"{quote_text(said, seen)} [{number}]", _SURE if best >= _ENOUGH else _WEAK)


def _read_keys(text: str) -> set[str]:
    return {word for _, found in sentences_of(text) for word in found}


def _list_wanted_kinds(question: str) -> frozenset[StatedValueKind]:
    """What an answer has to have; empty where a yes or a no, or anything, would do. When something begins is not said
    by how long it takes."""
    asked = read_question(question)
    kinds = frozenset() if asked.yes_or_no else frozenset(asked.kinds)
    return kinds - {"duration"} if asked.end else kinds


def _list_quotable(text: str) -> list[str]:
    """Its sentences, each in one line."""
    found = (" ".join(text[span.start : span.end].split()) for span in sentences(text))
    return [one for one in found if re.search(r"\w", one)]
