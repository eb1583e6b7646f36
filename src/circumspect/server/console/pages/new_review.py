"""A new review in the browser: a case by its facts, criteria one a line, the rules pasted or in stored documents.

What is written becomes the request that `POST /v1/evaluations` takes; the page shows that as a command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import orjson
from fastapi import Form, Query, Request
from pydantic import ValidationError
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.server.access import services_of
from circumspect.server.console import page_routes
from circumspect.server.console.rendering import page
from circumspect.server.console.visitors import ReviewerVisitor, Visitor, tenants_of
from circumspect.server.problems import status_of
from circumspect.server.responses import action, one_tenant
from circumspect.server.routes.evaluations import begin_evaluation
from circumspect.server.schemas.bodies import NO_NUL, TENANT
from circumspect.server.schemas.evaluations import NewEvaluation
from circumspect.stores import knowledge
from circumspect.values import TenantId

router = page_routes.router()
LONGEST_TEXT = 200_000
MOST_DOCUMENTS = 50
TenantForm = Annotated[str, Form(pattern=TENANT)]
TextForm = Annotated[str, Form(max_length=LONGEST_TEXT, pattern=NO_NUL)]
COMMAND = """curl https://HOST/v1/evaluations -d @case.json \\
  -H 'Authorization: Bearer csk_…' -H 'Content-Type: application/json'"""


class UnreadableLine(Exception):
    """A line of a form that says nothing."""


@router.get("/new-review")
async def show(request: Request, who: ReviewerVisitor, tenant: Annotated[str, Query(max_length=64)] = "") -> Response:
    names = await tenants_of(request, who)
    return await _render(request, who, tenant if tenant in names else next(iter(names), ""))


@router.post("/new-review")
async def make(
    request: Request,
    who: ReviewerVisitor,
    tenant: TenantForm,
    case: Annotated[str, Form(max_length=200, pattern=NO_NUL)] = "",
    facts: TextForm = "",
    criteria: TextForm = "",
    rules: TextForm = "",
    stored: Annotated[list[Annotated[str, Form(max_length=200, pattern=NO_NUL)]], Form(max_length=MOST_DOCUMENTS)] = [],  # noqa: B006
) -> Response:
    """What cannot be read comes back as it was written, with what is wrong."""
    name, services, t = one_tenant(who.principal, tenant), services_of(request), who.words.t
    written = {"case": case, "facts": facts, "criteria": criteria, "rules": rules, "stored": stored}
    documents: list[dict[str, str]] = [{"stored": one} for one in stored]
    if rules.strip():
        documents.append({"name": "rules.md", "text": rules})
    try:
        items = read_criteria(criteria)
        if not items or not documents:
            raise UnreadableLine(t("review-lacks-criteria" if not items else "review-lacks-rules"))
        asked = {"case": {"id": case.strip(), "facts": read_facts(facts)}, "criteria": items, "documents": documents}
        given = NewEvaluation.model_validate(asked)
        made = await begin_evaluation(services, name, given, change=action(services, who.operator.name, "review"))
    except UnreadableLine as line:
        return await _render(request, who, name, written=written, problem=str(line), status=422)
    except ValidationError as problem:
        first = problem.errors()[0]
        said = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        return await _render(request, who, name, written=written, problem=said, english=True, status=422)
    except CircumspectError as problem:
        said = f"{problem.problem} {problem.fix}"
        return await _render(request, who, name, written=written, problem=said, english=True, status=status_of(problem))
    return page_routes.redirect_to(f"/reviews/{made.id}")


def read_facts(text: str) -> dict[str, Any]:
    """`claim.submitted: 2026-04-05`, one a line; a value in JSON is that value, and any other is text."""
    found: dict[str, Any] = {}
    for line in filter(str.strip, text.splitlines()):
        path, colon, value = line.partition(":")
        names = [one.strip() for one in path.split(".")]
        if not colon or not all(names):
            raise UnreadableLine(line.strip())
        place = found
        for name in names[:-1]:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                raise UnreadableLine(line.strip())
        if names[-1] in place:
            raise UnreadableLine(line.strip())
        place[names[-1]] = _read_value(value.strip())
    return found


def _read_value(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def read_criteria(text: str) -> list[dict[str, str]]:
    """`K-1: The claim was submitted in time.`, one a line. What has no id is numbered."""
    found = []
    for number, line in enumerate(filter(str.strip, text.splitlines()), 1):
        id_, colon, words = line.partition(":")
        named = bool(colon) and bool(words.strip()) and len(id_.split()) == 1
        found.append({"id": id_.strip() if named else f"K-{number}", "text": (words if named else line).strip()})
    return found


async def _render(
    request: Request,
    who: Visitor,
    tenant: str,
    *,
    written: Mapping[str, Any] | None = None,
    problem: str = "",
    english: bool = False,
    status: int = 200,
) -> Response:
    services = services_of(request)
    there = await services.store.tx(knowledge.list_documents, TenantId(tenant)) if tenant else ()
    empty = {"case": "", "facts": "", "criteria": "", "rules": "", "stored": []}
    return page(
        request,
        who,
        "reviews/new.html",
        status=status,
        tenant=tenant,
        tenants=await tenants_of(request, who),
        documents=list(there)[:MOST_DOCUMENTS],
        written=written or empty,
        problem=problem,
        english=english,
        command=COMMAND,
    )
