"""Who may approve: nobody without a name, nobody who had a hand in it, however the name is written."""

import pytest
from tests.stores.words import NOON

from circumspect.approvers import check_approver
from circumspect.errors import ApproverRefused
from circumspect.values import ConversationId, Intent, IntentId, TenantId, ToolCall


def approval(**values) -> Intent:
    return Intent(
        IntentId("i"), TenantId("t"), ConversationId("c"), "approval", ToolCall("wire"), "h", "v", "p", "person:p1",
        "n", "Wire?", NOON, NOON, **values,
    )  # fmt: skip


@pytest.mark.parametrize("by", ["", " ", "\t", "\u200b", "operator:", "operator: \u2060", "command line: "])
def test_nobody_in_particular_approves_nothing(by):
    with pytest.raises(ApproverRefused, match="Nobody in particular"):
        check_approver(approval(), by)


@pytest.mark.parametrize(
    "by",
    [
        "p1",
        "P1",
        " person:p1",
        "Person:P1",
        "PERSON:p1",
        "OPERATOR:p1",
        "p\u200b1",
        "\uff501",
        "command line: P1",
        "USER",
    ],
)
def test_whose_call_it_is_approves_it_under_no_name(by):
    with pytest.raises(ApproverRefused):
        check_approver(approval(), by)


@pytest.mark.parametrize("by", ["key:1", "KEY:1", "\u200bkey:1"])
def test_a_key_is_no_person_however_it_is_written(by):
    with pytest.raises(ApproverRefused, match="API key"):
        check_approver(approval(), by)
    check_approver(approval(keys_approve=True), by)


def test_a_colleague_approves_unless_they_changed_it():
    check_approver(approval(), "dora")
    with pytest.raises(ApproverRefused, match="changed"):
        check_approver(approval(edited_by=("operator:Dora",)), "dora")
