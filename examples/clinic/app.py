"""The pages of the clinic. `app()` makes one with a state of its own; nothing outlives it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from examples.clinic.state import PROVIDERS, SEXES, Patient, State, problems
from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

HERE = Path(__file__).parent
COOKIE = "clinic"
USER = PASSWORD = "demo"  # noqa: S105 (shown on the sign-in page)
OPEN = ("/login", "/static", "/favicon.ico")
SLOW = 1.5
AUDITED = 120
BATCH = 20
POLICY = "default-src 'self'; style-src 'self'; script-src 'self'; frame-ancestors 'self'"
REPORTS = {
    "overview": "Choose a report.",
    "daily": "Today 14 visits were held and 2 were cancelled.",
    "monthly": "This month 310 visits were held and 28 were cancelled.",
}
_templates = Environment(loader=FileSystemLoader(HERE / "pages"), autoescape=select_autoescape(("html",)))

Answer = Callable[[Request], Awaitable[Response]]


def app(state: State | None = None, *, sign_in: bool = True) -> Starlette:
    """Without `sign_in` every page can be opened at once; the sign-in page is there all the same."""
    made = Starlette(
        routes=[
            Route("/", lambda request: RedirectResponse("/dashboard")),
            Route("/login", login),
            Route("/login", sign_in_with_password, methods=["POST"]),
            Route("/login/demo", sign_in_as_demo, methods=["POST"]),
            Route("/logout", sign_out, methods=["POST"]),
            Route("/dashboard", dashboard),
            Route("/visits", visits),
            Route("/patients", patients),
            Route("/patients", admit, methods=["POST"]),
            Route("/patients/new", new_patient),
            Route("/patients/{number:int}", patient),
            Route("/patients/{number:int}/delete", delete_patient, methods=["POST"]),
            Route("/billing", billing),
            Route("/billing/{number:int}/pay", pay, methods=["POST"]),
            Route("/reports", reports),
            Route("/reports/{name}", reports),
            Route("/slow", slow),
            Route("/slow/content", slow_content),
            Route("/messages", messages),
            Route("/transfer", transfer, methods=["POST"]),
            Route("/components", components),
            Route("/embedded/contact", contact),
            Route("/embedded/contact", send_contact, methods=["POST"]),
            Route("/settings", settings),
            Route("/settings", save_settings, methods=["POST"]),
            Route("/audit", audit),
            Route("/help", help_page),
            Route("/error", broken),
            Route("/api/patients", api_patients),
            Route("/api/state", api_state),
            Route("/api/audit", api_audit),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        exception_handlers={HTTPException: not_found},
    )
    made.state.clinic = state or State()
    made.add_middleware(Gate, required=sign_in)
    return made


class Gate:
    """Sends strangers to the sign-in page, and says what a page may load."""

    def __init__(self, inner: Callable[..., Awaitable[None]], required: bool) -> None:
        self.inner = inner
        self.required = required

    async def __call__(self, scope: dict, receive: Callable, send: Callable) -> None:  # type: ignore[type-arg]
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        request = Request(scope)
        known = request.cookies.get(COOKIE) in _state(request).sessions
        if self.required and not known and not request.url.path.startswith(OPEN):
            await RedirectResponse("/login", 303)(scope, receive, send)
            return

        async def with_policy(message: dict) -> None:  # type: ignore[type-arg]
            if message["type"] == "http.response.start":
                said = [(b"content-security-policy", POLICY.encode()), (b"cache-control", b"no-store")]
                message["headers"] = [*message["headers"], *said]
            await send(message)

        await self.inner(scope, receive, with_policy)


def _state(request: Request) -> State:
    found: State = request.app.state.clinic
    return found


def _page(template: str, status: int = 200, /, **values: object) -> HTMLResponse:
    return HTMLResponse(_templates.get_template(f"{template}.html").render(values), status)


async def _form(request: Request) -> Mapping[str, str]:
    async with request.form() as form:
        return {name: str(value) for name, value in form.items()}


def _signed_in(request: Request) -> Response:
    token = secrets.token_urlsafe(16)
    _state(request).sessions.add(token)
    answer = RedirectResponse("/dashboard", 303)
    answer.set_cookie(COOKIE, token, httponly=True, samesite="lax")
    return answer


async def login(request: Request) -> Response:
    return _page("login")


async def sign_in_with_password(request: Request) -> Response:
    form = await _form(request)
    if (form.get("username"), form.get("password")) == (USER, PASSWORD):
        return _signed_in(request)
    return _page("login", 401, error="Wrong user name or password.", username=form.get("username", ""))


async def sign_in_as_demo(request: Request) -> Response:
    return _signed_in(request)


async def sign_out(request: Request) -> Response:
    _state(request).sessions.discard(request.cookies.get(COOKIE, ""))
    return RedirectResponse("/login", 303)


async def dashboard(request: Request) -> Response:
    state = _state(request)
    return _page("dashboard", patients=len(state.patients), claims=list(state.claims.values()))


async def visits(request: Request) -> Response:
    return _page("visits", patients=list(_state(request).patients.values()))


async def patients(request: Request) -> Response:
    words = request.query_params.get("search", "")
    deleted = request.query_params.get("deleted", "")
    return _page("patients", found=_state(request).found(words), search=words, deleted=deleted)


async def new_patient(request: Request) -> Response:
    return _page("new_patient", sexes=SEXES, providers=PROVIDERS, form={}, errors={})


async def admit(request: Request) -> Response:
    form = await _form(request)
    errors = problems(form, datetime.now(UTC).date())
    if errors:
        return _page("new_patient", 422, sexes=SEXES, providers=PROVIDERS, form=form, errors=errors)
    made = _state(request).admit(form)
    return RedirectResponse(f"/patients/{made.id}?created=1", 303)


async def patient(request: Request) -> Response:
    found = _known(request)
    return _page("patient", patient=found, created="created" in request.query_params)


async def delete_patient(request: Request) -> Response:
    gone = _known(request)
    del _state(request).patients[gone.id]
    return RedirectResponse("/patients?deleted=1", 303)


def _known(request: Request) -> Patient:
    found = _state(request).patients.get(request.path_params["number"])
    if found is None:
        raise HTTPException(404)
    return found


async def billing(request: Request) -> Response:
    return _page("billing", claims=list(_state(request).claims.values()), paid=request.query_params.get("paid", ""))


async def pay(request: Request) -> Response:
    claim = _state(request).claims.get(request.path_params["number"])
    if claim is None:
        raise HTTPException(404)
    if claim.error:
        return _page("billing", 409, claims=list(_state(request).claims.values()), refused=claim)
    claim.status = "paid"
    return RedirectResponse(f"/billing?paid={claim.id}", 303)


async def reports(request: Request) -> Response:
    name = request.path_params.get("name", "overview")
    if name not in REPORTS:
        raise HTTPException(404)
    return _page("reports", name=name, reports=REPORTS)


async def slow(request: Request) -> Response:
    return _page("slow")


async def slow_content(request: Request) -> Response:
    await asyncio.sleep(SLOW)
    return JSONResponse(["Blood count: normal", "Cholesterol: raised", "Glucose: normal"])


async def messages(request: Request) -> Response:
    return _page("messages", transfers=_state(request).transfers)


async def transfer(request: Request) -> Response:
    _state(request).transfers.append(dict(await _form(request)))
    return RedirectResponse("/messages", 303)


async def components(request: Request) -> Response:
    return _page("components")


async def contact(request: Request) -> Response:
    return _page("contact", sent="sent" in request.query_params)


async def send_contact(request: Request) -> Response:
    _state(request).contacts.append(dict(await _form(request)))
    return RedirectResponse("/embedded/contact?sent=1", 303)


async def settings(request: Request) -> Response:
    return _page("settings", settings=_state(request).settings)


async def save_settings(request: Request) -> Response:
    form = await _form(request)
    if not form.get("name", "").strip():
        return JSONResponse({"error": "The clinic needs a name."}, 422)
    _state(request).settings = dict(form)
    return JSONResponse({"saved": True})


async def audit(request: Request) -> Response:
    return _page("audit")


async def help_page(request: Request) -> Response:
    return _page("help")


async def broken(request: Request) -> Response:
    return _page("error", 500, title="Internal server error", text="The clinic's server could not finish this.")


async def not_found(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _page("error", status, title="Page not found" if status == 404 else "That did not work", text="")


async def api_patients(request: Request) -> Response:
    return JSONResponse(_state(request).to_json()["patients"])


async def api_state(request: Request) -> Response:
    return JSONResponse(_state(request).to_json())


async def api_audit(request: Request) -> Response:
    after = max(0, int(request.query_params.get("after", "0")))
    return JSONResponse([f"Entry {number}: record viewed" for number in range(after + 1, AUDITED + 1)][:BATCH])
