"""Keys carry their own meaning: one that says none cannot be defined, and a new one is explained, compared, checked."""

from __future__ import annotations

from typing import Annotated

import pytest

from circumspect.policy.diff import diff
from circumspect.policy.explain import explain
from circumspect.policy.keys.clauses import Requirement
from circumspect.policy.keys.findings import LintRemark
from circumspect.policy.keys.meaning import ClauseKey, PolicyKey, PolicySection, RankedValues, look_at_it
from circumspect.policy.keys.tool_policy import ToolPolicy
from circumspect.policy.lint import lint
from circumspect.policy.load import check
from circumspect.policy.policy_file import Policy


class TimedPolicy(ToolPolicy):
    """A section with a key that nothing else in the package has heard of."""

    only_hours: Annotated[
        str | None,
        PolicyKey(
            explain=lambda hours, _: (f"It runs between {hours}.",) if hours else (),
            compare=RankedValues({}),
            lint=lambda hours, at, _: (LintRemark("error", at, f"'{hours}' is no time"),) if hours == "noon" else (),
        ),
    ] = None


class FreshRequirement(Requirement):
    """A clause with one."""

    within: Annotated[
        str,
        ClauseKey(
            explain=lambda one, _: f" It must be fresher than {one.within}.",
            describe=lambda one: f" within {one.within}",
            compare=look_at_it,
        ),
    ] = "1h"


def file(**settings: object) -> Policy:
    return Policy(tools={"refund": TimedPolicy.model_validate({"effect": "write", **settings})})


def test_a_key_that_does_not_say_what_it_means_cannot_be_defined() -> None:
    with pytest.raises(TypeError, match=r"Say what Mute\.only_hours means"):

        class Mute(PolicySection):
            only_hours: str = ""


def test_a_new_key_is_explained() -> None:
    assert "- It runs between 9 and 17." in explain(file(only_hours="9 and 17"), "refund").splitlines()


def test_a_change_of_a_new_key_is_never_nothing() -> None:
    assert diff(file(), file(only_hours="9 and 17")) == ["refund: only_hours not said → 9 and 17 [look at it]"]


def test_a_new_key_is_checked_by_itself_and_beside_the_others() -> None:
    assert "'noon' is no time" in [one.problem for one in lint(file(only_hours="noon"))]
    off = Policy(tools={"refund": TimedPolicy(deny="Broken.", only_hours="9 and 17")})
    assert "a tool that is switched off has no use for only_hours" in [one.problem for one in lint(off)]


def test_a_new_key_of_a_clause_is_explained_and_compared() -> None:
    old, new = (file(requires=(FreshRequirement(call=("look",), within=time),)) for time in ("1h", "2h"))
    assert "- Before it, look must have succeeded. It must be fresher than 1h." in explain(old, "refund").splitlines()
    assert diff(old, new) == [
        "refund: requires: requires an earlier look within 1h → requires an earlier look within 2h [look at it]"
    ]


def test_a_limit_that_lacks_its_amount_is_a_finding_also_where_a_tenant_replaces_it() -> None:
    text = """
tools: {refund: {effect: write, limits: [{sum: amount}]}}
tenants: {acme: {tools: {refund: {limits: []}}}}
"""
    assert "'sum' and 'at_most' belong together" in [one.problem for one in check(text)[1]]
