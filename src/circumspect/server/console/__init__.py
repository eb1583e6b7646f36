"""The console: pages for operators, reviewers and tenants, rendered by the server.

    from circumspect.server import console
    console.install(app)    # pages at /, sign-in at /login, files at /static

Pages call the same functions as the API. Nothing is kept in the process: any worker can serve any request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI


def install(app: FastAPI) -> None:
    """Add the pages to a server. A second time changes nothing."""
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response

    from circumspect.server.console.live_updates import Hub
    from circumspect.server.console.page_routes import render_status
    from circumspect.server.console.pages import ROUTERS, VISITORS
    from circumspect.server.console.security import PageHeaders
    from circumspect.server.console.static_files import PackedFiles
    from circumspect.server.path_prefix import put_outermost
    from circumspect.server.response_headers import is_page

    if hasattr(app.state, "live"):
        return
    app.state.live = Hub()
    for router in (*ROUTERS, *VISITORS):
        app.include_router(router)
    app.mount("/static", PackedFiles(packages=[("circumspect.server.console", "static")]), name="static")
    app.add_middleware(PageHeaders)
    put_outermost(app)
    api = app.exception_handlers.get(HTTPException)

    async def not_there(request: Request, error: Exception) -> Response:
        """A path that nobody serves: a page for people, JSON for programs."""
        assert isinstance(error, HTTPException)
        reads = "text/html" in request.headers.get("accept", "") and is_page(request.url.path)
        if reads or api is None:
            return await render_status(request, error.status_code)
        response: Response = await api(request, error)  # type: ignore[misc]
        return response

    app.add_exception_handler(HTTPException, not_there)
