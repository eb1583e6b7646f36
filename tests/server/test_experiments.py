"""Experiments on a server: who gets which arm, what is counted, how an arm gives way, and how a switch reaches all."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
import yaml
from starlette.requests import Request
from starlette.responses import JSONResponse
from tests.patience import PATIENCE, wait_until
from tests.server.house import OURS, SECRET, House, Running, is_a_problem, say
from tests.server.test_serve import serving

from circumspect.demo.samples.sample_files import DIRECTORY
from circumspect.lab.trials import conducting
from circumspect.lab.trials.experiments import NOTICE_SECONDS, draw, from_row, start
from circumspect.models import open_model
from circumspect.policy.load import load
from circumspect.prompts import load_default_prompt
from circumspect.review.experiment_arms import load_prompts
from circumspect.server.background import look_at_arms
from circumspect.server.config import Settings
from circumspect.server.services import open_services
from circumspect.server.stores import policies, tenants
from circumspect.stores import SqlStore, experiments, reviews, shadows
from circumspect.stores.experiment_tables import exposures, labels
from circumspect.stores.experiments import ExposureRow
from circumspect.stores.tables import tenants as stored_tenants
from circumspect.values import Business, Tenant, TenantId

SHOP = TenantId(OURS)
AT_ONCE = {"name": "quick", "overlay": {"profile": "standard"}}
"""An arm in the other mode than control: the two can be told apart from outside."""
CANCEL = "cancel order 12345"


def begun(
    house: House, *arms: Any, share: float = 1.0, kind: str = "ab", unit: str = "conversation", **plan: Any
) -> str:
    """An experiment that has been running for ever: every conversation is in it."""
    id_ = f"exp_{time.monotonic_ns()}"
    if kind == "ab":
        plan = {"quiet_seconds": 0, **plan}
    made = conducting.draft(
        SHOP, id_, name="n", kind=kind, unit=unit, arms=list(arms), plan=plan, by="me", at=time.time()
    )

    def body(connection: sa.Connection) -> None:
        table = experiments.experiments
        others = sa.update(table).where(table.c.kind == kind)
        connection.execute(others.values(state="stopped", live=False))
        conducting.create(connection, start(made, share, 0.0, notice=0), lambda *_: None)

    async def add(store: SqlStore) -> None:
        await store.tx(body)

    house.stored(add)
    house.app.state.services.experimenting.look_again()
    return id_


def ended(house: House, id_: str) -> None:
    """Out of the next test's way."""
    house.operator("root").post(f"/v1/admin/experiments/{id_}/stop", json={})


def mode(house: House, text: str = CANCEL) -> str:
    """`adaptive` for control, `standard` for the arm."""
    client = house.key()
    return str(say(client, house.conversation(client), text)["usage"]["mode"])


def lenient(house: House) -> dict[str, object]:
    """A configuration under which an address is changed unasked. It is stored, and not in force."""
    policy = yaml.safe_load((DIRECTORY / "policy.yaml").read_text("utf-8"))
    policy["tools"]["update_address"] = {"effect": "write", "confirm": "never"}
    loose, ours = yaml.safe_dump(policy), (DIRECTORY / "policy.yaml").read_text("utf-8")

    async def put(store: SqlStore) -> int:
        made, _ = [
            await store.tx(policies.put_policy, SHOP, text, load(text).hash, at=datetime.now(UTC))
            for text in (loose, ours)
        ]
        return made.version

    return {"profile": "standard", "policy": house.stored(put)}


def rows(house: House, id_: str) -> list[Any]:
    async def read(store: SqlStore) -> list[Any]:
        query = sa.select(exposures).where(exposures.c.experiment == id_).order_by(exposures.c.at)
        return await store.tx(lambda connection: list(connection.execute(query)))

    return house.stored(read)


