"""An answer and what was at hand -> the sentences that nothing bears out.

Three things are looked at. A number in brackets must be that of a passage that was shown. Every figure (money, share,
time, day, number, address) must stand in the passage that the sentence cites, or in what is known otherwise. And an
answer that was looked up must be made of the words of its passages, which must be about what was asked: they have most
of the question's words, and all that tell one case from another ("student", "on Sundays", "in 2027"). A question for an
amount is not answered without one.

What may surprise: the user's own figures prove nothing. "Is it 50 euros?" does not make "Yes, 50 euros" true; but they
may stand beside a figure that a source has ("ten days are within the 30").
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from circumspect.knowledge.answer_terms import (
    asks_amount,
    asks_share,
    is_among,
    is_opposed,
    list_cases,
    list_deeds,
    list_parts_of_the_day,
    list_question_terms,
    list_terms,
    list_unnamed_things,
    read_words,
    share,
)
from circumspect.knowledge.answering import list_roles, read_end, score_clause, speaks_of_end
from circumspect.knowledge.asked_question import AskedQuestion, goes_on, list_asking_terms, read_question
from circumspect.knowledge.conflicts import is_tied, list_differing_terms, list_rates
from circumspect.knowledge.passages import sentences
from circumspect.knowledge.person_names import list_person_names
from circumspect.knowledge.rates import list_asked_times, read_time
from circumspect.knowledge.stated_facts import list_facts, list_labels
from circumspect.knowledge.stated_values import StatedValue, is_same_value, values
from circumspect.knowledge.terms import stem_word, telling_words, words
from circumspect.language.detection import find_language
from circumspect.language.folding import fold
from circumspect.language.pack import join_words, packs
from circumspect.language.sentences import split_sentences
from circumspect.language.written_values import phone_digits, phones_in

_CITED = re.compile(r"\[(\d{1,3})\]")
_BEHIND = re.compile(r"(?<![.!?…])([.!?…]++)((?:\s*+\[\d{1,3}\])+)")
_ITEM = re.compile(r"^[ \t]*+\d{1,2}[.)]\s++", re.MULTILINE)
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++|(?:https?://|www\.)[^\s)\]]++")
_PHONE = re.compile(r"\+?\(?\d[\d ().-]{5,20}\d")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_PRINTED = re.compile(r"^\d{1,2}(?:\.\d{1,2})*+[.)]?\s")
_MIXED = r"(?=[^\W_]*\d)(?=\d*[^\W\d_])[^\W_]{2,12}"
_HYPHENED = r"(?:(?![\u0590-\u05ff])[^\W\d_]){1,3}-(?!(?:19|20)\d\d(?!\d))\d{1,8}[^\W\d_]?"
_CODE = re.compile(rf"(?<![\w-])(?:{_MIXED}|{_HYPHENED})(?![\w-])")
"""A product's or an error's: "b12", "l-204". "Mid-2025" is none, nor is a Hebrew preposition before a number."""
_WORD = re.compile(r"(?<=[\w,] )[^\W\d_]{3,}|(?<=[«“\"])[^\W\d_]{3,}(?=[»”\"])")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ENOUGH = 0.6
"""Share of an answer's words that its passages must have."""
_ABOUT_IT = 0.5
"""Passages that are about a question have this share of its words."""
_TOGETHER = 0.55
"""Share of the words of a question and its answer that stand beside a figure, or above it."""
_UNHEARD = 0.2
"""Share of the question's words that no passage has: somebody may say it otherwise."""
_PAIR = 2
"""So few words of a question are what and of what: "diesel at the marina" is no berth at the marina."""
_UNSAID = 0.4
"""Share of the question's words that need not."""
_SAME_VERB = 3
"""Letters that a verb keeps: "lose" and "lost"."""
_HEADING = 7
"""A line of so many words, without a full stop or a figure, is one."""
_MEASURED = frozenset(
    {"money", "percentage", "count", "measure", "duration", "range", "date", "time", "weekday", "month", "year"}
)
"""What code finds wherever it is said."""
_FEW = 3
"""An answer of fewer telling words is its figure, or says what the question says; a sentence goes on from the last."""


