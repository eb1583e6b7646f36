"""What the arms of an experiment came to: units added up by arm and period. One query, and what people said is part of
it: a verdict that somebody corrected and a turn with a thumb down are wrong from that moment on, however late it is.

The unit is a conversation or a case. `loss` is the one measure that is not simply added up: see `_weigh_loss`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from circumspect.stores.experiment_tables import exposures, labels
from circumspect.stores.labels import OF_EVALUATIONS
from circumspect.values import TenantId

HANDED_OVER = 0.35
"""What it costs that a person has to decide, where a wrong decision costs 1: it pays wherever a decision would be wrong
more than once in three times, which is also the confidence below which reviews abstain."""
_THUMBS = ("thumbs_up", "thumbs_down", "correct")
_LOSS = ("handed", "decided", "judged", "wrong")


@dataclass(frozen=True, slots=True)
class ArmSums:
    """The units of one arm in one period. By metric: how many have a value, its sum, the sum of its squares."""

    arm: str
    period: int
    units: int
    turns: int
    totals: dict[str, tuple[int, float, float]]


def sum_arms(
    connection: sa.Connection,
    tenant: TenantId,
    id_: str,
    *,
    quiet_since: float | None = None,
    only: Collection[str] | None = None,
) -> Sequence[ArmSums]:
    """By arm and period, over conversations or cases. With `quiet_since`, only those that said nothing since then; with
    `only`, no other metrics than these, which is quicker."""
    row, said = exposures.c, _judgements(tenant)
    wrong = sa.or_(row.denied, row.corrected, said.c.wrong > 0)
    handed = sa.or_(row.outcome.in_(("escalated", "failed")), row.fell_back)
    measures = {
        **{name: _ever(row.outcome == name) for name in ("answered", "asked", "acted", "escalated", "blocked")},
        "failed": _ever(sa.or_(row.outcome == "failed", row.fell_back)),
        "denied": _ever(row.denied),
        "corrected": _ever(sa.or_(row.corrected, said.c.corrected > 0)),
        "disliked": _ever(said.c.disliked > 0),
        "wrong": _ever(wrong),
        "judged": _ever(sa.or_(wrong, row.outcome == "acted", said.c.judged > 0)),
        "calibration": sa.func.avg(said.c.calibration),
        "citations": sa.func.avg(row.citations),
        "cost": sa.func.sum(row.cost_usd),
        "tokens": sa.func.sum(row.tokens * 1.0),
        "seconds": sa.func.avg(row.seconds),
        "calls": sa.func.sum(row.calls * 1.0),
        "turns": sa.func.count() * 1.0,
        "consistency": sa.func.avg(row.consistency),
        "similarity": sa.func.avg(row.similarity),
    }
    weighs_loss = only is None or "loss" in only
    shown = [name for name in measures if only is None or name in only or name == "turns"]
    read = [name for name in measures if name in shown or (weighs_loss and name in ("judged", "wrong"))]
    unit = sa.func.coalesce(row.conversation, row.case_id)
    units = (
        sa.select(row.arm, row.period, unit, _ever(handed).label("handed"), *(measures[one].label(one) for one in read))
        .select_from(exposures.outerjoin(said, said.c.about == row.turn))
        .where(row.tenant == tenant, row.experiment == id_)
        .group_by(row.arm, row.period, unit)
    )
    if quiet_since is not None:
        units = units.having(sa.func.max(row.at) <= quiet_since)
    each = units.subquery()
    added: list[Any] = _count_losses(each) if weighs_loss else [sa.literal(0) for _ in _LOSS]
    for name in shown:
        value = sa.cast(each.c[name], sa.Double)
        added += [sa.func.count(value), sa.func.sum(value), sa.func.sum(value * value)]
    query = sa.select(each.c.arm, each.c.period, sa.func.count(), *added).group_by(each.c.arm, each.c.period)
    rows = list(connection.execute(query.order_by(each.c.arm, each.c.period)))
    known = _is_loss_known([one[3:7] for one in rows])
    found = []
    for arm, period, count, open_, decided, judged, lost, *values in rows:
        totals = {
            name: (number, float(total or 0), float(squares or 0))
            for name, number, total, squares in zip(shown, values[::3], values[1::3], values[2::3], strict=True)
        }
        if weighs_loss:
            totals["loss"] = _weigh_loss(open_, decided, judged, lost) if known else (0, 0.0, 0.0)
        found.append(ArmSums(arm, period, count, int(totals["turns"][1]), totals))
    return found


# --- loss -----------------------------------------------------------------------------------------------------------


def _count_losses(each: sa.Subquery) -> list[Any]:
    """Units that were handed over, those that were decided, and of these the judged and the wrong."""
    handed = sa.and_(each.c.handed > 0, each.c.wrong == 0)
    judged = sa.and_(sa.not_(handed), each.c.judged > 0)
    return [_count(handed), _count(sa.not_(handed)), _count(judged), _count(each.c.wrong > 0)]


def _is_loss_known(rows: Sequence[Any]) -> bool:
    """Not where people only ever say what is wrong: then what they pass over in silence is neither right nor wrong, and
    an arm that decides nothing would look best."""
    confirmed: int = sum(judged - wrong for _, _, judged, wrong in rows)
    unjudged: int = sum(decided - judged for _, decided, judged, _ in rows)
    return confirmed > 0 or unjudged == 0


def _weigh_loss(handed: int, decided: int, judged: int, wrong: int) -> tuple[int, float, float]:
    """A wrong decision is 1, a right one 0, handing over `HANDED_OVER`.

    Of the decisions only those count that somebody judged. Hand-overs count in the same proportion: whoever judges one
    decision in ten would else see ten times as many of them, and an arm that dares nothing would be compared with one
    that dares everything by how diligently people judge.
    """
    part = judged / decided if decided else 1.0
    exact = judged + handed * part
    number = round(exact)
    if not number:
        return 0, 0.0, 0.0
    scale = number / exact
    return number, (wrong + HANDED_OVER * handed * part) * scale, (wrong + HANDED_OVER**2 * handed * part) * scale


# --- what people said -----------------------------------------------------------------------------------------------


def _judgements(tenant: TenantId) -> sa.CTE:
    """By turn or evaluation: whether it was judged, wrong, disliked or corrected, and how well its confidence fits."""
    said = sa.union_all(_select_thumbs(tenant), _select_corrections(tenant)).cte("judgements")
    # Without it PostgreSQL works all of this out again for every exposure of a table that it knows little about.
    return said.prefix_with("MATERIALIZED", dialect="postgresql")


def _select_thumbs(tenant: TenantId) -> sa.Select[Any]:
    """A thumb down on a turn that was handed over says that there was no need to: it is disliked, not wrong."""
    label = labels.c
    down = label.kind != "thumbs_up"
    return (
        sa.select(
            label.turn.label("about"),
            sa.literal(1.0).label("judged"),
            _ever(sa.and_(down, sa.func.coalesce(label.decision, "") != "escalate")).label("wrong"),
            _ever(down).label("disliked"),
            _ever(label.kind == "correct").label("corrected"),
            _fit(label.confidence, sa.not_(down)).label("calibration"),
        )
        .where(label.tenant == tenant, label.turn.is_not(None), label.kind.in_(_THUMBS))
        .group_by(label.turn)
    )


def _select_corrections(tenant: TenantId) -> sa.Select[Any]:
    """Of several people's on one criterion the newest holds. A verdict that was left open cannot be wrong."""
    label = labels.c
    place = sa.func.row_number().over(
        partition_by=(label.conversation, label.value["criterion"].as_string()), order_by=(label.at.desc(), label.id)
    )
    each = (
        sa.select(
            label.conversation,
            label.confidence,
            label.decision,
            label.value["status"].as_string().label("status"),
            place.label("place"),
        )
        .where(
            label.tenant == tenant,
            label.kind == "correct",
            label.conversation.startswith(OF_EVALUATIONS, autoescape=True),
        )
        .subquery()
    )
    right = each.c.status == each.c.decision
    return (
        sa.select(
            sa.func.substr(each.c.conversation, len(OF_EVALUATIONS) + 1).label("about"),
            sa.literal(1.0).label("judged"),
            _ever(sa.not_(right)).label("wrong"),
            sa.literal(0.0).label("disliked"),
            _ever(sa.not_(right)).label("corrected"),
            _fit(each.c.confidence, right).label("calibration"),
        )
        .where(each.c.place == 1, each.c.decision != "UNCERTAIN")
        .group_by(each.c.conversation)
    )


def _ever(condition: Any) -> Any:
    return sa.func.max(sa.case((condition, 1.0), else_=0.0))


def _count(condition: Any) -> Any:
    return sa.func.sum(sa.case((condition, 1), else_=0))


def _fit(confidence: Any, right: Any) -> Any:
    """1 - (confidence - right)², on average: nothing beats saying what one believes."""
    off = confidence - sa.case((right, 1.0), else_=0.0)
    return sa.func.avg(1.0 - off * off)
