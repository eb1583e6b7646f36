"""One value, as its field wants it: what a model wrote, and the field's schema -> the value, and whether it was mended.

`UNFIT` where it cannot be made to fit without a guess: half a word of a choice, a number in a sentence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from circumspect.forms.loose_json import parse_exact, printable
from circumspect.forms.shares import read_share
from circumspect.values import Json, JsonObject

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_A_WORD = re.compile(r"[\W_]+")
_SPACE = re.compile(r"[\s\u0085\u2028\u2029]+")
_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:[.,][0-9]{1,9})?")
_YES = frozenset(("true", "yes", "y", "1"))
_NO = frozenset(("false", "no", "n", "0"))
_NOTHING = frozenset(("null", "none", "n/a"))
_TELLING = ("text", "query", "step", "name", "value", "description")
"""Keys under which an item of a list of texts is found when it was written as an object."""
_MOST_ITEMS = 100


class Unfit:
    """What is left of a value that cannot be read."""


UNFIT: Final = Unfit()


def fold_key(key: str) -> str:
    """`userIntent`, `User Intent` and `user-intent` are all `user_intent`."""
    return _NOT_A_WORD.sub("_", _CAMEL.sub("_", key.strip())).strip("_").lower()


def fit(value: Json, schema: JsonObject) -> Json | Unfit:
    kinds = schema.get("type")
    if "enum" in schema:
        return _fit_choice(value, schema)
    if value is None or (isinstance(kinds, Sequence) and not isinstance(kinds, str)):
        return value if value is not None or _takes_null(kinds) else UNFIT
    match kinds:
        case "string":
            return fit_text(value, schema)
        case "number" | "integer":
            return _fit_number(value, schema)
        case "boolean":
            return _fit_flag(value)
        case "array":
            return _fit_list(value, schema)
        case "object":
            return _fit_object(value, schema)
    return value


def _takes_null(kinds: Json) -> bool:
    return kinds is None or (isinstance(kinds, Sequence) and "null" in kinds)


def fit_text(value: Json, schema: JsonObject) -> str | Unfit:
    """Where its length is limited: on one line, and cut at a word's end where it is too long."""
    if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
        value = ", ".join(map(str, value))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return UNFIT
    longest = schema.get("maxLength")
    if not isinstance(longest, int):
        return printable(str(value))
    line = printable(_SPACE.sub(" ", str(value)).strip())
    if line.lower() in _NOTHING:
        return ""
    if len(line) <= longest:
        return line
    cut = line[: longest - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:.") + "…"


def _fit_choice(value: Json, schema: JsonObject) -> Json | Unfit:
    """One of the choices, to the letter, whatever its case, its spaces and the signs around it."""
    choices = schema["enum"]
    if not isinstance(choices, Sequence) or isinstance(choices, str):
        return value
    if value in choices:
        return value
    if not isinstance(value, str):
        return UNFIT
    said = fold_key(value)
    if None in choices and said in ("", *_NOTHING):
        return None
    # A decision with anything beside it may be its opposite.
    plain = re.fullmatch(r"[\s*`\"'“”\[\](.]*(\w[\w \t-]*\w|\w)[\s*`\"'“”\]).]*", value)
    found = [one for one in choices if isinstance(one, str) and plain and fold_key(one) == said]
    return found[0] if len(found) == 1 else UNFIT


def _fit_number(value: Json, schema: JsonObject) -> Json | Unfit:
    least, most = schema.get("minimum"), schema.get("maximum")
    if (least, most) == (0, 1):
        share = read_share(value)
        return UNFIT if share is None else value if share == value and not isinstance(value, bool) else share
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value.strip().replace(",", "."))
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return UNFIT
    if isinstance(least, int | float):
        value = max(least, value)
    if isinstance(most, int | float):
        value = min(most, value)
    if schema.get("type") == "integer":
        return int(value) if value == int(value) else UNFIT
    return value


def _fit_flag(value: Json) -> bool | Unfit:
    if isinstance(value, bool):
        return value
    word = value.strip(" .*`\"'").lower() if isinstance(value, str) else ""
    return True if word in _YES else False if word in _NO else UNFIT


def _fit_list(value: Json, schema: JsonObject) -> list[Json] | Unfit:
    """A text is taken for a list with an item a line, or by commas where its items are single words."""
    inside = schema.get("items")
    items: JsonObject = inside if isinstance(inside, Mapping) else {}
    if isinstance(value, str):
        value = _split(value, items)
    elif isinstance(value, Mapping):
        value = _list_pairs(value, items)
    if not isinstance(value, list | tuple):
        return UNFIT
    fitted = [_fit_item(item, items) for item in value[:_MOST_ITEMS]]
    kept: list[Json] = []
    for item in fitted:
        if not isinstance(item, Unfit) and item not in ("", None) and item not in kept:
            kept.append(item)
    most = schema.get("maxItems")
    return kept[:most] if isinstance(most, int) else kept


def _split(text: str, items: JsonObject) -> list[Json]:
    if text.strip().lower() in (*_NOTHING, "no", "-", "[]"):
        return []
    if "enum" in items:
        return [*re.findall(r"[\w.-]+", text)]
    return [*text.splitlines()]


def _list_pairs(value: JsonObject, items: JsonObject) -> list[Json]:
    """One thing where a list of them was asked for; or names and values, where a list of such pairs was."""
    inside = items.get("properties")
    if isinstance(inside, Mapping) and len(inside) == 2 and not any(fold_key(key) in inside for key in value):
        name, other = inside
        return [{name: key, other: item} for key, item in value.items()]
    return [value]


def _fit_item(item: Json, items: JsonObject) -> Json | Unfit:
    if items.get("type") == "string":
        if isinstance(item, Mapping):
            item = next((item[key] for key in _TELLING if item.get(key)), None)
        if isinstance(item, str):
            item = _ITEM.sub("", item)
    elif items.get("type") == "object" and isinstance(item, str | int | float):
        # The name of a thing, where a thing with its name was asked for.
        inside = items.get("properties")
        item = {next(iter(inside)): item} if isinstance(inside, Mapping) and inside else None
    return UNFIT if item is None else fit(item, items)


def _fit_object(value: Json, schema: JsonObject) -> Json | Unfit:
    if isinstance(value, str):
        value = parse_exact(value)
    fields = schema.get("properties")
    if not isinstance(value, Mapping):
        return UNFIT
    if not isinstance(fields, Mapping):
        return dict(value)
    said = {fold_key(key): item for key, item in value.items()}
    if fields and (first := next(iter(fields))) not in said and "name" in said:
        said[first] = said["name"]
    fitted = {
        name: fit(said[name], field) for name, field in fields.items() if name in said and isinstance(field, Mapping)
    }
    return {name: item for name, item in fitted.items() if not isinstance(item, Unfit)}
