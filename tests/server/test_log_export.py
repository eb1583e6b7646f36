"""The operators' log gets to its receivers: every row at least once and in order, whatever becomes of either side."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
import trustme
from starlette.requests import Request
from starlette.responses import Response
from tests.patience import wait_until
from tests.server.house import House, Running
from tests.server.log_receivers import Syslog
from tests.server.model_server import _lifespan

from circumspect.clock import FixedClock, RandomIds
from circumspect.errors import ConfigError
from circumspect.server import log_export
from circumspect.server.background import shorten_log
from circumspect.server.config import Settings
from circumspect.server.delivery import build_webhook_headers
from circumspect.server.log_export import LogExporter, open_receivers
from circumspect.server.syslog import LARGEST, write_message
from circumspect.server.vault import Vault
from circumspect.stores import SqlStore, action_log, database_time, log_exporting
from circumspect.stores.action_log import LogRow, log_action
from circumspect.stores.log_chain import check_chain, seal

SIGNER = Vault("the secret key of this server, which is long")
HOOK_SECRET = "shared with the receiver"
ROWS = 7


class Hook:
    """A webhook's other end: answers with each status in turn, then with 200. None never answers."""

    def __init__(self, *statuses: int | None) -> None:
        self.statuses, self.came = list(statuses), []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        request = Request(scope, receive)
        self.came.append((dict(request.headers), await request.body()))
        status = self.statuses.pop(0) if self.statuses else 200
        if status is None:
            await asyncio.Event().wait()
        await Response(status_code=status or 200)(scope, receive, send)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [row for _, body in self.came for row in json.loads(body)["rows"]]


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The database's clock, which a test puts forward instead of waiting."""
    now = SimpleNamespace(seconds=1_000_000.0)
    monkeypatch.setattr(database_time, "read", lambda _: now.seconds)
    monkeypatch.setattr(log_export, "SEND_SECONDS", 2.0)
    return now


@pytest.fixture
async def store(tmp_path: Path) -> Any:
    store = await SqlStore.open(f"sqlite:///{tmp_path}/c.db")
    await write(store, ROWS)
    yield store
    await store.close()


async def write(store: SqlStore, count: int, **more: Any) -> None:
    for _ in range(count):
        row = {"operator": "dana", "action": "key.created", "tenant": "shop", "subject": "k1", **more}
        await store.tx(log_action, id=RandomIds().new("act"), at=1.5, **row)


def exporter(store: SqlStore, **settings: Any) -> LogExporter:
    configured = Settings(log_webhook_secret=HOOK_SECRET, **settings)
    return LogExporter(store, open_receivers(configured, FixedClock(datetime.now().astimezone())), RandomIds())


async def sent(store: SqlStore, target: str) -> int:
    return (await store.tx(log_exporting.read_sent, (target,)))[target]


# --- a message ------------------------------------------------------------------------------------------------------


def row(**more: Any) -> LogRow:
    values: dict[str, Any] = {
        "id": "act-1", "seq": 3, "at": 1_700_000_000.25, "operator": "dana", "action": "key.created", "tenant": "shop",
        "subject": "k1", "detail": {"name": "קופה"}, "origin": "192.0.2.1", "result": "done", "hash": "ab" * 32,
    }  # fmt: skip
    return LogRow(**{**values, **more})


def test_a_row_is_a_message_as_the_standard_has_it():
    said = write_message(row(), "host.example").decode()
    assert re.fullmatch(
        r"<110>1 2023-11-14T22:13:20\.250000Z host\.example circumspect - key\.created "
        r'\[log@32473 seq="3" hash="(ab){32}" result="done"\] \ufeff\{.*\}',
        said,
    )
    assert json.loads(said.partition("\ufeff")[2])["detail"] == {"name": "קופה"}
    assert write_message(row(result="refused"), "h").startswith(b"<108>1 ")


@pytest.mark.parametrize("where", ["operator", "subject", "origin", "action"])
def test_nothing_in_a_row_looks_like_another_message(where: str):
    said = write_message(row(**{where: 'x\n<0>1 - - - - - - "]\0 forged'}), "a\nb c")
    assert not re.search(rb"[\x00-\x1f]", said)
    assert said.split(b" ", 3)[2] == b"abc"


def test_a_row_that_receivers_would_cut_goes_without_its_detail():
    said = write_message(row(detail={"text": "x" * LARGEST}), "h")
    assert len(said) < LARGEST
    assert json.loads(said.decode().partition("\ufeff")[2])["detail"] == "left out"


# --- syslog ---------------------------------------------------------------------------------------------------------


async def test_a_syslog_receiver_gets_every_row_once_and_can_check_the_chain(store: SqlStore):
    with Syslog() as receiver:
        sends = exporter(store, log_syslog=receiver.url)
        assert await sends.export_due() == ROWS
        await write(store, 3)
        assert await sends.export_due() == 3
        assert await sends.export_due() == 0
    assert [one["seq"] for one in receiver.rows] == list(range(1, ROWS + 4))
    for before, after in pairwise(receiver.rows):
        assert after["hash"] == seal(before["hash"], after)


