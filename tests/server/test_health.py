"""What machines look at: alive, ready, metrics, logs, traces. None of it says what anybody said."""

from __future__ import annotations

import io
import logging
import re
import shutil
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
import yaml
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient
from tests.database_clock import database_follows
from tests.server.house import METRICS, OURS, House, is_a_problem, say

from circumspect.clock import FixedClock
from circumspect.journal import ExecutionEvent, Journal
from circumspect.server.app import create_app
from circumspect.server.config import Settings
from circumspect.server.metrics import MOST_NAMES, Metrics
from circumspect.server.request_log import ServerFormatter
from circumspect.values import ConversationId, TurnId, TurnResult, Usage

ROOT = Path(__file__).parents[2]


def values(house: House) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = house.read_metrics()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_alive_and_ready(house: House) -> None:
    client = house.client()
    assert client.get("/healthz").json() == {"status": "ok"}
    ready = client.get("/readyz")
    assert ready.status_code == 200
    assert ready.json()["database"] == "ok"
    assert ready.json()["model"] == "offline"


@pytest.mark.parametrize(("version", "status"), [("0999", 200), ("1000", 503), ("0001", 503)])
def test_a_worker_stays_ready_when_the_schema_is_only_added_to(tmp_path: Path, version: str, status: int) -> None:
    file = tmp_path / "c.db"
    with House(f"sqlite:///{file}") as house:
        with sqlite3.connect(file) as newer:
            newer.execute("ALTER TABLE turns ADD COLUMN colour TEXT")
            newer.execute("ALTER TABLE conversations ADD COLUMN size INTEGER NOT NULL DEFAULT 3")
            newer.execute("UPDATE alembic_version SET version_num = ?", [version])
        newer.close()
        ready = house.client().get("/readyz")
        assert (ready.status_code, ready.json()["database"] == "ok") == (status, status == 200)
        if status == 200:
            client = house.key()
            talk = house.conversation(client)
            assert say(client, talk, "cancel order 12345")["outcome"] == "asked"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "ok"), (4, "ok"), (120, "120 seconds ahead of the database's"), (-7, "7 seconds behind the database's")],
)
def test_a_worker_says_when_its_clock_is_not_the_databases(tmp_path: Path, seconds: float, said: str) -> None:
    now = FixedClock(datetime(2026, 3, 31, 12, 0, tzinfo=UTC))
    own = FixedClock(now.at + timedelta(seconds=seconds))
    settings = Settings(database=f"sqlite:///{tmp_path}/c.db")
    with database_follows(now), TestClient(create_app(settings, clock=own)) as client:
        ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["clock"]) == (200, said)


def test_a_turn_is_counted_by_tenant_mode_outcome_reason_model_and_tool(house: House) -> None:
    client = house.key()
    before = values(house)
    talk = house.conversation(client)
    say(client, talk, "cancel order 12345")
    say(client, talk, "yes")
    after = values(house)

    def grown(name: str, **labels: str) -> float:
        at = (f"circumspect_{name}", frozenset(labels.items()))
        return after.get(at, 0) - before.get(at, 0)

    assert grown("turns_total", tenant="shop", mode="adaptive", outcome="asked") == 1
    assert grown("turns_total", tenant="shop", mode="adaptive", outcome="acted") == 1
    assert grown("reason_codes_total", tenant="shop", code="DESTRUCTIVE_NO_CONFIRM") == 1
    assert grown("critiques_total", tenant="shop") == 1
    assert grown("tool_executions_total", tenant="shop", tool="cancel_order", state="succeeded") == 1
    assert grown("tokens_total", tenant="shop", model="offline", direction="input") > 0
    assert grown("model_call_seconds_count", model="offline") == 3
    assert grown("turn_seconds_count", mode="adaptive") == 2
    route = "/v1/conversations/{conversation_id}/messages"
    assert grown("http_requests_total", method="POST", route=route, status="200") == 2
    assert ("circumspect_outbox_depth", frozenset()) in after
    assert ("circumspect_calls_of_unknown_outcome", frozenset()) in after


def test_names_that_clients_bring_are_counted_by_name_up_to_a_number() -> None:
    """A client brings tools of its own, with other names in every request, and a name once counted is kept."""
    metrics, usage = Metrics(), Usage("standard")
    turn = TurnResult(TurnId("t"), ConversationId("c"), "acted", "", (), None, usage)
    for tenant in ("shop", "clinic"):
        for number in range(1_000):
            ran = ExecutionEvent(
                "", execution="exec_1", tool=f"tool_{number}", arguments={}, state="delegated", result=None, error=""
            )
            journal = Journal()
            journal.write(ran)
            metrics.turn(tenant, replace(turn, entries=tuple(journal.entries)), 0.1)
    for number in range(1_000):
        metrics.request(f"METHOD{number}", "unknown", 404, 0.01)
    counted: dict[str, list[float]] = {}
    for family in text_string_to_metric_families(metrics.render().decode()):
        for sample in family.samples:
            counted.setdefault(f"{sample.name} {sample.labels.get('tenant', '')}", []).append(sample.value)
    for tenant in ("shop", "clinic"):
        made = counted[f"circumspect_tool_executions_total {tenant}"]
        assert (len(made), sum(made)) == (MOST_NAMES + 1, 1_000)
    assert counted["circumspect_http_requests_total "] == [1_000]


