"""The systems as configurations of the one spine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from circumspect.values import Mode, Profile

STANDARD = Profile(mode="standard", history=20)
"""One call with everything; denials hold, nothing else is added."""

ADAPTIVE = Profile(mode="adaptive", history=5)
"""The least context, a self-assessment, and further calls only where they pay."""

BROWSER = Profile(mode="adaptive", history=20, steps=3, redrafts=2, prompt="browse")
"""One action on a web page a turn, in whatever mode the plan is: a page is a stranger's."""

PASSTHROUGH = replace(STANDARD, passthrough=True, message_limit=1_000_000)
"""Somebody else's agent: calls are ruled on, replies checked, and nothing else is done."""

PROFILES: Mapping[Mode, Profile] = {"standard": STANDARD, "adaptive": ADAPTIVE}


def keep_choices(profile: Profile, own: Profile) -> Profile:
    """Another profile, with what a tenant may choose for itself as in its own."""
    return replace(
        profile,
        confirm_seconds=own.confirm_seconds,
        escalate_failures=own.escalate_failures,
        hand_over_apologies=own.hand_over_apologies,
    )
