"""Did the user agree? Read from the words of a transcript, where no stored intent says what the yes was bound to.

`consent` is wider than the classifier of live turns (a "yes, and thank you" is enough) and just as careful about what
takes a yes back: a condition, a "but", a correction, a refusal in the same breath. `consent.txt` of each language has
the words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from circumspect.language.doubts import asks_which
from circumspect.language.folding import fold
from circumspect.language.pack import compile_words, join_words, packs
from circumspect.language.sentences import split_sentences
from circumspect.language.yes_no import classify

Consent = Literal["yes", "no", "unclear"]


@dataclass(frozen=True, slots=True)
class _Words:
    """The consent words of all languages."""

    yes: re.Pattern[str]
    no: re.Pattern[str]
    takes_back: re.Pattern[str]
    negates: re.Pattern[str]
    harmless: re.Pattern[str]
    depends: re.Pattern[str]
    hesitates: re.Pattern[str]
    question: re.Pattern[str]
    confirm: re.Pattern[str]
    rhetorical: re.Pattern[str]


@cache
def _words() -> _Words:
    spoken = [one.consent for one in packs()]
    first, anywhere = join_words(one.no for one in spoken), join_words(one.refuses for one in spoken)
    return _Words(
        yes=compile_words(one.yes for one in spoken),
        no=re.compile(rf"^{first}(?!\w)|(?<!\w){anywhere}(?!\w)"),
        takes_back=compile_words(one.takes_back for one in spoken),
        negates=compile_words(one.negates for one in spoken),
        harmless=compile_words(one.harmless for one in spoken),
        depends=compile_words(one.depends for one in spoken),
        hesitates=compile_words(one.hesitates for one in spoken),
        question=compile_words(one.question for one in spoken),
        confirm=compile_words(one.confirm for one in spoken),
        rhetorical=compile_words(one.rhetorical for one in spoken),
    )


@lru_cache(maxsize=1024)
def consent(text: str) -> Consent:
    """Whether a reply agrees to what was just asked or listed. What a live turn takes for a plain yes or no is one."""
    read = _consent(text)
    if read == "yes":
        return read
    strict = classify(text)
    return "yes" if strict == "confirm" else "no" if strict == "deny" else read


def _consent(text: str) -> Consent:
    sentences = [fold(piece) for piece in split_sentences(text)]
    if not sentences:
        return "unclear"
    agreeing = [at for at, sentence in enumerate(sentences) if _agrees(sentence)]
    if _words().no.search(sentences[0]) and not agreeing:
        return "no"
    if not agreeing:
        return "unclear"
    # What was taken back before the yes, or in its own sentence, is part of what was agreed to.
    until = agreeing[0] + 1
    if any(_words().takes_back.search(sentence) for sentence in sentences[:until]):
        return "unclear"
    # A yes further down counts when nothing around it is a question, a condition or a no.
    return "yes" if agreeing[0] == 0 or is_plain(text) else "unclear"


def _agrees(sentence: str) -> bool:
    if not _words().yes.search(sentence) or _words().no.search(sentence):
        return False
    plain = _words().harmless.sub(" ", sentence)
    if _words().negates.search(plain) or _words().depends.search(plain):
        return False
    return not (sentence.endswith("?") and not _words().rhetorical.match(sentence))


@lru_cache(maxsize=1024)
def is_plain(text: str) -> bool:
    """Nothing in the words is a question, a condition, a refusal or a second thought."""
    plain = _words().harmless.sub(" ", fold(text))
    return not (
        "?" in plain
        or _words().takes_back.search(plain)
        or _words().negates.search(plain)
        or _words().depends.search(plain)
    )


@lru_cache(maxsize=1024)
def agrees_now(text: str) -> bool:
    """A yes, and no word of waiting for anything: "yes, but I have to ask my wife first" is none yet."""
    return consent(text) == "yes" and not hesitates(text) and not _only_asks(text)


def hesitates(text: str) -> bool:
    return _words().hesitates.search(fold(text)) is not None


def _only_asks(text: str) -> bool:
    """ "Ok, so what happens to my points?" """
    sentences = split_sentences(text)
    return all(one.endswith("?") and asks_which(one, within=6) for one in sentences)


@lru_cache(maxsize=1024)
def asks(text: str) -> bool:
    """The assistant's words end in a question, or wait for an answer."""
    return "?" in (folded := fold(text)) or bool(_words().question.search(folded))


@lru_cache(maxsize=1024)
def asks_to_confirm(text: str) -> bool:
    """The assistant's words ask the user to agree to something it is about to do."""
    return bool(_words().confirm.search(fold(text))) and asks(text)