def test_a_repeated_key_is_counted_once(house: House) -> None:
    client = house.key()
    talk = house.conversation(client)
    at = ("circumspect_turn_seconds_count", frozenset({("mode", "adaptive")}))
    before = values(house).get(at, 0)
    for _ in range(3):
        say(client, talk, "hello", **{"Idempotency-Key": "once"})
    assert values(house)[at] == before + 1


def test_metrics_are_not_for_strangers(house: House) -> None:
    is_a_problem(house.client().get("/metrics"), 401)
    is_a_problem(house.client("a token for guessing").get("/metrics"), 401)
    is_a_problem(house.operator("root").get("/metrics"), 401)
    assert "circumspect_turns_total" in house.client(METRICS).get("/metrics").text


def test_without_a_token_metrics_are_closed_to_this_machine_too(furnished: Path, tmp_path: Path) -> None:
    """A proxy on this machine that adds no header of its own cannot be told from a Prometheus on it."""
    path = shutil.copy(furnished, tmp_path)
    with House(f"sqlite:///{path}", metrics_token=None) as house:
        for headers in ({}, {"X-Forwarded-For": "8.8.8.8"}, {"Authorization": "Bearer None"}):
            told = is_a_problem(house.client().get("/metrics", headers=headers), 403)
            assert "CIRCUMSPECT_METRICS_TOKEN" in told["fix"]
            assert OURS not in str(told)


def test_every_metric_of_the_alerts_exists(house: House) -> None:
    exposed = house.read_metrics()
    known = set(re.findall(r"^# TYPE (\S+)", exposed, re.M))
    rules = yaml.safe_load((ROOT / "ops" / "alerts.yaml").read_text())
    found = {
        name
        for group in rules["groups"]
        for rule in group["rules"]
        for name in re.findall(r"circumspect_\w+", rule["expr"])
    }
    assert found
    for name in found:
        assert re.sub(r"_(total|bucket|count|sum)$", "", name) in known | {
            one.removesuffix("_total") for one in known
        }, name
    for group in rules["groups"]:
        for rule in group["rules"]:
            assert rule["annotations"].keys() >= {"summary", "description"}, rule["alert"]


def test_logs_have_ids_and_codes_and_nothing_that_was_said(house: House) -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(ServerFormatter())
    logger = logging.getLogger("circumspect")
    logger.addHandler(handler)
    logger.setLevel("DEBUG")
    try:
        client = house.key()
        talk = house.conversation(client)
        said = say(client, talk, "cancel order 12349 for my-secret-name", **{"X-Request-Id": "req-77"})
    finally:
        logger.removeHandler(handler)
    lines = [orjson.loads(line) for line in out.getvalue().splitlines()]
    mine = [line for line in lines if line.get("request") == "req-77"]
    turn = next(line for line in mine if line["message"] == "turn")
    assert (turn["tenant"], turn["turn"]) == ("shop", said["turn_id"])
    assert turn["reason_codes"] == said["reason_codes"]
    request = next(line for line in mine if line["message"] == "request")
    assert request["status"] == 200
    assert (request["tenant"], request["turn"]) == ("shop", said["turn_id"])
    assert request["route"] == "/v1/conversations/{conversation_id}/messages"
    assert "my-secret-name" not in out.getvalue()
    assert "csk_" not in out.getvalue()


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter


def test_a_turn_is_traced_by_the_genai_conventions(house: House, spans: InMemorySpanExporter) -> None:
    client = house.key()
    talk = house.conversation(client)
    say(client, talk, "cancel order 12348 for my-secret-name")
    done = say(client, talk, "yes")
    found = spans.get_finished_spans()
    turns = [span for span in found if span.name == "invoke_agent shop"]
    assert len(turns) == 2
    chats = [span for span in found if span.name.startswith("chat ")]
    assert {span.attributes["gen_ai.operation.name"] for span in chats} == {"chat"}
    assert {span.attributes["circumspect.purpose"] for span in chats} == {"draft", "critique", "phrase"}
    assert all(span.attributes["gen_ai.usage.input_tokens"] > 0 for span in chats)
    (tool,) = [span for span in found if span.name.startswith("execute_tool")]
    assert tool.attributes["gen_ai.tool.name"] == "cancel_order"
    last = turns[-1]
    assert tool.parent.span_id == last.context.span_id
    assert last.attributes["gen_ai.conversation.id"] == talk
    assert last.attributes["circumspect.turn.id"] == done["turn_id"]
    assert (last.attributes["circumspect.outcome"], last.attributes["circumspect.verdict"]) == ("acted", "allow")
    assert turns[0].attributes["circumspect.verdict"] == "ask"
    assert "my-secret-name" not in str([(span.name, dict(span.attributes), span.events) for span in found])


def test_without_an_sdk_nothing_is_wrapped() -> None:
    from circumspect.demo.offline import OfflineModel
    from circumspect.server import telemetry

    model = OfflineModel()
    assert telemetry.trace_model(model) is model
