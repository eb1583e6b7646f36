"""How sure somebody is, however it was put: 0.8, 8/10, "80 %", 95, "high" -> a number from 0 to 1, or None.

The one choice that may surprise: where a share was asked for, a number above it is taken for one of the next scale and
not for the highest there is: 7 is seven of ten, and 95 is 95 of a hundred.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Literal

from circumspect.language.pack import join_words, packs
from circumspect.values import Json

HIGH, MEDIUM, LOW = 0.75, 0.5, 0.25
_AROUND = " \t\n*_`\"'[]()~≈."


@cache
def _number() -> re.Pattern[str]:
    out_of = join_words(one.assessment.out_of for one in packs())
    return re.compile(
        r"(?P<number>-?[0-9]{0,9}(?:[.,][0-9]{1,9})?)\s*"
        rf"(?:(?:/|{out_of})\s*(?P<of>[0-9]{{1,9}})|(?P<percent>%))?"
    )


@cache
def _words() -> dict[str, float]:
    spoken = [one.assessment for one in packs()]
    return {
        word: share
        for one in spoken
        for words, share in ((one.high, HIGH), (one.medium, MEDIUM), (one.low, LOW))
        for word in words
    }


def read_share(value: Json, scale: Literal[1, 10] = 1) -> float | None:
    """None where it says nothing, or not one thing. `scale` is the highest number of what was asked for."""
    if isinstance(value, str):
        text = value.strip(_AROUND if "." not in value[:2] else _AROUND[:-1]).lower()
        if (share := _words().get(text)) is not None:
            return share
        said = _number().fullmatch(text)
        if said is None or not said["number"].strip("-"):
            return None
        number = float(said["number"].replace(",", "."))
        if said["of"]:
            return _clamp(number / int(said["of"])) if int(said["of"]) else 0.0
        if said["percent"]:
            return _clamp(number / 100)
        value = number
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if scale == 10 and not 0 < value < 1:
        return _clamp(value / 10)
    if value > 100:
        return None
    # Nobody rates by one and a half of ten: just above one is one.
    return _clamp(value if value < 2 else value / (10 if value <= 10 else 100))


def _clamp(value: float) -> float:
    return float(min(1, max(0, value)))
