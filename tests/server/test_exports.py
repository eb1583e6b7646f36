"""What is kept about an end user, handed over."""

from __future__ import annotations

import json
from typing import Any

from tests.server.house import House, say

from circumspect.server.stores import privacy
from circumspect.stores import SqlStore
from circumspect.stores.codec import dumps
from circumspect.values import TenantId


def test_an_export_is_written_piece_by_piece_and_is_the_whole(house: House) -> None:
    client = house.key()
    for _ in range(3):
        talk = house.conversation(client, person="ann-exported")
        say(client, talk, "hello", person="ann-exported")
    answer = client.get("/v1/admin/persons/ann-exported")
    assert (answer.status_code, answer.headers["Transfer-Encoding"]) == (200, "chunked")

    async def export(store: SqlStore) -> Any:
        return await store.tx(privacy.export_person, TenantId("shop"), "ann-exported")

    assert answer.json() == json.loads(dumps(house.stored(export)))
    assert len(answer.json()["conversations"]) == 3
