"""Who may approve a call that waits for a colleague: nobody who had a hand in it.

Who proposed it, for whom, and who changed it are written on the intent. People are told apart by their name, so that
one who is signed in twice, sits at the server's command line, or is an end user as well, stays the same person. An API
key is no person: it approves only where the policy says `keys_approve`. The store asks in the transaction that uses
the approval up.
"""

from __future__ import annotations

from unicodedata import category

from circumspect.errors import ApproverRefused
from circumspect.normal_forms import normalise
from circumspect.values import ANONYMOUS, PERSON, Intent

KEY = "key:"
COMMAND_LINE = "command line: "
OPERATOR = "operator:"
_UNSEEN = ("Cf", "Co", "Cn")
WHO_MAY = "An operator has to approve it who neither proposed nor changed it."


def check_approver(intent: Intent, by: str) -> None:
    """Raises `ApproverRefused` where this is not theirs to approve."""
    account = fold_name(by)
    if not _bare(by):
        raise ApproverRefused("Nobody in particular approved it.", fix=WHO_MAY)
    if account == ANONYMOUS or account.startswith(PERSON):
        raise ApproverRefused("This is for a colleague to approve, and they are the end user.", fix=WHO_MAY)
    if account.startswith(KEY) and not intent.keys_approve:
        raise ApproverRefused("An API key approves nothing here: the policy does not say `keys_approve`.", fix=WHO_MAY)
    if did := find_hand(intent, by):
        raise ApproverRefused(f"{by} {did} this call.", fix=WHO_MAY)


def find_hand(intent: Intent, by: str) -> str:
    """`proposed` or `changed`, where they had a hand in the call; empty otherwise. Whose conversation it is has
    proposed it, whatever door they come by and however their name is written."""
    name = _bare(by)
    if name in map(_bare, intent.edited_by):
        return "changed"
    return "proposed" if name in map(_bare, (intent.principal, *intent.proposed_by)) else ""


def name_person(account: str) -> str:
    """Whoever sits at the command line is the operator of that name."""
    return account.removeprefix(COMMAND_LINE)


def fold_name(account: str) -> str:
    """As names are compared: whoever writes theirs in other letters, or with letters that nobody sees, stays the same
    person."""
    seen = "".join(" " if one.isspace() else one for one in normalise("NFKC", account) if category(one) not in _UNSEEN)
    return " ".join(seen.casefold().split())


def _bare(account: str) -> str:
    name = fold_name(account)
    for prefix in (COMMAND_LINE, PERSON, OPERATOR):
        name = name.removeprefix(prefix.strip()).strip()
    return name
