"""Reviews: cases that were checked against criteria, each verdict with its quotes where they stand in the document, and
the trace beside it. Whoever may look may say what a verdict should have been, by the route of the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

from fastapi import Form, Query, Request
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.knowledge.tree import KnowledgeDocument
from circumspect.review.case_files import criteria_of
from circumspect.review.service import load_stored_documents, read_request
from circumspect.review.values import STATUSES, CriterionStatus
from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer, page
from circumspect.server.console.visitors import ReviewerVisitor, tenants_of
from circumspect.server.problems import require_found
from circumspect.server.responses import IdPath, find_visible_tenants, page_after, split_page
from circumspect.server.routes import corrections as api
from circumspect.server.schemas.bodies import NO_NUL
from circumspect.server.schemas.corrections import CorrectionGiven
from circumspect.server.services import Services
from circumspect.stores import corrections, reviews
from circumspect.stores.codec import moment as moment_of
from circumspect.stores.reviews import Evaluation

navigation.add(navigation.MenuEntry("nav-reviews", "/reviews", 54, ("operator", "reviewer"), icon="clipboard-check"))
router = page_routes.router()
ROWS = 40


@dataclass(frozen=True, slots=True)
class MarkedPiece:
    """Text of a document, quoted or not; `begin` are the numbers of the quotes that begin here."""

    text: str
    quoted: bool = False
    begin: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MarkedDocument:
    title: str
    id: str
    pieces: tuple[MarkedPiece, ...]


@router.get("/reviews")
async def listing(
    request: Request,
    who: ReviewerVisitor,
    tenant: Annotated[str, Query(max_length=64)] = "",
    after: Annotated[str | None, Query(max_length=400)] = None,
) -> Response:
    services = services_of(request)
    seen = find_visible_tenants(who.principal, tenant or None)
    rows = await read(services, reviews.list_evaluations, seen, page_after(after), ROWS + 1)
    rows, following = split_page(rows, ROWS, lambda row: (row.created_at, row.id))
    return answer(
        request,
        who,
        "reviews/page.html",
        "reviews/_fragment.html",
        rows=rows,
        following=following,
        tenant=tenant,
        tenants=await tenants_of(request, who),
        at=moment_of,
    )


@router.get("/reviews/{evaluation_id}")
async def detail(request: Request, who: ReviewerVisitor, evaluation_id: IdPath, done: bool = False) -> Response:
    services = services_of(request)
    found = require_found(
        await read(services, reviews.get, find_visible_tenants(who.principal, None), evaluation_id), "evaluation"
    )
    results: list[Any] = [result for _, result in await read(services, reviews.results_of, found.tenant, found.id)]
    quotes = [
        {**citation, "number": number, "criterion": result["criterion"]}
        for number, (result, citation) in enumerate(
            ((result, citation) for result in results for citation in result["citations"]), 1
        )
    ]
    documents, notes, problem = await _documents(services, found, quotes)
    return page(
        request,
        who,
        "reviews/detail.html",
        row=found,
        results=results,
        criteria={one.id: one.text for one in criteria_of(found.request["criteria"], "criteria").items},
        quotes=quotes,
        corrections=await read(services, corrections.of, found.tenant, found.id),
        statuses=STATUSES,
        done=done,
        documents=documents,
        notes=notes,
        problem=problem,
        tenants=await tenants_of(request, who),
        at=moment_of,
    )


@router.post("/reviews/{evaluation_id}/corrections")
async def correct(
    request: Request,
    who: ReviewerVisitor,
    evaluation_id: IdPath,
    criterion: Annotated[str, Form(min_length=1, max_length=1_000, pattern=NO_NUL)],
    status: Annotated[CriterionStatus, Form()],
    why: Annotated[str, Form(max_length=20_000, pattern=NO_NUL)] = "",
) -> Response:
    given = CorrectionGiven(criterion=criterion, status=status, why=why.strip() or None)
    await api.correct_verdict(request, who.principal, evaluation_id, given)
    return page_routes.redirect_to(f"/reviews/{evaluation_id}?done=1")


async def _documents(
    services: Services, found: Evaluation, quotes: Sequence[dict[str, Any]]
) -> tuple[list[MarkedDocument], Sequence[tuple[str, str]], str]:
    """The documents as they were sent, with the quotes marked, and the texts that came with the case; a document
    that is gone leaves its quotes without it."""
    try:
        stored = await load_stored_documents(services.store, found.tenant, found.request)
        lanes = services.lanes
        work = await lanes.documents.compute(found.tenant, read_request, found.request, stored, lanes.limits)
    except (CircumspectError, KeyError) as error:
        return [], (), str(error)
    return (
        [
            MarkedDocument(
                document.title,
                document.id,
                mark_quotes(document, [one for one in quotes if one["document"] == document.id]),
            )
            for document in work.shelf.documents.values()
        ],
        work.case.notes,
        "",
    )


def mark_quotes(document: KnowledgeDocument, quotes: Sequence[dict[str, Any]]) -> tuple[MarkedPiece, ...]:
    """The text cut at the ends of its quotes."""
    cuts = sorted({0, len(document.text), *(one["start"] for one in quotes), *(one["end"] for one in quotes)})
    pieces = []
    for start, end in pairwise(cuts):
        quoted = any(one["start"] <= start and end <= one["end"] for one in quotes)
        begin = tuple(one["number"] for one in quotes if one["start"] == start)
        pieces.append(MarkedPiece(document.text[start:end], quoted, begin))
    return tuple(pieces)
