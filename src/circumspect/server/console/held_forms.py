"""Forms that wait while their sender proves who they are, and then go on exactly as they were.

What was sent is sealed with who sent it and goes along in the page that asks: nothing of it is kept here, nobody else
can send it, and nobody can change it on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from circumspect.errors import ConfigError
from circumspect.server.access import Operator, require_sign_in, services_of
from circumspect.server.console.rendering import page, wants_fragment
from circumspect.server.console.visitors import Visitor, words_of
from circumspect.server.passkeys import find_party
from circumspect.server.second_factors import find_second_factors

HELD_SECONDS = 3600
LONGEST_HELD = 900_000
_PURPOSE = "held form"


@dataclass(frozen=True, slots=True)
class HeldForm:
    to: str
    fields: tuple[tuple[str, str], ...]


async def ask_for_proof(request: Request) -> Response:
    """The page that asks, in place of what was to be done. The form was ours: one from anywhere else was refused
    before."""
    person, _ = await require_sign_in(request)
    try:
        form = await request.form()
    except HTTPException:
        form = None
    fields = () if form is None else tuple((name, one) for name, one in form.multi_items() if isinstance(one, str))
    to = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return await render_proof_page(request, person, _seal(request, person, HeldForm(to, fields)))


async def render_proof_page(request: Request, person: Operator, held: str, problem: str = "") -> Response:
    services, (_, session) = services_of(request), await require_sign_in(request)
    has = await find_second_factors(services.store, person.id)
    values: dict[str, Any] = {
        "held": held,
        "problem": problem,
        "code": has.any,
        "passkeys": bool(has.passkeys) and find_party(request, services.settings.public_url) is not None,
        "provider": session.method == "oidc",
    }
    template = "proving/_prove.html" if wants_fragment(request) else "proving/prove.html"
    answer = page(request, Visitor(person, words_of(request)), template, status=401 if problem else 403, **values)
    if wants_fragment(request):
        answer.headers.update({"HX-Retarget": "#main", "HX-Reswap": "innerHTML"})
    return answer


def read_held(request: Request, person: Operator, sealed: str) -> HeldForm | None:
    """None for what somebody else sent, or what waited too long."""
    services = services_of(request)
    try:
        said: Any = orjson.loads(services.vault.unseal(sealed))
    except (ConfigError, ValueError):
        return None
    if not isinstance(said, dict) or said.get("for") != _PURPOSE or said.get("operator") != person.id:
        return None
    if said["until"] <= services.clock.now().timestamp():
        return None
    return HeldForm(said["to"], tuple((name, value) for name, value in said["fields"]))


def _seal(request: Request, person: Operator, held: HeldForm) -> str:
    services = services_of(request)
    until = services.clock.now().timestamp() + HELD_SECONDS
    said = {"for": _PURPOSE, "operator": person.id, "to": held.to, "fields": held.fields, "until": until}
    return services.vault.seal(orjson.dumps(said).decode())
