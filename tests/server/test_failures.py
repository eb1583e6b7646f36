"""When something of ours is broken: the right status, words for the user, nothing told that is nobody's business."""

from __future__ import annotations

import io
import logging
import sqlite3

import pytest
import sqlalchemy as sa
from tests.server.hanging_tools import Abort
from tests.server.house import House, Running, is_a_problem, say
from tests.server.model_server import SlowModel

from circumspect.server import streams
from circumspect.server.request_log import ServerFormatter
from circumspect.stores import SqlStore


def change(house: House, statement: str) -> None:
    async def run(store: SqlStore) -> None:
        await store.tx(lambda connection: connection.execute(sa.text(statement)) and None)

    house.stored(run)


def test_a_message_that_could_not_be_stored_is_said_so_and_comes_again(tmp_path) -> None:
    with House(f"sqlite:///{tmp_path}/h.db") as house:
        client = house.key()
        talk = house.conversation(client)
        change(house, "ALTER TABLE turns RENAME TO gone")
        path, body = f"/v1/conversations/{talk}/messages", {"content": "hello"}
        answer = client.post(path, json=body, headers={"Idempotency-Key": "k"})
        assert is_a_problem(answer, 503, "not_stored")["reply"]
        assert answer.headers["retry-after"]
        streamed = client.post(path, json=body, headers={"Accept": "text/event-stream"})
        assert "event: error" in streamed.text
        assert "not_stored" in streamed.text
        change(house, "ALTER TABLE gone RENAME TO turns")
        assert say(client, talk, "hello", **{"Idempotency-Key": "k"})["outcome"] == "answered"
        assert len(client.get(path).json()["items"]) == 2


def test_a_worker_whose_database_is_not_ours_is_not_ready(tmp_path) -> None:
    with House(f"sqlite:///{tmp_path}/h.db") as house:
        with sqlite3.connect(tmp_path / "h.db") as database:
            database.execute("UPDATE alembic_version SET version_num = '0000'")
        answer = house.client().get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["status"] == "not_ready"
        assert house.client().get("/healthz").status_code == 200
        with sqlite3.connect(tmp_path / "h.db") as database:
            database.execute("DROP TABLE alembic_version")
        database.close()
        assert house.client().get("/readyz").status_code == 503


def test_a_tenant_that_cannot_be_built_is_unavailable_and_others_are_served(tmp_path) -> None:
    with House(f"sqlite:///{tmp_path}/h.db") as house:
        change(house, "UPDATE policies SET text = 'version: 99' WHERE tenant = 'shop'")
        answer = house.key("shop").post("/v1/conversations", json={})
        is_a_problem(answer, 503, "tenant_unavailable")
        assert answer.headers["retry-after"]
        other = house.key("shop-ru")
        assert say(other, house.conversation(other), "привет")["outcome"] == "answered"
        assert house.key("shop").get("/v1/admin/tools").status_code == 200
        repaired = house.key("shop").put(
            "/v1/admin/policies", json={"text": "version: 1\ntools:\n  get_order_status: {effect: read}\n"}
        )
        assert repaired.status_code == 200, repaired.text


@pytest.mark.parametrize("kind", [RuntimeError, Abort])
def test_what_nobody_foresaw_is_a_500_without_details(
    house: House, monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    async def broken(*_: object) -> None:
        raise kind("the secret of the house")

    monkeypatch.setattr(house.app.state.services.directory, "setup", broken)
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(ServerFormatter())
    logging.getLogger("circumspect").addHandler(handler)
    try:
        answer = house.key().post("/v1/conversations", json={})
    finally:
        logging.getLogger("circumspect").removeHandler(handler)
    is_a_problem(answer, 500, "internal")
    assert "secret of the house" not in answer.text
    assert kind.__name__ in out.getvalue()
    assert answer.headers["x-request-id"] in out.getvalue()
    assert "secret of the house" not in out.getvalue()


def test_a_silent_stream_is_kept_alive(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.05)
    slow = SlowModel()
    with Running(slow) as running, House(f"sqlite:///{tmp_path}/h.db", model=f"openai:s@{running.url}/v1") as house:
        client = house.key()
        talk = house.conversation(client)
        slow.close()
        with client.stream(
            "POST",
            f"/v1/conversations/{talk}/messages",
            json={"content": "hello"},
            headers={"Accept": "text/event-stream"},
        ) as answer:
            lines = answer.iter_lines()
            assert any(line.startswith(": ") for line in lines)
            slow.open()
            rest = "\n".join(lines)
        assert "event: done" in rest
        assert slow.words in rest
