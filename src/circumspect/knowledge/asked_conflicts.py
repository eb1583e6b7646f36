"""A question and the passages found for it -> pairs of documents that answer it differently.

The question says what both are about, so that they need not say it in the same words (`answering`), and what kind of
thing is asked for (`asked_question`): only values of that kind are compared (`differing_facts`). A difference is none
where something tells that the two are about different things (`told_apart`). A yes stands against a no where both are
said of the same (`said_no`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from circumspect.knowledge.answer_terms import is_among
from circumspect.knowledge.answering import Answering, SaidValue, is_enough, list_answering
from circumspect.knowledge.asked_question import (
    AskedQuestion,
    find_asking,
    list_asking_terms,
    list_asking_words,
    read_question,
)
from circumspect.knowledge.conflicts import (
    Conflict,
    ConflictEvidence,
    Quoted,
    find_conflicts,
    list_general_terms,
    list_written,
)
from circumspect.knowledge.differing_facts import is_difference
from circumspect.knowledge.said_no import is_same_claim, says_no
from circumspect.knowledge.stated_facts import without_facts
from circumspect.knowledge.stated_values import StatedValueKind
from circumspect.knowledge.terms import stem_word, stop_words, words
from circumspect.knowledge.told_apart import is_other_general_case, is_told_apart
from circumspect.language.wanted import even_out, find_mentions, find_things

_COARSE: tuple[StatedValueKind, ...] = ("weekday", "month", "year")
"""Compared where nothing more exact is: two days with their own hours are two cases."""

_MOST = 2 / 3
"""Share of a question's words."""


def find_asked_conflicts(question: str, passages: Iterable[Quoted]) -> list[Conflict]:
    """One for each pair of documents that give different answers, in the order of the passages."""
    asked = read_question(find_asking(question))
    is_general = not asked.subject
    if is_general:
        asked = replace(asked, subject=_list_general_words(find_asking(question), asked))
    if not asked.subject:
        return []
    passages = list(passages)
    answering = [one for passage in passages for one in list_answering(passage, asked)]
    if not answering and asked.yes_or_no:
        asked, answering = _find_same_deed(question, passages, asked)
    answering = _leave_out_times_before(answering, asked)
    found: dict[tuple[str, str], Conflict] = {}
    for left, right in combinations(answering, 2):
        pair = (left.evidence.document, right.evidence.document)
        if pair[0] == pair[1] or pair in found or not is_enough(left.covered & right.covered, asked):
            continue
        if is_general and is_other_general_case(left, right, asked):
            continue
        kind = _find_difference(left, right, asked)
        if kind and not is_told_apart(left, right, kind, asked):
            shared, quotes = left.terms & right.terms, (left.evidence.quote, right.evidence.quote)
            subject = list_written(shared, *quotes) or list_written(asked.subject, question)
            found[pair] = Conflict(kind, subject, left.show(kind), right.show(kind))
    return [*found.values(), *_list_others(passages, answering, asked, found)]


def answers_most_of_it(question: str, passage: Quoted) -> bool:
    """It has a sentence on most of what the question names, however little a search thinks of it."""
    asked = read_question(find_asking(question))
    most = max(2, _MOST * len(asked.subject))
    return any(len(one.covered) >= most for one in list_answering(passage, asked))


def _list_general_words(question: str, asked: AskedQuestion) -> frozenset[str]:
    """ "Until when can I return goods?" has no word that is not general, and is about something all the same. One such
    word is too little, and so is a question that asks for nothing in particular."""
    small, plain = stop_words(question) | list_asking_words(), without_facts(question, asked.stated)
    general = [stem_word(word) for word in words(plain) if word not in small and word[0].isalpha()]
    told = frozenset(word for word in general if word in list_general_terms())
    return told if len(told) > 1 and not asked.is_open and not asked.yes_or_no else frozenset()