def test_an_experiment_from_draft_to_decision(both: House) -> None:
    root = both.operator("root")
    said = {"name": "quick or careful", "arms": [AT_ONCE], "plan": {"metric": "wrong", "horizon": 500}}
    made = root.post("/v1/admin/experiments", params={"tenant": OURS}, json=said)
    assert made.status_code == 201, made.text
    url = f"/v1/admin/experiments/{made.json()['id']}"
    assert made.json()["state"] == "draft"
    assert [arm["name"] for arm in made.json()["arms"]] == ["control", "quick"]
    is_a_problem(root.post(f"{url}/share", json={"share": 0.5}), 409)
    assert root.post(f"{url}/start", json={"share": 0.1}).json()["state"] == "running"
    is_a_problem(root.post(f"{url}/start", json={"share": 0.1}), 409)
    assert root.post(f"{url}/share", json={"share": 0.5}).json()["share"] == 0.5
    other = root.post("/v1/admin/experiments", params={"tenant": OURS}, json=said).json()["id"]
    refused = is_a_problem(root.post(f"/v1/admin/experiments/{other}/start", json={"share": 0.1}), 409)
    assert made.json()["id"] in refused["fix"]
    whole = root.get(url).json()
    assert set(whole["results"]["arms"]) == {"control", "quick"}
    assert whole["results"]["comparisons"]["quick"][0]["metric"] == "wrong"
    assert whole["results"]["next"]["quick"]["move"] == "stays"
    rolled = root.post(f"{url}/finish", json={"winner": "quick", "roll_out": True}).json()
    assert (rolled["state"], rolled["winner"]) == ("rolled_out", "quick")
    back = root.post(f"{url}/stop", json={"why": "customers complain"}).json()
    assert (back["state"], back["note"]) == ("stopped", "customers complain")
    done = [one["action"] for one in root.get("/v1/admin/log", params={"tenant": OURS}).json()["items"]]
    assert {"create_experiment", "start_experiment", "set_share", "finish_experiment", "stop_experiment"} <= {*done}
    listed = root.get("/v1/admin/experiments", params={"tenant": OURS, "limit": 1}).json()
    assert listed["items"][0]["id"] == other
    assert listed["next"]


def test_of_two_who_change_what_they_saw_one_is_told_that_it_has_changed(both: House) -> None:
    root = both.operator("root")
    said = {"name": "n", "arms": [AT_ONCE]}
    made = root.post("/v1/admin/experiments", params={"tenant": OURS}, json=said)
    url = f"/v1/admin/experiments/{made.json()['id']}"
    begun = root.post(f"{url}/start", json={"share": 0.1}, headers={"If-Match": made.headers["ETag"]})
    assert begun.status_code == 200, begun.text
    for does, given in (("start", {"share": 0.1}), ("stop", {}), ("finish", {"winner": "quick"})):
        is_a_problem(root.post(f"{url}/{does}", json=given, headers={"If-Match": made.headers["ETag"]}), 412)
    for time_ in range(1, 5):
        tag, together = root.get(url).headers["ETag"], Barrier(2)

        def widen(share: float, tag: str = tag, together: Barrier = together) -> tuple[float, httpx.Response]:
            together.wait()
            return share, root.post(f"{url}/share", json={"share": share}, headers={"If-Match": tag})

        with ThreadPoolExecutor(2) as people:
            answers = sorted(
                people.map(widen, (time_ / 10 + 0.1, time_ / 10 + 0.15)), key=lambda one: one[1].status_code
            )
        assert [one.status_code for _, one in answers] == [200, 412]
        (share, done), (_, told) = answers
        whole = root.get(url)
        assert whole.json()["share"] == share
        assert {one.headers["ETag"] for one in (whole, done, told)} == {whole.headers["ETag"]} != {tag}
        assert "Read it again" in is_a_problem(told, 412)["fix"]
    weak = {"If-Match": f'"other", W/{root.get(url).headers["ETag"]}'}
    assert root.post(f"{url}/share", json={"share": 0.9}, headers=weak).json()["share"] == 0.9
    assert root.post(f"{url}/stop", json={}, headers={"If-Match": "*"}).json()["state"] == "stopped"


def test_what_an_experiment_cannot_be_is_refused_by_name(house: House) -> None:
    root, url = house.operator("root"), f"/v1/admin/experiments?tenant={OURS}"
    for arms, plan, said in (
        ([{"name": "new", "overlay": {"policy": 99}}], {}, "99"),
        ([{"name": "new", "overlay": {"prompts": {"critique": "critique@00000000"}}}], {}, "critique@00000000"),
        ([{"name": "new", "overlay": {"thresholds": {"clarity": 0.5}}}], {}, "clarity"),
        ([{"name": "new"}], {"metric": "happiness"}, "metric"),
        ([{"name": "control"}], {}, "control"),
    ):
        answer = root.post(url, json={"name": "x", "arms": arms, "plan": plan})
        assert said in is_a_problem(answer, 422)["problem"]
    client = house.key(OURS)
    is_a_problem(client.post(url, json={"name": "x", "arms": [AT_ONCE]}), 403)
    is_a_problem(house.key(OURS, "read").post(url, json={"name": "x", "arms": [{"name": "new"}]}), 403)
    is_a_problem(house.operator("noa").post(url, json={"name": "x", "arms": [{"name": "new"}]}), 403)


