"""On Ray nodes, with the token that Ray wants: the same results, a node killed or not; nobody gets in without it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from bench.ray_nodes import Cluster, cluster
from click.testing import CliRunner
from examples.review.stand_in import StandIn
from tests.lab.batch.sums import Sums, all_rows, job_of
from tests.lab.optimise.conftest import PLAN, WEAK, Ran, dataset, folder, ran, results  # noqa: F401
from tests.patience import ENDURANCE, PATIENCE

from circumspect.cli import cli
from circumspect.errors import ConfigError
from circumspect.lab.batch import ray_engine
from circumspect.lab.batch.ray_engine import on_ray
from circumspect.lab.batch.run_job import run

ROOT = Path(__file__).parents[3]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(ENDURANCE)]


@pytest.fixture(scope="module")
def ray() -> None:
    if importlib.util.find_spec("ray") is None:
        pytest.skip("NOT TESTED ON RAY: it is not installed; run `make services`")


@pytest.fixture(scope="module")
def nodes(ray: None) -> Iterator[Cluster]:
    """The head and two others, which are killed one after the other."""
    with cluster(3) as started:
        yield started


def digest(rows) -> dict[str, object]:
    return {"digest": hashlib.sha256(b"\n".join(rows)).hexdigest(), "rows": len(rows)}


def circumspect(address: str, *words: object) -> list[str]:
    return [sys.executable, "-m", "circumspect", *map(str, words), "--engine", "ray", "--address", address]


def test_cases_are_reviewed_on_nodes_as_they_are_here_by_whoever_is_no_node(
    nodes: Cluster,
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    files = folder / "cases", folder / "policies"
    words = (*files, "--criteria", folder / "criteria.yaml", "--only", "TE-01", "--only", "RW-01", "--json")
    with StandIn() as server:
        there, here = tmp_path / "there.db", tmp_path / "here.db"
        command = circumspect(nodes.client, "evaluate", *words, "--model", server.model, "--out", there)
        ended = subprocess.run(command, env=nodes.environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        *_, last = map(json.loads, ended.stdout.splitlines())
        summary = last["summary"]
        assert (summary["complete"], summary["made"]) == (True, summary["total"])
        alone = CliRunner().invoke(cli, ["evaluate", *map(str, words), "--model", server.model, "--out", str(here)])
        assert alone.exit_code == 0, alone.output
    assert results(there) == results(here)
    assert len(results(there)) == summary["total"] > 20


def test_a_prompt_is_optimised_on_nodes_to_the_same_winner_though_one_is_killed(
    nodes: Cluster,
    folder: Path,  # noqa: F811
    ran: Ran,  # noqa: F811
    tmp_path: Path,
) -> None:
    start = tmp_path / "weak.md"
    start.write_text(WEAK, "utf-8")
    with StandIn() as server:
        command = circumspect(
            nodes.address, "optimise", "review", "--dataset", folder, "--run", tmp_path / "run", "--budget", PLAN.budget,
            "--minibatch", PLAN.minibatch, "--start", start, "--model", server.model, "--concurrency", 3, "--json",
        )  # fmt: skip
        process = subprocess.Popen(command, env=nodes.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while server.reviews.total() < 20:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        nodes.kill(2)
        out, said = process.communicate()
    assert process.returncode == 0, said
    report, alone = json.loads(out), ran.report.to_json()
    assert (report["winner"], report["held_out"]) == (alone["winner"], alone["held_out"])


def test_two_nodes_do_the_same_one_of_them_killed_or_not_and_poison_is_named(nodes: Cluster, tmp_path: Path) -> None:
    driver = [
        sys.executable, "-m", "tests.lab.batch.on_nodes", nodes.address, str(tmp_path), str(nodes.nodes[1].pid),
    ]  # fmt: skip
    ended = subprocess.run(driver, env=nodes.environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    found = json.loads(ended.stdout)  # and not one word of Ray's, who has workers that died to speak of
    assert found["plain"] == {**digest(all_rows(20)), "findings": []}
    named = [line.partition(":")[0] for line in found["poison"].pop("findings")]
    assert (named, found["poison"]) == (["number 3", "number 5"], digest(all_rows(8, without=(3, 5))))
    assert found["killed"] == {**digest(all_rows(40)), "findings": []}
    assert nodes.nodes[1].wait(PATIENCE) is not None


def test_whoever_has_another_token_is_not_let_in_and_is_told_where_one_is_looked_for(
    nodes: Cluster, tmp_path: Path
) -> None:
    stranger = {**nodes.environment, "RAY_AUTH_TOKEN": "0" * 64}
    refused = subprocess.run(
        [sys.executable, "-c", STRANGER, nodes.address, str(tmp_path)],
        env=stranger, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "RAY_AUTH_TOKEN" in refused.stdout, refused.stdout + refused.stderr[-2000:]


STRANGER = """
import sys
from functools import partial
from tests.lab.batch.sums import Sums, job_of
from circumspect.errors import ConfigError
from circumspect.lab.batch.ray_engine import on_ray
from circumspect.lab.batch.run_job import run
try:
    print(len(list(run(job_of(Sums(sys.argv[2], 3)), partial(on_ray, address=sys.argv[1])))), "rows")
except ConfigError as problem:
    print(problem)
"""


def test_an_address_where_nothing_answers_is_said_to_be_one(ray, tmp_path):
    with pytest.raises(ConfigError, match=r"Nothing answers at 127\.0\.0\.1:9"):
        list(run(job_of(Sums(str(tmp_path), 3)), partial(on_ray, address="127.0.0.1:9")))


def test_a_node_is_known_by_the_process_that_ray_runs_on_it(tmp_path):
    for number, command in ((1, b"/sbin/init\0--now\0"), (77, b"/ray/core/raylet\0--head\0")):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "cmdline").write_bytes(command)
    assert ray_engine.is_a_node(tmp_path)
    (tmp_path / "77" / "cmdline").unlink()
    assert not ray_engine.is_a_node(tmp_path)
    assert ray_engine.is_a_node(tmp_path / "nothing")


def test_whoever_is_no_node_is_told_which_address_is_for_him(ray, tmp_path, monkeypatch):
    """Ray itself would end the process with a trace of C++."""
    monkeypatch.setattr(ray_engine, "is_a_node", lambda: False)
    with socket.create_server(("127.0.0.1", 0)) as head:
        address = f"127.0.0.1:{head.getsockname()[1]}"
        with pytest.raises(ConfigError, match=f"no node of the Ray cluster at {address}.*ray://"):
            list(run(job_of(Sums(str(tmp_path), 3)), partial(on_ray, address=address)))


def test_nothing_of_ours_says_that_tokens_are_not_needed():
    """Ray's own switch would be set in the environment, by us or by the user; we never do."""
    for path in (ROOT / "src").rglob("*.py"):
        assert "RAY_AUTH_MODE" not in path.read_text("utf-8"), path
    assert os.environ.get("RAY_AUTH_MODE") != "disabled"
