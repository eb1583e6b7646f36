"""Forms made, as JSON schemas: fields in, the schema of an object with these and no others out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from circumspect.values import Json


def make_form(
    properties: Mapping[str, Json], required: Iterable[str] | None = None, *, title: str = ""
) -> dict[str, Json]:
    """Every field is required unless told: a step of thinking that may be left out is one that is left out."""
    return {
        "type": "object",
        **({"title": title} if title else {}),
        "properties": dict(properties),
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def make_text(longest: int) -> dict[str, Json]:
    return {"type": "string", "maxLength": longest}


def make_choice(choices: Sequence[str]) -> dict[str, Json]:
    return {"type": "string", "enum": list(choices)}


def make_share() -> dict[str, Json]:
    return {"type": "number", "minimum": 0, "maximum": 1}


def make_list(items: Mapping[str, Json], most: int | None = None, fewest: int = 0) -> dict[str, Json]:
    bounds: dict[str, Json] = {"minItems": fewest} if fewest else {}
    return {"type": "array", "items": items, **bounds, **({} if most is None else {"maxItems": most})}