def test_turns_are_counted_by_the_arm_that_was_drawn(both: House) -> None:
    id_ = begun(both, AT_ONCE, share=0.5)
    client = both.key()
    modes = {}
    for number in range(8):
        talk = both.conversation(client, id=f"{id_}-{number}")
        modes[talk] = say(client, talk, CANCEL)["usage"]["mode"]
    written = wait_until(lambda: found if len(found := rows(both, id_)) == 8 else None)

    async def stored(store: SqlStore) -> Any:
        return await store.tx(experiments.get, None, id_)

    experiment = from_row(both.stored(stored))
    for row in written:
        drawn = draw(experiment, row.conversation, time.time())
        assert drawn is not None
        assert drawn.arm.name == row.arm
        assert row.outcome == "asked"
        assert (modes[row.conversation] == "adaptive") == (row.arm == "control")
        assert not row.fell_back
        assert row.prompts[0].startswith("standard@" if row.arm == "quick" else "adaptive@") or row.prompts
    arms = both.operator("root").get(f"/v1/admin/experiments/{id_}").json()["results"]["arms"]
    assert sum(arm["units"] for arm in arms.values()) == 8
    assert {"control", "quick"} == set(arms)
    assert arms["control"]["metrics"]["asked"]["mean"] in (0, 1)
    ended(both, id_)


def test_a_no_and_a_change_of_mind_are_counted_as_wrong(house: House) -> None:
    id_ = begun(house, {"name": "new", "overlay": {"thresholds": {"critique_below": 0.9}}}, share=0.0)
    client = house.key()
    denied, changed = house.conversation(client), house.conversation(client)
    say(client, denied, CANCEL)
    say(client, denied, "no")
    say(client, changed, CANCEL)
    say(client, changed, "sorry, cancel order 12347")
    written = wait_until(lambda: found if len(found := rows(house, id_)) == 4 else None)
    signals = {(row.conversation, row.denied, row.corrected) for row in written}
    assert {(denied, True, False), (changed, False, True)} <= signals
    arms = house.operator("root").get(f"/v1/admin/experiments/{id_}").json()["results"]["arms"]
    assert arms["control"]["metrics"]["wrong"]["mean"] == 1
    assert (arms["control"]["units"], arms["control"]["turns"]) == (2, 4)
    ended(house, id_)


# --- giving way -----------------------------------------------------------------------------------------------------


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch, tmp_path) -> Iterator[str]:
    """A model that says no to everything."""
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        await Request(scope, receive).body()
        await JSONResponse({"error": {"message": "no"}}, 400)(scope, receive, send)

    with Running(app) as running:
        name = f"openai:refusing@{running.url}/v1"
        # Who starts an experiment builds its arms first, which imports what providers need. That takes seconds, on a
        # busy machine more than an arm has in somebody's turn.
        open_model(name)
        yield name


@pytest.mark.parametrize(("accept", "order"), [("application/json", "12349"), ("text/event-stream", "12348")])
def test_an_arm_that_fails_gives_way_and_the_user_is_answered(
    house: House, refusing: str, accept: str, order: str
) -> None:
    id_ = begun(house, {"name": "broken", "overlay": {"model": refusing}})
    client = house.key()
    talk = house.conversation(client)
    answer = client.post(
        f"/v1/conversations/{talk}/messages", json={"content": "where is order 12345?"}, headers={"Accept": accept}
    )
    assert answer.status_code == 200
    assert "12345" in answer.text
    assert "answered" in answer.text
    said = client.get(f"/v1/conversations/{talk}/messages").json()["items"]
    assert [one["role"] for one in said] == ["user", "assistant"]
    assert "12345" in said[1]["content"]
    inside = client.get(f"/v1/conversations/{talk}/messages?internal=true").json()["items"]
    assert "MODEL_FAILED" in {one.get("reason_code") for one in inside}
    (row,) = wait_until(lambda: rows(house, id_))
    assert (row.arm, row.fell_back, row.outcome) == ("broken", True, "answered")
    arms = house.operator("root").get(f"/v1/admin/experiments/{id_}").json()["results"]["arms"]
    assert arms["broken"]["metrics"]["failed"]["mean"] == 1
    asked = say(client, talk, f"cancel order {order}")
    assert asked["outcome"] == "asked"
    assert say(client, talk, "yes")["outcome"] == "acted"
    ended(house, id_)


