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

_KEY = re.compile(r"source \[(\d{1,2})\]")
_SURE, _WEAK = 8, 6
_ENOUGH = 0.6
_FURTHER_DOWN = 0.8
"""Search saw the whole passage; so much less does a sentence count for each rank below the first."""


def find_citation(utterance: ParsedText, seen: RequestContents) -> OfflineAnswer | None:
    """None where no sentence of any passage shares enough with the question."""
    asked = keys_in(utterance)
    best, said, number = 0.0, "", ""
    for key, text in seen.blocks.items():
        if not asked or not (numbered := _KEY.fullmatch(key)):
            continue
        named, _, quotation = text.partition("\n")
        lines = [line.removeprefix(">").strip() for line in quotation.splitlines()]
        headings = [line for line in (named, *lines) if line is named or line.startswith("#")]
        body = "\n".join(line for line in lines if not line.startswith("#") and re.search(r"\w", line))
        about = {word for heading in headings for _, words in sentences_of(heading) for word in words}
        for at, (sentence, words) in enumerate(sentences_of(body)):
            # What the heading says need not be said again in every sentence under it; the first stands for them all.
            shared = len(asked & words) + 0.9 * len(asked & (about - words))
            fit = shared / len(asked) * _FURTHER_DOWN ** (int(numbered[1]) - 1) if asked & words or at == 0 else 0.0
            if fit > best:
                best, said, number = fit, sentence.strip(" |"), numbered[1]
    if best < SENTENCE_FITS:
        return None
    return OfflineAnswer(f"{quote_text(said, seen)} [{number}]", _SURE if best >= _ENOUGH else _WEAK)
