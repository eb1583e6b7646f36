"""What sort of value a parameter takes, from its schema where it is known and from its name where it is not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

from circumspect.demo.offline.lexicon import concepts
from circumspect.demo.offline.request_view import OfferedTool, Param, meanings, pieces
from circumspect.values import Json, JsonObject

ParameterKind = Literal[
    "code", "email", "phone", "date", "time", "moment", "amount", "quantity", "currency", "choice", "flag", "wares",
    "person", "reason", "address", "text",
]  # fmt: skip

WORDS: frozenset[ParameterKind] = frozenset(("wares", "person", "reason", "address", "text"))
"""Kinds that are told in free words."""

_CODE = frozenset(
    ("id", "ids", "number", "no", "nr", "code", "codes", "sku", "ref", "reference", "uuid", "key", "iban")
)
_BY_PIECE: Mapping[str, ParameterKind] = {
    "email": "email", "mail": "email", "phone": "phone", "mobile": "phone", "tel": "phone", "datetime": "moment",
    "start": "moment", "end": "moment", "when": "moment", "date": "date", "day": "date", "time": "time", "hour": "time",
    "amount": "amount", "sum": "amount", "price": "amount", "total": "amount", "value": "amount",
    "quantity": "quantity", "qty": "quantity", "count": "quantity", "people": "quantity", "guests": "quantity",
    "party": "quantity", "seats": "quantity", "nights": "quantity", "currency": "currency", "product": "wares",
    "products": "wares", "item": "wares", "items": "wares", "query": "wares", "search": "wares", "keyword": "wares",
    "keywords": "wares", "title": "wares", "name": "person", "customer": "person", "reason": "reason", "note": "reason",
    "notes": "reason", "comment": "reason", "message": "reason", "description": "reason", "address": "address",
    "street": "address", "city": "address",
}  # fmt: skip
_FORMATS: Mapping[str, ParameterKind] = {
    "email": "email", "idn-email": "email", "phone": "phone", "date": "date", "time": "time", "date-time": "moment",
}  # fmt: skip


def kind_of(param: Param) -> ParameterKind:
    schema = param.schema
    if choices(schema):
        return "choice"
    types = types_of(schema)
    if "boolean" in types:
        return "flag"
    known = _FORMATS.get(str(schema.get("format", ""))) or _by_name(param.name)
    if known in ("text", "person", "reason", "address", "wares") and types & {"integer", "number"}:
        return "quantity"
    return known


def is_vague(param: Param) -> bool:
    """The name alone does not tell what may be said: it could be a choice from a list."""
    return not param.schema and _by_name(param.name) in ("text", "reason")


def choices(schema: JsonObject) -> tuple[Json, ...]:
    listed = schema.get("enum")
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        return tuple(listed)
    inner = schema.get("items")
    return choices(inner) if isinstance(inner, Mapping) else ()


def aliases(param: Param) -> Mapping[str, str]:
    """Choices by other names, where the description gives them: "sharpen (in another language); …"."""
    described = str(param.schema.get("description") or "")
    found = {}
    for choice in choices(param.schema):
        match = re.search(rf"{re.escape(str(choice))} ?\(([^()]+)\)", described)
        if match:
            found[str(choice)] = match[1]
    return found


def types_of(schema: JsonObject) -> frozenset[str]:
    said = schema.get("type")
    if isinstance(said, str):
        return frozenset((said,))
    return frozenset(str(item) for item in said) if isinstance(said, Sequence) else frozenset()


@lru_cache(maxsize=1024)
def _by_name(name: str) -> ParameterKind:
    said = pieces(name)
    if not said:
        return "text"
    if _CODE & {said[-1]} and not {"phone", "mobile"} & {*said}:
        return "code"
    if said[-1] == "name" and len(said) > 1 and said[-2] in ("product", "item", "title", "service", "article"):
        return "wares" if said[-2] != "service" else "text"
    if {"date", "time"} <= {*said} or said[-1] == "at":
        return "moment"
    for piece in reversed(said):
        if piece in _BY_PIECE:
            return _BY_PIECE[piece]
    return "text"


@lru_cache(maxsize=1024)
def subject(name: str) -> frozenset[str]:
    """What a code identifies: `order_id` is about an order."""
    return frozenset(concept for piece in pieces(name) for concept in meanings(piece) if concept in concepts().things)


def missing(tool: OfferedTool, given: Mapping[str, Json]) -> tuple[Param, ...]:
    return tuple(param for param in tool.params if param.required and param.name not in given)