@dataclass(frozen=True, slots=True)
class AtHand:
    """What an answer may rest on."""

    sources: Mapping[int, str]
    """The passages that were shown, under their numbers; each with its headings above it, a blank line between."""
    known: str = ""
    """What is known without a passage: the business, the customer, results of tools, what was answered before."""
    said: str = ""
    """The user's own words."""
    asked: str = ""
    """The message that is answered."""
    meant: str = ""
    """What was searched for: the question in the words of whoever understood it."""
    looked_up: bool = False
    """The answer had to be looked up: without a passage there is none."""


def list_cited(answer: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(number) for number in _CITED.findall(answer)))


def find_unsupported(answer: str, at_hand: AtHand) -> tuple[str, ...]:
    """The sentences that may not be said; empty where all of them are borne out."""
    at_hand, answer = _align_codes(at_hand, answer)
    # A number behind the full stop belongs to the sentence before it.
    whole = _BEHIND.sub(r"\2\1", _ITEM.sub("", answer))
    stated = [one for one in split_sentences(whole) if not one.rstrip(" *_").endswith("?")]
    if at_hand.looked_up and not stated and list_cited(whole):
        return (whole,)  # a question of the document is no answer
    by_figures = [one for one in stated if not _is_cited_rightly(one, at_hand) or _has_unknown_figure(one, at_hand)]
    return tuple(by_figures) or _find_unfounded(stated, at_hand)


def _align_codes(at_hand: AtHand, answer: str) -> tuple[AtHand, str]:
    """Codes that were asked about, in one spelling everywhere: "E141" is "E-141"."""
    asked = {_join_code(one) for one in _CODE.findall(at_hand.asked)}
    if not asked:
        return at_hand, answer

    def align(text: str) -> str:
        return _CODE.sub(lambda hit: joined if (joined := _join_code(hit[0])) in asked else hit[0], text)

    sources = {number: align(text) for number, text in at_hand.sources.items()}
    aligned = replace(
        at_hand, sources=sources, known=align(at_hand.known), asked=align(at_hand.asked), meant=align(at_hand.meant)
    )
    return aligned, align(answer)


def lacks_code(question: str, texts: Iterable[str]) -> bool:
    """The question names a code that none of the texts has."""
    asked = {_join_code(one) for one in _CODE.findall(question)}
    return bool(asked) and not asked <= {_join_code(one) for text in texts for one in _CODE.findall(text)}


def _join_code(written: str) -> str:
    return written.replace("-", "").casefold()


def has_unknown_figure(text: str, known: str) -> bool:
    """A figure or an address that is not in what is known."""
    return _has_unknown_figure(text, AtHand({}, known=known))


def _is_cited_rightly(sentence: str, at_hand: AtHand) -> bool:
    return all(number in at_hand.sources for number in list_cited(sentence))


# --- figures --------------------------------------------------------------------------------------------------------


def _has_unknown_figure(sentence: str, at_hand: AtHand) -> bool:
    text = _CITED.sub(" ", sentence)
    if not any(map(str.isdigit, text)) and not _ADDRESS.search(text) and not values(text):
        return False
    ground = "\n".join((*_list_grounds(sentence, at_hand), at_hand.known))
    if not _has_addresses(text, ground):
        return True
    plain = _ADDRESS.sub(" ", text)
    unknown = [one for one in _list_figures(plain) if not _is_stated(one, ground)]
    if not unknown:
        return False
    theirs = "\n".join((at_hand.said, at_hand.asked))
    borrowed = all(_is_stated(one, theirs) for one in unknown)
    return not borrowed or (at_hand.looked_up and len(unknown) == len(_list_figures(plain)))


def _list_grounds(sentence: str, at_hand: AtHand) -> list[str]:
    """The passages that a sentence has to be borne out by: those that it cites, or any."""
    cited = [at_hand.sources[number] for number in list_cited(sentence) if number in at_hand.sources]
    return cited or [*at_hand.sources.values()]


def _has_addresses(text: str, ground: str) -> bool:
    there = fold(ground)
    return all(fold(one).rstrip("./") in there for one in _ADDRESS.findall(text))


@dataclass(frozen=True, slots=True)
class _Figure:
    """A value that was understood, or digits that were not."""

    value: StatedValue | None
    digits: str = ""


