"""The page as a request shows it, read back: the text of the block `page` -> elements, sentences, forms.

What is on a page is compared with, typed into or clicked; it is never obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from circumspect.demo.offline.free_text import find_meanings, keys_in
from circumspect.demo.offline.lexicon import read, stem
from circumspect.demo.offline.slot_values import values
from circumspect.language.sentences import split_sentences
from circumspect.values import ModelRequest

_LINE = re.compile(r'\[(?P<id>[^\]\s]+)\] (?P<role>\S+) "(?P<name>[^"]*)"(?P<rest>.*)')
_VALUE = re.compile(r'^ value="(?P<value>[^"]*)"')
_END_OF_OPTIONS = re.compile(r"\)(?= \(| in |$)")
_INSIDE = re.compile(r" in (?P<inside>\S+)$")
_SIGN_IN = re.compile(r"\b(?:log|sign)(?:\s+(?:me|us))?[\s-]+(?:in|on)\b|\blog-?on\b|\bsign-?in\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")

TYPED = frozenset(("textbox", "searchbox", "combobox", "spinbutton", "listbox"))
USED = TYPED | frozenset(
    ("button", "link", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "switch", "checkbox", "radio",
     "treeitem", "slider")
)  # fmt: skip
_SHORTEST = 4
"""Letters from which on one word may be the beginning of another of the same family: weigh, weight."""


@dataclass(frozen=True)
class ElementLine:
    """One element, as far as its line tells."""

    id: str
    role: str
    name: str
    value: str = ""
    type: str = ""
    haspopup: str = ""
    required: bool = False
    disabled: bool = False
    options: tuple[str, ...] = ()
    inside: str = ""

    @cached_property
    def keys(self) -> frozenset[str]:
        return keys_of(self.name)


@dataclass(frozen=True)
class Screen:
    url: str = ""
    title: str = ""
    elements: tuple[ElementLine, ...] = ()
    text: str = ""

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What can be read on it: the text, and the lines that are messages, headings or rows."""
        said = [one.name for one in self.elements if one.role not in USED and one.role != "form"]
        return tuple(one.strip() for one in (*said, *split_sentences(self.text)) if one.strip())

    @cached_property
    def forms(self) -> tuple[ElementLine, ...]:
        return tuple(one for one in self.elements if one.role == "form")

    def within(self, container: str) -> tuple[ElementLine, ...]:
        return tuple(one for one in self.elements if one.inside == container)


def find_block(request: ModelRequest, key: str) -> str:
    return next((block.text for block in request.blocks if block.key == key), "")


def screen_of(request: ModelRequest) -> Screen:
    return _screen(find_block(request, "page"))


@lru_cache(maxsize=64)
def _screen(listing: str) -> Screen:
    url = title = text = ""
    elements: list[ElementLine] = []
    for line in listing.splitlines():
        if found := _LINE.fullmatch(line):
            elements.append(_parse_element(found))
        elif line.startswith("URL: ") and not elements:
            url = line[5:]
        elif line.startswith("Title: ") and not elements:
            title = line[7:]
        elif line.startswith("Text: "):
            text = line[6:]
    return Screen(url, title, tuple(elements), text)


def _read_options(rest: str) -> tuple[str, ...]:
    _, begins, listed = rest.partition(" options=(")
    end = _END_OF_OPTIONS.search(listed) if begins else None
    return tuple(one.strip() for one in listed[: end.start()].split(", ")) if end else ()


def _parse_element(found: re.Match[str]) -> ElementLine:
    rest = found["rest"]
    value = _VALUE.match(rest)
    options, inside = _read_options(rest), _INSIDE.search(rest)
    marks = rest[value.end() if value else 0 :].split(" (", 1)[0].split(" options=(", 1)[0].split()
    said = dict(mark.split("=", 1) for mark in marks if "=" in mark)
    return ElementLine(
        id=found["id"],
        role=found["role"],
        name=found["name"],
        value=value["value"] if value else "",
        type=said.get("type", ""),
        haspopup=said.get("haspopup", ""),
        required="required" in marks,
        disabled="disabled" in marks,
        options=options,
        inside=inside["inside"] if inside else "",
    )


# --- comparing words ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2048)
def keys_of(text: str) -> frozenset[str]:
    """What the text is about: concepts, stems, and numbers as they are."""
    plain = _SIGN_IN.sub("login", text)
    utterance = read(plain)
    keys = keys_in(utterance) | {f"#{number}" for number in _NUMBER.findall(plain)}
    if values(utterance, None).amounts:
        keys |= {"price", "amount"}  # a sum of money answers both questions, whatever it is called there
    return frozenset(keys) or frozenset(stem(token.text) for token in utterance.telling)


@lru_cache(maxsize=2048)
def measure_overlap(text: str, keys: frozenset[str]) -> float:
    """How many of the text's telling words are about something in `keys`, 0 to 1. A word of two meanings is one."""
    words = list(find_meanings(read(_SIGN_IN.sub("login", text))))
    return sum(bool(find_shared_keys(word, keys)) for word in words) / len(words) if words else 0.0


def find_shared_keys(one: Iterable[str], other: Iterable[str]) -> frozenset[str]:
    """The keys of `one` that `other` has, in one form or another."""
    others = frozenset(other)
    return frozenset(key for key in one if key in others or any(_akin(key, each) for each in others))


def _akin(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return (
        len(short) >= _SHORTEST
        and short[0] != "#"
        and len(long) - len(short) <= len(short) // 2
        and long.startswith(short)
    )


def measure_coverage(asked: frozenset[str], sentence: frozenset[str], all_sentences: Iterable[frozenset[str]]) -> float:
    """How much of what was asked a sentence has, 0 to 1. A word that stands everywhere tells less than a rare one."""
    often = {key: sum(bool(find_shared_keys((key,), one)) for one in all_sentences) for key in asked}
    weight = {key: 1 / (1 + often[key]) for key in asked}
    total = sum(weight.values())
    return sum(weight[key] for key in find_shared_keys(asked, sentence)) / total if total else 0.0
