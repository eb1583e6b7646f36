"""How content users were in a month: thumbs, rows of apologies, searches that were not needed. Plain functions.

Counted from what is there already: labels, and the reason codes of each day.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from circumspect.reasons import ReasonCode
from circumspect.stores.day_tables import reason_days
from circumspect.stores.experiment_tables import labels
from circumspect.stores.labels import OF_EVALUATIONS
from circumspect.values import TenantId

_THUMBS = {"thumbs_up": "thumbs_up", "thumbs_down": "thumbs_down", "correct": "thumbs_down"}
"""A correction comes with a thumb that points down."""
_CODES: dict[str, str] = {ReasonCode.APOLOGY_LOOP: "apology_loops", ReasonCode.SEARCH_SAVED: "searches_saved"}


@dataclass(frozen=True, slots=True)
class TenantMeasures:
    """`period` is a month (`YYYY-MM`, UTC), or empty for all time."""

    tenant: TenantId
    period: str
    thumbs_up: int = 0
    thumbs_down: int = 0
    apology_loops: int = 0
    searches_saved: int = 0

    @property
    def satisfaction(self) -> float | None:
        """The share of thumbs that point up; None where nobody said."""
        said = self.thumbs_up + self.thumbs_down
        return self.thumbs_up / said if said else None


def list_measures(connection: sa.Connection, seen: frozenset[TenantId] | None, period: str) -> Sequence[TenantMeasures]:
    """Of those in `seen`, or of all, of whom there is anything to say; by id. Thumbs are those for turns. With no
    period they are those of all time."""
    first = datetime.strptime(period or "1970-01", "%Y-%m").replace(tzinfo=UTC)
    until = (first + timedelta(days=32)).replace(day=1) if period else datetime.max.replace(tzinfo=UTC)
    thumbs = (
        sa.select(labels.c.tenant, labels.c.kind, sa.func.count())
        .where(
            labels.c.kind.in_(tuple(_THUMBS)),
            labels.c.at >= first.timestamp(),
            labels.c.at < until.timestamp(),
            sa.not_(labels.c.conversation.startswith(OF_EVALUATIONS, autoescape=True)),
        )
        .group_by(labels.c.tenant, labels.c.kind)
    )
    codes = (
        sa.select(reason_days.c.tenant, reason_days.c.reason_code, sa.func.sum(reason_days.c.number))
        .where(
            reason_days.c.reason_code.in_([str(code) for code in _CODES]),
            reason_days.c.day >= f"{first:%Y-%m-%d}",
            reason_days.c.day < f"{until:%Y-%m-%d}",
        )
        .group_by(reason_days.c.tenant, reason_days.c.reason_code)
    )
    if seen is not None:
        thumbs, codes = (
            thumbs.where(labels.c.tenant.in_(sorted(seen))),
            codes.where(reason_days.c.tenant.in_(sorted(seen))),
        )
    counted: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for tenant, kind, number in connection.execute(thumbs):
        name = _THUMBS[kind]
        counted[tenant][name] = counted[tenant].get(name, 0) + int(number)
    for tenant, code, number in connection.execute(codes):
        counted[tenant][_CODES[code]] = int(number)
    return [TenantMeasures(TenantId(tenant), period, **found) for tenant, found in sorted(counted.items())]