@lru_cache(maxsize=256)
def _list_figures(text: str) -> tuple[_Figure, ...]:
    phones = [hit.span() for hit in _PHONE.finditer(text) if len(phone_digits(hit.group())) >= 7]
    phones = [span for span in phones if not _reads_as_value(text[slice(*span)])]
    found = [_Figure(None, text[start:end]) for start, end in phones]
    # "One colleague" and "two things" are how people talk: a count is held to only where it is in digits.
    read = [one for one in values(text) if one.written[:1].isdigit() or one.kind not in ("count", "time")]
    read = [one for one in read if not any(start <= one.start < end for start, end in phones)]
    found += [_Figure(one) for one in read]
    taken = [*phones, *((one.start, one.end) for one in read)]
    for hit in _NUMBER.finditer(text):
        if not any(start <= hit.start() < end for start, end in taken):
            found.append(_Figure(None, hit.group()))
    return tuple(found)


def _reads_as_value(text: str) -> bool:
    return any(one.kind in ("date", "time") for one in values(text))


def _is_stated(figure: _Figure, ground: str) -> bool:
    stated, bare, phones = _read_ground(ground)
    if figure.value is None:
        digits = re.sub(r"\D", "", figure.digits)
        return digits in bare or (len(digits) >= 7 and phone_digits(digits) in phones)
    value = figure.value
    if any(is_same_value(value, one) for one in stated):
        return True
    # A table has the unit in its heading and a result has none at all.
    return value.kind in ("money", "percentage", "duration", "count") and _write_plainly(value) in bare


def _write_plainly(value: StatedValue) -> str:
    digits = _NUMBER.search(value.written)
    return re.sub(r"\D", "", digits.group()) if digits else ""


@lru_cache(maxsize=64)
def _read_ground(text: str) -> tuple[tuple[StatedValue, ...], frozenset[str], frozenset[str]]:
    """The values of a text, the numbers in it that are no values with a unit of their own, and telephones."""
    stated = tuple(values(text))
    with_unit = [(one.start, one.end) for one in stated if one.kind != "count"]
    bare = {
        re.sub(r"\D", "", hit.group())
        for hit in _NUMBER.finditer(text)
        if not any(start <= hit.start() < end for start, end in with_unit)
    }
    return stated, frozenset(bare), phones_in(fold(text))


# --- words ----------------------------------------------------------------------------------------------------------


def _find_unfounded(stated: list[str], at_hand: AtHand) -> tuple[str, ...]:
    """All that an answer says, where it is not made of the words of its passages or these are about something else."""
    ground = "\n".join((*at_hand.sources.values(), at_hand.known))
    if not at_hand.looked_up or not stated:
        return ()
    asked = _list_asked(at_hand.asked)
    # What follows an answer, cites nothing and is not about the question is courtesy.
    about = [one for at, one in enumerate(stated) if at == 0 or list_cited(one) or list_terms(one) & asked]
    if _lacks_amount(about, at_hand.asked) or _lacks_end(about, at_hand.asked) or _lacks_person(about, at_hand):
        return tuple(about)
    if others := [one for one in about if _is_of_other_clause(one, at_hand.asked)]:
        return tuple(others)
    if others := [one for one in about if _is_of_other_number(one, at_hand.asked)]:
        return tuple(others)
    if other_time := [one for one in about if _is_for_other_time(one, at_hand)]:
        return tuple(other_time)
    if _is_in_other_language(stated, at_hand):
        return ()
    for one in about:
        here = read_words("\n".join((*_list_grounds(one, at_hand), at_hand.known)))
        if list_cited(one) and share(list_terms(one), here) < _ENOUGH / 2:
            return (one,)
    if apart := [one for one in about if not _stands_together(one, asked, at_hand)]:
        return tuple(apart)
    said = frozenset(term for one in about for term in list_terms(one))
    if _is_beside_the_point(about, asked, at_hand):
        return tuple(about)
    if len(said) < _FEW and any(map(_has_figure, about)):
        return ()
    # A bare yes says what the question says.
    said = said if len(said) >= _FEW else said | asked
    return tuple(about) if said and share(said, read_words(ground)) < _ENOUGH else ()


