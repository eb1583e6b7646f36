"""What a worker depends on goes away in the middle of a destructive turn, and comes back."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import pytest
from tests.faults.full_disk import fill_disk
from tests.faults.history import Said
from tests.faults.killing import LEASES, asked_and_said_yes
from tests.faults.model import TROUBLES, Model
from tests.faults.shops import RECOVERIES
from tests.faults.site import Site, Worker
from tests.patience import PATIENCE, wait_until
from tests.server.house import Running
from tests.stores.postgres_server import Server

Opening = Callable[..., Site]


def asked(site: Site, tenant: str = "blind", name: str = "c1") -> tuple[Said, Said]:
    """A conversation in which the question has been asked; the yes is not sent yet."""
    said = asked_and_said_yes(tenant, name)
    if not site.workers:
        site.start()
    site.converse(tenant, name)
    assert site.insist(said[0])["outcome"] == "asked"
    return said


# --- the database ---------------------------------------------------------------------------------------------------


@pytest.fixture
def on_postgres(open_site: Opening, postgres: Server, database: str) -> Site:
    return open_site()


only_postgres = pytest.mark.parametrize(
    "database", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
only_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@only_postgres
@pytest.mark.parametrize("where", ["before", "after"])
def test_postgresql_restarted_while_the_tool_runs_costs_nothing(
    on_postgres: Site, postgres: Server, where: str
) -> None:
    site = on_postgres
    said = asked(site)
    site.hold(where)
    answer = site.begun(said[1], site.workers[-1])
    site.wait_inside()
    postgres.stop("immediate")
    postgres.start()
    site.let_go()
    assert answer.result().outcome == "acted"
    findings = site.looked_over([("blind", "c1", list(said))])
    assert findings.faults == {}
    assert (findings.states, findings.effects) == ({"succeeded": 1}, 1)


@only_postgres
@pytest.mark.parametrize("recovery", RECOVERIES)
def test_postgresql_gone_when_the_result_is_to_be_written(on_postgres: Site, postgres: Server, recovery: str) -> None:
    site = on_postgres
    said = asked(site, recovery)
    site.hold("after")
    answer = site.begun(said[1], site.workers[-1])
    site.wait_inside()
    postgres.stop("immediate")
    try:
        site.let_go()
        first = answer.result()
    finally:
        postgres.start()
    assert first.outcome == "acted", "what ran is told, stored or not"
    site.move_clock(LEASES)
    second = site.insist(said[1])
    known = recovery != "blind"
    assert second["outcome"] in (("acted",) if known else ("asked", "escalated")), second
    findings = site.looked_over([(recovery, "c1", list(said))])
    assert findings.faults == {}
    assert findings.effects == 1
    assert findings.states == {"indeterminate" if recovery == "blind" else "succeeded": 1}


@only_postgres
def test_postgresql_gone_between_two_messages_loses_neither(on_postgres: Site, postgres: Server) -> None:
    site = on_postgres
    said = asked(site)
    postgres.stop("immediate")
    try:
        lost = site.send(said[1], site.workers[-1])
        assert lost.status == 503
        assert lost.retry_after
    finally:
        postgres.start()
    assert site.insist(said[1])["outcome"] == "acted"
    findings = site.looked_over([("blind", "c1", list(said))])
    assert findings.faults == {}
    assert findings.effects == 1


# --- the disk -------------------------------------------------------------------------------------------------------


@only_sqlite
@pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED HERE: another process' limits are set on Linux only")
class TestDiskFull:
    def test_a_message_that_cannot_be_stored_is_refused_and_can_be_sent_again(self, site: Site) -> None:
        said = asked(site)
        with fill_disk(site):
            refused = site.send(said[1], site.workers[-1])
            assert refused.status == 503, refused
            assert site.http.get(f"{site.workers[-1].url}/healthz").status_code == 200
        assert site.insist(said[1])["outcome"] == "acted"
        findings = site.looked_over([("blind", "c1", list(said))])
        assert findings.faults == {}
        assert findings.effects == 1

    @pytest.mark.parametrize("recovery", RECOVERIES)
    def test_a_result_that_cannot_be_stored_is_found_out_later(self, open_site: Opening, recovery: str) -> None:
        site = open_site()
        said = asked(site, recovery)
        site.hold("after")
        answer = site.begun(said[1], site.workers[-1])
        site.wait_inside()
        with fill_disk(site):
            site.let_go()
            assert answer.result().outcome == "acted", "what ran is told, stored or not"
        site.move_clock(LEASES)
        site.insist(said[1])
        findings = site.looked_over([(recovery, "c1", list(said))])
        assert findings.faults == {}
        assert findings.effects == 1
        assert findings.states == {"indeterminate" if recovery == "blind" else "succeeded": 1}


# --- Redis ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Callable[[], None]]]:
    """Its URL, and how it is killed."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("NOT TESTED WITH REDIS: redis-server is not installed; run `make services`")
    path = tmp_path_factory.mktemp("r") / "s"
    process = subprocess.Popen(
        [program, "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(path.parent)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_until(path.exists)

    def kill() -> None:
        process.kill()
        process.wait()

    yield f"unix://{path}", kill
    kill()


@only_sqlite
def test_redis_killed_in_the_middle_changes_who_counts_and_nothing_else(
    open_site: Opening, redis: tuple[str, Callable[[], None]]
) -> None:
    url, kill = redis
    site = open_site(CIRCUMSPECT_REDIS=url, CIRCUMSPECT_RATE_PER_MINUTE="30")
    said = asked(site)
    ready = f"{site.workers[-1].url}/readyz"
    assert site.http.get(ready).json()["redis"] == "ok"
    site.hold("before")
    answer = site.begun(said[1], site.workers[-1])
    site.wait_inside()
    kill()
    site.let_go()
    assert answer.result().outcome == "acted"
    more = asked(site, name="c2")
    assert site.insist(more[1])["outcome"] == "acted"
    assert site.http.get(ready).json() | {"turns_in_flight": 0} == {
        "status": "ready",
        "database": "ok",
        "clock": "ok",
        "redis": "not used at the moment",
        "model": "offline",
        "stopping": False,
        "turns_in_flight": 0,
    }
    statuses = {site.send(said[1], site.workers[-1]).status for _ in range(40)}
    assert statuses == {200, 429}, "the worker counts for itself"
    findings = site.looked_over([("blind", "c1", list(said)), ("blind", "c2", list(more))])
    assert findings.faults == {}
    assert findings.effects == 2


# --- the model ------------------------------------------------------------------------------------------------------


@only_sqlite
def test_whatever_the_model_does_everybody_is_answered_and_nothing_runs(open_site: Opening) -> None:
    model = Model()
    with Running(model, drain=1) as running:
        site = open_site(model=f"openai:m@{running.url}/v1", CIRCUMSPECT_MODEL_SECONDS="2")
        site.start()
        talks, outcomes = [], {}
        for number, trouble in enumerate(TROUBLES):
            name = f"c{number}"
            site.converse("blind", name)
            model.trouble = trouble
            said = asked_and_said_yes("blind", name)[0]
            result = site.insist(said)
            outcomes[trouble] = result["outcome"]
            assert "I have cancelled" not in result["reply"], "nobody is told of a deed that nobody did"
            assert len(result["reply"]) < 100_000
            talks.append(("blind", name, [said]))
        print(outcomes)
        assert "acted" not in outcomes.values()
        findings = site.looked_over(talks)
        assert findings.faults == {}
        assert (findings.calls, findings.effects) == (0, 0)

        model.trouble = ""
        said_later = asked(site, name="well")
        model.trouble = "hangs"
        assert site.insist(said_later[1])["outcome"] == "acted", "what was confirmed needs no model any more"
        model.trouble = ""
        findings = site.looked_over([("blind", "well", list(said_later))])
        assert findings.faults == {}
        assert findings.effects == 1


@only_sqlite
def test_a_model_that_hangs_for_one_tenant_holds_up_nobody_elses_page(open_site: Opening) -> None:
    model = Model()
    with Running(model, drain=1) as running:
        site = open_site(model=f"openai:m@{running.url}/v1", CIRCUMSPECT_MODEL_SECONDS=str(PATIENCE))
        site.start()
        model.trouble = "hangs"
        waiting = []
        for number in range(6):
            site.converse("keyed", f"c{number}")
            waiting.append(site.begun(Said("keyed", f"c{number}", "hello", f"k{number}"), site.workers[-1]))
        assert site.http.get(f"{site.workers[-1].url}/readyz", timeout=PATIENCE / 2).status_code == 200
        site.converse("blind", "other")
        model.trouble = ""
        for one in waiting:
            assert one.result().status == 200


# --- the clock ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_clock_that_jumps_over_the_time_to_answer_has_the_question_asked_again(site: Site, recovery: str) -> None:
    said = asked(site, recovery)
    site.move_clock(3600)
    again = site.insist(said[1])
    assert again["outcome"] == "asked"
    assert site.looked_over([(recovery, "c1", list(said))]).calls == 0
    third = Said(recovery, "c1", "yes", "k3")
    assert site.insist(third)["outcome"] == "acted"
    findings = site.looked_over([(recovery, "c1", [*said, third])])
    assert findings.faults == {}
    assert findings.effects == 1


def test_a_clock_that_goes_back_an_hour_runs_nothing_twice(site: Site) -> None:
    said = asked(site)
    site.move_clock(-3600)
    assert site.insist(said[1])["outcome"] == "acted"
    more = Said("blind", "c1", "yes", "k3")
    assert site.insist(more)["outcome"] != "acted"
    assert site.insist(said[1])["outcome"] == "acted", "the stored answer"
    findings = site.looked_over([("blind", "c1", [*said, more])])
    assert findings.faults == {}
    assert findings.effects == 1


@only_sqlite
def test_a_clock_that_goes_back_after_a_worker_died_leaves_its_conversation_open(site: Site) -> None:
    said = asked(site)
    site.hold("before")
    answer = site.begun(said[1], site.workers[-1])
    site.wait_inside()
    site.kill(site.workers[-1])
    assert not answer.result().status
    site.move_clock(LEASES - 3600)
    assert site.send(said[1], site.start()).status == 200


def freeze_between_writes(site: Site, worker: Worker) -> None:
    """One that is frozen while it writes to SQLite keeps everybody else from writing: that is another test's."""
    while True:
        os.kill(worker.pid, signal.SIGSTOP)
        if not site.database.startswith("sqlite"):
            return
        with (
            closing(
                sqlite3.connect(site.database.removeprefix("sqlite:///"), timeout=0.2, isolation_level=None)
            ) as other,
            suppress(sqlite3.OperationalError),
        ):
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
            return
        os.kill(worker.pid, signal.SIGCONT)
        time.sleep(0.01)


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("where", ["before", "after"])
def test_a_worker_that_was_frozen_over_its_leases_does_nothing_twice(
    open_site: Opening, recovery: str, where: str
) -> None:
    """The machine slept, or the clock jumped: another worker takes over, and then the first one goes on."""
    site = open_site(timeout=60.0)
    said = asked(site, recovery)
    frozen = site.workers[-1]
    site.hold(where)
    answer = site.begun(said[1], frozen)
    site.wait_inside()

    freeze_between_writes(site, frozen)
    site.move_clock(LEASES + 120)
    site.start()
    second = site.insist(said[1])
    site.let_go()
    os.kill(frozen.pid, signal.SIGCONT)
    first = answer.result()
    print(first.status, first.outcome, second["outcome"])
    assert site.insist(said[1]) == second, "the stored answer is the one that was recorded"
    findings = site.looked_over([(recovery, "c1", list(said))])
    assert findings.faults == {}
    assert findings.effects == 1
    expected = "succeeded" if recovery == "keyed" or (recovery == "lookup" and where == "after") else "indeterminate"
    assert findings.states == {expected: 1}
