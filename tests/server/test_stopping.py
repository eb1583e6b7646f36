"""A server that is told to stop does, whatever its tools do; and workers do not outlive what started them."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from tests.patience import PATIENCE, wait_until
from tests.server import hanging_tools
from tests.server.house import House, say
from tests.server.test_serve import serving

from circumspect.server.apply_tenant import apply_file
from circumspect.stores import SqlStore
from circumspect.values import ConversationId, Execution, TenantId

ROOT = Path(__file__).parents[2]


def furnish(folder: Path, does: str) -> str:
    """A database with one shop in it, and a key of it."""
    house = House(f"sqlite:///{folder}/c.db")

    async def apply(store: SqlStore) -> None:
        await apply_file(hanging_tools.tenant_file(folder, "odd", does), store, house.settings)

    house.stored(apply)
    return house.token("odd")


def cancel(url: str, key: str) -> None:
    """Sends a yes that nobody will answer."""
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=PATIENCE) as client:
        client.post("/v1/conversations", json={"id": "c1"}).raise_for_status()
        assert say(client, "c1", "cancel order 12345")["outcome"] == "asked"
        with suppress(httpx.HTTPError):
            client.post("/v1/conversations/c1/messages", json={"content": "yes"})


def read_calls(folder: Path) -> list[Execution]:
    async def read() -> list[Any]:
        store = await SqlStore.open(f"sqlite:///{folder}/c.db")
        try:
            return list(await store.executions(TenantId("odd"), ConversationId("c1")))
        finally:
            await store.close()

    return asyncio.run(read())


@pytest.mark.parametrize(("does", "workers"), [("hang", 1), ("swallow", 1), ("swallow", 2)])
def test_a_call_that_does_not_end_does_not_keep_the_server(tmp_path: Path, does: str, workers: int) -> None:
    key = furnish(tmp_path, does)
    options = ("--database", "c.db", "--workers", str(workers))
    with serving(tmp_path, *options, PYTHONPATH=str(ROOT), CIRCUMSPECT_DRAIN_SECONDS="1") as (process, url, _):
        client = threading.Thread(target=cancel, args=(url, key), daemon=True)
        client.start()
        wait_until(lambda: list((tmp_path / "inside-odd").iterdir()))
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        client.join(PATIENCE)
    (call,) = read_calls(tmp_path)
    assert call.state == "indeterminate"


# --- whoever waits is told -----------------------------------------------------------------------------------------

Door = Callable[[str, list[dict[str, str]]], tuple[str, dict[str, Any], dict[str, str]]]
"""A conversation and what was said in it in; path, body and headers of the yes out."""


def ours(talk: str, said: list[dict[str, str]]) -> tuple[str, dict[str, Any], dict[str, str]]:
    return f"/v1/conversations/{talk}/messages", {"content": "yes"}, {}


def ours_streamed(talk: str, said: list[dict[str, str]]) -> tuple[str, dict[str, Any], dict[str, str]]:
    return f"/v1/conversations/{talk}/messages", {"content": "yes"}, {"Accept": "text/event-stream"}


def completions(talk: str, said: list[dict[str, str]]) -> tuple[str, dict[str, Any], dict[str, str]]:
    body = {"messages": said, "model": "odd", "stream": True, "metadata": {"conversation_id": talk}}
    return "/v1/chat/completions", body, {}


def responses(talk: str, said: list[dict[str, str]]) -> tuple[str, dict[str, Any], dict[str, str]]:
    return "/v1/responses", {"input": said, "model": "odd", "stream": True, "metadata": {"conversation_id": talk}}, {}


def messages(talk: str, said: list[dict[str, str]]) -> tuple[str, dict[str, Any], dict[str, str]]:
    body = {"messages": said, "model": "odd", "stream": True, "max_tokens": 100}
    return "/v1/messages", body, {"anthropic-version": "2023-06-01", "X-Conversation-Id": talk}


DOORS: dict[str, tuple[Door, str]] = {
    "ours": (ours, '{"code":"interrupted"'),
    "streamed": (ours_streamed, 'event: error\ndata: {"code":"interrupted"'),
    "completions": (completions, 'data: {"error":{"code":"interrupted"'),
    "responses": (responses, "event: response.failed\n"),
    "messages": (messages, "event: error\n"),
}


@pytest.mark.parametrize("does", ["sleep", "swallow"])
def test_whoever_waits_when_the_server_stops_is_told_and_later_hears_what_became_of_it(
    tmp_path: Path, does: str
) -> None:
    key, inside = furnish(tmp_path, does), tmp_path / "inside-odd"
    surroundings = {"PYTHONPATH": str(ROOT), "CIRCUMSPECT_DRAIN_SECONDS": "1"}
    headers = {"Authorization": f"Bearer {key}"}
    heard: dict[str, httpx.Response] = {}

    def confirm(url: str, talk: str) -> None:
        with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=PATIENCE) as client:
            client.post("/v1/conversations", json={"id": talk}).raise_for_status()
            asked = say(client, talk, "cancel order 12345")["reply"]
            said = [
                {"role": "user", "content": "cancel order 12345"},
                {"role": "assistant", "content": asked},
                {"role": "user", "content": "yes"},
            ]
            path, body, more = DOORS[talk][0](talk, said)
            heard[talk] = client.post(path, json=body, headers={**more, "Idempotency-Key": "k"})

    with serving(tmp_path, "--database", "c.db", **surroundings) as (process, url, _):
        threads = [threading.Thread(target=confirm, args=(url, talk), daemon=True) for talk in DOORS]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(list(inside.iterdir())) == len(DOORS))
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE)
        for thread in threads:
            thread.join(PATIENCE)
    assert process.returncode == 0, err
    assert heard.keys() == DOORS.keys()
    assert (heard["ours"].status_code, heard["ours"].headers["Retry-After"]) == (503, "5")
    for talk, answer in heard.items():
        assert DOORS[talk][1] in answer.text, (talk, answer.text)
    with (
        serving(tmp_path, "--database", "c.db", **surroundings) as (_, url, _),
        httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=PATIENCE) as client,
    ):
        for talk in DOORS:
            told = say(client, talk, "yes", **{"Idempotency-Key": "k"})
            assert (told["outcome"], "OUTCOME_UNKNOWN" in told["reason_codes"]) == ("escalated", True), told
        waiting = client.get("/v1/escalations").json()["items"]
        assert {one["conversation_id"] for one in waiting} == set(DOORS)
    assert len(list(inside.iterdir())) == len(DOORS)


def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2", CIRCUMSPECT_DRAIN_SECONDS="1") as (process, url, _):
        workers = psutil.Process(process.pid).children(recursive=True)
        assert len(workers) >= 2
        process.kill()
        process.wait(PATIENCE)
        orphans = psutil.wait_procs(workers, timeout=PATIENCE)[1]
        for one in orphans:
            one.kill()
        assert orphans == []
        host, port = url.removeprefix("http://").split(":")
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind((host, int(port)))
            free.listen()
