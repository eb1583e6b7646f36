"""`/v1/admin/outbox` and `circumspect outbox`: notifications that were given up are seen, and sent again."""

from __future__ import annotations

from tests.server.house import OURS, THEIRS, House, is_a_problem

from circumspect.stores import SqlStore, ledger, people
from circumspect.stores.tables import outbox
from circumspect.values import ConversationId, TenantId


def give_up(house: House, id_: str, tenant: str = OURS) -> None:
    """A notification that was tried as often as any."""
    payload = {"target": {"url": "https://hooks.example.com/x", "secret": "hook"}, "event": {"summary": "private"}}

    def body(connection) -> None:
        now = house.app.state.services.clock.now()
        talk = ConversationId(f"c-{id_}")
        people.create_conversation(connection, TenantId(tenant), talk, "adaptive", now)
        ledger.notify(connection, id_, "webhook", payload, TenantId(tenant), talk)
        connection.execute(outbox.update().where(outbox.c.id == id_).values(state="dead", attempts=80))

    async def write(store: SqlStore) -> None:
        await store.tx(body)

    house.stored(write)


def test_what_was_given_up_is_listed_without_what_it_says_and_sent_again(house: House) -> None:
    give_up(house, "esc-t1:0")
    client = house.key()
    listed = client.get("/v1/admin/outbox", params={"state": "dead"})
    (item,) = [one for one in listed.json()["items"] if one["id"] == "esc-t1:0"]
    assert (item["target"], item["attempts"]) == ("https://hooks.example.com/x", 80)
    assert "private" not in listed.text
    again = client.post("/v1/admin/outbox/esc-t1:0/redrive")
    assert (again.status_code, again.json()["state"], again.json()["attempts"]) == (200, "pending", 0)
    is_a_problem(client.post("/v1/admin/outbox/esc-t1:0/redrive"), 404)


def test_nobody_sees_or_sends_another_tenants(house: House) -> None:
    give_up(house, "esc-t2:0")
    stranger = house.key(THEIRS)
    assert stranger.get("/v1/admin/outbox").json()["items"] == []
    is_a_problem(stranger.post("/v1/admin/outbox/esc-t2:0/redrive"), 404)
    assert stranger.post("/v1/admin/outbox/redrive").json() == {"notifications": 0}
    assert house.key().post("/v1/admin/outbox/redrive").json()["notifications"] >= 1
    is_a_problem(house.key(OURS, "chat").get("/v1/admin/outbox"), 403)