def test_an_arm_that_cannot_be_built_gives_way(house: House) -> None:
    id_ = begun(house, {"name": "broken", "overlay": {"policy": 99}})
    assert mode(house) == "adaptive"
    (row,) = wait_until(lambda: rows(house, id_))
    assert (row.arm, row.fell_back) == ("broken", True)
    ended(house, id_)


def test_a_key_that_comes_again_gets_the_same_answer_once(house: House, refusing: str) -> None:
    id_ = begun(house, {"name": "broken", "overlay": {"model": refusing}})
    client = house.key()
    talk = house.conversation(client)
    first, second = (say(client, talk, "hello", **{"Idempotency-Key": "k"}) for _ in range(2))
    assert first == second
    wait_until(lambda: rows(house, id_))
    time.sleep(1.2)  # one more round of writing
    assert len(rows(house, id_)) == 1
    ended(house, id_)


def test_what_cannot_be_written_down_costs_nobody_an_answer(house: House) -> None:
    def renamed(old: str, new: str) -> None:
        async def body(store: SqlStore) -> None:
            await store.tx(lambda connection: connection.execute(sa.text(f"ALTER TABLE {old} RENAME TO {new}")))

        house.stored(body)

    id_ = begun(house, AT_ONCE)
    renamed("exposures", "gone")
    try:
        assert mode(house) == "standard"
        time.sleep(1.2)  # a round of writing, which fails
        assert mode(house, "where is order 12345?") == "standard"
    finally:
        renamed("gone", "exposures")
    wait_until(lambda: len(rows(house, id_)) == 2)
    ended(house, id_)


async def test_a_guard_stops_an_arm_by_itself(tmp_path) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path}/h.db", secret_key=SECRET)
    store = await SqlStore.open(settings.database)
    await store.put_tenant(Tenant(SHOP, Business("Shop")))
    arms = [AT_ONCE, {"name": "fine"}]
    made = conducting.draft(SHOP, "e1", name="n", arms=arms, plan={"guards": [{"metric": "failed"}]}, by="me", at=0)
    await store.tx(conducting.create, start(made, 0.5, 0.0, notice=0), lambda *_: None)
    bad = [
        ExposureRow(
            SHOP, "e1", f"{arm}{number}", arm, 0, "failed" if arm == "quick" and number % 3 == 0 else "answered",
            time.time(), case_id=f"{arm}{number}",
        )
        for arm in ("control", "quick", "fine")
        for number in range(200)
    ]  # fmt: skip
    await store.tx(experiments.expose, bad)
    async with open_services(settings) as services:
        assert await look_at_arms(services) == 1
        assert await look_at_arms(services) == 0
        (live,) = await services.experimenting.live(SHOP)
    assert {arm.name: bool(arm.stopped) for arm in live.arms} == {"control": False, "quick": True, "fine": False}
    assert "failed" in live.arm("quick").stopped
    await store.close()


# --- the switch -----------------------------------------------------------------------------------------------------


def test_a_switch_reaches_every_process_without_a_restart(house: House, tmp_path) -> None:
    """Two processes on one database; what one of them is told, the other does."""
    token, root = house.token(), house.operator("root")
    surroundings = {
        "CIRCUMSPECT_DATABASE": house.settings.database,
        "CIRCUMSPECT_SECRET_KEY": SECRET,
        "CIRCUMSPECT_LOG_LEVEL": "error",  # nobody reads what it writes, and a full pipe would hold it up
    }
    with serving(tmp_path, **surroundings) as (process, url, _):
        assert process.pid != os.getpid()
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE, trust_env=False, verify=False) as other:

            def there() -> str:
                return str(say(other, house.conversation(other), CANCEL)["usage"]["mode"])

            assert there() == "adaptive"
            said = {"name": "n", "arms": [AT_ONCE], "plan": {"quiet_seconds": 0}}
            made = root.post("/v1/admin/experiments", params={"tenant": OURS}, json=said).json()
            root.post(f"/v1/admin/experiments/{made['id']}/start", json={"share": 1.0})
            wait_until(lambda: there() == "standard")
            assert mode(house) == "standard"
            root.post(f"/v1/admin/experiments/{made['id']}/stop", json={})
            assert mode(house) == "adaptive", "where it was told, it holds at once"
            wait_until(lambda: there() == "adaptive")


