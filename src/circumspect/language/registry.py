"""The languages that Circumspect speaks. A folder of this package and one line here is a language.

A pack is found by its code; `circumspect.language.pack` says what a folder holds. The first language is the one that
answers where nothing tells another, and the one whose words stand in for a message that a translation lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

LANGUAGES: tuple[str, ...] = (
    "en",
    "he",
    "ru",
    "de",
)


class _Registered:
    """What pydantic accepts for a language and writes into schemas: one of the registered codes."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.literal_schema(list(LANGUAGES))


Language = Annotated[str, _Registered()]
"""The code of a registered language."""
