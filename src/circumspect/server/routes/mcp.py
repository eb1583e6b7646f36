"""`/mcp`: see `mcp_endpoint`. What speaks the protocol takes a second to import, so the first request does it."""

from __future__ import annotations

import asyncio
from importlib import import_module

from fastapi import APIRouter, Request
from starlette.types import ASGIApp

router = APIRouter()


async def serve_mcp(request: Request) -> ASGIApp:
    """An MCP client's message, or the end of its session."""
    endpoint = await asyncio.to_thread(import_module, "circumspect.server.mcp_endpoint")
    answer: ASGIApp = await endpoint.answer_mcp(request)
    return answer


router.add_route("/mcp", serve_mcp, methods=["GET", "POST", "DELETE"], include_in_schema=False)  # type: ignore[arg-type]
