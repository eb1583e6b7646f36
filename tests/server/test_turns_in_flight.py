"""Turns outlive connections, and a server that stops finishes them. The model is a server that answers when it is let."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from tests.patience import PATIENCE, wait_until
from tests.server.house import OURS, House, Running, say
from tests.server.model_server import SlowModel

from circumspect.stores import SqlStore
from circumspect.values import ConversationId, Execution, ExecutionId, Incoming, TenantId, ToolCall, TurnId


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path) -> Iterator[tuple[SlowModel, str]]:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    slow = SlowModel()
    with Running(slow) as running:
        yield slow, f"openai:slow@{running.url}/v1"
        slow.open()


def test_a_client_that_goes_away_does_not_end_its_turn(model: tuple[SlowModel, str], tmp_path) -> None:
    slow, name = model
    with House(f"sqlite:///{tmp_path}/h.db", model=name) as house:
        client = house.key()
        talk = house.conversation(client)
        slow.close()
        with client.stream(
            "POST",
            f"/v1/conversations/{talk}/messages",
            json={"content": "hello"},
            headers={"Accept": "text/event-stream", "Idempotency-Key": "k"},
        ) as answer:
            started = next(answer.iter_lines())
            wait_until(lambda: slow.asked == 1)
        assert started == "event: started"
        slow.open()
        again = say(client, talk, "hello", **{"Idempotency-Key": "k"})
        assert again["reply"] == slow.words
        assert slow.asked == 1
        said = client.get(f"/v1/conversations/{talk}/messages").json()["items"]
        assert [one["role"] for one in said] == ["user", "assistant"]


def test_a_server_that_stops_finishes_turns_in_flight(model: tuple[SlowModel, str], tmp_path) -> None:
    slow, name = model
    answers: list[httpx.Response] = []
    with House(f"sqlite:///{tmp_path}/h.db", model=name, drain_seconds=PATIENCE) as house:
        client = house.key()
        talk, other = house.conversation(client), house.conversation(client)
        slow.close()

        def speak(talk: str, accept: str) -> None:
            answers.append(
                client.post(f"/v1/conversations/{talk}/messages", json={"content": "hi"}, headers={"Accept": accept})
            )

        threads = [
            threading.Thread(target=speak, args=(talk, "application/json")),
            threading.Thread(target=speak, args=(other, "text/event-stream")),
        ]
        for thread in threads:
            thread.start()
        wait_until(lambda: slow.asked == 2)
        house.running.stop()
        wait_until(lambda: not is_listening(house.url))
        slow.open()
        for thread in threads:
            thread.join(PATIENCE)
        house.running.thread.join(PATIENCE)
        assert not house.running.thread.is_alive()
    assert [one.status_code for one in answers] == [200, 200]
    assert all(slow.words in one.text for one in answers)


def test_a_turn_that_takes_too_long_is_broken_off_and_may_come_again(model: tuple[SlowModel, str], tmp_path) -> None:
    slow, name = model
    database = f"sqlite:///{tmp_path}/h.db"
    with House(database, model=name, drain_seconds=1) as house:
        client = house.key()
        token = house.token()
        talk = house.conversation(client)
        slow.close()

        def speak() -> None:
            path, headers = f"/v1/conversations/{talk}/messages", {"Idempotency-Key": "k"}
            with pytest.raises(httpx.HTTPError):
                client.post(path, json={"content": "hi"}, headers=headers).raise_for_status()

        thread = threading.Thread(target=speak)
        thread.start()
        wait_until(lambda: slow.asked == 1)
        house.running.stop()
        house.running.thread.join(PATIENCE)
        assert not house.running.thread.is_alive()
        thread.join(PATIENCE)
    slow.open()
    with House(database, model=name) as house:
        client = house.client(token)
        assert say(client, talk, "hi", **{"Idempotency-Key": "k"})["reply"] == slow.words
        said = client.get(f"/v1/conversations/{talk}/messages").json()["items"]
        assert [one["role"] for one in said] == ["user", "assistant"]


def test_time_that_a_server_waited_for_requests_is_time_that_their_turns_had(
    model: tuple[SlowModel, str], tmp_path
) -> None:
    slow, name = model
    with House(f"sqlite:///{tmp_path}/h.db", model=name, drain_seconds=10 * PATIENCE) as house:
        client = house.key()
        talk = house.conversation(client)
        slow.close()
        with client.stream(
            "POST",
            f"/v1/conversations/{talk}/messages",
            json={"content": "hello"},
            headers={"Accept": "text/event-stream"},
        ):
            wait_until(lambda: slow.asked == 1)
        turns = house.app.state.services.turns
        (task,) = turns._tasks
        task.get_loop().call_soon_threadsafe(turns.stop_in, 0)
        house.running.stop()
        house.running.thread.join(PATIENCE)
        assert not house.running.thread.is_alive()


def test_conversations_wait_for_the_model_side_by_side(model: tuple[SlowModel, str], tmp_path) -> None:
    slow, name = model
    with House(f"sqlite:///{tmp_path}/h.db", model=name) as house:
        client = house.key()
        talks = [house.conversation(client) for _ in range(40)]
        slow.close()
        threads = [threading.Thread(target=say, args=(client, talk, "hello")) for talk in talks]
        for thread in threads:
            thread.start()
        wait_until(lambda: slow.asked == 40)
        assert client.get("/readyz").json()["turns_in_flight"] == 40
        slow.open()
        for thread in threads:
            thread.join(PATIENCE)
        assert client.get("/readyz").json()["turns_in_flight"] == 0


def is_listening(url: str) -> bool:
    import socket

    host, port = url.removeprefix("http://").split(":")
    with socket.socket() as probe:
        probe.settimeout(PATIENCE)
        return probe.connect_ex((host, int(port))) == 0


def test_a_repeated_key_whose_call_is_still_running_is_told_to_come_again(tmp_path) -> None:
    with House(f"sqlite:///{tmp_path}/h.db") as house:
        client = house.key()
        talk = house.conversation(client)

        async def leave_a_call_behind(store: SqlStore) -> None:
            now = datetime.now(UTC)
            died = Incoming(TenantId(OURS), ConversationId(talk), TurnId("turn_died"), "yes", now, key="k")
            await store.open_turn(died, mode="adaptive", history=5, token="dead", lease_seconds=0)
            call, until = ToolCall("cancel_order", {"order_id": "12345"}), now + timedelta(hours=1)
            started = Execution(
                ExecutionId("exec_1"), died.tenant, died.conversation, died.turn, call, "destructive", "blind",
                "started", "tok", until, now,
            )  # fmt: skip
            assert await store.begin_call(started, "dead")

        house.stored(leave_a_call_behind)
        for _ in range(2):
            answer = client.post(
                f"/v1/conversations/{talk}/messages", json={"content": "yes"}, headers={"Idempotency-Key": "k"}
            )
            assert answer.status_code == 409
            assert answer.json()["code"] == "call_under_way"
            assert answer.headers["Retry-After"] == "5"
