"""A question and the passages found for it -> an answer for a colleague to look at, in the documents' own words.

Nothing is made up and nothing is sent: these are quotations with their numbers, and below them what the numbers stand
for. Empty where no sentence has much to do with the question.
"""

from __future__ import annotations

from collections.abc import Sequence

from circumspect.knowledge.answer_terms import list_question_terms, read_words, share
from circumspect.knowledge.asked_question import list_asking_words
from circumspect.knowledge.passages import sentences
from circumspect.knowledge.terms import words

_MOST = 3
_BEARS_ON = 0.34
"""Share of the question's words that a sentence has, with its titles."""


def suggest_answer(question: str, passages: Sequence[tuple[int, str, str]]) -> str:
    """`passages` are numbers, names and texts, the best first."""
    asked = list_question_terms(question)
    # "How long does it take" says nothing of what.
    told = " ".join(word for word in words(question) if word not in list_asking_words())
    subject = list_question_terms(told) or asked
    if not asked:
        return ""
    fitting = [
        (max(share(one, read_words(sentence)) for one in (asked, subject)), -place, number, sentence)
        for place, (number, _, text) in enumerate(passages)
        for sentence in _list_plain_sentences(text)
    ]
    best = [one for one in sorted(fitting, reverse=True)[:_MOST] if one[0] >= _BEARS_ON]
    quoted = dict.fromkeys((number, sentence) for _, _, number, sentence in best)
    names = {number: name for number, name, _ in passages}
    said = " ".join(f"{sentence} [{number}]" for number, sentence in quoted)
    below = "\n".join(f"[{number}] {names[number]}" for number in sorted({number for number, _ in quoted}))
    return f"{said}\n\n{below}" if said else ""


def _list_plain_sentences(text: str) -> list[str]:
    found = (text[span.start : span.end] for span in sentences(text))
    return [" ".join(one.split()) for one in found if not one.startswith("#")]
