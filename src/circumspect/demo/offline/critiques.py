"""The second opinion: one labelled user message in, `{"decision", "reasoning", "message"}` out, in English.

Plain checks: is the tool listed, is no argument blank, was every value said by somebody, and was something that cannot
be undone confirmed in so many words. Anything that cannot be read beyond doubt is a question, never a go-ahead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from circumspect.demo.offline.free_text import keys_in
from circumspect.demo.offline.lexicon import ParsedText, fold_letters, read
from circumspect.demo.offline.request_view import tool_by_name
from circumspect.demo.offline.slot_values import values
from circumspect.values import Json

_LABELS = ("User message", "Tool", "Arguments", "Available tools", "Recent turns")
_LISTED = re.compile(r"(?<![\w.-])([A-Za-z_][\w.-]*+)[^\S\n]*+(?:\([^()]*\)[^\S\n]*+)?(?:,|\n|$)")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def judge(text: str) -> dict[str, str]:
    case = _read(text)
    if case is None:
        return _ask("The case cannot be read without doubt.", "Could you say once more what you would like me to do?")
    try:
        arguments = json.loads(case["Arguments"] or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        return _ask("The arguments are not a JSON object.", "Could you say once more what you would like me to do?")
    name = case["Tool"]
    if name not in _LISTED.findall(case["Available tools"]):
        return {
            "decision": "ESCALATE",
            "reasoning": f"There is no tool named {name}.",
            "message": "The requested action is not available.",
        }
    blank = [key for key, value in arguments.items() if isinstance(value, str) and not value.strip()]
    if blank:
        return _ask(f"Blank: {', '.join(blank)}.", f"Could you give me the {_to_words(blank[0])}?")
    said = read(f"{case['User message']}\n{case['Recent turns']}")
    for key, value in arguments.items():
        unsaid = next((item for item in _scalars(value) if not _was_said(item, said)), None)
        if unsaid is not None:
            return _ask(f"Nobody said {unsaid} for {key}.", f"Is {unsaid} the right {_to_words(key)}?")
    if tool_by_name(name).is_destructive and not read(case["User message"]).has("yes"):
        return _ask("It cannot be undone, and it has not been confirmed.", "Are you sure that you want me to do this?")
    return {
        "decision": "PROCEED",
        "reasoning": "The tool is listed, nothing is blank, and every value was said.",
        "message": "",
    }


def _ask(reasoning: str, message: str) -> dict[str, str]:
    return {"decision": "ASK_USER", "reasoning": reasoning, "message": message}


def _read(text: str) -> Mapping[str, str] | None:
    """The labelled parts; None unless every label stands at the beginning of exactly one line, in order."""
    found = [(match[1], match.start(), match.end()) for match in _lines().finditer(text)]
    if [label for label, _, _ in found] != [*_LABELS]:
        return None
    ends = [start for _, start, _ in found[1:]] + [len(text)]
    return {label: text[begin:end].strip() for (label, _, begin), end in zip(found, ends, strict=True)}


def _lines() -> re.Pattern[str]:
    return re.compile(rf"^({'|'.join(_LABELS)}):", re.MULTILINE)


def _scalars(value: Json) -> Iterator[str | int | float]:
    match value:
        case None | bool():
            return
        case str() | int() | float():
            yield value
        case Mapping():
            for item in value.values():
                yield from _scalars(item)
        case Sequence():
            for item in value:
                yield from _scalars(item)


def _was_said(value: str | int | float, said: ParsedText) -> bool:
    text = fold_letters(" ".join(str(value).split()))
    whole = fold_letters(" ".join(said.text.split()))
    if re.search(rf"(?<![\w.]){re.escape(text)}(?![\w])", whole):
        return True
    heard = values(said, None)
    if isinstance(value, int | float) or text.replace(".", "", 1).isdigit():
        numbers = [amount.text for amount in heard.amounts] + [code.text for code in heard.codes]
        return any(_same_number(text, number) for number in numbers)
    when = heard.moments
    if _ISO_DATE.match(text):
        # "tomorrow" was said, and only the draft knew which day it is.
        return any(day.isoformat() in text for day, _ in when.dates) or any(kind == "date" for kind, _ in when.unclear)
    if any(hour == text for hour, _ in when.times):
        return True
    keys = keys_in(read(str(value)))
    return bool(keys) and keys <= keys_in(said)


def _same_number(one: str, other: str) -> bool:
    try:
        return float(one) == float(
            other.replace(",", "." if other.count(",") == 1 and len(other.rpartition(",")[2]) < 3 else "")
        )
    except ValueError:
        return False


def _to_words(name: str) -> str:
    return name.replace("_", " ")