def _leave_out_times_before(answering: list[Answering], asked: AskedQuestion) -> list[Answering]:
    """How long something lasts is not said by what has to be done so long before it, where a sentence says the former:
    a visit lasts 20 minutes, and can be cancelled up to 24 hours before it begins."""
    if "duration" not in asked.kinds or asked.yes_or_no:
        return answering
    said = {at: one.list_said("duration") for at, one in enumerate(answering)}
    ahead = {at for at, found in said.items() if found and all(one.ahead for one in found)}
    lasting = (one for at, one in enumerate(answering) if said[at] and at not in ahead)
    if not any(one.covered == asked.subject for one in lasting):
        return answering
    return [one for at, one in enumerate(answering) if at not in ahead]


def _find_same_deed(
    question: str, passages: Sequence[Quoted], asked: AskedQuestion
) -> tuple[AskedQuestion, list[Answering]]:
    """Whether something can be done was asked, and nothing speaks of it by that name: what the documents call a visit
    is an appointment to the user. Then what they say of doing that to the same kind of thing answers."""
    verbs = {one.verb for one in find_mentions(question) if not find_things(one.verb)}
    deeds = frozenset(stem_word(word) for verb in verbs for word in words(verb)) & asked.subject
    things = find_things(even_out(question))
    if not deeds or not things:
        return asked, []
    narrowed = replace(asked, subject=deeds, required=frozenset())
    found = [one for passage in passages for one in list_answering(passage, narrowed)]
    return narrowed, [one for one in found if things & find_things(even_out(one.evidence.quote))]


def _find_difference(left: Answering, right: Answering, asked: AskedQuestion) -> StatedValueKind | None:
    shared = [kind for kind in asked.kinds if left.list_said(kind) and right.list_said(kind)]
    fine = [kind for kind in shared if kind not in _COARSE]
    if asked.of_age and _keeps_out_of_more(left, right, asked):
        return None
    for kind in fine or shared:
        if is_difference(kind, _list_bounded(left, kind, asked), _list_bounded(right, kind, asked), asked.end):
            return kind
    if not asked.yes_or_no or says_no(left, asked) == says_no(right, asked):
        return None
    return "yes or no" if is_same_claim(left, right) else None


def _keeps_out_of_more(left: Answering, right: Answering, asked: AskedQuestion) -> bool:
    """Whom a concert does not let in may join the choir."""
    for side, other in ((left, right), (right, left)):
        quote, values = side.evidence.quote, [one.value for one in side.said]
        ages = {word for one in values for word in words(one.written)}
        # "Under eight": the word before an age says on which side of it.
        ages |= {stem_word(word) for one in values for word in words(quote[: one.start])[-1:]}
        own = side.terms - list_asking_terms() - ages
        if says_no(side, asked) and not all(is_among(one, other.words | asked.words) for one in own):
            return True
    return False


def _list_bounded(side: Answering, kind: StatedValueKind, asked: AskedQuestion) -> list[SaidValue]:
    """Whom "nobody under 8" keeps out, "from 8" lets in."""
    said = side.list_said(kind)
    return [replace(one, bound="least") for one in said] if asked.of_age and says_no(side, asked) else said


def _list_others(
    passages: Sequence[Quoted], answering: Sequence[Answering], asked: AskedQuestion, found: Iterable[tuple[str, str]]
) -> Iterable[Conflict]:
    """What contradicts itself whatever is asked, where it was asked."""
    known = {(one.evidence.document, one.evidence.span): one for one in answering}
    documents = {one.evidence.document for one in answering}
    for one in find_conflicts(passage for passage in passages if passage.document in documents):
        left, right = (known.get((side.document, side.span)) for side in (one.left, one.right))
        # "Can I cancel free of charge?" asks for no value, and whoever answers says one.
        if left is None or right is None or not (one.kind in asked.kinds or asked.yes_or_no):
            continue
        if (one.left.document, one.right.document) in found or is_told_apart(left, right, one.kind, asked):
            continue
        if not (_is_said(one.left, left, one.kind) and _is_said(one.right, right, one.kind)):
            continue
        yield one


def _is_said(evidence: ConflictEvidence, side: Answering, kind: StatedValueKind) -> bool:
    """Of several values the one that answers, not that of another line of the timetable."""
    said = [one.value.written for one in side.list_said(kind)]
    return not said or evidence.value in said
