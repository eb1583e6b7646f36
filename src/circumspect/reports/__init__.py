"""Reports as one HTML page to send to somebody: no network, nothing external.

`render("audit", …)` fills `templates/audit.html` and puts `audit.css` and `audit.js` into it, where there are such.
Everything that is filled in is escaped; the page's own style and script are allowed by their hashes in its
Content-Security-Policy, and nothing else is.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def render(name: str, **values: object) -> str:
    style, script = _read("base.css") + _read(f"{name}.css"), _read(f"{name}.js")
    return _environment().get_template(f"{name}.html").render(values, style=style, script=script)


def format_percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f} %"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader(__name__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"thousands": "{:,}".format, "percent": format_percent, "hash": _hash}
    return made


@cache
def _read(name: str) -> Markup:
    file = files(__name__) / "templates" / name
    return Markup(file.read_text("utf-8") if file.is_file() else "")  # noqa: S704 (our own file)


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