def test_a_conversation_under_way_keeps_its_arm_and_a_new_one_gets_the_winner(house: House) -> None:
    client, root = house.key(), house.operator("root")
    before = house.conversation(client)
    say(client, before, "hello")
    made = root.post("/v1/admin/experiments", params={"tenant": OURS}, json={"name": "n", "arms": [AT_ONCE]}).json()
    url = f"/v1/admin/experiments/{made['id']}"
    root.post(f"{url}/start", json={"share": 0.0})
    root.post(f"{url}/finish", json={"winner": "quick", "roll_out": True})
    wait_until(lambda: mode(house, "cancel order 12346") == "standard")
    assert say(client, before, "cancel order 12347")["usage"]["mode"] == "adaptive"
    ended(house, made["id"])


# --- shadows, prompts, deletion -------------------------------------------------------------------------------------


def test_a_shadow_is_listed_beside_what_was_done(both: House) -> None:
    id_ = begun(both, {"name": "quick", "overlay": lenient(both)}, kind="shadow")
    client = both.key()
    talk = both.conversation(client)
    turn = say(client, talk, "change the address of order 12350 to 1 New Street, Haifa")
    assert turn["outcome"] == "asked"
    listed = wait_until(lambda: client.get("/v1/admin/shadows", params={"experiment": id_}).json()["items"])
    assert [one["turn"] for one in listed] == [turn["turn_id"]]
    assert listed[0]["live"]["outcome"] == "asked"
    assert listed[0]["shadow"]["would"][0]["arguments"]["order_id"] == "12350"
    one = client.get(f"/v1/admin/shadows/{id_}/{turn['turn_id']}").json()
    assert one == listed[0]
    whole = client.get(f"/v1/admin/experiments/{id_}").json()
    assert whole["summary"]["turns"] == 1
    assert whole["summary"]["outcomes"] == {"asked -> acted": 1}
    assert client.get("/v1/admin/shadows", params={"experiment": id_, "different": True}).json()["items"]
    inside = client.get(f"/v1/conversations/{talk}/messages?internal=true").json()["items"]
    assert "cancelled" not in " ".join(one["content"] for one in inside).lower()
    ended(both, id_)


def test_prompts_have_versions_differences_and_uses(house: House) -> None:
    client = house.key()
    ours = {one["name"]: one["id"] for one in client.get("/v1/admin/prompts").json() if one["shipped"]}
    text = client.get(f"/v1/admin/prompts/{ours['adaptive']}").json()["text"]
    said = {"name": "adaptive", "text": f"{text}\nBe brief.", "parent": ours["adaptive"], "note": "shorter"}
    made = client.post("/v1/admin/prompts", json=said).json()
    assert client.post("/v1/admin/prompts", json=said).json() == made
    diff = client.get(f"/v1/admin/prompts/{made['id']}/diff").json()
    assert [line for line in diff["lines"] if line.startswith("+") and not line.startswith("+++")] == ["+Be brief."]
    is_a_problem(client.post("/v1/admin/prompts", json={"name": "adaptive", "text": "Be brief."}), 422)
    synthetic = client.get(f"/v1/admin/prompts/{ours['synthetic/normal']}")
    assert synthetic.json()["name"] == "synthetic/normal"
    id_ = begun(house, {"name": "brief", "overlay": {"prompts": {"adaptive": made["id"]}}})
    talk = house.conversation(client)
    turn = say(client, talk, "when are you open?")
    assert turn["outcome"] == "answered"
    uses = client.get(f"/v1/admin/prompts/{made['id']}/uses").json()
    assert [one["turn"] for one in uses] == [turn["turn_id"]]
    (row,) = wait_until(lambda: rows(house, id_))
    assert made["id"] in row.prompts
    ended(house, id_)


