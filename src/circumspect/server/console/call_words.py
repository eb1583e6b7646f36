"""Calls in a person's words: "cancel order 12345" in place of `cancel_order(order_id="12345")`.

A tool says how its calls are put, in the languages that it knows; of these the visitor's own comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlalchemy as sa

from circumspect.language.registry import LANGUAGES
from circumspect.stores import codec
from circumspect.stores.tables import tools
from circumspect.values import JsonObject, Language, ToolCall, ToolSpec
from circumspect.wording import describe_call

Specs = Mapping[tuple[str, str], ToolSpec]
"""By tenant and tool."""


def find_specs(connection: sa.Connection, wanted: Iterable[tuple[str, str]]) -> Specs:
    """Of these tools of these tenants, as far as they are known."""
    pairs = set(wanted)
    if not pairs:
        return {}
    query = sa.select(tools.c.tenant, tools.c.name, tools.c.spec).where(
        tools.c.tenant.in_({tenant for tenant, _ in pairs}), tools.c.name.in_({name for _, name in pairs})
    )
    rows = connection.execute(query)
    return {(row.tenant, row.name): codec.spec(row.spec) for row in rows if (row.tenant, row.name) in pairs}


def say_call(tool: str, arguments: JsonObject, spec: ToolSpec | None, language: Language) -> str:
    spoken = spec.phrases if spec else {}
    chosen = next((one for one in (language, *LANGUAGES) if one in spoken), language)
    said = describe_call(ToolCall(tool, dict(arguments)), spec, chosen).phrase
    return said[:1].upper() + said[1:]
