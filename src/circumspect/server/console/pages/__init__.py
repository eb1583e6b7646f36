"""The pages, one module each. A module that is here is served: it has a `router`, and a line in the menu by
`navigation.add`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from fastapi import APIRouter

from circumspect.server.console.pages import customer
from circumspect.server.console.widget import branding, frame, talk

VISITORS: tuple[APIRouter, ...] = (customer.router, frame.router, branding.router, talk.router)
"""For those who are no operators: a tenant's own people, and end users. Each has a door of its own."""
ROUTERS: tuple[APIRouter, ...] = tuple(
    router
    for one in iter_modules(__path__)
    if (router := import_module(f"{__name__}.{one.name}").router) not in VISITORS
)
