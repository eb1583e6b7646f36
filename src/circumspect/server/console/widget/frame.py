"""The widget's script, and the page that it shows in a frame.

Which sites may frame the page is the tenant's to say (`widget.origins`); the browser keeps to it by the header
`frame-ancestors`. A key that is not good, or that may do more than it should, gets a page that says so and that nobody
may frame.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from circumspect.server.access import NotPermitted, NotSignedIn, address_of, services_of
from circumspect.server.console import page_routes
from circumspect.server.console.i18n import Translator, parse_language
from circumspect.server.console.rendering import environment
from circumspect.server.console.security import POLICY
from circumspect.server.console.visitors import words_of
from circumspect.server.console.widget.talk import COMMENT
from circumspect.server.console.widget.visits import READS_PER_MINUTE, find_brand, publishable
from circumspect.server.path_prefix import add_prefix, prefix_of
from circumspect.server.stores import tenants
from circumspect.stores.codec import dumps
from circumspect.values import LANGUAGES

router = page_routes.router()
SCRIPT_SECONDS = 300
WORDS = (
    "greeting", "you", "agent", "person", "sent-later", "lost", "failed", "again", "unavailable", "settled",
    "question", "step-thinking", "step-reading", "step-checking", "step-reviewing",
    "step-acting", "step-confirming", "waiting", "too-many", "ended", "send", "judge", "thumb-up", "thumb-down",
    "wrong", "thanks", "not-saved", "ai", "with-person", "person-wish",
)  # fmt: skip
"""What the frame's script says."""


@router.get("/widget.js")
async def script(request: Request) -> Response:
    """The same for everybody, for any site."""
    headers = {"Cache-Control": f"public, max-age={SCRIPT_SECONDS}", "Cross-Origin-Resource-Policy": "cross-origin"}
    return Response(_script(), media_type="text/javascript", headers=headers)


@cache
def _script() -> bytes:
    """The script with the words of its button in every language: it is fetched before anybody knows which is wanted."""
    script = resources.files("circumspect.server.console").joinpath("static", "widget", "widget.js").read_text("utf-8")
    spoken = {one: Translator(one) for one in LANGUAGES}
    words = {
        one: [*(said.t(f"widget-{word}") for word in ("open", "close", "name")), said.direction]
        for one, said in spoken.items()
    }
    return script.replace("const WORDS = {};", f"const WORDS = {dumps(words)};", 1).encode()


@router.get("/widget")
async def frame(
    request: Request,
    key: Annotated[str, Query(max_length=200)] = "",
    lang: Annotated[str, Query(max_length=10)] = "",
) -> Response:
    services = services_of(request)
    await services.limiter.check(f"widget-reads:{address_of(request)}", READS_PER_MINUTE)
    try:
        known = await publishable(request, key)
    except NotSignedIn as error:
        # There is no way to sign in from here.
        raise NotPermitted(error.problem, fix=error.fix) from None
    row = await services.store.tx(tenants.get, known.row.tenant)
    name, default = (row.tenant.business.name, row.tenant.language) if row else ("", words_of(request).language)
    words = Translator(parse_language(lang[:2].lower()) or default)
    brand = await find_brand(request, known.row.tenant)
    said = {one: words.t(f"widget-{one}") for one in WORDS}
    html = (
        environment()
        .get_template("widget/frame.html")
        .render(
            language=words.language,
            direction=words.direction,
            t=words.t,
            name=brand.name or name,
            colour=(brand.colour or "").removeprefix("#").lower(),
            key=key,
            comment=COMMENT,
            words={**said, "greeting": brand.greeting.get(words.language, said["greeting"])},
        )
    )
    ancestors = " ".join(brand.origins) or "'none'"
    headers = {
        "Content-Security-Policy": POLICY.format(ancestors=ancestors),
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Referrer-Policy": "no-referrer",
    }
    return Response(add_prefix(html, prefix_of(request)), media_type="text/html", headers=headers)
