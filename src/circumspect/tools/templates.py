"""templates: a template and arguments -> values of a request. No logic, no loops: a placeholder is a name in braces.

What a user or a model wrote is data. A placeholder that is a whole value keeps its JSON type, so an argument cannot
break out of the string it stands in; in a URL (RFC 6570) it is percent-encoded, and one that would climb out of its
place in the path is refused. A value that names an argument which was not given is left out.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import unquote, urlsplit

import orjson

from circumspect.errors import ConfigError, ToolError
from circumspect.extras import explain_imports
from circumspect.values import Json, JsonObject

with explain_imports():
    from uritemplate import URITemplate
    from uritemplate.variable import VariableValueDict

KEY: Final = "idempotency_key"
"""A placeholder of this name stands for the key of the call."""


class Absent:
    """What a template gives when an argument it names was not given."""


ABSENT: Final = Absent()

_HOST = re.compile(r"https?://[^/?#{}@\\\s]+(?=[/?]|\{[/?]|$)", re.IGNORECASE)
_EXPRESSION = re.compile(r"\{[^{}]*\}")
_OPERATORS = ("", "/", "?", "&")


# --- text and JSON ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2048)
def pieces(text: str) -> tuple[tuple[str, str | None], ...]:
    """Literal text and the name that follows it, in order. Braces are doubled to be themselves."""
    try:
        parsed = tuple(string.Formatter().parse(text))
    except ValueError as error:
        raise ConfigError(
            f"The template '{text}' is broken: {error}.", fix="Write {parameter}; double a brace that is meant as one."
        ) from None
    for _, name, form, conversion in parsed:
        if name is not None and (form or conversion or not re.fullmatch(r"[A-Za-z0-9_-]+", name)):
            raise ConfigError(f"'{{{name}}}' is more than a name.", fix="Write only the name of a parameter in braces.")
    return tuple((literal, name) for literal, name, _, _ in parsed)


def names_in(template: Json) -> set[str]:
    """Every placeholder in a template, however deep."""
    if isinstance(template, str):
        return {name for _, name in pieces(template) if name is not None}
    if isinstance(template, Mapping):
        return set().union(*(names_in(item) for item in template.values()))
    if isinstance(template, Sequence):
        return set().union(*(names_in(item) for item in template))
    return set()


def fill(template: Json, values: JsonObject) -> Json | Absent:
    """The template with its placeholders filled in. The names of fields are never templates."""
    if isinstance(template, str):
        return _fill_text(template, values)
    if isinstance(template, Mapping):
        filled = {name: fill(item, values) for name, item in template.items()}
        return {name: item for name, item in filled.items() if not isinstance(item, Absent)}
    if isinstance(template, Sequence):
        return [item for item in (fill(one, values) for one in template) if not isinstance(item, Absent)]
    return template


def _fill_text(template: str, values: JsonObject) -> Json | Absent:
    parts = pieces(template)
    if any(name is not None and name not in values for _, name in parts):
        return ABSENT
    if len(parts) == 1 and parts[0][0] == "" and parts[0][1] is not None:
        return values[parts[0][1]]
    return "".join(literal + (as_text(values[name]) if name is not None else "") for literal, name in parts)


def as_text(value: Json) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


# --- URLs ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2048)
def _url(template: str) -> URITemplate:
    return URITemplate(template)


@lru_cache(maxsize=2048)
def url_names(template: str) -> tuple[frozenset[str], frozenset[str]]:
    """The placeholders of a URL template: all of them, and those that the URL cannot do without."""
    if not _HOST.match(template):
        raise ConfigError(
            f"The URL '{template.partition('?')[0]}' does not begin with a fixed http:// or https:// host.",
            fix="Write the host out, without placeholders and without a user name: https://api.example.com/{id}.",
        )
    if set("{}") & set(_EXPRESSION.sub("", template)):
        raise ConfigError(f"The URL '{template}' has a brace that is not closed.", fix="Write {parameter}.")
    if "#" in _EXPRESSION.sub("", template):
        raise ConfigError("A URL that is called has no fragment.", fix="Take out '#' and what follows.")
    every: set[str] = set()
    needed: set[str] = set()
    for variable in _url(template).variables:
        operator = str(getattr(variable.operator, "value", variable.operator) or "")
        if operator not in _OPERATORS:
            raise ConfigError(
                f"'{{{variable.original}}}' in a URL would not be encoded as one value.",
                fix="Write {name} in the path, and {?name} or {&name} in the query.",
            )
        every |= set(variable.variable_names)
        if operator in ("", "/"):
            needed |= set(variable.variable_names)
    return frozenset(every), frozenset(needed)


def expand(template: str, values: JsonObject) -> str:
    """The URL of a call, or `ToolError`: nothing was sent."""
    every, needed = url_names(template)
    encoded: VariableValueDict = {name: _in_url(name, values[name]) for name in every if values.get(name) is not None}
    for name in needed:
        if not encoded.get(name):
            raise ToolError(f"'{name}' is part of the address and is empty.")
    try:
        url = _url(template).expand(encoded)
    except (UnicodeError, ValueError, TypeError):
        raise ToolError("An argument cannot be written into a URL.") from None
    for segment in urlsplit(url).path.split("/"):
        if any(part in (".", "..") for part in re.split(r"[/\\]", unquote(segment))):
            raise ToolError("An argument would lead to another place of the address ('..').")
    return url


def _in_url(name: str, value: Json) -> str | list[str]:
    if isinstance(value, Mapping):
        raise ToolError(f"'{name}' is an object and cannot be part of an address.")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_scalar(name, item) for item in value]
    return _scalar(name, value)


def _scalar(name: str, value: Json) -> str:
    if isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str)):
        raise ToolError(f"'{name}' is too deep to be part of an address.")
    text = as_text(value)
    if any(ord(sign) < 32 or ord(sign) == 127 for sign in text):
        raise ToolError(f"'{name}' has a control character, which an address cannot have.")
    return text


def header(name: str, value: Json) -> str:
    """The value of a header. A line break would begin another one."""
    text = as_text(value)
    if not text.isascii() or any(ord(sign) < 32 or ord(sign) == 127 for sign in text):
        raise ToolError(f"The value for the header '{name}' has a sign that a header cannot carry.")
    return text
