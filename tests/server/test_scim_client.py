"""Provisioning with somebody else's client, and the checks of RFC 7643 and 7644 that come with it (scim2-tester)."""

from __future__ import annotations

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server
from tests.patience import PATIENCE
from tests.server.house import OURS, House

NOT_OURS = {
    # There is no search across users and groups, and an address that does not exist is refused before SCIM is known.
    "search_with_attributes", "random_url",
    # The groups are the roles: they are neither made nor deleted.
    *(f"Group:{name}" for name in (
        "object_creation", "object_query", "object_query_without_id", "object_query_with_attributes", "object_deletion",
        "object_list_with_attributes", "object_replacement", "check_add_attribute", "check_remove_attribute",
        "check_replace_attribute", "search_with_attributes",
    )),
}  # fmt: skip

CHOSEN = (
    # Whether somebody may sign in is said, not left open.
    "Failed to remove attribute 'active'",
    # The one role that somebody has is the primary one: Entra ID looks for it as such.
    "PATCH modify() returned unexpected value for 'roles'",
)


def test_a_client_of_another_maker_finds_what_the_standard_promises(house: House) -> None:
    headers = {"Authorization": f"Bearer {house.token(OURS, 'provision', 'admin')}"}
    with httpx2.Client(base_url=f"{house.url}/scim/v2", headers=headers, timeout=PATIENCE, trust_env=False) as http:
        found = check_server(SyncSCIMClient(http))
    told = [(f"{one.resource_type}:{one.title}" if one.resource_type == "Group" else one.title, one) for one in found]
    wrong = [(name, str(one.reason)) for name, one in told if one.status is Status.ERROR and name not in NOT_OURS]
    wrong = [(name, why) for name, why in wrong if not why.startswith(CHOSEN)]
    assert not wrong, "\n".join(map(str, wrong))
    assert sum(one.status is Status.SUCCESS for one in found) >= 40
