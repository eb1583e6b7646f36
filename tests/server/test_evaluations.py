"""`/v1/evaluations`: sent once, worked on in the background, read by its own tenant, forgotten by case."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.database_clock import database_follows
from tests.patience import PATIENCE
from tests.server.house import METRICS, OURS, THEIRS, House, Running, is_a_problem
from tests.server.model_server import SlowModel

from circumspect.clock import FixedClock
from circumspect.models import open_model
from circumspect.review.values import CriterionResult
from circumspect.server.apply_tenant import Applied, apply_file
from circumspect.stores import SqlStore, reviews

POLICY = """\
# Claims

## 1 Time

A claim for a trip shall be submitted within 30 days after the last day of the trip.
"""
CRITERIA = [
    {
        "id": "K-1",
        "text": "The claim was submitted in time.",
        "facts": ["claim.kind", "claim.submitted", "trip.last_day"],
    },
    {"id": "K-2", "text": "The receipts are signed."},
]


@pytest.fixture(scope="module")
def reviewing(both: House) -> House:
    return both


def body(case: str = "C-1", **more: Any) -> dict[str, Any]:
    facts = {"claim": {"kind": "trip", "submitted": "2026-04-05"}, "trip": {"last_day": "2026-03-06"}}
    given = {
        "case": {"id": case, "facts": facts},
        "criteria": CRITERIA,
        "documents": [{"name": "policy.md", "text": POLICY}],
    }
    return {**given, **more}


def send(client: httpx.Client, **more: Any) -> dict[str, Any]:
    sent = client.post("/v1/evaluations", json=body(**more))
    assert sent.status_code == 202, sent.text
    return dict(sent.json())


def done(client: httpx.Client, id_: str, **query: Any) -> dict[str, Any]:
    until = time.monotonic() + PATIENCE
    while True:
        found = client.get(f"/v1/evaluations/{id_}", params=query)
        assert found.status_code == 200, found.text
        if found.json()["state"] in ("done", "failed"):
            return dict(found.json())
        assert time.monotonic() < until, found.text
        time.sleep(0.03)


def test_a_case_is_taken_at_once_and_answered_in_the_background(reviewing: House) -> None:
    client = reviewing.key()
    taken = send(client)
    assert (taken["case"], taken["total"], taken["controller"]) == ("C-1", 2, "heuristic")
    found = done(client, taken["id"])
    assert (found["state"], found["done"], found["error"]) == ("done", 2, None)
    first, second = found["results"]
    assert (first["criterion"], first["status"]) == ("K-1", "MET")
    quote = first["citations"][0]
    assert POLICY[quote["start"] : quote["end"]] == quote["quote"]
    assert first["evidence"][0] == {"field": "claim.submitted", "value": "2026-04-05"}
    assert second["status"] == "UNCERTAIN"
    assert "trace" not in first
    assert found["id"] in [one["id"] for one in client.get("/v1/evaluations?case=C-1").json()["items"]]
    assert client.get("/v1/evaluations?case=C-none").json()["items"] == []


def test_the_list_goes_on_where_a_page_ends(reviewing: House) -> None:
    client = reviewing.key()
    made = [send(client, case="C-page")["id"] for _ in range(3)]
    first = client.get("/v1/evaluations?case=C-page&limit=2").json()
    rest = client.get("/v1/evaluations", params={"case": "C-page", "limit": 2, "after": first["next"]}).json()
    assert {one["id"] for one in first["items"] + rest["items"]} == set(made)
    assert rest["next"] is None


def test_how_a_verdict_came_about_needs_the_scope_read(reviewing: House) -> None:
    id_ = send(reviewing.key())["id"]
    done(reviewing.key(), id_)
    chat, read = reviewing.key("shop", "chat"), reviewing.key("shop", "read")
    is_a_problem(chat.get(f"/v1/evaluations/{id_}?trace=true"), 403)
    assert chat.get(f"/v1/evaluations/{id_}").status_code == 200
    assert read.get(f"/v1/evaluations/{id_}?trace=true").json()["results"][0]["trace"]
    is_a_problem(read.post("/v1/evaluations", json=body()), 403)
    is_a_problem(reviewing.key("shop", "manage").get(f"/v1/evaluations/{id_}"), 403)
    assert reviewing.operator("rita").get(f"/v1/evaluations/{id_}?trace=true").status_code == 200


def test_events_tell_each_result_and_the_end(reviewing: House) -> None:
    client = reviewing.key()
    id_ = send(client)["id"]
    events: list[tuple[str, dict[str, Any]]] = []
    with client.stream("GET", f"/v1/evaluations/{id_}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        name = ""
        for line in stream.iter_lines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                events.append((name, json.loads(line[6:])))
    assert [name for name, _ in events] == ["started", "result", "result", "done"]
    assert {data["criterion"] for name, data in events if name == "result"} == {"K-1", "K-2"}
    assert events[-1][1]["done"] == 2


def test_another_tenant_sees_and_deletes_nothing(reviewing: House) -> None:
    ours, theirs = reviewing.key(), reviewing.key(THEIRS)
    id_ = send(ours, case="C-secret")["id"]
    done(ours, id_)
    is_a_problem(theirs.get(f"/v1/evaluations/{id_}"), 404)
    is_a_problem(theirs.get(f"/v1/evaluations/{id_}/events"), 404)
    is_a_problem(theirs.delete("/v1/evaluations?case=C-secret"), 404)
    is_a_problem(reviewing.operator("theirs").get(f"/v1/evaluations/{id_}"), 404)
    is_a_problem(theirs.get("/v1/evaluations?tenant=shop"), 404)
    assert theirs.get("/v1/evaluations").json()["items"] == []
    assert ours.get(f"/v1/evaluations/{id_}").status_code == 200


def test_a_case_is_forgotten_with_everything_that_was_thought_about_it(reviewing: House) -> None:
    client = reviewing.key()
    made = [send(client, case="C-gone")["id"] for _ in range(2)]
    kept = send(client, case="C-kept")["id"]
    for id_ in (*made, kept):
        done(client, id_)
    is_a_problem(reviewing.key("shop", "chat").delete("/v1/evaluations?case=C-gone"), 403)
    assert client.delete("/v1/evaluations?case=C-gone").status_code == 204
    for id_ in made:
        is_a_problem(client.get(f"/v1/evaluations/{id_}"), 404)
    is_a_problem(client.delete("/v1/evaluations?case=C-gone"), 404)
    assert client.get(f"/v1/evaluations/{kept}").json()["results"]
    log = reviewing.operator("root").get("/v1/admin/log?tenant=shop").json()["items"]
    assert ("delete_case", "C-gone") in [(one["action"], one["subject"]) for one in log]


def test_the_same_key_gets_the_first_evaluation(reviewing: House) -> None:
    client, key = reviewing.key(), {"Idempotency-Key": "send-once"}
    first = client.post("/v1/evaluations", json=body(), headers=key).json()["id"]
    assert client.post("/v1/evaluations", json=body(), headers=key).json()["id"] == first
    assert reviewing.key(THEIRS).post("/v1/evaluations", json=body(), headers=key).json()["id"] != first


def test_an_evaluation_whose_worker_died_is_taken_up_by_whoever_is_asked(reviewing: House) -> None:
    client = reviewing.key()
    request = {**body("C-orphan"), "fallback": True}

    async def abandon(store: SqlStore) -> None:
        await store.tx(
            reviews.create, tenant="shop", id="eval_orphan", case_id="C-orphan", controller="heuristic", total=2,
            request=request, at=time.time(),
        )  # fmt: skip
        assert await store.tx(reviews.claim, "shop", "eval_orphan", "dead", -1.0)

    reviewing.stored(abandon)
    assert done(client, "eval_orphan")["done"] == 2


def test_a_worker_that_lost_its_claim_writes_nothing_more(reviewing: House) -> None:
    async def race(store: SqlStore) -> None:
        now = time.time()
        await store.tx(
            reviews.create, tenant="shop", id="eval_race", case_id="C-race", controller="heuristic", total=1,
            request=body("C-race"), at=now,
        )  # fmt: skip
        whole = CriterionResult("C-race", "K-1", "MET", 0.9, "", "heuristic").to_json()
        row = reviews.ResultRow("C-race", "h", "K-1", 0, "MET", 0.9, None, "heuristic", "", 0, 0, 0.0, whole)
        assert await store.tx(reviews.claim, "shop", "eval_race", "one", 60.0)
        assert not await store.tx(reviews.claim, "shop", "eval_race", "two", 60.0)
        with database_follows(FixedClock(datetime.fromtimestamp(now + 90, UTC))):
            assert await store.tx(reviews.claim, "shop", "eval_race", "two", 60.0)
        assert not await store.tx(reviews.write_result, "shop", "eval_race", "one", row, now, 90.0)
        assert not await store.tx(reviews.finish, "shop", "eval_race", "one", "done", now)
        assert await store.tx(reviews.write_result, "shop", "eval_race", "two", row, now, 90.0)
        assert [one async for one in _positions(store)] == [0]
        assert await store.tx(reviews.finish, "shop", "eval_race", "two", "done", now)

    async def _positions(store: SqlStore) -> Any:
        for position, _ in await store.tx(reviews.results_of, "shop", "eval_race"):
            yield position

    reviewing.stored(race)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"case": {"id": "x"}}, "no facts"),
        ({"case": {"id": "x", "facts": {"a": 1}, "policy": "p"}, "criteria": [{"id": "a", "text": "t", "policy": "q"}]}, "No criterion"),
        ({"criteria": [{"id": "a"}]}, "'text' is missing"),
        ({"criteria": []}, "criteria"),
        ({"documents": [{"name": "a.md"}]}, "documents"),
        ({"documents": [{"text": "x"}]}, "documents"),
        ({"documents": [{"name": "a.pdf", "data": base64.b64encode(b"\x89PNG").decode()}]}, "a.pdf"),
        ({"documents": [{"name": "a.md", "text": "x"}, {"name": "a.md", "text": "y"}]}, "same name"),
        ({"documents": [{"stored": "no-such.md"}]}, "no stored document"),
        ({"controller": "react"}, "no language model"),
        ({"surprise": 1}, "surprise"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_wrong_request_is_told_what_is_wrong(reviewing: House, more: dict[str, Any], said: str) -> None:
    problem = is_a_problem(reviewing.key().post("/v1/evaluations", json={**body(), **more}), 422)
    assert said in problem["problem"], problem


def test_a_file_is_read_from_its_bytes(reviewing: House) -> None:
    sample = Path(__file__).parents[2] / "examples" / "review" / "policies" / "returns-and-warranty.html"
    document = {"name": sample.name, "data": base64.b64encode(sample.read_bytes()).decode()}
    client = reviewing.key()
    found = done(client, send(client, documents=[document])["id"])
    assert found["state"] == "done"
    assert {one["document"] for result in found["results"] for one in result["citations"]} <= {sample.name}


# --- whose verdict it is: the tenant's file ---------------------------------------------------------------------------


@pytest.fixture
def reviewer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[str, SlowModel]]:
    """A model on loopback that never comes to a verdict; its name, and how often it was asked."""
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    model = SlowModel(words="I cannot say.")
    with Running(model) as running:
        name = f"openai:reviewer@{running.url}/v1"
        open_model(name)  # imports what providers need, which takes seconds
        yield name, model


def apply_to(house: House, folder: Path, text: str) -> Applied:
    file = folder / "tenant.yaml"
    file.write_text(text, "utf-8")
    return house.stored(lambda store: apply_file(file, store, house.settings))


def taken_by(client: httpx.Client, wanted: str, **more: Any) -> dict[str, Any]:
    """An evaluation that this controller decides; a server hears of a changed file within a second or so."""
    until = time.monotonic() + PATIENCE
    while (taken := send(client, **more))["controller"] != wanted:
        assert time.monotonic() < until, taken
        time.sleep(0.1)
    return done(client, taken["id"])


def test_the_tenants_file_says_who_decides_its_cases(
    both: House, reviewer: tuple[str, SlowModel], tmp_path: Path
) -> None:
    name, model = reviewer
    tenant = f"id: claims\nplan: free\nbusiness: {{name: Claims}}\nmodel: {name}\n"
    apply_to(both, tmp_path, f"{tenant}review: {{controller: heuristic}}\n")
    client = both.key("claims")
    taken = send(client)
    found = done(client, taken["id"])
    assert taken["controller"] == "heuristic"
    assert [(one["status"], one["controller"]) for one in found["results"]] == [
        ("MET", "heuristic"),
        ("UNCERTAIN", "heuristic"),
    ]
    assert model.asked == 0

    asked_for = done(client, send(client, controller="react")["id"])
    assert {one["controller"] for one in asked_for["results"]} == {"react"}
    asked = model.asked
    assert asked > 0

    changed = apply_to(both, tmp_path, tenant)
    assert [str(one) for one in changed.changes] == ["- review.controller"]
    taken_by(client, "react")
    assert model.asked > asked


def test_a_file_that_wants_a_model_and_has_none_never_gets_codes_word_for_it(both: House, tmp_path: Path) -> None:
    said = "id: modelless\nplan: free\nbusiness: {name: Claims}\nreview: {controller: react}\n"
    applied = apply_to(both, tmp_path, said)
    assert "tenant.yaml:4: there is no language model to review cases with" in applied.warnings[0]
    client = both.key("modelless")
    is_a_problem(client.post("/v1/evaluations", json=body()), 422, "no_model")
    assert client.get("/v1/evaluations").json()["items"] == []
    assert send(client, controller="heuristic")["controller"] == "heuristic"


def test_an_experiment_on_cases_counts_more_than_the_file(
    both: House, reviewer: tuple[str, SlowModel], tmp_path: Path
) -> None:
    name, _ = reviewer
    settings = f"model: {name}\nreview: {{controller: heuristic}}\n"
    apply_to(both, tmp_path, f"id: tried\nplan: free\nbusiness: {{name: Claims}}\n{settings}")
    client = both.key("tried")
    arms = [{"name": "thinks", "overlay": {"controller": "react"}}]
    root = both.operator("root")
    made = root.post(
        "/v1/admin/experiments", params={"tenant": "tried"}, json={"name": "who", "arms": arms, "unit": "case"}
    )
    assert made.status_code == 201, made.text
    url = f"/v1/admin/experiments/{made.json()['id']}"
    for step, said in (("start", {"share": 0.1}), ("finish", {"winner": "thinks", "roll_out": True})):
        answer = root.post(f"{url}/{step}", json=said)
        assert answer.status_code == 200, answer.text
    taken_by(client, "react", case="C-tried")
    assert send(client, case="C-tried", controller="heuristic")["controller"] == "heuristic"


def test_verdicts_are_in_usage_as_a_table_and_in_the_metrics(house: House) -> None:
    client, started = house.key(), datetime.now(UTC)
    before = {row["controller"]: row for row in usage_of(client)}.get("heuristic", {})
    assert done(client, send(client, case="C-used")["id"])["state"] == "done"
    (row,) = usage_of(client)
    assert row["verdicts"] - before.get("verdicts", 0) == len(CRITERIA)
    assert row["verdicts"] == row["met"] + row["not_met"] + row["uncertain"]
    assert row["abstention"] == row["uncertain"] / row["verdicts"]
    assert row["seconds_each"] > 0
    assert row["period"] >= f"{started:%Y-%m}"
    table = client.get("/v1/admin/usage/evaluations", headers={"Accept": "text/csv"})
    assert table.headers["content-type"].startswith("text/csv")
    assert table.text.splitlines()[0].startswith("tenant,period,controller,model,verdicts,met,not_met,uncertain")
    scraped = house.client(METRICS).get("/metrics").text
    counted = [line for line in scraped.splitlines() if line.startswith("circumspect_verdicts_total{")]
    assert any('controller="heuristic"' in line and f'tenant="{OURS}"' in line for line in counted)
    assert f'circumspect_evaluations_total{{state="done",tenant="{OURS}"}}' in scraped
    assert "circumspect_verdict_seconds_bucket" in scraped
    assert "circumspect_verdict_confidence_sum" in scraped
    assert house.key(THEIRS).get("/v1/admin/usage/evaluations").json()["items"] == []
    assert client.delete("/v1/evaluations", params={"case": "C-used"}).status_code < 300
    assert usage_of(client) == [row], "what was used stays when the case is forgotten"


def usage_of(client: httpx.Client) -> list[dict[str, Any]]:
    return list(client.get("/v1/admin/usage/evaluations").json()["items"])
