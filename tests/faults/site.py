"""A place where things go wrong: a database, a tenant for each recovery class, workers that die, and a patient client.

site = Site(nursery, folder, database)
worker = site.start()
site.insist(said)            # until it is answered, by whichever worker lives
site.looked_over(talks)      # what the database and the effects say afterwards
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml
from tests.faults.nursery import Nursery
from tests.faults.tools import FOLDER, effects
from tests.patience import PATIENCE, wait_until

from circumspect.stores import SqlStore
from circumspect.values import ConversationId, TenantId

RECOVERIES = ("keyed", "lookup", "blind")
AGAIN = (409, 429, 503)
_LISTENS = re.compile(r"listens on (http://\S+)")


@dataclass(frozen=True)
class Said:
    """One message with its key: sent as often as it takes."""

    tenant: str
    conversation: str
    text: str
    key: str


@dataclass
class Worker:
    pid: int
    url: str
    log: Path


@dataclass
class Findings:
    """What is true after everything has calmed down."""

    talks: int = 0
    calls: int = 0
    effects: int = 0
    twice: list[str] = field(default_factory=list)
    unconfirmed: list[str] = field(default_factory=list)
    said_twice: list[str] = field(default_factory=list)
    unsaid: list[str] = field(default_factory=list)
    half_done: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    untrue: list[str] = field(default_factory=list)
    states: Counter[str] = field(default_factory=Counter)
    doubts: dict[str, int] = field(default_factory=dict)
    """Conversations with a call whose outcome nobody knows, and how often its effect happened."""

    @property
    def faults(self) -> dict[str, list[str]]:
        """Everything that must not be; empty when all is well."""
        names = ("twice", "unconfirmed", "said_twice", "unsaid", "half_done", "untold", "untrue")
        return {name: found for name in names if (found := getattr(self, name))}


class Site:
    def __init__(
        self,
        nursery: Nursery,
        folder: Path,
        database: str,
        *,
        model: str = "offline",
        timeout: float = 1.0,
        work: float = 0.0,
        **environment: str,
    ) -> None:
        self.nursery, self.folder, self.database, self.model = nursery, folder, database, model
        self.options = {"timeout": timeout, "work": work}
        self.environment = {
            FOLDER: str(folder),
            "CIRCUMSPECT_DATABASE": database,
            "CIRCUMSPECT_SECRET_KEY": "a secret key for tests only which is long enough",
            "CIRCUMSPECT_RATE_PER_MINUTE": "1000000",
            "CIRCUMSPECT_MODEL": model,
            **environment,
        }
        self.workers: list[Worker] = []
        self.keys: dict[str, str] = {}
        self.moved = 0.0
        self.started = 0
        self.http = httpx.Client(timeout=PATIENCE, trust_env=False)
        self.threads = ThreadPoolExecutor(8)
        (folder / "effects").mkdir(exist_ok=True)
        self._furnish()

    def _furnish(self) -> None:
        paths = []
        for recovery in RECOVERIES:
            path = self.folder / f"{recovery}.yaml"
            tools = {
                "python": "tests.faults.tools:for_tenant",
                "options": {**self.options, "recovery": recovery},
            }
            rules = {"version": 1, "tools": {"cancel_order": {"effect": "destructive", "confirm": "always"}}}
            tenant = {"version": 1, "id": recovery, "business": {"name": "Shop"}, "tools": [tools], "policy": rules}
            path.write_text(yaml.safe_dump(tenant), "utf-8")
            paths.append(str(path))
        self._run("apply", *paths)
        for recovery in RECOVERIES:
            made = self._run("keys", "create", "--tenant", recovery, "--scope", "chat", "--json")
            self.keys[recovery] = json.loads(made.strip().splitlines()[-1])["key"]

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

    def send(self, said: Said, worker: Worker, *, kill: bool = False) -> httpx.Response | None:
        """Once. None when the worker did not live to answer."""
        headers = {"Idempotency-Key": said.key} | ({"X-Kill": "new"} if kill else {})
        path = f"/v1/conversations/{said.conversation}/messages"
        return self._post(worker.url, said.tenant, path, {"content": said.text}, headers)

    def _post(
        self, url: str, tenant: str, path: str, body: Any, headers: dict[str, str] | None = None
    ) -> httpx.Response | None:
        told = {"Authorization": f"Bearer {self.keys[tenant]}", **(headers or {})}
        try:
            return self.http.post(f"{url}{path}", json=body, headers=told)
        except httpx.TransportError:
            return None

    def begun(self, said: Said, worker: Worker) -> Future[httpx.Response | None]:
        """Sent, and nobody waits for it here."""
        return self.threads.submit(self.send, said, worker)

    def insist(self, said: Said) -> dict[str, Any]:
        """Until somebody answers. A worker that is gone is started again, as a supervisor would."""
        until = time.monotonic() + PATIENCE
        while True:
            worker = self.workers[-1] if self.workers else self.start()
            answer = self.send(said, worker)
            if answer is not None and answer.status_code == 200:
                return dict(answer.json())
            assert answer is None or answer.status_code in AGAIN, answer.text
            if answer is None:
                self.died(worker)
            assert time.monotonic() < until, f"never answered: {said} {answer and answer.text}"
            time.sleep(0.05)

    # --- afterwards -------------------------------------------------------------------------------------------------

    def looked_over(self, talks: Iterable[tuple[str, str, list[Said]]]) -> Findings:
        """Hold the database against what happened. A talk is a tenant, a conversation and what was said in it."""
        return asyncio.run(self._looked_over(list(talks)))

    async def _looked_over(self, talks: list[tuple[str, str, list[Said]]]) -> Findings:
        store = await SqlStore.open(self.database)
        try:
            done, findings, known = effects(self.folder), Findings(talks=len(talks)), set()
            told = {row.execution for row in await store.escalations(limit=10_000)}
            for tenant, conversation, said in talks:
                where = TenantId(tenant), ConversationId(conversation)
                messages = [row for row in await store.messages(*where) if row.role == "user"]
                expected, found = Counter(one.text for one in said), Counter(row.content for row in messages)
                findings.said_twice += [f"{conversation}: {text}" for text in found - expected]
                findings.unsaid += [f"{conversation}: {text}" for text in expected - found]
                intents = {one.id: one for one in await store.intents(*where)}
                for call in await store.executions(*where):
                    known.add(call.key)
                    findings.calls += 1
                    findings.states[call.state] += 1
                    intent = intents.get(call.intent) if call.intent else None
                    yes = intent and any(
                        row.content == "yes" and row.seq > (intent.question_seq or 0) for row in messages
                    )
                    if intent is None or intent.state != "consumed" or intent.call.hash != call.call.hash or not yes:
                        findings.unconfirmed.append(f"{conversation}: {call.id}")
                    if call.state == "started":
                        findings.half_done.append(f"{conversation}: {call.id}")
                    if call.state == "indeterminate":
                        findings.doubts[conversation] = done[call.key]
                    if call.state == "indeterminate" and call.id not in told:
                        findings.untold.append(f"{conversation}: {call.id}")
                    if (call.state == "succeeded" and not done[call.key]) or (
                        call.state == "failed" and done[call.key]
                    ):
                        findings.untrue.append(f"{conversation}: {call.id} {call.state}")
                used = Counter(call.intent for call in await store.executions(*where))
                findings.twice += [f"{conversation}: {intent}" for intent, times in used.items() if times > 1]
            findings.effects = sum(done.values())
            findings.twice += [key for key, times in done.items() if times > 1]
            findings.unconfirmed += [key for key in done if key not in known]
            return findings
        finally:
            await store.close()
