"""On two Ray nodes, with the token that Ray wants: the same rows, one node killed or not; nobody gets in without it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from bench.ray_nodes import cluster
from tests.lab.batch.sums import Sums, all_rows, job_of

from circumspect.errors import ConfigError
from circumspect.lab.batch.ray_engine import on_ray
from circumspect.lab.batch.running import run

ROOT = Path(__file__).parents[3]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture(autouse=True)
def _installed():
    if importlib.util.find_spec("ray") is None:
        pytest.skip("NOT TESTED ON RAY: it is not installed (pip install 'circumspect[ray]')")


def digest(rows) -> dict[str, object]:
    return {"digest": hashlib.sha256(b"\n".join(rows)).hexdigest(), "rows": len(rows)}


def test_two_nodes_do_the_same_one_of_them_killed_or_not_and_poison_is_named(tmp_path):
    with cluster(2) as nodes:
        driver = [
            sys.executable,
            "-m",
            "tests.lab.batch.on_nodes",
            nodes.address,
            str(tmp_path),
            str(nodes.nodes[1].pid),
        ]
        ended = subprocess.run(driver, env=nodes.environment, cwd=ROOT, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr[-2000:]
        found = json.loads(ended.stdout.splitlines()[-1])
        assert found["plain"] == {**digest(all_rows(20)), "findings": []}
        named = [line.partition(":")[0] for line in found["poison"].pop("findings")]
        assert (named, found["poison"]) == (["number 3", "number 5"], digest(all_rows(8, without=(3, 5))))
        assert found["killed"] == {**digest(all_rows(40)), "findings": []}
        assert nodes.nodes[1].wait(10) is not None

        # Whoever has another token is not let in, and the message says where one is looked for.
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
from circumspect.lab.batch.running import run
try:
    print(len(list(run(job_of(Sums(sys.argv[2], 3)), partial(on_ray, address=sys.argv[1])))), "rows")
except ConfigError as problem:
    print(problem)
"""


def test_an_address_where_nothing_answers_is_said_to_be_one(tmp_path):
    with pytest.raises(ConfigError, match=r"Nothing answers at 127\.0\.0\.1:9"):
        list(run(job_of(Sums(str(tmp_path), 3)), partial(on_ray, address="127.0.0.1:9")))


def test_nothing_of_ours_says_that_tokens_are_not_needed():
    """Ray's own switch would be set in the environment, by us or by the user; we never do."""
    for path in (ROOT / "src").rglob("*.py"):
        assert "RAY_AUTH_MODE" not in path.read_text("utf-8"), path
    assert os.environ.get("RAY_AUTH_MODE") != "disabled"
