"""`If-Match` for experiments: what somebody saw in, a refusal out where it has changed since.

The tag names what a person looks at before they decide: state, shares, stopped arms, winner. What was counted is not in
it, so it stays the same while conversations come in. It is compared inside the transaction that makes the change: of
two who saw the same, one gets through and the other is told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated

from fastapi import Header

from circumspect.lab.trials.experiments import Experiment
from circumspect.server.problems import HttpProblem
from circumspect.stores.codec import dumps

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        min_length=1,
        max_length=400,
        pattern=r"^[\x20-\x7e]+$",
        description="The `ETag` of what you saw. If it has changed since, nothing is done.",
    ),
]
ETAG = {"ETag": {"description": "Of what holds now, for `If-Match`.", "schema": {"type": "string"}}}
CHANGED = "It has changed since you read it, and `If-Match` says that you mind."


def fingerprint(experiment: Experiment) -> str:
    """Of all that somebody looks at before they press a button."""
    seen = [
        experiment.state,
        [[one.at, one.share] for one in experiment.shares],
        [arm.stopped for arm in experiment.arms],
        experiment.winner,
    ]
    return hashlib.sha256(dumps(seen).encode()).hexdigest()[:16]


def make_etag_header(experiment: Experiment) -> Mapping[str, str]:
    """The header of an answer that shows it."""
    return {"ETag": f'"{fingerprint(experiment)}"'}


def require_unchanged(experiment: Experiment, if_match: str | None) -> Experiment:
    """The experiment itself, if it is the one that was seen. A proxy that compresses marks a tag as weak (`W/`), and
    it names the same state all the same."""
    if if_match is None or if_match.strip() == "*":
        return experiment
    if fingerprint(experiment) in {one.strip().removeprefix("W/").strip('"') for one in if_match.split(",")}:
        return experiment
    raise HttpProblem(
        412,
        "experiment_changed",
        "The experiment has changed since you looked, so nothing was done.",
        fix="Read it again. If you still want to, send the ETag of that answer as If-Match.",
        headers=make_etag_header(experiment),
    )
