"""Times on the command line, as a callback of click options."""

from __future__ import annotations

from datetime import UTC, datetime

import click


def moment(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """An ISO date or time; without a zone it is UTC."""
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            f"'{value}' is not an ISO time such as 2026-03-31 or 2026-03-31T14:30:00+00:00."
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
