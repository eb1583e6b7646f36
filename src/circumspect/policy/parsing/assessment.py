"""The model's self-assessment, read off its reply: text -> the words for the user, and the assessment.

On the wire the model ends its reply with `<assessment>{…}</assessment>`, confidence 1 to 10. Here it is 0 to 1.

The one choice that may surprise: reading is generous with form and strict with meaning. Words, flags and confidence are
recovered from a damaged block; the call it proposes counts only when tool and parameters were complete and exact, for a
cut-off `"amount": 10` may have been 1000. Everything else is the most careful assessment there is, and no call.

While a reply streams, `visible.Visible` shows exactly the words that `read` will give in the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from circumspect.forms.answers import read_labels
from circumspect.forms.loose_json import parse_exact, parse_intact, printable, repair_json
from circumspect.forms.shares import read_share
from circumspect.language.pack import pack, packs
from circumspect.reasons import ReasonCode
from circumspect.values import Assessment, Json, ToolCall

MISSING = Assessment(confidence=0.1, reasons=(ReasonCode.ASSESSMENT_MISSING,))
"""Of a call that came by itself, in the provider's format or in tags of its own."""
UNREADABLE = Assessment(confidence=0.1, reasons=(ReasonCode.ASSESSMENT_UNPARSABLE,))

_OPEN, _CLOSE = "<assessment>", "</assessment>"
# Anything in the words before the block that the slow reader should look at.
_SUSPECT = re.compile(r"[<{`~&%\\＜﹤‹〈〈⟨❮《｛_]")
_FIELDS = frozenset(
    (
        "confidence",
        "tool_call",
        "tool_params",
        "missing_params",
        "is_destructive",
        "needs_confirmation",
        "needs_more_context",
    )
)
_CALL_KEYS = frozenset(("name", "arguments", "parameters", "id", "type"))
_PARAM_KEYS = frozenset(("arguments", "parameters"))
_FIRST_LINE = re.compile(r"confidence\W{0,6}[:：=]", re.IGNORECASE)
_EMPTY = ("", "n/a", "-", "[]", "{}")
_MOST_NAMES = 50
_MOST_BLOCKS = 8
_PIECE = 4_000
"""Characters that are searched at once: meanwhile no other thread of the process gets to work."""


@dataclass(frozen=True, slots=True)
class _Words:
    """How the keys and values of a block may be spelled, in any of the languages."""

    fields: Mapping[str, str]
    nothing: frozenset[str]
    false: frozenset[str]
    not_english: re.Pattern[str]


@cache
def _words() -> _Words:
    spoken = [one.assessment for one in packs()]
    nothing = frozenset((*_EMPTY, *(word for one in spoken for word in one.nothing)))
    return _Words(
        fields={spelling: name for one in spoken for name, spellings in one.field.items() for spelling in spellings},
        nothing=nothing,
        false=nothing | {"0"} | {word for one in spoken for word in one.false},
        not_english=re.compile(
            f"[{''.join(s.letters + s.signs for s in {one.script for one in packs()} - {pack('en').script})}]"
        ),
    )


class _Unreadable(Exception):
    """This block cannot be trusted."""


def read(text: str) -> tuple[str, Assessment]:
    """The visible reply, and the assessment. Never raises; never shows any part of a block."""
    if clean := _clean(text):
        words, members, block = clean
        return printable(words.strip()), _assessment(members, block)
    from circumspect.policy.parsing.visible import Visible, bare  # slow to import, and a clean reply does without

    visible = Visible()
    pieces = [visible.feed(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE)]
    words = "".join(pieces) + visible.finish()
    if len(visible.blocks) > _MOST_BLOCKS:
        return words, UNREADABLE
    return words, _most_careful(_read_block(bare(block)) for block in visible.blocks)


def disagrees(native: Sequence[ToolCall], assessment: Assessment) -> bool:
    """The assessment names another call than the provider's format carries, or none where that has one."""
    if not native or ReasonCode.ASSESSMENT_MISSING in assessment.reasons:
        return False
    if assessment.tool_call is None:
        return True
    named = ToolCall(assessment.tool_call, assessment.tool_params).hash
    return named not in {call.hash for call in native}


