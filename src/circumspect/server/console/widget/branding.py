"""A brand's colour in, a style sheet out in which everything can be read: WCAG's contrast of 4.5 for every text.

What is written on the colour is black or white, whichever can be read better: one of them always can. What is written
in the colour is the colour, made darker or lighter until it stands out from the ground of the chat.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from circumspect.server.console import page_routes

router = page_routes.router()
OURS = "#3450c8"
READABLE = 4.5
_LIGHT, _DARK = "#ffffff", "#171a21"
"""The grounds of the chat by day and by night: `--card` of `tokens.css`."""
_DAY = 86_400


@router.get("/widget/brand.css")
async def serve_brand(colour: Annotated[str, Query(pattern=r"^[0-9a-fA-F]{6}$")]) -> Response:
    """The same for everybody who asks for this colour: it says nothing about anybody."""
    headers = {"Cache-Control": f"public, max-age={_DAY}"}
    return Response(write_brand(f"#{colour.lower()}"), media_type="text/css", headers=headers)


def write_brand(colour: str) -> str:
    ink = f"light-dark({make_readable(colour, _LIGHT)}, {make_readable(colour, _DARK)})"
    return f":root {{ --mine: {colour}; --on-mine: {pick_text(colour)}; --ink: {ink}; }}\n"


def pick_text(colour: str) -> str:
    return max(("#ffffff", "#000000"), key=lambda text: measure_contrast(colour, text))


def make_readable(colour: str, ground: str) -> str:
    """The colour itself where it can be read, else the nearest of its shades that can."""
    towards = (0, 0, 0) if _luminance(ground) > 0.5 else (255, 255, 255)
    parts = _parts(colour)
    for step in range(51):
        mixed = [round(one + (end - one) * step / 50) for one, end in zip(parts, towards, strict=True)]
        shade = "#{:02x}{:02x}{:02x}".format(*mixed)
        if measure_contrast(shade, ground) >= READABLE:
            return shade
    raise AssertionError("black and white can be read on every ground of ours")


def measure_contrast(one: str, other: str) -> float:
    """WCAG 2: from 1 (the same) to 21 (black on white)."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(part / 255) for part in _parts(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
