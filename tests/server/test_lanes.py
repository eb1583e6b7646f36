"""What one tenant sends to be computed holds up nobody else: documents that unfold, pages, policies of another."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from tests.confined.bad_readers import HERE
from tests.knowledge import hostile_files
from tests.patience import PATIENCE, wait_until
from tests.server.house import METRICS, OURS, THEIRS, House, is_a_problem
from tests.server.test_evaluations import body

from circumspect.policy import check_text

ENDLESS = hostile_files.repeated_form(9)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder: Path = tmp_path_factory.mktemp("lanes")
    database = f"sqlite:///{folder}/house.db"
    with House(database, document_seconds=6, document_megabytes=150, lane_waiting=1) as opened:
        yield opened


def evaluation(data: bytes) -> dict[str, Any]:
    return body(documents=[{"name": "terms.pdf", "data": base64.b64encode(data).decode()}])


class Sending(threading.Thread):
    def __init__(self, client: httpx.Client, document: bytes) -> None:
        super().__init__(daemon=True)
        self.client, self.document = client, document
        self.answer: httpx.Response | None = None
        self.start()

    def run(self) -> None:
        self.answer = self.client.post("/v1/evaluations", json=evaluation(self.document))


def test_a_document_that_unfolds_to_gigabytes_is_refused_and_the_server_stays_as_small_as_it_was(house: House) -> None:
    own, client = psutil.Process(), house.key(OURS)
    assert client.post("/v1/evaluations", json=body()).status_code == 202
    before = own.memory_info().rss
    for _ in range(2):
        answer = client.post("/v1/evaluations", json=evaluation(hostile_files.nested_streams(400)))
        is_a_problem(answer, 422, "document_refused")
        assert answer.json()["problem"] == "terms.pdf needs more than 150 MB of memory to be read."
    assert own.memory_info().rss - before < 40_000_000


def test_another_tenant_checks_policies_and_documents_while_one_keeps_its_places_busy(house: House) -> None:
    theirs, ours = house.key(THEIRS), house.key(OURS)
    lane = house.app.state.services.lanes.documents
    sending = [Sending(theirs, ENDLESS), Sending(theirs, ENDLESS)]
    wait_until(lambda: lane._running[THEIRS] and lane._queues.get(THEIRS))
    refused = theirs.post("/v1/evaluations", json=evaluation(ENDLESS))
    is_a_problem(refused, 429, "too_much_at_once")
    assert "1 of your requests wait for documents" in refused.json()["problem"]
    assert int(refused.headers["Retry-After"]) >= 1
    assert ours.post("/v1/admin/policies/check", json={"text": "version: 1\n"}).status_code == 200
    assert ours.post("/v1/evaluations", json=body("C-ours")).status_code == 202
    assert house.client().get("/healthz").status_code == 200
    assert sending[1].answer is None, "the others were answered before, or this shows nothing"
    for one in sending:
        one.join(PATIENCE)
        assert one.answer is not None
        is_a_problem(one.answer, 422, "document_refused")
        assert one.answer.json()["problem"] == "terms.pdf needs more than 6 s to be read."
    counted = house.client(METRICS).get("/metrics").text
    assert f'circumspect_lane_refusals_total{{lane="documents",tenant="{THEIRS}"}} 1.0' in counted


def test_a_page_that_is_made_to_be_slow_is_read_beside_the_server(house: House) -> None:
    own = psutil.Process()
    html = "<p>" + "<b id=x>" * 60_000 + "<button>Go</button>"
    sent = {"query": "Press Go", "url": "https://shop.example/", "page": {"html": "<button>Go</button>"}}
    first = house.key(OURS).post("/v1/agent/interact", json=sent)
    assert first.status_code == 200, first.text
    before = own.memory_info().rss
    answer = house.key(OURS).post("/v1/agent/interact", json={**sent, "page": {"html": html}})
    assert answer.status_code in (200, 422), answer.text
    assert own.memory_info().rss - before < 100_000_000


def test_a_talk_of_thousands_of_calls_is_audited_beside_the_server_and_broken_off_in_words(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    said: list[dict[str, Any]] = []
    for number in range(3_000):
        call = {"name": "cancel_order", "arguments": f'{{"order_id": "{number}"}}'}
        said += [
            {"role": "user", "content": f"cancel order {number}, then {number + 1}"},
            {"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "done"},
        ]
    client = house.key(OURS)
    short = {"id": "short", "messages": said[:30]}
    assert client.post("/v1/audit", json={"transcripts": [short], "policy": "guess"}).status_code == 200
    long = client.post("/v1/audit", json={"transcripts": [{"id": "long", "messages": said}], "policy": "guess"})
    is_a_problem(long, 422, "audit_refused")
    assert long.json()["problem"] == "The audit needs more than 6 s to be read."
    assert "a reading was broken off" in caplog.text, "only a process of its own can be broken off"
    assert client.post("/v1/audit", json={"transcripts": [short], "policy": "guess"}).status_code == 200


def test_a_policy_is_checked_in_a_process_that_is_ended_when_it_takes_too_long(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, text = house.key(OURS), {"text": "version: 1\n"}
    current = client.get("/v1/admin/policies/current").json()["version"]
    with monkeypatch.context() as slow:
        slow.setattr(check_text, "TASK", f"{HERE}:spin")
        for answer in (
            client.post("/v1/admin/policies/check", json=text),
            client.put("/v1/admin/policies", json={**text, "if_version": current}),
        ):
            is_a_problem(answer, 422, "policy")
            assert answer.json()["problem"] == "The policy needs more than 6 s to be read."
    assert client.get("/v1/admin/policies/current").json()["version"] == current
    assert client.post("/v1/admin/policies/check", json=text).json()["ok"]
