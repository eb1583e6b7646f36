"""The lanes of a worker: one for each kind of long computation, so that none waits for another kind.

A policy that must change at once is checked while documents are read; a page that somebody looks at is read while
transcripts are audited. Health has no lane, because it computes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from circumspect.confined.processes import ReadingLimits
from circumspect.lanes import Lane, LaneWatch
from circumspect.server.config import Settings


@dataclass(frozen=True)
class Lanes:
    policies: Lane
    """Policies, checked in processes of their own, and compared."""
    documents: Lane
    """Documents of evaluations, read in processes of their own."""
    pages: Lane
    """Web pages that come as HTML, likewise."""
    transcripts: Lane
    """Audits, in processes of their own."""
    reports: Lane
    """Statistics of experiments, and criteria that are decided by heuristics."""
    trials: Lane
    """Policies, tried on stored conversations."""
    limits: ReadingLimits
    """What reading one document, page, policy or set of transcripts may take."""


def open_lanes(settings: Settings, watch: LaneWatch) -> Lanes:
    lane = partial(
        Lane,
        at_once=settings.lane_at_once,
        per_tenant=settings.lane_per_tenant,
        waiting=settings.lane_waiting,
        watch=watch,
    )
    return Lanes(
        policies=lane("policies"),
        documents=lane("documents"),
        pages=lane("pages"),
        transcripts=lane("transcripts"),
        reports=lane("reports"),
        trials=lane("trials"),
        limits=ReadingLimits(settings.document_seconds, settings.document_megabytes),
    )