@lru_cache(maxsize=64)
def _list_asked(question: str) -> frozenset[str]:
    """What a question is about. Where it is for a price or a day, the word for that is said by the figure: "the minimum
    age" by "18 years". Words that tell cases apart stay, and a yes or no is about all of them."""
    told = list_question_terms(question)
    if read_question(question).yes_or_no:
        return told
    return (told - (list_asking_terms() - list_cases(question, told))) or told


def _is_for_other_time(sentence: str, at_hand: AtHand) -> bool:
    """What a day costs was asked, and every place that has this amount says that it is for an hour."""
    asked = list_asked_times(at_hand.asked)
    if not asked:
        return False
    if _is_free_for_a_while(_CITED.sub(" ", sentence)):
        return True
    said = [one for one in values(_CITED.sub(" ", sentence)) if one.kind == "money"]
    told = [
        [read_time(ground, one) for one in values(ground) if is_same_value(one, figure)]
        for figure in said
        for ground in ["\n".join(_list_grounds(sentence, at_hand))]
    ]
    return bool(told) and all(times and all(one and one not in asked for one in times) for times in told)


def _is_free_for_a_while(text: str) -> bool:
    """ "Free for the first 30 minutes" names no price for a day."""
    facts = list_facts(text)
    paid = [one for one in facts if one.kind == "money"]
    return bool(paid) and not any(one.amount for one in paid) and any(one.kind == "duration" for one in facts)


def _is_of_other_clause(sentence: str, asked: str) -> bool:
    """ "A group lesson takes two hours, a private one costs 65 euros": how long was asked of what is named only behind
    that. What is named before may go without its name: "a private lesson takes an hour and costs 65 euros"."""
    question, text = read_question(asked), _CITED.sub(" ", sentence)
    facts = list_facts(text)
    wanted = [one for one in facts if one.kind in question.kinds]
    if question.yes_or_no or not wanted:
        return False
    best = max(score_clause(text, one, facts, question) for one in wanted)
    behind = [one for one in facts if one.start > wanted[-1].end]
    return any(score_clause(text, one, facts, question) > best for one in behind)


def _is_of_other_number(text: str, asked: str) -> bool:
    """Room 12 was described, and room 14 was asked about."""
    wanted, there = (list_labels(list_facts(_CITED.sub(" ", one))) for one in (asked, text))
    return any(not wanted[label] & there[label] for label in wanted.keys() & there.keys())


def _stands_together(sentence: str, asked: frozenset[str], at_hand: AtHand) -> bool:
    """Each figure stands in a sentence of a passage that is about the same thing: the lead time of a heat pump is not
    the grant for one, although both are in the documents."""
    text = _CITED.sub(" ", sentence)
    theirs = "\n".join((at_hand.said, at_hand.asked))
    figures = _list_figures(text)
    wanted = [one for one in figures if not _is_stated(one, theirs) and not _is_stated(one, at_hand.known)]
    for one in figures:
        text = text.replace(one.value.written if one.value else one.digits, " ")
    meant = asked | list_terms(text)
    places = [place for ground in _list_grounds(sentence, at_hand) for place in _list_places(ground)]
    return all(
        any(_is_stated(one, said) and _is_read_so(f"{above}\n{said}", asked, meant, at_hand) for above, said in places)
        for one in wanted
    )


def _is_read_so(place: str, asked: frozenset[str], meant: frozenset[str], at_hand: AtHand) -> bool:
    """It is about what was asked, and about what the answer says."""
    there = read_words(place)
    if set(_YEAR.findall(at_hand.asked)) - set(_YEAR.findall(place)) or _is_other_case(asked, place, at_hand):
        return False
    missing = frozenset(one for one in asked if not is_among(one, there)) - _list_said_otherwise(place, at_hand)
    if is_opposed(at_hand.asked, place) or not _has_condition(place, at_hand.asked):
        return False
    if _is_of_other_number(place, at_hand.asked):
        return False
    things = asked - list_cases(at_hand.asked, asked)
    if (things and things <= missing) or missing & _list_names(at_hand.asked):
        return False
    # A thing that the documents do name stands where they speak of it.
    named = (missing & read_question(at_hand.asked).subject) - list_deeds(at_hand.asked)
    if any(is_among(one, read_words("\n".join(at_hand.sources.values()))) for one in named):
        return False
    return len(missing) <= max(1, _UNSAID * len(asked)) and share(meant, there) >= _TOGETHER