def test_deleting_a_person_deletes_what_experiments_know_of_them(both: House) -> None:
    id_, second = begun(both, AT_ONCE), begun(both, AT_ONCE, kind="shadow")
    client = both.key()
    talk = both.conversation(client, person=f"person-{id_}")
    say(client, talk, "hello", person=f"person-{id_}")
    wait_until(lambda: rows(both, id_))
    wait_until(lambda: client.get("/v1/admin/shadows", params={"experiment": second}).json()["items"])

    def label(connection: sa.Connection) -> None:
        connection.execute(
            sa.insert(labels).values(
                tenant=OURS, id="l1", conversation=talk, kind="thumbs_up", split="train", by="them", at=time.time()
            )
        )

    async def add(store: SqlStore) -> None:
        await store.tx(label)

    async def left(store: SqlStore) -> list[int]:
        tables = (exposures, shadows.shadows, labels)
        counts = [sa.select(sa.func.count()).select_from(one).where(one.c.conversation == talk) for one in tables]
        return await store.tx(lambda connection: [connection.execute(one).scalar_one() for one in counts])

    both.stored(add)
    kept = client.get(f"/v1/admin/persons/person-{id_}").json()["conversations"][0]
    assert [len(kept[name]) for name in ("experiments", "shadows", "labels")] == [1, 1, 1]
    assert both.stored(left) == [1, 1, 1]
    assert client.delete(f"/v1/admin/persons/person-{id_}").status_code < 300
    assert both.stored(left) == [0, 0, 0]
    ended(both, id_)
    ended(both, second)


def test_cases_are_drawn_and_counted_like_conversations(both: House) -> None:
    id_ = begun(both, {"name": "quick", "overlay": {"controller": "heuristic"}}, unit="case")
    client = both.key()
    asked = {
        "case": {"id": f"case-{id_}", "facts": {"kind": "trip"}},
        "criteria": [{"id": "K-1", "text": "It is signed."}],
        "documents": [{"name": "policy.md", "text": "# Policy\n\nIt shall be signed.\n"}],
    }
    made = client.post("/v1/evaluations", json=asked).json()
    (row,) = wait_until(lambda: rows(both, id_))
    assert (row.case_id, row.arm, row.turn, row.conversation) == (f"case-{id_}", "quick", made["id"], None)
    assert row.outcome in ("answered", "escalated")
    arms = client.get(f"/v1/admin/experiments/{id_}").json()["results"]["arms"]
    assert arms["quick"]["units"] == 1
    chosen = client.post("/v1/evaluations", json={**asked, "controller": "heuristic"}).json()
    wait_until(lambda: client.get(f"/v1/evaluations/{chosen['id']}").json()["state"] == "done")
    assert len(rows(both, id_)) == 1, "whoever chooses for themselves is not in it"
    assert client.delete("/v1/evaluations", params={"case": f"case-{id_}"}).status_code < 300
    assert rows(both, id_) == []
    ended(both, id_)


def reviewed(client: httpx.Client, case: str) -> dict[str, Any]:
    asked = {
        "case": {"id": case, "facts": {"kind": "trip"}},
        "criteria": [{"id": "K-1", "text": "It is signed."}],
        "documents": [{"name": "policy.md", "text": "# Policy\n\nIt shall be signed.\n"}],
    }
    made = client.post("/v1/evaluations", json=asked).json()
    return dict(wait_until(lambda: finished(client, made["id"])))


def finished(client: httpx.Client, id_: str) -> dict[str, Any] | None:
    found = client.get(f"/v1/evaluations/{id_}").json()
    return dict(found) if found["state"] in ("done", "failed") else None


def arm_of(house: House, evaluation: str) -> Any:
    async def read(store: SqlStore) -> Any:
        found = await store.tx(reviews.get, frozenset({OURS}), evaluation)
        assert found is not None
        return found.request.get("experiment")

    return house.stored(read)


def test_the_prompts_of_the_tenants_file_are_those_of_its_reviews(both: House) -> None:
    client = both.key()
    text = f"{load_default_prompt('review').text}\n\nSay nothing else."
    version = client.post("/v1/admin/prompts", json={"name": "review", "text": text}).json()["id"]

    async def choose(store: SqlStore, prompts: dict[str, str]) -> None:
        row = await store.tx(tenants.get, SHOP)
        assert row is not None
        changed = {**row.settings, "prompts": prompts}
        where = sa.update(table).where(table.c.id == SHOP)
        await store.tx(lambda connection: connection.execute(where.values(settings=changed, revision=row.revision + 1)))

    async def requested(store: SqlStore) -> Any:
        found = await store.tx(reviews.get, frozenset({OURS}), made["id"])
        assert found is not None
        return found.request

    table = stored_tenants
    both.stored(lambda store: choose(store, {"review": version}))
    time.sleep(1.1)  # workers look once a second
    try:
        made = reviewed(client, f"prompted-{version}")
        request = both.stored(requested)
        assert request["prompts"] == {"review": version}

        async def loaded(store: SqlStore) -> Any:
            return await load_prompts(store, OURS, request)

        assert both.stored(loaded)["review"].text == text
    finally:
        both.stored(lambda store: choose(store, {}))


