"""Did the user agree? Read from the words of a transcript, where no stored intent says what the yes was bound to.

`consent` is wider than the classifier of live turns (a "yes, and thank you" is enough) and just as careful about what
takes a yes back: a condition, a "but", a correction, a refusal in the same breath. en, he, ru, and a few words of the
languages that people greet and agree in.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from circumspect.policy.grounding.normalise import fold
from circumspect.policy.parsing.answers import classify

Consent = Literal["yes", "no", "unclear"]

_YES = re.compile(
    r"\b(?:yes|yeah|yep|yup|ya|sure|correct|confirm(?:ed|ing)?|agreed?|approved?|go ahead|go for it|proceed|please do"
    r"|do it"
    r"|do (?:that|this|both|so)|sounds (?:good|great|perfect|fine|right|like a plan)|works for me|that works"
    r"|look(?:s)? (?:good|right|correct|great)|(?:that|this|it|which|everything|all)(?:'s| is| are)? (?:all )?(?:fine"
    r"|right|perfect|great|good|okay|ok)"
    r"|ok|okay|absolutely|definitely|certainly|of course|perfect|exactly|let'?s (?:do|proceed|go)|make it happen|get "
    r"it (?:done|over)"
    r"|process (?:it|that|this|the)|book it|oui|si|sí|ja|да|ага|конечно|подтверждаю|согласен|согласна|хорошо"
    r"|давай(?:те)?|верно)\b"
    r"|(?<!\w)(?:כן|מאשר|מאשרת|בטח|בסדר|נכון|קדימה|אישור)(?!\w)"
)
_NO = re.compile(
    r"^(?:no|nope|nah|never ?mind|stop|cancel that|forget it|don'?t|do not|not yet|wait|hold on|нет|не надо|стоп|לא"
    r"|עצור|חכה)\b"
    r"|\b(?:do not|don'?t) (?:proceed|do (?:it|that|this)|go ahead|make|cancel it|process)\b"
)
_TAKES_BACK = re.compile(
    r"\b(?:but|however|instead|actually|rather|except|unless|although|changed? my mind|on second thought|wait|hold on"
    r"|before"
    r" (?:you|we|i)|not sure|unsure|hmm+|but first|one moment|но|однако|вместо|передумал\w*|подожди\w*|кроме)\b"
    r"|(?<!\w)(?:אבל|במקום|רגע|בעצם|חוץ)(?!\w)"
)
_NEGATES = re.compile(
    r"\b(?:not|no|don'?t|doesn'?t|can'?t|cannot|won'?t|isn'?t|never|не|нет|без)\b|(?<!\w)(?:לא|אין|בלי)(?!\w)"
)
_HARMLESS = re.compile(
    r"\bno (?:longer|problem|worries|other|others|more|further|need|rush|thanks)\b|\bdon'?t worry\b|\bnot (?:only|a "
    r"problem)\b"
    r"|\b(?:that|it)'?s (?:not|no) (?:a )?(?:problem|issue)\b|\bwhy not\b|\bno-brainer\b"
)
_DEPENDS = re.compile(
    r"\b(?:if|only when|as long as|provided that|assuming|если|при условии)\b|(?<!\w)(?:אם|בתנאי)(?!\w)"
)
_QUESTION = re.compile(
    r"\?|\b(?:confirm|let me know|please (?:provide|specify|tell|reply|respond|choose|select)|would you like|do you "
    r"want|shall i"
    r"|should i|may i|is that (?:correct|right|ok|okay)|reply (?:with )?[\"']?(?:yes|ok)|подтвердите|сообщите|укажите"
    r"|хотите)\b"
    r"|(?<!\w)(?:לאשר|אנא אשר|האם|נא לאשר)(?!\w)"
)
_CONFIRM = re.compile(
    r"\b(?:confirm|proceed|go ahead|shall i|should i|may i|would you like me to|do you want me to|is (?:that|this|it"
    r"|everything)"
    r" (?:all )?(?:correct|right|ok|okay)|yes/no|reply [\"'“]?yes|подтвер\w+|продолж\w+)\b|(?<!\w)(?:לאשר|מאשר|להמשיך"
    r"|האם)(?!\w)"
)
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")


@lru_cache(maxsize=1024)
def consent(text: str) -> Consent:
    """Whether a reply agrees to what was just asked or listed. What a live turn takes for a plain yes or no is one."""
    read = _consent(text)
    if read == "yes":
        return read
    strict = classify(text)
    return "yes" if strict == "confirm" else "no" if strict == "deny" else read


def _consent(text: str) -> Consent:
    sentences = [fold(piece) for piece in _SENTENCE.split(text) if piece.strip()]
    if not sentences:
        return "unclear"
    agreeing = [at for at, sentence in enumerate(sentences) if _agrees(sentence)]
    if _NO.search(sentences[0]) and not agreeing:
        return "no"
    if not agreeing:
        return "unclear"
    # What was taken back before the yes, or in its own sentence, is part of what was agreed to.
    until = agreeing[0] + 1
    if any(_TAKES_BACK.search(sentence) for sentence in sentences[:until]):
        return "unclear"
    # A yes further down counts when nothing around it is a question, a condition or a no.
    return "yes" if agreeing[0] == 0 or is_plain(text) else "unclear"


def _agrees(sentence: str) -> bool:
    if not _YES.search(sentence) or _NO.search(sentence):
        return False
    plain = _HARMLESS.sub(" ", sentence)
    if _NEGATES.search(plain) or _DEPENDS.search(plain):
        return False
    return not (sentence.endswith("?") and not re.match(r"(?:yes|yeah|sure|ok|okay)\b", sentence))


@lru_cache(maxsize=1024)
def is_plain(text: str) -> bool:
    """Nothing in the words is a question, a condition, a refusal or a second thought."""
    plain = _HARMLESS.sub(" ", fold(text))
    return not ("?" in plain or _TAKES_BACK.search(plain) or _NEGATES.search(plain) or _DEPENDS.search(plain))


@lru_cache(maxsize=1024)
def asks(text: str) -> bool:
    """The assistant's words end in a question, or wait for an answer."""
    return bool(_QUESTION.search(fold(text)))


@lru_cache(maxsize=1024)
def asks_to_confirm(text: str) -> bool:
    """The assistant's words ask the user to agree to something it is about to do."""
    return bool(_CONFIRM.search(fold(text))) and asks(text)