def _clean(text: str) -> tuple[str, dict[str, Json], str] | None:
    """The short way, for the reply that is just as it should be: words, one block, nothing odd anywhere."""
    start = text.find(_OPEN)
    stop = text.find(_CLOSE, start)
    if start < 0 or stop < 0 or text[stop + len(_CLOSE) :].strip():
        return None
    words, block = text[:start], text[start + len(_OPEN) : stop]
    if _SUSPECT.search(words) or "confidence" in words or text.lower().count("ssess") != 2:
        return None
    members = parse_exact(block)
    return None if members is None else (words, members, block)


def _read_block(block: str) -> Assessment:
    members = parse_exact(block)
    if members is not None:
        return _bare_call(members) or _assessment(members, block)
    if "{" not in block.partition(":")[0] and (labels := _find_lines(block)):
        lines = dict(labels)
        once = all(lines[label] == value for label, value in labels)
        return _assessment(lines, block) if once else UNREADABLE
    whole = parse_intact(block)
    if whole.doubted:
        return UNREADABLE
    if whole.end is not None and not re.search(r"[{}]", block[whole.end :]):
        return _assessment(whole.members, block)
    return _salvage(whole.members, repair_json(block) or {}, block)


def _bare_call(members: Mapping[str, Json]) -> Assessment | None:
    """A call as some models write it, in tags: its name and its arguments, and nothing else."""
    name = members.get("name")
    params = members.get("arguments", members.get("parameters"))
    if not isinstance(name, str) or not members.keys() <= _CALL_KEYS or len(members.keys() & _PARAM_KEYS) > 1:
        return None
    try:
        return replace(MISSING, tool_call=printable(name), tool_params=_params(params, needed=params is not None))
    except _Unreadable:
        return UNREADABLE


def _find_lines(block: str) -> Sequence[tuple[str, Json]]:
    """`**Assessment:** confidence: 8/10`, and what else stands there line by line."""
    start = _FIRST_LINE.search(block)
    return read_labels(block[start.start() :]) if start else ()


def _salvage(sure: Mapping[str, Json], guess: Mapping[str, Json], block: str) -> Assessment:
    """From a damaged block: what was complete, and a guess at the rest, wherever a wrong guess does no harm."""
    try:
        known, guessed = _fields(sure), _fields(guess)
        if "tool_call" not in guessed and "tool_call" not in known:
            return UNREADABLE
        if _tool(known.get("tool_call", guessed.get("tool_call"))) is None:
            return _assessment({**guessed, **known}, block)
        if not {"tool_call", "tool_params"} <= known.keys():
            return UNREADABLE
        missing: list[Json] = [*_names(known.get("missing_params")), *_names(guessed.get("missing_params"))]
    except _Unreadable:
        return UNREADABLE
    # The flags may have stood in the part that is lost, so they count as raised.
    careful: dict[str, Json] = {"is_destructive": True, "needs_confirmation": True}
    return _assessment({**careful, **known, "missing_params": missing}, block)


def _assessment(members: Mapping[str, Json], block: str) -> Assessment:
    try:
        fields = _fields(members)
        tool = _tool(fields.get("tool_call"))
        params = _params(fields.get("tool_params"), needed=tool is not None)
        if tool is not None and any(_may_be_ours(key, value, fields) for key, value in members.items()):
            return UNREADABLE
        assessment = Assessment(
            confidence=_confidence(fields.get("confidence")),
            tool_call=tool,
            tool_params=params,
            missing_params=_names(fields.get("missing_params")),
            is_destructive=_flag(fields.get("is_destructive")),
            needs_confirmation=_flag(fields.get("needs_confirmation")),
            needs_more_context=_names(fields.get("needs_more_context"), unnamed="unspecified"),
        )
    except _Unreadable:
        return UNREADABLE
    if (block.isascii() and "\\u0" not in block) or not _words().not_english.search(repr(members)):
        return assessment
    return replace(assessment, reasons=(ReasonCode.ASSESSMENT_NOT_ENGLISH,))


