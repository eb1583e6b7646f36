"""Find: go to a page, a tenant, its policy or a conversation by name. The palette of the keyboard, and a plain page."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.conversation_search import ConversationFilter, FoundConversation, find
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer
from circumspect.server.console.visitors import AnyVisitor, tenants_of
from circumspect.server.responses import find_visible_tenants
from circumspect.server.schemas.bodies import NO_NUL

router = page_routes.router()
MOST = 8
"""Of a kind. Further conversations are behind a link to their page."""


@router.get("/find")
async def find_anything(
    request: Request, who: AnyVisitor, q: Annotated[str, Query(max_length=200, pattern=NO_NUL)] = ""
) -> Response:
    services, wanted = services_of(request), q.strip()
    sought = wanted.casefold()
    pages = [
        (who.words.t(one["word"]), one["path"])
        for _, group in navigation.entries(who, "")
        for one in group
        if sought in who.words.t(one["word"]).casefold()
    ]
    names = await tenants_of(request, who)
    named = [(id_, name) for id_, name in names.items() if sought in f"{name} {id_}".casefold()][:MOST]
    talks: list[FoundConversation] = []
    if wanted:
        seen = find_visible_tenants(who.principal, None)
        found = await read(services, find, seen, ConversationFilter(q=wanted), services.clock.now(), None, MOST + 1)
        talks = found.rows
    return answer(
        request,
        who,
        "finding/page.html",
        "finding/_found.html",
        q=wanted,
        pages=pages,
        named=named if wanted else [],
        talks=talks[:MOST],
        more=len(talks) > MOST,
        tenants=names,
    )