async def test_datagrams_are_sent_one_a_row(store: SqlStore):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(30)
        await exporter(store, log_syslog=f"udp://127.0.0.1:{receiver.getsockname()[1]}").export_due()
        came = [receiver.recv(65536) for _ in range(ROWS)]
    assert [re.search(rb'seq="(\d+)"', one)[1] for one in came] == [b"%d" % seq for seq in range(1, ROWS + 1)]


@pytest.mark.parametrize("behaviour", ["well", "ends without goodbye"])
async def test_a_receiver_behind_tls_gets_them(store: SqlStore, tmp_path: Path, behaviour: Any):
    context, file = make_authority(tmp_path)
    with Syslog(behaviour, context) as receiver:
        assert await exporter(store, log_syslog=receiver.url, log_syslog_ca=file).export_due() == ROWS
    assert len(receiver.rows) == ROWS


async def test_a_receiver_with_another_authority_gets_nothing(store: SqlStore, tmp_path: Path):
    context, _ = make_authority(tmp_path)
    _, another = make_authority(tmp_path)
    with Syslog("well", context) as receiver:
        assert await exporter(store, log_syslog=receiver.url, log_syslog_ca=another).export_due() == 0
    assert receiver.messages == []
    assert await sent(store, "syslog") == 0


def make_authority(folder: Path) -> tuple[ssl.SSLContext, str]:
    ca, context = trustme.CA(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ca.issue_cert("localhost").configure_cert(context)
    file = folder / f"{os.urandom(4).hex()}.pem"
    ca.cert_pem.write_to_path(str(file))
    return context, str(file)


@pytest.mark.parametrize("tls", [False, True], ids=["tcp", "tls"])
@pytest.mark.parametrize("behaviour", ["dies", "stalls"])
async def test_rows_that_a_receiver_did_not_read_are_sent_again(
    store: SqlStore, tmp_path: Path, later: Any, behaviour: Any, tls: bool
):
    context, file = make_authority(tmp_path)
    with Syslog(behaviour, context if tls else None) as receiver:
        sends = exporter(store, log_syslog=receiver.url, log_syslog_ca=file)
        assert await sends.export_due() == 0
        assert (receiver.connections, await sent(store, "syslog")) == (1, 0)
        assert await sends.export_due() == 0
        assert receiver.connections == 1, "it is left alone for a while"
        receiver.behaviour = "well"
        later.seconds += 2
        assert await sends.export_due() == ROWS
    assert [one["seq"] for one in receiver.rows] == list(range(1, ROWS + 1))


async def test_a_receiver_that_is_away_is_tried_ever_more_rarely_but_for_ever(store: SqlStore, later: Any):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
    sends = exporter(store, log_syslog=address)
    waits = []
    for _ in range(12):
        await sends.export_due()
        place = await store.tx(lambda c: c.execute(sa.text("SELECT leased_until FROM log_exports")).scalar_one())
        waits.append(place - later.seconds)
        later.seconds = place
    assert waits[:4] == [1, 2, 4, 8]
    assert waits[-1] == log_export.LONGEST_WAIT


async def test_the_one_does_not_wait_for_the_other(store: SqlStore):
    hook = Hook()
    with Syslog("stalls") as receiver, Running(hook) as running:
        sends = exporter(store, log_syslog=receiver.url, log_webhook=running.url)
        assert await sends.export_due() == ROWS
    assert (await sent(store, "webhook"), await sent(store, "syslog")) == (ROWS, 0)


# --- webhook --------------------------------------------------------------------------------------------------------


async def test_a_webhook_gets_them_signed(store: SqlStore):
    hook = Hook()
    with Running(hook) as running:
        assert await exporter(store, log_webhook=f"{running.url}/log").export_due() == ROWS
    (headers, body), *more = hook.came
    assert more == []
    expected = build_webhook_headers(HOOK_SECRET, f"log-1-{ROWS}", int(headers["webhook-timestamp"]), body)
    assert headers["webhook-signature"] == expected["webhook-signature"]
    assert [one["seq"] for one in hook.rows] == list(range(1, ROWS + 1))


@pytest.mark.parametrize("answer", [400, 410, 413, 500, 302, None])
async def test_anything_but_yes_is_tried_again_and_a_row_at_a_time(store: SqlStore, later: Any, answer: int | None):
    hook = Hook(answer)
    with Running(hook, drain=0.1) as running:
        sends = exporter(store, log_webhook=running.url)
        assert await sends.export_due() == 0
        assert await sent(store, "webhook") == 0
        later.seconds += 2
        assert await sends.export_due() == ROWS
    assert len(json.loads(hook.came[1][1])["rows"]) == 1
    assert [one["seq"] for one in hook.rows[ROWS:]] == list(range(1, ROWS + 1))


def test_a_webhook_without_a_secret_is_refused_at_the_start():
    with pytest.raises(ConfigError, match="no secret"):
        open_receivers(Settings(log_webhook="https://receiver.example"), FixedClock(datetime.now().astimezone()))


def test_certificates_that_cannot_be_read_are_refused_at_the_start(tmp_path: Path):
    settings = Settings(log_syslog="tls://receiver.example", log_syslog_ca=str(tmp_path / "none.pem"))
    with pytest.raises(ConfigError, match="cannot be read"):
        open_receivers(settings, FixedClock(datetime.now().astimezone()))


# --- workers --------------------------------------------------------------------------------------------------------

_WORKER = """
import asyncio, sys
from circumspect.clock import RandomIds, SystemClock
from circumspect.server.config import Settings
from circumspect.server.log_export import LogExporter, open_receivers
from circumspect.stores import SqlStore
async def main():
    store = await SqlStore.open(sys.argv[1])
    receivers = open_receivers(Settings(log_syslog=sys.argv[2]), SystemClock())
    await LogExporter(store, receivers, RandomIds()).export_due()
asyncio.run(main())
"""


async def test_what_a_killed_worker_was_sending_is_sent_by_another(store: SqlStore, tmp_path: Path, monkeypatch: Any):
    monkeypatch.setattr(database_time, "read", lambda _: time.time())
    with Syslog("stalls") as receiver:
        command = [sys.executable, "-c", _WORKER, f"sqlite:///{tmp_path}/c.db", receiver.url]
        with subprocess.Popen(command) as worker:
            await asyncio.to_thread(wait_until, lambda: receiver.connections)
            os.kill(worker.pid, signal.SIGKILL)
            worker.wait()
        receiver.behaviour = "well"
        sends = exporter(store, log_syslog=receiver.url)
        assert await sends.export_due() == 0, "the dead one's turn is not over"
        monkeypatch.setattr(database_time, "read", lambda _: time.time() + log_export.LEASE_SECONDS)
        assert await sends.export_due() == ROWS
    assert [one["seq"] for one in receiver.rows] == list(range(1, ROWS + 1))


async def test_a_worker_that_was_too_slow_does_not_move_the_place(store: SqlStore, later: Any):
    slow = await store.tx(log_exporting.claim_rows, "syslog", "slow", 60.0, 3)
    assert not await store.tx(log_exporting.claim_rows, "syslog", "quick", 60.0, 100)
    later.seconds += 60
    assert len(await store.tx(log_exporting.claim_rows, "syslog", "quick", 60.0, 100)) == ROWS
    await store.tx(log_exporting.mark_exported, "syslog", "slow", slow[-1].seq)
    assert await sent(store, "syslog") == 0
    await store.tx(log_exporting.mark_exported, "syslog", "quick", ROWS)
    assert await sent(store, "syslog") == ROWS


# --- how far behind, and what is given up ---------------------------------------------------------------------------


async def test_what_was_not_sent_is_counted_and_kept(store: SqlStore, later: Any, clock: FixedClock):
    at = clock.now().timestamp()
    await store.tx(log_action, id="new", at=at, operator="dana", action="key.created")
    lag = (await store.tx(log_exporting.read_lags, ("syslog",), 61.5))["syslog"]
    assert (lag.rows, lag.seconds, lag.sent) == (ROWS + 1, 60.0, 0)
    settings = Settings(log_syslog="tcp://127.0.0.1:1", log_keep_days=30)
    services: Any = SimpleNamespace(settings=settings, store=store, vault=SIGNER, clock=clock, ids=RandomIds())
    assert await shorten_log(services) == 0, "the receiver has had nothing"
    with Syslog() as receiver:
        await exporter(store, log_syslog=receiver.url).export_due()
    assert await shorten_log(services) == ROWS
    found = await check_chain(store, SIGNER)
    assert (found.broken, found.rows) == (None, 2), "what is left is the new row and the one that gives up the others"
    lag = (await store.tx(log_exporting.read_lags, ("syslog",), at))["syslog"]
    assert (lag.rows, lag.sent) == (1, ROWS + 1), "the receiver is to hear of the cut as well"


async def test_without_a_setting_everything_is_kept(store: SqlStore, clock: FixedClock):
    services: Any = SimpleNamespace(settings=Settings(), store=store, vault=SIGNER, clock=clock, ids=RandomIds())
    assert await shorten_log(services) == 0
    assert len(await store.tx(action_log.list_actions)) == ROWS


def test_a_server_sends_what_its_operators_do_and_says_how_far_behind_it_is(tmp_path: Path, monkeypatch: Any):
    monkeypatch.setattr(database_time, "read", lambda _: time.time())
    hook = Hook()
    with (
        Syslog() as receiver,
        Running(hook) as running,
        House(
            f"sqlite:///{tmp_path}/house.db",
            log_syslog=receiver.url,
            log_webhook=running.url,
            log_webhook_secret=HOOK_SECRET,
        ) as house,
    ):
        house.operator("noa")
        wait_until(lambda: any(one["action"] == "session.created" for one in receiver.rows))
        wait_until(lambda: 'circumspect_log_export_rows{target="syslog"} 0.0' in house.read_metrics())
        wait_until(lambda: 'circumspect_log_export_rows{target="webhook"} 0.0' in house.read_metrics())
    assert {one["seq"] for one in hook.rows} == {one["seq"] for one in receiver.rows}