def _most_careful(assessments: Iterable[Assessment]) -> Assessment:
    """One reading of all blocks. Two that propose different calls propose nothing."""
    result: Assessment | None = None
    for one in assessments:
        if result is None:
            result = one
        elif (one.tool_call, one.tool_params) != (result.tool_call, result.tool_params):
            return UNREADABLE
        else:
            result = replace(
                one,
                confidence=min(one.confidence, result.confidence),
                missing_params=_union(result.missing_params, one.missing_params),
                is_destructive=one.is_destructive or result.is_destructive,
                needs_confirmation=one.needs_confirmation or result.needs_confirmation,
                needs_more_context=_union(result.needs_more_context, one.needs_more_context),
                reasons=tuple(dict.fromkeys((*result.reasons, *one.reasons))),
            )
    return result if result and result.readable else UNREADABLE


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _fields(members: Mapping[str, Json]) -> dict[str, Json]:
    """The members by our names, whatever the spelling: toolCall, Tool-Call, and the words of other languages."""
    inner = members.get("assessment")
    if len(members) == 1 and isinstance(inner, Mapping):
        members = inner
    fields: dict[str, Json] = {}
    for key, value in members.items():
        name = _field(key)
        if name and fields.setdefault(name, value) != value:
            raise _Unreadable
    return fields


def _field(key: str) -> str | None:
    return key if key in _FIELDS else _words().fields.get("".join(filter(str.isalpha, key.lower())))


def _may_be_ours(key: str, value: Json, fields: Mapping[str, Json]) -> bool:
    """A key that is none of ours, but may have been meant for one: it could be what says that something is missing."""
    if _field(key) is not None or key == "assessment":
        return False
    if not key.isascii() or ("tool_params" not in fields and isinstance(value, Mapping) and value):
        return True
    from difflib import get_close_matches  # rarely needed

    return bool(get_close_matches(key.lower(), _FIELDS - fields.keys(), n=1, cutoff=0.75))


def _tool(value: Json) -> str | None:
    if value is None or value is False:
        return None
    if not isinstance(value, str):
        raise _Unreadable
    return None if value.strip().lower() in _words().nothing else printable(value)


def _params(value: Json, *, needed: bool) -> dict[str, Json]:
    if isinstance(value, str):
        value = parse_exact(value) if value.strip() else None
        if value is None and needed:
            raise _Unreadable
    if isinstance(value, Mapping):
        return {printable(key): _printable(item) for key, item in value.items()}
    if value is not None and needed:
        raise _Unreadable
    return {}


def _printable(value: Json) -> Json:
    match value:
        case str():
            return printable(value)
        case Mapping():
            return {printable(key): _printable(item) for key, item in value.items()}
        case list():
            return [_printable(item) for item in value]
    return value


def _confidence(value: Json) -> float:
    """From 1 to 10, or however it was put, to 0 to 1; the lowest where it says nothing."""
    share = read_share(value, 10)
    return UNREADABLE.confidence if share is None else share


def _flag(value: Json) -> bool:
    """True unless the value clearly says no."""
    if isinstance(value, str):
        return value.strip().lower() not in _words().false
    return bool(value)


def _names(value: Json, *, unnamed: str = "") -> tuple[str, ...]:
    """A list of names, however it was put. A bare `true` says that there are some; `unnamed` stands for them."""
    if not value:
        return ()
    if isinstance(value, str):
        value = [] if value.strip().lower() in _words().nothing else [one.strip() for one in re.split(r"[,;]", value)]
    elif isinstance(value, Mapping):
        value = list(value)
    elif value is True and unnamed:
        value = [unnamed]
    if not isinstance(value, list) or len(value) > _MOST_NAMES:
        raise _Unreadable
    names = [item.get("name") if isinstance(item, Mapping) else item for item in value]
    if not all(isinstance(name, str | int) for name in names):
        raise _Unreadable
    return tuple(dict.fromkeys(printable(str(name).strip()) for name in names if str(name).strip()))