def test_after_the_decision_every_case_gets_the_winner_and_none_is_counted(both: House) -> None:
    root, client = both.operator("root"), both.key()
    text = f"{load_default_prompt('review').text}\n\nQuote the shortest passage that decides."
    version = client.post("/v1/admin/prompts", json={"name": "review", "text": text}).json()["id"]
    short = {"name": "short", "overlay": {"controller": "heuristic", "prompts": {"review": version}}}
    id_ = begun(both, short, share=0.1, unit="case")
    done = root.post(f"/v1/admin/experiments/{id_}/finish", json={"winner": "short", "roll_out": True})
    assert done.json()["state"] == "rolled_out", done.text
    time.sleep(NOTICE_SECONDS)
    made = [reviewed(client, f"rolled-{number}-{id_}") for number in range(20)]
    under = [arm_of(both, one["id"]) for one in made]
    assert [(one or {}).get("arm") for one in under] == ["short"] * 20
    assert all(one["prompts"] == {"review": version} for one in under)
    assert rows(both, id_) == []
    ended(both, id_)
    assert arm_of(both, reviewed(client, f"after-{id_}")["id"]) is None


def test_a_shadow_of_cases_is_drawn_run_and_shown(both: House) -> None:
    client, root = both.key(), both.operator("root")
    id_ = begun(both, {"name": "beside", "overlay": {"controller": "heuristic"}}, kind="shadow", unit="case")
    made = reviewed(client, f"shadowed-{id_}")
    (row,) = wait_until(lambda: client.get("/v1/admin/shadows", params={"experiment": id_}).json()["items"])
    assert (row["turn"], row["case_id"], row["conversation"]) == (made["id"], f"shadowed-{id_}", None)
    assert (row["same"], row["differences"]) == (True, [])
    assert root.get(f"/v1/admin/experiments/{id_}").json()["summary"]["turns"] == 1
    ended(both, id_)


THINKS = {"name": "thinks", "overlay": {"controller": "react"}}


@pytest.mark.parametrize("kind", ["ab", "shadow"])
def test_an_arm_that_no_model_can_review_is_refused(both: House, kind: str) -> None:
    root = both.operator("root")
    given = {"name": "rx", "arms": [THINKS], "unit": "case", "kind": kind}
    refused = root.post("/v1/admin/experiments", params={"tenant": OURS}, json=given)
    is_a_problem(refused, 422, "arm")
    assert "'thinks': This tenant has no language model" in refused.json()["problem"]
    id_ = begun(both, THINKS, kind=kind, unit="case")
    ended(both, id_)
    is_a_problem(root.post(f"/v1/admin/experiments/{id_}/start", json={"share": 1}), 422, "arm")


@pytest.mark.parametrize("control", [{}, {"controller": "heuristic"}, {"controller": "react"}])
def test_without_its_model_an_arm_gives_way_to_control_and_the_case_counts_as_failed_for_it(
    both: House, control: dict[str, Any]
) -> None:
    id_ = begun(both, THINKS, {"name": "control", "overlay": control}, unit="case")
    made = reviewed(both.key(), f"modelless-{id_}")
    assert (made["state"], made["controller"]) == ("done", "heuristic")
    (row,) = wait_until(lambda: rows(both, id_))
    assert (row.arm, row.fell_back) == ("thinks", True)
    arms = both.key().get(f"/v1/admin/experiments/{id_}").json()["results"]["arms"]
    assert arms["thinks"]["metrics"]["failed"]["mean"] == 1.0
    ended(both, id_)


def test_without_its_model_a_shadow_of_cases_failed(both: House) -> None:
    id_ = begun(both, THINKS, kind="shadow", unit="case")
    reviewed(both.key(), f"beside-{id_}")
    (row,) = wait_until(lambda: both.key().get("/v1/admin/shadows", params={"experiment": id_}).json()["items"])
    assert "no language model" in row["error"]
    summary = both.operator("root").get(f"/v1/admin/experiments/{id_}").json()["summary"]
    assert (summary["turns"], summary["same"], summary["failed"]) == (1, 0, 1)
    ended(both, id_)
