"""Metrics for Prometheus: what turns came to, what they cost, and what waits.

Counters and histograms are fed after each turn from its result; what only the database knows (how much waits in the
outbox, which calls nobody knows the outcome of) is asked for when somebody scrapes.

With several workers each of them counts in files of its own (`PROMETHEUS_MULTIPROC_DIR`, which `circumspect serve` sets
before it starts them), and whichever worker is scraped adds all of them up: a label per worker would make every scrape
tell of another one, and counters seem to fall.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from circumspect.journal import AssessmentEvent, ExecutionEvent, find_events
from circumspect.reasons import ReasonCode
from circumspect.review.values import CriterionResult
from circumspect.stores.tables import DEAD, UNREPORTED, WAITING, escalations, outbox, tool_executions
from circumspect.values import ModelUsage, TurnResult
from circumspect.web.reasoning.reasoning_events import ReasonedEvent

disable_created_metrics()  # type: ignore[no-untyped-call]  # a series more for each, which nobody reads

M = TypeVar("M", Counter, Histogram)
MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
_TURN_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
MOST_NAMES = 200
"""Tools and reviewers of one tenant that are counted by their names. Clients bring tools of their own, and each name is
kept for as long as the server runs, and sent with every scrape."""
OTHER = "other"
_HTTP_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """One for each app. Creating two in one process is fine; each has its own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._known: dict[tuple[object, tuple[str, ...]], Any] = {}
        self._names: dict[str, set[str]] = {}
        self.turns = self._counter("turns", "Turns by how they ended.", "tenant", "mode", "outcome")
        self.reasons = self._counter("reason_codes", "Reason codes of turns.", "tenant", "code")
        self.critiques = self._counter("critiques", "Second opinions that were asked for.", "tenant")
        self.context = self._counter("context_fetches", "Context rounds.", "tenant")
        self.loops = self._counter("context_loops", "Turns handed over because context was asked for again.", "tenant")
        self.escalations = self._counter("escalations", "Turns that were handed to a person.", "tenant", "code")
        self.turn_seconds = self._histogram("turn_seconds", "Length of turns.", _TURN_SECONDS, "mode")
        self.model_seconds = self._histogram("model_call_seconds", "Length of model calls.", _TURN_SECONDS, "model")
        self.tokens = self._counter("tokens", "Tokens of all model calls.", "tenant", "model", "direction")
        self.cost = self._counter("cost_usd", "What model calls cost, by list price.", "tenant", "model")
        self.executions = self._counter("tool_executions", "Tool calls by how they ended.", "tenant", "tool", "state")
        self.confidence = self._histogram("confidence", "How sure drafts are of themselves.", _SHARES, "tenant")
        self.evaluations = self._counter("evaluations", "Evaluations by how they ended.", "tenant", "state")
        self.verdicts = self._counter("verdicts", "Verdicts of reviews.", "tenant", "controller", "status")
        self.verdict_seconds = self._histogram("verdict_seconds", "Length of reviews.", _TURN_SECONDS, "controller")
        self.verdict_confidence = self._histogram(
            "verdict_confidence", "How sure verdicts are.", _SHARES, "tenant", "controller"
        )
        self.sources = self._histogram("source_confidence", "How sure, by source.", _SHARES, "source")
        self.switches = self._counter("source_switches", "Information looked for elsewhere.", "before", "after")
        self.searches = self._counter("searches", "Searches: made, answered from the cache, saved.", "tenant", "kind")
        self.thinking = self._histogram("reasoning_seconds", "Time of models per turn.", _TURN_SECONDS, "role")
        self.fallbacks = self._counter("reasoning_fallbacks", "Tries of models that failed.", "role")
        self.verified = self._counter("page_actions", "Actions on pages, by what they did.", "tenant", "verified")
        self.requests = self._counter("http_requests", "HTTP requests.", "method", "route", "status")
        self.request_seconds = self._histogram("http_request_seconds", "Length of requests.", _HTTP_SECONDS, "route")
        self.stalls = self._counter("loop_stalls", "Times that nobody was answered, by what held the worker.", "route")
        self.longest_stall = Gauge(
            "circumspect_loop_stall_max_seconds",
            "The longest time that nobody was answered.",
            registry=self.registry,
            multiprocess_mode="max",
        )
        self._longest_stall = 0.0
        self.lane_waits = self._histogram("lane_wait_seconds", "Waits for long computations.", _TURN_SECONDS, "lane")
        self.lane_refusals = self._counter("lane_refusals", "Long computations refused.", "lane", "tenant")

    def _counter(self, name: str, help_: str, *labels: str) -> Counter:
        return Counter(f"circumspect_{name}", help_, labels, registry=self.registry)

    def _histogram(self, name: str, help_: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(f"circumspect_{name}", help_, labels, buckets=buckets, registry=self.registry)

    def _series(self, metric: M, *labels: str) -> M:
        """The one with these labels: Prometheus' client would look for it under a lock, label by label."""
        found: M | None = self._known.get((metric, labels))
        if found is None:
            found = self._known[metric, labels] = metric.labels(*labels)
        return found

    def _name(self, tenant: str, name: str) -> str:
        """Itself, or `OTHER` where so many of the tenant's are known already."""
        known = self._names.setdefault(tenant, set())
        if name not in known:
            if len(known) >= MOST_NAMES:
                return OTHER
            known.add(name)
        return name

    def turn(self, tenant: str, result: TurnResult, seconds: float) -> None:
        usage, reasons = result.usage, result.reason_codes
        self._series(self.turns, tenant, usage.mode, result.outcome).inc()
        self._series(self.turn_seconds, usage.mode).observe(seconds)
        for code in reasons:
            self._series(self.reasons, tenant, code.value).inc()
        if usage.critiques:
            self._series(self.critiques, tenant).inc(usage.critiques)
        if usage.context_rounds:
            self._series(self.context, tenant).inc(usage.context_rounds)
        if ReasonCode.CONTEXT_LOOP_DETECTED in reasons:
            self._series(self.loops, tenant).inc()
        if result.outcome == "escalated" or ReasonCode.ESCALATED_TO_HUMAN in reasons:
            self._series(self.escalations, tenant, reasons[0].value if reasons else "").inc()
        self._count_calls(tenant, usage.calls)
        for said in find_events(result.entries, AssessmentEvent):
            self._series(self.confidence, tenant).observe(said.confidence)
        for ran in find_events(result.entries, ExecutionEvent):
            self._series(self.executions, tenant, self._name(tenant, ran.tool), ran.state).inc()
        for made in find_events(result.entries, ReasonedEvent):
            self._count_reasoning(tenant, made)

    def verdict(self, tenant: str, result: CriterionResult) -> None:
        controller = self._name(tenant, result.controller)
        self._series(self.verdicts, tenant, controller, result.status).inc()
        self._series(self.verdict_seconds, controller).observe(result.seconds)
        self._series(self.verdict_confidence, tenant, controller).observe(result.confidence)
        self._count_calls(tenant, result.calls)

    def evaluation(self, tenant: str, state: str) -> None:
        self._series(self.evaluations, tenant, state).inc()

    def _count_calls(self, tenant: str, calls: Iterable[ModelUsage]) -> None:
        for call in calls:
            self._series(self.model_seconds, call.model).observe(call.seconds)
            self._series(self.tokens, tenant, call.model, "input").inc(call.input_tokens)
            self._series(self.tokens, tenant, call.model, "output").inc(call.output_tokens)
            self._series(self.cost, tenant, call.model).inc(call.cost_usd)

    def _count_reasoning(self, tenant: str, made: ReasonedEvent) -> None:
        self._series(self.sources, made.source).observe(made.confidence)
        for one in made.switches:
            self._series(self.switches, one.before, one.after).inc()
        for hop in made.hops:
            self._series(self.searches, tenant, "cached" if hop.cached else "made").inc()
        if made.saved:
            self._series(self.searches, tenant, "saved").inc()
        for role, effort in (("smart", made.models.smart), ("fast", made.models.fast)):
            if effort.calls:
                self._series(self.thinking, role).observe(effort.seconds)
                self._series(self.fallbacks, role).inc(effort.fallbacks)

    def page_action(self, tenant: str, success: bool) -> None:
        self._series(self.verified, tenant, "yes" if success else "no").inc()

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._series(self.requests, method if method in METHODS else OTHER, route, str(status)).inc()
        self._series(self.request_seconds, route).observe(seconds)

    def note_stall(self, route: str, seconds: float) -> None:
        self._series(self.stalls, route).inc()
        self._longest_stall = max(seconds, self._longest_stall)
        self.longest_stall.set(self._longest_stall)

    def note_wait(self, lane: str, seconds: float) -> None:
        self._series(self.lane_waits, lane).observe(seconds)

    def note_refusal(self, lane: str, tenant: str) -> None:
        self._series(self.lane_refusals, lane, tenant).inc()

    def render(self, *collectors: Collector) -> bytes:
        """The text that Prometheus reads: what was counted, and what was asked for just now."""
        counted = self.registry
        if os.environ.get(MULTIPROCESS):
            counted = CollectorRegistry()
            MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
        asked = CollectorRegistry()
        for one in collectors:
            asked.register(one)
        return generate_latest(counted) + generate_latest(asked)


class BacklogCollector(Collector):
    """What is in the database at this moment. A collector of values that are known already."""

    def __init__(
        self, outbox_depth: int, outbox_age: float, outbox_dead: int, open_: Mapping[str, int], unknown: int
    ) -> None:
        self.outbox_depth, self.outbox_age, self.outbox_dead = outbox_depth, outbox_age, outbox_dead
        self.open, self.unknown = open_, unknown

    def collect(self) -> Iterable[Metric]:
        yield _gauge("outbox_depth", "Notifications that wait to leave.", self.outbox_depth)
        yield _gauge("outbox_oldest_seconds", "Age of the oldest notification that waits.", self.outbox_age)
        yield _gauge("outbox_dead", "Notifications that were given up.", self.outbox_dead)
        yield _gauge("calls_of_unknown_outcome", "Calls that a person has to look at.", self.unknown)
        waiting = GaugeMetricFamily("circumspect_escalations_waiting", "Escalations by state.", labels=["state"])
        for state, number in self.open.items():
            waiting.add_metric([state], number)
        yield waiting


def _gauge(name: str, help_: str, value: float) -> Metric:
    return GaugeMetricFamily(f"circumspect_{name}", help_, value=value)


def read_backlog(connection: sa.Connection, now: float) -> BacklogCollector:
    count = sa.func.count
    depth, oldest = connection.execute(
        sa.select(count(), sa.func.min(outbox.c.created_at)).select_from(outbox).where(sa.text(WAITING))
    ).one()
    dead: Any = connection.execute(sa.select(count()).select_from(outbox).where(sa.text(DEAD))).scalar_one()
    unknown: Any = connection.execute(
        sa.select(count())
        .select_from(tool_executions)
        .where(sa.text(UNREPORTED), tool_executions.c.state == "indeterminate")
    ).scalar_one()
    states = dict.fromkeys(("open", "taken"), 0)
    states |= {
        row.state: row.number
        for row in connection.execute(
            sa.select(escalations.c.state, count().label("number"))
            .where(escalations.c.state.in_(("open", "taken")))
            .group_by(escalations.c.state)
        )
    }
    return BacklogCollector(depth, max(0.0, now - oldest) if oldest else 0.0, dead, states, unknown)
