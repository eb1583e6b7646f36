"""check_text: a policy's text that nobody has looked at yet -> its hash, if it is sound, and every finding, as JSON.

For a process of its own (`confined`): the text is somebody's who may put one in force, and reading it is bounded by
what it is worth, not by the author's good will. Whatever was put has been through here, so that reading it again takes
about as long as it did then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from circumspect.policy.load import check
from circumspect.values import ToolSpec

TASK = f"{__name__}:check_text"


def check_text(data: bytes, facts: Mapping[str, Any]) -> dict[str, Any]:
    """`facts`: `specs` as `read_specs` takes them, and the names that were `seen`."""
    policy, findings = check(
        data.decode("utf-8", "surrogatepass"), specs=read_specs(facts["specs"]), seen=facts["seen"]
    )
    sound = policy is not None and all(one.level != "error" for one in findings)
    return {
        "hash": policy.hash if policy is not None and sound else None,
        "findings": [[one.level, one.line, one.problem, one.fix] for one in findings],
    }


def read_specs(given: Mapping[str, Any]) -> dict[str, ToolSpec]:
    """Tools as they come into a process: by name, each in the form in which they are stored."""
    return {name: ToolSpec(**{**one, "unspoken": frozenset(one.get("unspoken", ()))}) for name, one in given.items()}
