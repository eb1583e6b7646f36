"""plain: a message -> the ways in which it may be meant, the message itself first.

People hide words from lists: letters of another alphabet that look alike, digits for letters, spaces between letters,
letters drawn out, text in base64. Each disguise that occurs gives one more reading; a plain message gives just itself.
Invisible characters and case are taken out later, with every reading (`language.folding.fold_words`).
"""

from __future__ import annotations

import base64
import binascii
import re

from circumspect.language.folding import HIDDEN
from circumspect.language.scripts import LOOK_LIKE_CYRILLIC, LOOK_LIKE_LATIN, SCRIPTS
from circumspect.normal_forms import normalise

LONGEST = 20_000
_MOST_READINGS = 8

_UNSEEN = re.compile(f"[{HIDDEN}]")
_BREAK = re.compile(r"(?<![ \t])[ \t]*[\r\n]+[ \t]*")
_LEET = str.maketrans("013457@$!|€", "oieastasiie")
_LEET_L = str.maketrans("013457@$!|€", "oleastasile")
_WORD = re.compile(r"\S+")
_RUN = re.compile(r"[\w@$!|€]{3,}")
_LEET_SIGN = re.compile(r"[\d@$!|€]")
_SPACED = re.compile(r"(?<!\w)(?:[^\W\d_][ .\-_*·]){2,}[^\W\d_](?!\w)")
_DRAWN = re.compile(r"([^\W\d_])\1{2,}")
_BASE64 = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{20,}={0,2}(?![\w+/])")
_LATIN = re.compile(r"[a-z]", re.IGNORECASE)
_CYRILLIC = SCRIPTS["cyrillic"].letter


def plain(text: str) -> tuple[str, ...]:
    """The text, and what it says once its disguises are taken off."""
    # A line break ends a clause for the lists, and costs nothing to put into the middle of a phrase.
    text = _BREAK.sub(" ", _UNSEEN.sub("", normalise("NFKC", text[:LONGEST])))
    readings = [one_script(text)]
    if _SPACED.search(text):
        readings += [_SPACED.sub(lambda hit: re.sub(r"[^\w]|_", "", hit[0]), one) for one in readings]
    if _LEET_SIGN.search(text):
        readings += [_undo_leet(one, table) for one in tuple(readings) for table in (_LEET, _LEET_L)]
    if any(_DRAWN.search(one) for one in readings):
        readings += [_DRAWN.sub(way, one) for one in tuple(readings) for way in (r"\1", r"\1\1")]
    readings += _decode_base64(text)
    return tuple(dict.fromkeys(readings))[:_MOST_READINGS]


def one_script(text: str) -> str:
    """Words that mix alphabets, written in the one that most of their letters are of."""
    if text.isascii():
        return text
    return _WORD.sub(lambda hit: _unmix_word(hit[0]), text)


def _unmix_word(word: str) -> str:
    latin, cyrillic = len(_LATIN.findall(word)), len(_CYRILLIC.findall(word))
    if not latin or not cyrillic:
        # Greek look-alikes hide in Latin words too.
        return word.translate(LOOK_LIKE_LATIN) if latin and not word.isascii() else word
    return word.lower().translate(LOOK_LIKE_LATIN if latin >= cyrillic else LOOK_LIKE_CYRILLIC)


def _undo_leet(text: str, table: dict[int, int]) -> str:
    """Digits and signs as the letters they stand for, in words that have letters too. "10!" stays what it is."""

    def word(hit: re.Match[str]) -> str:
        run = hit[0]
        mixed = _LEET_SIGN.search(run) and (_LATIN.search(run) or _CYRILLIC.search(run))
        return run.translate(table) if mixed else run

    return _RUN.sub(word, text)


def _decode_base64(text: str) -> list[str]:
    found = []
    for hit in _BASE64.finditer(text):
        try:
            said = base64.b64decode(hit[0] + "=" * (-len(hit[0]) % 4), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError, ValueError):
            continue
        if said.isprintable() and " " in said:
            found.append(said)
    return found
