"""A name that no tool has, and the names that there are -> the one that was probably meant.

Nothing runs by a name that is only near another. The model is told it, and writes the call again.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches

_PREFIX_ENDS = re.compile(r"[./:]|__")
"""`functions.cancel_order`, `mcp__shop__cancel_order`."""
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
LONGEST = 200
_LONGEST_ALIKE = 64
"""How alike two names are costs the product of their lengths, for each tool. Longer ones are spelled the same."""


def find_nearest(name: str, known: Collection[str]) -> str:
    """Of names that are the same but for case, blanks, separators or a prefix; else the most alike; else nothing."""
    name = name[:LONGEST]
    spelled = {_spell(one): one for one in sorted(known)}
    bare = next((one for one in reversed(_PREFIX_ENDS.split(name)) if one), name)
    for written in (name, bare):
        if found := spelled.get(_spell(written)):
            return found
    likely, wanted = [one for one in spelled if len(one) <= _LONGEST_ALIKE], _spell(bare)
    close = get_close_matches(wanted, likely, n=1, cutoff=0.8) if len(wanted) <= _LONGEST_ALIKE else ()
    return spelled[close[0]] if close else ""


def _spell(name: str) -> str:
    parts = re.findall(r"[^\W_]+", _HUMP.sub("_", "".join(filter(str.isprintable, name))))
    return "_".join(parts).casefold()
