"""Two policies -> what changed, in words. What lets more through than before is marked as loosened.

A change whose direction code cannot know (a condition that was rewritten, a name that now stands for another place) is
never called harmless: it is marked as one to look at.
"""

from __future__ import annotations

from circumspect.policy.keys.meaning import PolicyDifference, compare_sections
from circumspect.policy.policy_file import Policy


def diff(old: Policy, new: Policy) -> list[str]:
    """One line for each change; ends in [loosened], [tightened] or [look at it]."""
    return [str(change) for change in changes(old, new)]


def changes(old: Policy, new: Policy) -> list[PolicyDifference]:
    """Every change, in the order in which the keys are defined."""
    return list(compare_sections("", old, new, (old, new)))
