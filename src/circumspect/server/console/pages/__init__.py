"""The pages, one module each: a `router`, and a line in the menu by `navigation.add`."""

from __future__ import annotations

from circumspect.server.console.pages import (
    approvals,
    conversations,
    customer,
    escalations,
    experiment_actions,
    experiments,
    hints,
    overview,
    playground,
    policies,
    prompts,
    reviews,
    shadows,
    signing,
    tenants,
    usage,
)
from circumspect.server.console.widget import frame, talk

ROUTERS = (
    signing.router,
    hints.router,
    overview.router,
    conversations.router,
    escalations.router,
    approvals.router,
    policies.router,
    tenants.router,
    usage.router,
    reviews.router,
    experiments.router,
    experiment_actions.router,
    shadows.router,
    prompts.router,
    playground.router,
)
VISITORS = (customer.router, frame.router, talk.router)
"""For those who are no operators: a tenant's own people, and end users. Each has a door of its own."""
