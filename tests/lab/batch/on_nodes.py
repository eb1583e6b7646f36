"""A driver for two Ray nodes, in a process of its own: prints what came of each of several runs as JSON."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

from tests.lab.batch.sums import Sums, job_of

from circumspect.errors import CircumspectError
from circumspect.lab.batch.job import Incomplete
from circumspect.lab.batch.ledger import Ledger
from circumspect.lab.batch.ray_engine import on_ray
from circumspect.lab.batch.running import run


def main(address: str, folder: str, node: str) -> None:
    import ray

    import circumspect

    # The job's own module is the tests'; it goes to the nodes like our code does.
    root = Path(circumspect.__file__).parent
    modules = [str(root), str(Path(__file__).parents[2])]
    try:
        ray.init(address=address, runtime_env={"py_modules": modules}, log_to_driver=False, logging_level="CRITICAL")
        engine = partial(on_ray, address=address)
        found = {
            "plain": came_of(engine, Sums(made(folder, "plain"), 20)),
            "poison": came_of(engine, Sums(made(folder, "poison"), 8, kills=(3,), raises=(5,))),
            "killed": came_of(engine, Sums(made(folder, "killed"), 40), partial(kill_at, 6, int(node))),
        }
    except CircumspectError as problem:
        found = {"problem": str(problem)}
    print(json.dumps(found))


def came_of(engine, order, watch=None):
    rows, findings = [], ()
    with Ledger.open(f"{order.folder}/kept.run") as ledger:
        try:
            for row in run(job_of(order, order.folder), engine, ledger, watch):
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
