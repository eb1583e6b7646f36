"""The operators' log leaves the house: to a syslog receiver, to a webhook, row by row in the order of the chain.

Each receiver has a place of its own in the log, which moves on when it has taken what was sent
(`stores/log_exporting.py`). A receiver that refuses, stalls or is away is tried again after a while, for ever: nothing
is left out, and later rows wait behind the one that is not taken. After a failure one row is sent alone, so a batch
that is too large for a receiver does not stop it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from circumspect import outgoing
from circumspect.errors import CircumspectError, ConfigError
from circumspect.ports import Clock, Ids
from circumspect.server.config import Settings
from circumspect.server.delivery import build_webhook_headers
from circumspect.server.syslog import describe_row, make_context, send_messages, write_message
from circumspect.stores import SqlStore, log_exporting
from circumspect.stores.action_log import LogRow
from circumspect.stores.codec import dumps
from circumspect.stores.log_exporting import ExportLag

log = logging.getLogger(__name__)

AT_ONCE = 100
SEND_SECONDS = 20.0
LEASE_SECONDS = 60.0
"""Longer than any sending: while it runs, nobody else sends to the receiver. After a crash it is how long it rests."""
LONGEST_WAIT = 300.0


class RowsRefused(Exception):
    """The receiver said that it did not take them."""


class LogReceiver(Protocol):
    """Takes rows. Returns when they are there, raises when they are not, or when nobody knows."""

    async def take(self, rows: Sequence[LogRow]) -> None: ...


@dataclass(frozen=True)
class SyslogReceiver:
    url: str
    context: ssl.SSLContext | None = None

    async def take(self, rows: Sequence[LogRow]) -> None:
        here = socket.gethostname()
        messages = [write_message(row, here) for row in rows]
        await asyncio.to_thread(send_messages, self.url, messages, SEND_SECONDS, self.context)


@dataclass(frozen=True)
class WebhookReceiver:
    """Any 2xx says that it has all of them. Signed as the webhooks of tenants are."""

    url: str
    secret: str
    clock: Clock
    allowed: Sequence[str]

    async def take(self, rows: Sequence[LogRow]) -> None:
        body = dumps({"type": "operator_log", "rows": [describe_row(row) for row in rows]}).encode()
        id_ = f"log-{rows[0].seq}-{rows[-1].seq}"
        headers = build_webhook_headers(self.secret, id_, int(self.clock.now().timestamp()), body)
        # Who wrote the settings may name an address of the house; tenants may not.
        allow = (*self.allowed, urlsplit(self.url).hostname or "")
        async with (
            asyncio.timeout(SEND_SECONDS),
            outgoing.client(allow=allow, timeout=SEND_SECONDS, max_bytes=100_000) as http,
        ):
            answer = await http.post(self.url, content=body, headers={"content-type": "application/json", **headers})
        if not answer.is_success:
            raise RowsRefused(f"it answered {answer.status_code}")


def name_receivers(settings: Settings) -> frozenset[str]:
    """Who is to get the log, by the names under which their places are kept."""
    wanted = {"syslog": settings.log_syslog, "webhook": settings.log_webhook}
    return frozenset(name for name, url in wanted.items() if url is not None)


def open_receivers(settings: Settings, clock: Clock) -> Mapping[str, LogReceiver]:
    """Raises `ConfigError` for what could never be sent."""
    found: dict[str, LogReceiver] = {}
    if settings.log_syslog is not None:
        found["syslog"] = SyslogReceiver(settings.log_syslog, _read_authorities(settings))
    if settings.log_webhook is not None:
        if settings.log_webhook_secret is None:
            raise ConfigError(
                "The log's webhook has no secret to sign with.",
                fix="Set CIRCUMSPECT_LOG_WEBHOOK_SECRET to what the receiver checks signatures with.",
            )
        secret = settings.log_webhook_secret.get_secret_value()
        url = settings.log_webhook.get_secret_value()
        found["webhook"] = WebhookReceiver(url, secret, clock, settings.allow_addresses)
    return found


def _read_authorities(settings: Settings) -> ssl.SSLContext | None:
    if urlsplit(settings.log_syslog or "").scheme != "tls":
        return None
    try:
        return make_context(settings.log_syslog_ca)
    except OSError as error:
        raise ConfigError(
            f"The certificates in {settings.log_syslog_ca} cannot be read.",
            fix="Set log_syslog_ca to a PEM file with the authority of the syslog receiver.",
        ) from error


class LogExporter:
    """Sends what is new. Any number of them may run: a place is one worker's at a time."""

    def __init__(self, store: SqlStore, receivers: Mapping[str, LogReceiver], ids: Ids) -> None:
        self._store, self._receivers, self._ids = store, receivers, ids
        self._failures = dict.fromkeys(receivers, 0)

    async def export_due(self) -> int:
        """Everything that is due, to everybody. How many rows were taken. None waits for another receiver."""
        return sum(await asyncio.gather(*(self._export(*one) for one in self._receivers.items())))

    async def _export(self, target: str, receiver: LogReceiver) -> int:
        taken = 0
        while rows := await self._export_some(target, receiver):
            taken += rows
        return taken

    async def _export_some(self, target: str, receiver: LogReceiver) -> int:
        token, failures = self._ids.new("export"), self._failures[target]
        limit = 1 if failures else AT_ONCE
        rows = await self._store.tx(log_exporting.claim_rows, target, token, LEASE_SECONDS, limit)
        if not rows:
            return 0
        try:
            await receiver.take(rows)
        except Exception as problem:  # whatever it was, they are not known to be there
            self._failures[target] = failures + 1
            wait = min(2.0**failures, LONGEST_WAIT)
            log.warning("the operators' log is not taken", extra={"problem": f"{target}: {_describe(problem)}"})
            await self._store.tx(log_exporting.put_off, target, token, wait)
            return 0
        self._failures[target] = 0
        await self._store.tx(log_exporting.mark_exported, target, token, rows[-1].seq)
        return len(rows)


def _describe(problem: Exception) -> str:
    """Without addresses and without what the receiver said: either may hold a secret."""
    match problem:
        case RowsRefused():
            return str(problem)
        case CircumspectError():
            return problem.code
    return type(problem).__name__


class LagCollector(Collector):
    """How far behind receivers are, for Prometheus."""

    def __init__(self, lags: Mapping[str, ExportLag]) -> None:
        self._lags = lags

    def collect(self) -> Iterable[Metric]:
        rows = GaugeMetricFamily("circumspect_log_export_rows", "Rows of the log not sent yet.", labels=["target"])
        seconds = GaugeMetricFamily(
            "circumspect_log_export_seconds", "Age of the oldest row that was not sent yet.", labels=["target"]
        )
        for target, lag in self._lags.items():
            rows.add_metric([target], lag.rows)
            seconds.add_metric([target], lag.seconds)
        yield rows
        yield seconds