def _has_condition(place: str, question: str) -> bool:
    """What "if I lose it" asks is said of what is lost; verbs change more than their endings."""
    there = {word[:_SAME_VERB] for word in words(place)}
    return all(one[:_SAME_VERB] in there for one in read_question(question).required)


@lru_cache(maxsize=64)
def _list_places(ground: str) -> tuple[tuple[str, str], ...]:
    """The sentences of a passage, each with what it is read under: the headings above it, and the sentence before where
    it says too little without that: "They start on 7 September.", "From 14 years on."."""
    above: list[str] = []
    before, ended, found = "", 0, list[tuple[str, str]]()
    for span in sentences(ground):
        said = ground[span.start : span.end].strip(" -*|>#")
        before = "" if ground.count("\n", ended, span.start) > 1 else before
        if said and _is_heading(said):
            above, before = [*above[-3:], said], ""
        elif said:
            goes_with = goes_on(said) or len(list_terms(said)) < _FEW
            found.append(("\n".join((*above, before) if goes_with else above), said))
            before = said
        ended = span.end
    return tuple(found)


def _is_heading(line: str) -> bool:
    numbers = _YEAR.sub("", _PRINTED.sub("", line, count=1))
    return len(line.split()) <= _HEADING and line[-1] not in ".!?:" and not any(map(str.isdigit, numbers))


def _lacks_amount(about: Collection[str], asked: str) -> bool:
    """How much was asked, and no figure is said."""
    question, plain = read_question(asked), [_CITED.sub(" ", one) for one in about]
    said = {fact.kind for one in plain for fact in list_facts(one) if not _only_lasts(one, fact, question)}
    if asks_share(asked):
        return "percentage" not in said
    if question.of_clock and not question.yes_or_no and "time" not in said:
        return True
    if question.kinds[:1] == ("duration",) and not question.of_age and _only_begins(plain):
        return True
    wanted = set(question.kinds) - ({"percentage"} if question.kinds == ("money", "percentage") else set())
    wanted |= {"range"} if "duration" in wanted else set()
    if not question.yes_or_no and wanted and wanted <= _MEASURED and not wanted & said:
        return not any(_free().search(fold(one)) for one in about)
    if not asks_amount(asked):
        return False
    return not any(_has_figure(one) or _free().search(fold(one)) for one in about)


def _only_begins(told: Collection[str]) -> bool:
    """How long was asked, and every time that is said is when it takes place, with no end of it."""
    stated = [(text, facts, one) for text in told for facts in [list_facts(text)] for one in facts]
    timed = [(text, facts, one) for text, facts, one in stated if one.kind in ("time", "date")]
    if not timed or any(one.kind not in ("time", "date", "weekday") for _, _, one in stated):
        return False
    return all(read_end(text, one, facts) != "end" for text, facts, one in timed)


def _only_lasts(sentence: str, fact: StatedValue, question: AskedQuestion) -> bool:
    """When it begins was asked, and this is how long it takes; who asks how long, or how old, asks for that."""
    asks_length = question.of_age or question.kinds[:1] == ("duration",)
    return bool(question.end) and not asks_length and fact.kind == "duration" and not is_tied(sentence, fact)


def _lacks_end(about: Collection[str], asked: str) -> bool:
    """Until when was asked, and every time that is said is when it begins or takes place."""
    if read_question(asked).end != "end":
        return False
    plain = [_CITED.sub(" ", one) for one in about]
    stated = [(text, facts, one) for text in plain for facts in [list_facts(text)] for one in facts]
    ends = {read_end(text, one, facts) for text, facts, one in stated if one.kind in ("time", "date")}
    return ends == {"begin"} or (bool(ends) and "end" not in ends and not any(map(speaks_of_end, plain)))


def _lacks_person(about: Collection[str], at_hand: AtHand) -> bool:
    """Who does it was asked; no name is said, nor is what is done: "the courtyard is open until 9"."""
    question = read_question(at_hand.asked)
    if question.kinds != ("name",):
        return False
    plain = [_CITED.sub(" ", one) for one in about]
    if any(list_person_names(one, question.words, list_facts(one)) for one in plain):
        return False
    said, only_asks = read_words("\n".join(plain)), list_asking_terms() - list_roles()
    # "Who works there": also a word that is too general to tell what it is about.
    asked = {stem_word(word) for word in telling_words(at_hand.asked)}
    return any(not is_among(one, said) for one in asked - only_asks)


