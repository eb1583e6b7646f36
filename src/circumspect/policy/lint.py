"""A policy, and the tools it is about -> what makes no sense in it. Errors refuse the file; warnings are for a person.

Everything is checked against what the author can see: the file itself, and (where given) the tools with their
parameters. Conditions are compiled here, so that a file that loads has no condition that cannot run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from circumspect.policy.keys.findings import FileFinding, LintRemark, Place
from circumspect.policy.keys.meaning import LintBook, LintedSection, keys_of
from circumspect.policy.keys.tool_policy import ToolPolicy
from circumspect.policy.policy_file import Policy
from circumspect.values import ToolSpec

_MOST_REMARKS = 500
"""More than anybody reads at once. Looking for what was meant takes time for each."""


def lint(
    policy: Policy,
    *,
    specs: Mapping[str, ToolSpec] | None = None,
    seen: Collection[str] | None = None,
    learnt: Mapping[str, Mapping[str, Any]] | None = None,
    lines: Mapping[Place, int] | None = None,
) -> list[FileFinding]:
    """Everything that is wrong or doubtful, in the order of the file. `specs` are all tools there are, unless clients
    bring more along: then `seen` names those that they brought so far. `learnt` are schemas of results, by tool, where
    the tools themselves do not say what they return."""
    where = lines or {}
    found = []
    remarks = _check_keys(LintBook(policy, specs, seen, learnt or {}))
    for remark in islice(remarks, _MOST_REMARKS):
        at = remark.place
        line = next((where[at[:size]] for size in range(len(at), -1, -1) if at[:size] in where), 0)
        found.append(FileFinding(remark.level, line, remark.problem, remark.fix))
    if next(remarks, None):
        found.append(FileFinding("error", 0, f"there are more than {_MOST_REMARKS} findings", "Begin with these."))
    return sorted(dict.fromkeys(found), key=lambda one: (one.line, one.level))


def _check_keys(book: LintBook) -> Iterator[LintRemark]:
    anything = ToolPolicy()
    about = LintedSection("", anything, book.policy.scope_of(anything), book)
    for name, key in keys_of(Policy).items():
        found = list(key.lint(getattr(book.policy, name), (name,), about))
        yield from found
        if name == "timezone" and found:  # no condition can be compiled in a zone that does not exist
            return
