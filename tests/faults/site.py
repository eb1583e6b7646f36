"""A place where things go wrong: a database, tenants, workers that die, and a patient client.

site = Site(nursery, folder, database)
worker = site.start()
site.insist(said)            # until it is answered, by whichever worker lives
site.looked_over(talks)      # what the database, the effects and everybody's answers say afterwards
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml
from tests.faults.back_end import Effect
from tests.faults.checker import Report
from tests.faults.findings import Findings, Talk, check_history, find_everything
from tests.faults.history import History, Said, Told, make_request
from tests.faults.nursery import Nursery
from tests.faults.shops import TIMEOUT, make_marking_tenants
from tests.faults.tools import FOLDER, read_effects
from tests.faults.worker import SPEED
from tests.patience import PATIENCE, wait_until

AGAIN = (0, 409, 429, 503)
"""Answers after which a client sends its message again; 0 is none at all."""
_LISTENS = re.compile(r"listens on (http://\S+)")


@dataclass
class Worker:
    pid: int
    url: str
    log: Path


class Site:
    def __init__(
        self,
        nursery: Nursery,
        folder: Path,
        database: str,
        *,
        model: str = "offline",
        timeout: float = TIMEOUT,
        work: float = 0.0,
        speed: float = 1.0,
        tenants: Mapping[str, Mapping[str, Any]] | None = None,
        effects: Callable[[], list[Effect]] | None = None,
        **environment: str,
    ) -> None:
        """`tenants` are files of other tenants than those with marks; `effects` is then the other side's book."""
        self.nursery, self.folder, self.database, self.model = nursery, folder, database, model
        self.environment = {
            FOLDER: str(folder),
            SPEED: str(speed),
            "CIRCUMSPECT_DATABASE": database,
            "CIRCUMSPECT_SECRET_KEY": "a secret key for tests only which is long enough",
            "CIRCUMSPECT_RATE_PER_MINUTE": "1000000",
            "CIRCUMSPECT_ALLOW_ADDRESSES": "127.0.0.1",
            "CIRCUMSPECT_MODEL": model,
            **environment,
        }
        self.history, self.effects = History(), effects or (lambda: read_effects(folder))
        self.workers: list[Worker] = []
        self.keys: dict[str, str] = {}
        self.managers: dict[str, str] = {}
        """Keys that may approve."""
        self.moved = 0.0
        self.started = 0
        self.http = httpx.Client(timeout=PATIENCE, trust_env=False)
        self.threads = ThreadPoolExecutor(16)
        (folder / "effects").mkdir(exist_ok=True)
        self._furnish(tenants or make_marking_tenants(timeout / speed, work))

    def _furnish(self, tenants: Mapping[str, Mapping[str, Any]]) -> None:
        paths = []
        for name, tenant in tenants.items():
            path = self.folder / f"{name}.yaml"
            path.write_text(yaml.safe_dump(dict(tenant)), "utf-8")
            paths.append(str(path))
        self._run("apply", *paths)
        for name in tenants:
            self.keys[name] = self._make_key(name, "chat")
            self.managers[name] = self._make_key(name, "manage")

    def _make_key(self, tenant: str, scope: str) -> str:
        made = self._run("keys", "create", "--tenant", tenant, "--scope", scope, "--json")
        return str(json.loads(made.strip().splitlines()[-1])["key"])

    def _run(self, *arguments: str) -> str:
        log = self.folder / f"command-{len(list(self.folder.glob('command-*')))}.log"
        return self.nursery.run(*arguments, log=log, **self.environment)

    # --- workers ----------------------------------------------------------------------------------------------------

    def start(self, **environment: str) -> Worker:
        self.started += 1
        log = self.folder / f"worker-{self.started}.log"
        log.touch()
        pid = self.nursery.start("serve", "--port", "0", log=log, **{**self.environment, **environment})

        def listens() -> re.Match[str] | None:
            assert self.nursery.ended(pid, 0) is None, log.read_text("utf-8")
            return _LISTENS.search(log.read_text("utf-8"))

        found = wait_until(listens, pause=0.005, problem=lambda: log.read_text("utf-8"))
        assert found
        worker = Worker(pid, found[1], log)
        self.workers.append(worker)
        return worker

    def kill(self, worker: Worker, number: int = signal.SIGKILL) -> int | None:
        if worker in self.workers:
            self.workers.remove(worker)
        os.kill(worker.pid, number)
        return self.nursery.ended(worker.pid, PATIENCE)

    def died(self, worker: Worker, seconds: float = 5.0) -> bool:
        """Did it, by its own hand?"""
        if self.nursery.ended(worker.pid, seconds) is None:
            return False
        if worker in self.workers:
            self.workers.remove(worker)
        return True

    def close(self) -> None:
        for worker in list(self.workers):
            self.kill(worker)
        self.threads.shutdown()
        self.http.close()

    def move_clock(self, seconds: float) -> None:
        self.moved += seconds
        path = self.folder / "clock"
        path.with_suffix(".new").write_text(str(self.moved))
        path.with_suffix(".new").rename(path)

    # --- gates ------------------------------------------------------------------------------------------------------

    def hold(self, where: str) -> None:
        (self.folder / f"hold-{where}").touch()

    def wait_inside(self) -> None:
        wait_until((self.folder / "inside").exists, pause=0.005)

    def let_go(self) -> None:
        (self.folder / "inside").unlink()

    # --- the client -------------------------------------------------------------------------------------------------

    def converse(self, tenant: str, conversation: str) -> None:
        """Begin a conversation, as often as it takes."""
        until = time.monotonic() + PATIENCE
        while True:
            answer = self._post(self.workers[-1].url, tenant, "/v1/conversations", {"id": conversation})
            if answer is not None and answer.status_code == 201:
                return
            assert time.monotonic() < until, answer and answer.text
            time.sleep(0.05)

    def send(self, said: Said, worker: Worker, *, kill: bool = False) -> Told:
        """Once. The status is 0 when the worker did not live to answer."""
        path, headers, body = make_request(said)
        headers |= {"X-Kill": "new"} if kill else {}
        return self._exchange(said, f"{worker.url}{path}", self.keys[said.tenant], body, headers)

    def _exchange(self, said: Said, url: str, key: str, body: Any, headers: Mapping[str, str]) -> Told:
        sent, status, content, later = self.history.begin(said), 0, b"", ""
        told = {"Authorization": f"Bearer {key}", **headers}
        try:
            with self.http.stream("POST", url, json=body, headers=told) as answer:
                for piece in answer.iter_raw():
                    content += piece
                status, later = answer.status_code, answer.headers.get("Retry-After", "")
        except httpx.TransportError:
            pass
        return self.history.note(said, sent, status, content.decode(errors="replace"), later)

    def _post(self, url: str, tenant: str, path: str, body: Any) -> httpx.Response | None:
        try:
            return self.http.post(f"{url}{path}", json=body, headers={"Authorization": f"Bearer {self.keys[tenant]}"})
        except httpx.TransportError:
            return None

    def begun(self, said: Said, worker: Worker) -> Future[Told]:
        """Sent, and nobody waits for it here."""
        return self.threads.submit(self.send, said, worker)

    def insist(self, said: Said) -> dict[str, Any]:
        """Until somebody answers. A worker that is gone is started again, as a supervisor would."""
        until = time.monotonic() + PATIENCE
        while True:
            worker = self.workers[-1] if self.workers else self.start()
            told = self.approve(said, worker) if said.door == "approvals" else self.send(said, worker)
            if told.final:
                return dict(told.body)
            assert told.status in AGAIN or said.door != "messages", told
            if not told.status:
                self.died(worker)
            assert time.monotonic() < until, f"never answered: {told}"
            time.sleep(0.05)

    def approve(self, said: Said, worker: Worker) -> Told:
        """A colleague looks at what waits for them, and approves the call that the message is about."""
        headers = {"Authorization": f"Bearer {self.managers[said.tenant]}"}
        shown = self.http.get(f"{worker.url}/v1/approvals", params={"state": "all"}, headers=headers).json()["items"]
        found = next(one for one in shown if one["arguments"]["order_id"] == said.order)
        url = f"{worker.url}/v1/approvals/{found['id']}/approve"
        return self._exchange(said, url, self.managers[said.tenant], {"hash": found["hash"]}, {})

    # --- afterwards -------------------------------------------------------------------------------------------------

    def looked_over(self, talks: Iterable[Talk]) -> Findings:
        """Ask for every answer once more, then hold the database and all answers against what happened."""
        self.ask_again()
        return asyncio.run(find_everything(self.database, list(talks), self.effects(), self.history))

    def check(self) -> Report:
        """The same, of what was told only."""
        self.ask_again()
        return asyncio.run(check_history(self.database, self.effects(), self.history))

    def ask_again(self) -> None:
        """The same key gets the same answer."""
        for said in list(self.history.sent):
            if self.workers and said.door != "approvals" and not said.keyless:
                self.send(said, self.workers[-1])
