"""Codes that change every half minute (RFC 6238): a secret in, and which half-minute a code belongs to out.

A code of the half-minute before or after counts too, for clocks that differ. That one is good only once is for the
store to see to: here is only arithmetic.
"""

from __future__ import annotations

import hmac

import pyotp
import segno

ISSUER = "Circumspect"
STEP_SECONDS = 30
DIGITS = 6
_SKEW = 1


def new_secret() -> str:
    return pyotp.random_base32()


def clean_code(text: str) -> str:
    """As people type it: apps show it in two groups."""
    return "".join(text.split())


def is_code(text: str) -> bool:
    return len(text) == DIGITS and text.isascii() and text.isdigit()


def find_step(secret: str, code: str, now: float, after: int = 0) -> int | None:
    """The half-minute whose code this is, of those that count now and come after the last one used."""
    current, totp = int(now // STEP_SECONDS), pyotp.TOTP(secret, digits=DIGITS, interval=STEP_SECONDS)
    steps = range(current - _SKEW, current + _SKEW + 1)
    # Each is looked at, so that the time it takes tells nothing.
    fitting = [step for step in steps if hmac.compare_digest(totp.generate_otp(step), code)]
    return next((step for step in fitting if step > after), None)


def build_address(secret: str, name: str) -> str:
    """What an app reads from the picture."""
    return pyotp.TOTP(secret).provisioning_uri(name, issuer_name=ISSUER)


def draw_picture(address: str) -> str:
    """A QR code as the address of an image, dark on light in every theme: cameras need it so."""
    return segno.make(address, error="m").svg_data_uri(scale=4, border=4, dark="#000", light="#fff")
