"""Forms that wait while their sender proves who they are, and then go on exactly as they were; and those that would
undo what was just done.

A form is sealed with who may send it and goes along in the page: nothing of it is kept here, nobody else can send it,
and nobody can change it on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
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
UNDO_SECONDS = 600
LONGEST_UNDO = 6_000
"""What still fits into an address."""
_PURPOSE = "held form"
_UNDO = "undo"


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
    held = _seal(request, person, HeldForm(to, fields), _PURPOSE, HELD_SECONDS)
    return await render_proof_page(request, person, held)


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
    return _unseal(request, person, sealed, _PURPOSE)


def offer_undo(request: Request, person: Operator, to: str, fields: Sequence[tuple[str, str]] = ()) -> str:
    """The form that takes back what was just done, for an address of ours; nothing when it is too long for one."""
    sealed = _seal(request, person, HeldForm(to, tuple(fields)), _UNDO, UNDO_SECONDS)
    return sealed if len(sealed) <= LONGEST_UNDO else ""


def read_undo(request: Request, person: Operator, sealed: str) -> HeldForm | None:
    """None after ten minutes, and for anybody else."""
    return _unseal(request, person, sealed, _UNDO) if sealed else None


def _unseal(request: Request, person: Operator, sealed: str, purpose: str) -> HeldForm | None:
    services = services_of(request)
    try:
        said: Any = orjson.loads(services.vault.unseal(sealed))
    except (ConfigError, ValueError):
        return None
    if not isinstance(said, dict) or said.get("for") != purpose or said.get("operator") != person.id:
        return None
    if said["until"] <= services.clock.now().timestamp():
        return None
    return HeldForm(said["to"], tuple((name, value) for name, value in said["fields"]))


def _seal(request: Request, person: Operator, held: HeldForm, purpose: str, seconds: float) -> str:
    services = services_of(request)
    until = services.clock.now().timestamp() + seconds
    said = {"for": purpose, "operator": person.id, "to": held.to, "fields": held.fields, "until": until}
    return services.vault.seal(orjson.dumps(said).decode())
