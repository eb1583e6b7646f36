"""A pending call and what the user said instead -> the call that they meant, where only one can be meant."""

from __future__ import annotations

import re

from circumspect.language.second_thoughts import corrects, find_new_values
from circumspect.values import Json, Language, ToolCall
from circumspect.wording import render_value

_NUMBER = re.compile(r"\d+(\.\d+)?")


def correct_call(call: ToolCall, text: str, language: Language) -> ToolCall | None:
    """The call with its one argument replaced that the one new value can stand for; None where that is not certain."""
    values = list_words(call)
    match find_new_values(text, values):
        case [new] if corrects(text, language, values, new):
            return _replace_argument(call, new)
    return None


def list_words(call: ToolCall) -> tuple[str, ...]:
    """What the call is about, in words: its tool's name, and its values."""
    return call.tool, *map(render_value, call.arguments.values())


def _replace_argument(call: ToolCall, new: str) -> ToolCall | None:
    codes = [name for name, old in call.arguments.items() if isinstance(old, str) and _shape(old) == _shape(new)]
    numbers = [name for name, old in call.arguments.items() if _is_number(old) and _NUMBER.fullmatch(new)]
    match codes or numbers:
        case [name]:
            value: Json = new if codes else float(new) if "." in new else int(new)
            return ToolCall(call.tool, {**call.arguments, name: value})
    return None


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shape(value: str) -> str:
    """What kind of code it is: letters and digits in their places."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", value))
