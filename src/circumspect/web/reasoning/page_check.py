"""Does the page bear out what the model says it remembers? Known values, the page, what was said -> yes or no.

A value is borne out when somebody said it in this conversation, and the page shows it or has a field for it. Nothing to
check is not borne out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from circumspect.language.folding import fold
from circumspect.language.written_values import FoldedText
from circumspect.policy.grounding.tracing import as_folded_text, is_said, kind_of, needle
from circumspect.web.page import Page
from circumspect.web.reasoning.reasoned import KnownValue

_FIELDS = frozenset(
    ("textbox", "searchbox", "combobox", "listbox", "spinbutton", "checkbox", "radio", "switch", "slider")
)
_WORD = re.compile(r"[^\W\d_]+")
_SHORT = {"dob": ("date", "of", "birth"), "tel": ("phone",), "mail": ("email",)}
_HOLLOW = frozenset(("of", "the", "a", "number", "new", "patient", "customer", "user", "client"))


def page_agrees(known: Sequence[KnownValue], page: Page | None, said: str) -> bool:
    """`said` is what the user said, as one text."""
    if page is None or not known:
        return False
    shown, talk = as_folded_text(page.listing), as_folded_text(said)
    return all(_is_in(one, talk) and (_is_in(one, shown) or _has_field(page, one.field)) for one in known)


def keep_seen_values(known: Sequence[KnownValue], page: Page | None, said: str) -> tuple[KnownValue, ...]:
    """Those of the values that the user said or the page shows. The others are the model's own."""
    texts = [as_folded_text(said), as_folded_text(page.listing if page else "")]
    return tuple(one for one in known if any(_is_in(one, text) for text in texts))


def _is_in(one: KnownValue, text: FoldedText) -> bool:
    return is_said(text, needle(kind_of(one.field, one.value, {}), one.value))


def _has_field(page: Page, name: str) -> bool:
    wanted = _words(name) - _HOLLOW or _words(name)
    return bool(wanted) and any(
        wanted <= _words(f"{one.name} {one.description}")
        for one in page.elements
        if one.role in _FIELDS and not one.disabled
    )


def _words(text: str) -> frozenset[str]:
    plain = _WORD.findall(fold(text.replace("_", " ").replace("e-mail", "email")))
    return frozenset(word for piece in plain for word in _SHORT.get(piece, (piece,)))
