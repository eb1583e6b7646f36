"""Who may approve a call that waits for a colleague: nobody who had a hand in it.

Who proposed it and who changed it are written on the intent. People are told apart by the name of their account, so
that one who is signed in twice, or sits at the server's command line, stays the same person. An API key is no person:
it approves only where the policy says `keys_approve`. The store asks in the transaction that uses the approval up.
"""

from __future__ import annotations

from circumspect.errors import ApproverRefused
from circumspect.values import ANONYMOUS, PERSON, Intent

KEY = "key:"
COMMAND_LINE = "command line: "
WHO_MAY = "An operator has to approve it who neither proposed nor changed it."


def check_approver(intent: Intent, by: str) -> None:
    """Raises `ApproverRefused` where this is not theirs to approve."""
    if not by:
        raise ApproverRefused("Nobody in particular approved it.", fix=WHO_MAY)
    if by == ANONYMOUS or by.startswith(PERSON):
        raise ApproverRefused("This is for a colleague to approve, and they are the end user.", fix=WHO_MAY)
    if by.startswith(KEY) and not intent.keys_approve:
        raise ApproverRefused("An API key approves nothing here: the policy does not say `keys_approve`.", fix=WHO_MAY)
    if did := find_hand(intent, by):
        raise ApproverRefused(f"{by} {did} this call.", fix=WHO_MAY)


def find_hand(intent: Intent, by: str) -> str:
    """`proposed` or `changed`, where they had a hand in the call; empty otherwise."""
    name = name_person(by)
    if name in map(name_person, intent.edited_by):
        return "changed"
    return "proposed" if name in map(name_person, intent.proposed_by) else ""


def name_person(account: str) -> str:
    """Whoever sits at the command line is the operator of that name."""
    return account.removeprefix(COMMAND_LINE)
