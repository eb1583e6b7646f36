"""What is known now of what an item is about: a part of its page that comes by itself, since tools take their time."""

from __future__ import annotations

from typing import Literal

import sqlalchemy as sa
from fastapi import Request
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.server.access import services_of
from circumspect.server.console import page_routes
from circumspect.server.console.escalation_subjects import find_subjects
from circumspect.server.console.known_facts import KnownFacts, look_up_subject
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import page
from circumspect.server.console.visitors import OperatorVisitor
from circumspect.server.responses import IdPath, find_visible_tenants
from circumspect.server.stores import approvals
from circumspect.stores import people
from circumspect.values import ConversationId, JsonObject, TenantId

router = page_routes.router()


@router.get("/queue/{subject}/{item_id}/known")
async def known(
    request: Request, who: OperatorVisitor, subject: Literal["approval", "escalation"], item_id: IdPath
) -> Response:
    services, seen = services_of(request), find_visible_tenants(who.principal, None)

    def look_up(connection: sa.Connection) -> tuple[TenantId, ConversationId, str, JsonObject]:
        if subject == "approval":
            intent = approvals.get_approval(connection, seen, item_id).intent
            return intent.tenant, intent.conversation, intent.call.tool, intent.call.arguments
        row = people.get_escalation(connection, seen, item_id)
        about = find_subjects(connection, [row])[row.id]
        return row.tenant, row.conversation, about.tool, about.arguments

    tenant, conversation, tool, arguments = await read(services, look_up)
    found: list[KnownFacts] = []
    problem = ""
    try:
        if tool:
            found = await look_up_subject(services, tenant, conversation, tool, arguments, who.words.language)
    except CircumspectError as error:
        problem = error.problem
    return page(request, who, "queue/_known.html", known=found, problem=problem)
