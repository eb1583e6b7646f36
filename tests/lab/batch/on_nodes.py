"""A driver for two Ray nodes, in a process of its own: prints what came of each of several runs as JSON."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

from tests.lab.batch import sums
from tests.lab.batch.sums import Sums, job_of

from circumspect.lab.batch.job import Incomplete
from circumspect.lab.batch.job_ledger import DatabaseLedger
from circumspect.lab.batch.ray_engine import join_cluster, on_ray
from circumspect.lab.batch.run_job import run


def main(address: str, folder: str, node: str) -> None:
    with join_cluster(address) as ray:
        ray.cloudpickle.register_pickle_by_value(sums)  # the nodes have no tests
        found = {
            "plain": came_of(Sums(made(folder, "plain"), 20)),
            "poison": came_of(Sums(made(folder, "poison"), 8, kills=(3,), raises=(5,))),
            "killed": came_of(Sums(made(folder, "killed"), 40), partial(kill_at, 6, int(node))),
        }
    print(json.dumps(found))


def came_of(order, watch=None):
    rows, findings = [], ()
    with DatabaseLedger.open(f"{order.folder}/kept.run") as ledger:
        try:
            for row in run(job_of(order, order.folder), on_ray, ledger, watch):
                rows.append(row)
        except Incomplete as problem:
            findings = problem.findings
    return {"digest": hashlib.sha256(b"\n".join(rows)).hexdigest(), "rows": len(rows), "findings": findings}


def kill_at(made_now: int, node: int, progress) -> None:
    if progress.made == made_now:
        os.killpg(node, signal.SIGKILL)


def made(folder: str, name: str) -> str:
    path = Path(folder) / name
    path.mkdir()
    return str(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