@lru_cache(maxsize=64)
def _list_names(question: str) -> frozenset[str]:
    """The words, reduced, that are written as names; a language that writes every noun so has none."""
    if find_language(question) == "de":
        return frozenset()
    return frozenset(stem_word(fold(hit[0])) for hit in _WORD.finditer(question) if hit[0][0].isupper())


def _has_figure(sentence: str) -> bool:
    text = _CITED.sub(" ", sentence)
    return bool(_list_figures(text)) or bool(values(text))


@cache
def _free() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){join_words(one.documents.free for one in packs())}(?!\w)")


def _is_beside_the_point(about: Collection[str], asked: frozenset[str], at_hand: AtHand) -> bool:
    """The passages behind the answer are not about what was asked."""
    cited = [ground for one in about if list_cited(one) for ground in _list_grounds(one, at_hand)]
    ground = "\n".join((*(cited or at_hand.sources.values()), at_hand.known))
    there = read_words(ground)
    if set(_YEAR.findall(at_hand.asked)) - set(_YEAR.findall(ground)):
        return True
    if set(_CODE.findall(fold(at_hand.asked))) - set(_CODE.findall(fold(ground))):
        return True
    if _is_other_case(asked, ground, at_hand):
        return True
    cases = list_cases(at_hand.asked, asked)
    about = asked - cases
    about = about if len(about) > 1 else asked
    unheard = [one for one in about if not is_among(one, there) and one not in _list_said_otherwise(ground, at_hand)]
    # "Private" may have been understood as "individual": a word of the same sort in its place.
    otherwise = (list_terms(at_hand.meant) & list_differing_terms()) - asked
    meant = any(is_among(one, there) for one in otherwise)
    things = list_unnamed_things(at_hand.asked, about, there) - list_asking_terms()
    deeds = list_deeds(at_hand.asked)
    named = set(unheard) - deeds
    settled = _list_settled(at_hand.asked, about) - list_asking_terms()
    if not meant and (things & set(unheard) or settled & named or (len(asked - deeds) <= _PAIR and named)):
        return True
    most = max(1, _UNHEARD * len(about))
    return len(unheard) > most or share(about, there) < _ABOUT_IT


def _list_settled(question: str, about: Collection[str]) -> frozenset[str]:
    """What a yes or no is wanted for stands last: "does she teach diving", "is there a bath in the cabin"."""
    read = read_question(question)
    told = [term for word in words(question) if (term := stem_word(word)) in about]
    return frozenset(told[-1:]) if read.yes_or_no and not read.is_open else frozenset()


def _list_said_otherwise(place: str, at_hand: AtHand) -> frozenset[str]:
    """Words of the question that a time or a span of months says in their place: "7.30 am", "from May to September"."""
    facts = list_facts(place)
    said = frozenset[str]()
    if any(one.kind == "time" for one in facts):
        said |= list_parts_of_the_day()
    months = {one.amount for one in facts if one.kind == "month"}
    for one in list_facts(at_hand.asked):
        if one.kind == "month" and one.amount in months:
            said |= list_terms(one.written)
    return said


def _is_other_case(asked: frozenset[str], place: str, at_hand: AtHand) -> bool:
    """A word that tells one case from another is not there: "student", "on Sundays"."""
    there = read_words(place)
    cases = list_cases(at_hand.asked, asked) - list_rates() - _list_said_otherwise(place, at_hand)
    missing = [one for one in cases if not is_among(one, there)]
    # "Private" may have been understood as "individual": a word of the same sort in its place.
    meant = (list_terms(at_hand.meant) & list_differing_terms()) - asked
    return len(missing) > sum(is_among(one, there) for one in meant)


def _is_in_other_language(stated: Collection[str], at_hand: AtHand) -> bool:
    """Words of one language are not found in another: there only figures can be held to a source."""
    here = find_language(" ".join(stated))
    grounds = {ground for one in stated for ground in _list_grounds(one, at_hand)}
    languages = {find_language(one) for one in grounds or {at_hand.known}}
    return here is not None and None not in languages and here not in languages
