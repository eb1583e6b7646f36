"""JSON as models write it: text -> an object that means exactly what was written, or None.

Comments, trailing commas, single and curly quotes, bare keys, Python's True and None, and a code fence around it all
are read as they are meant; they leave no doubt. Whatever leaves a doubt (a cut, a key twice with two values, NaN) is
not read: `parse_exact` says None, `parse_intact` gives what was complete before the doubt began. Only `repair_json`
guesses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from circumspect.language.folding import HIDDEN
from circumspect.values import Json

DEPTH = 32
_LONGEST = 200_000
_MENDABLE = 8_000

_SPACE = rf"[\s{HIDDEN}]"
_FENCE = re.compile(rf"{_SPACE}*(?:```|~~~)[\w-]*")
_TOKEN = re.compile(
    rf"""(?P<space>{_SPACE}+|//[^\n]*|/\*.*?\*/|\#[ \t][^\n]*)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<quoted>'(?:[^'\\]|\\.)*'|‘[^‘’\\]*’|“[^“”\\]*”)
    |(?P<mark>[{{}}\[\]:,])
    |(?P<word>[^\s{{}}\[\]:,"'“”‘’/\#]+)""",
    re.DOTALL | re.VERBOSE,
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_REQUOTE = re.compile(r"""\\'|"|\\.""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Intact:
    """The members of an object that were complete, and where it ended (None: it never did, or broke before)."""

    members: dict[str, Json]
    end: int | None
    doubted: frozenset[str] = frozenset()
    """Keys that came twice with two values; they are not among the members."""


class _Doubt(ValueError):
    """Two readings are possible, or none."""


def parse_exact(text: str) -> dict[str, Json] | None:
    """The one object that the text is, and nothing beside it."""
    try:
        return _object(text)
    except (ValueError, RecursionError):
        pass
    if len(text) > _LONGEST or "{" not in text:
        return None
    fence = _FENCE.match(text)
    try:
        return _object("".join(_strict(text, fence.end() if fence else 0)))
    except (ValueError, RecursionError):
        return None


def parse_intact(text: str) -> Intact:
    """The members that were complete before the text broke off or went wrong, from its first brace on."""
    members: dict[str, Json] = {}
    doubted: set[str] = set()
    start = text.find("{")
    if start < 0 or len(text) > _LONGEST:
        return Intact(members, None)
    depth, end, member = 0, None, list[str]()
    try:
        for piece, at in _pieces(text, start):
            depth += (piece in "{[") - (piece in "}]")
            if depth > DEPTH:
                break
            if (depth == 1 and piece == ",") or depth == 0:
                _add(members, doubted, "".join(member))
                member = []
                if depth == 0:
                    end = at
                    break
            elif not (depth == 1 and piece == "{" and not member):
                member.append(piece)
    except (ValueError, RecursionError):
        pass
    return Intact({key: value for key, value in members.items() if key not in doubted}, end, frozenset(doubted))


def repair_json(text: str) -> dict[str, Json] | None:
    """A guess at what a broken text meant. Never to be trusted with what a tool is called with."""
    body = text[max(text.find("{"), 0) :]
    # The repairer takes seconds on thousands of nested brackets; no assessment has them.
    if len(body) > _MENDABLE or body.count("{") + body.count("[") > 2 * DEPTH:
        return None
    try:
        from json_repair import loads  # 80 ms to import, rarely needed, and not installed with the core

        found = loads(body, skip_json_loads=True)
        return _object(json.dumps(found))
    except Exception:  # whatever a repairer trips over, even an assertion of its own, the text stays unread
        return None


def printable(text: str) -> str:
    """The text with control characters and lone surrogates replaced, so that it can be stored and shown."""
    return text if text.isprintable() else _CONTROL.sub("\ufffd", text)


def _object(text: str) -> dict[str, Json]:
    if len(text) > _LONGEST or (text.count("{") + text.count("[") > DEPTH and _too_deep(text)):
        raise _Doubt
    value = _DECODER.decode(text)
    if not isinstance(value, dict):
        raise _Doubt
    return cast("dict[str, Json]", value)


def _too_deep(text: str) -> bool:
    depth = 0
    for mark in re.findall(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', text):
        depth += (mark in "{[") - (mark in "}]")
        if depth > DEPTH:
            return True
    return False


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs) and any(found[key] != value for key, value in pairs):
        raise _Doubt
    return found


def _no_constant(name: str) -> Json:
    raise _Doubt(name)


# The standard decoder and not a faster one: it keeps integers of any size, and lets us see a key that comes twice.
_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant, strict=False)


def _strict(text: str, start: int) -> Iterator[str]:
    """The same value in strict JSON. A closing fence ends it; anything else after the value makes it invalid."""
    depth = 0
    for piece, at in _pieces(text, start):
        depth += (piece in "{[") - (piece in "}]")
        yield piece
        if depth == 0:
            rest = text[at:].strip().strip("`~")
            if rest:
                yield rest
            return


def _pieces(text: str, start: int) -> Iterator[tuple[str, int]]:
    """Tokens of strict JSON, with the position after each; raises where there is none to be had."""
    at, comma, word = start, False, ""
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            break
        at = token.end()
        kind, piece = cast(str, token.lastgroup), token[0]
        if kind == "space":
            continue
        if word:
            yield _bare(word, is_key=piece == ":"), token.start()
            word = ""
        if comma and piece not in "}]":
            yield ",", token.start()
        comma = piece == ","
        if comma:
            continue
        if kind == "word":
            word = piece
        elif kind == "quoted":
            yield _requote(piece), at
        else:
            yield piece, at
    if comma:
        yield ",", at
    if at < len(text):
        raise _Doubt


def _bare(word: str, *, is_key: bool) -> str:
    if is_key:
        return json.dumps(word)
    if word in _WORDS:
        return _WORDS[word]
    if _NUMBER.fullmatch(word):
        return word
    raise _Doubt


def _requote(piece: str) -> str:
    swap = {"\\'": "'", '"': '\\"'}
    return '"' + _REQUOTE.sub(lambda hit: swap.get(hit[0], hit[0]), piece[1:-1]) + '"'


def _add(members: dict[str, Json], doubted: set[str], member: str) -> None:
    if not member:
        return
    for key, value in _object("{" + member + "}").items():
        if members.setdefault(key, value) != value:
            doubted.add(key)
