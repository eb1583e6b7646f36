"""A record that Python printed -> its fields: `Order(id='1', total=Decimal('9.50'))`, or `id='1' total=9.5`.

That is what dataclasses, named tuples and pydantic models become where a framework makes a text of a tool's result.
Nothing is run: the text is parsed, and what is no plain value in it stays the text that it was.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import date, datetime

from circumspect.values import Json

_CALLED = re.compile(r"\[?[A-Za-z_][\w.]*\([A-Za-z_]\w*=")
_FIELDS = re.compile(r"[A-Za-z_]\w*=['\"\d\-+\[{(<A-Z]")
_ENUM = re.compile(r"<[\w.]+: ('[^'\\]*'|\"[^\"\\]*\"|-?\d+)>")
_NEXT = re.compile(r" (?=[A-Za-z_]\w*=)")
_WRAPPERS = frozenset(("Decimal", "UUID", "Path", "PosixPath", "SecretStr", "Url", "AnyUrl", "HttpUrl"))


class _NoValue(ValueError):
    """It is no record, only words that look like one."""


def parse_printed(text: str) -> Json:
    """The record or list of records; the text itself when it is none. Of a length that can be parsed at once."""
    called = _CALLED.match(text) is not None and text[-1] in ")]"
    if not called and not _FIELDS.match(text):
        return text
    plain = _ENUM.sub(r"\1", text)
    try:
        return _read(ast.parse(plain if called else f"_({_separate(plain)})", mode="eval").body)
    except (_NoValue, SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return text


def _separate(text: str) -> str:
    """Commas between the fields of a pydantic model's `str()`: at spaces outside of quotes and brackets."""
    return ",".join(_split(text))


def _split(text: str) -> Iterator[str]:
    start = depth = at = 0
    quote = ""
    while at < len(text):
        sign = text[at]
        if quote:
            at += sign == "\\"
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == " " and not depth and _NEXT.match(text, at):
            yield text[start:at]
            start = at + 1
        at += 1
    yield text[start:]


def _read(node: ast.expr) -> Json:
    match node:
        case ast.Call(func=ast.Name() | ast.Attribute(), args=[], keywords=fields) if fields:
            if any(one.arg is None for one in fields):
                raise _NoValue
            return {str(one.arg): _read(one.value) for one in fields}
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=given, keywords=[]):
            return _read_wrapped(name, given, node)
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [_read(one) for one in items]
        case ast.Dict(keys=keys, values=values):
            return {str(_read(key)): _read(value) for key, value in zip(keys, values, strict=True) if key is not None}
        case ast.Constant(value=str() | int() | float() | bool() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            value = ast.literal_eval(node)
            return value if isinstance(value, int | float) else ast.unparse(node)
    raise _NoValue


def _read_wrapped(name: str, given: list[ast.expr], node: ast.Call) -> Json:
    values = [_read(one) for one in given]
    if name in _WRAPPERS and len(values) == 1:
        return values[0]
    numbers = [one for one in values if type(one) is int]
    if name in ("date", "datetime") and len(numbers) == len(values) >= 3:
        return (date(*numbers) if name == "date" else datetime(*numbers)).isoformat()  # type: ignore[arg-type]
    return ast.unparse(node)
