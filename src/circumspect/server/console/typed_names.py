"""Dangerous changes: the page names what a change affects, and it is made only when the name is typed.

    if unsure := await ask_for_name(request, who, plan.name, typed, effects=[...]):
        return unsure

What was sent stands in the page that asks and goes along when the name is typed, so that nothing is filled in twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request
from starlette.responses import Response

from circumspect.server.console.rendering import here_of, page
from circumspect.server.console.visitors import Visitor

LONGEST_TYPED = 200


async def ask_for_name(
    request: Request, who: Visitor, name: str, typed: str, *, effects: Sequence[str]
) -> Response | None:
    """None when the name was typed as it is; else the page that asks for it, and nothing is done."""
    if typed == name:
        return None
    form = await request.form()
    fields = [(key, value) for key, value in form.multi_items() if isinstance(value, str) and key != "typed"]
    to = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return page(
        request, who, "frame/typed_name.html", status=409,
        name=name, effects=effects, fields=fields, to=to, wrong=bool(typed), back=here_of(request),
    )  # fmt: skip
