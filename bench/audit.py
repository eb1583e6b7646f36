"""Throughput of the audit on one core: proposed calls a second, and memory as the file grows.

Two shapes of file. Whole conversations, one a line, in which every call is ruled on; and proposals, one a line, each
with the conversation before it, which is how recordings for scoring come (reading the line is then a good part of the
work). By itself it makes conversations of an airline desk and judges them by `examples/policies/tau_airline.yaml`;
given files, it measures those, each of proposals a second time as the whole conversations that its lines come from:

    python -m bench.audit recordings.jsonl.gz --policy examples/policies/tau_airline.yaml

The first pass over a file is shown beside the best one: what the audit remembers of texts and records that come again
helps the later passes, and a user's file is read once. Only of the first file is that pass a cold one.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import resource
import shutil
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.report import Aim, Section, Table, duration, show

WANTED = 8_000
POLICY = Path(__file__).parents[1] / "examples" / "policies" / "tau_airline.yaml"
CITIES = ("SFO", "JFK", "SEA", "BOS", "DEN", "ATL", "PHX", "ORD")
TOOLS = {
    "get_user_details": {"user_id": "string"},
    "get_reservation_details": {"reservation_id": "string"},
    "search_direct_flight": {"origin": "string", "destination": "string", "date": "string"},
    "cancel_reservation": {"reservation_id": "string"},
    "update_reservation_baggages": {
        "reservation_id": "string",
        "total_baggages": "integer",
        "nonfree_baggages": "integer",
        "payment_id": "string",
    },
}


async def run(rounds: int = 5, files: Sequence[Path] = (), policy: Path = POLICY) -> Section:
    from circumspect.policy.load import load

    rules = load(policy)
    with tempfile.TemporaryDirectory() as folder:
        sets: dict[str, Path] = {}
        for path in files:
            sets[path.name] = path
            if (joined := whole(path, Path(folder))) is not None:
                sets[f"{path.name}, whole conversations"] = joined
        if not files:
            sets["whole conversations"], sets["proposals"] = made(Path(folder), 400)
        rows, aims, data = [], [], {}
        for name, path in sets.items():
            calls, first, wall, cpu = measured(path, rules, rounds)
            rows.append(
                (
                    name,
                    f"{calls:,}",
                    duration(cpu / calls),
                    f"{calls / cpu:,.0f}",
                    f"{calls / wall:,.0f}",
                    f"{calls / first:,.0f}",
                )
            )
            aims.append(Aim(f"{WANTED:,} calls a second: {name}", f"{calls / cpu:,.0f} CPU", calls / cpu >= WANTED))
            data[name] = {"calls": calls, "cpu_seconds": cpu, "wall_seconds": wall, "first_cpu_seconds": first}
        short, long = (peak(made(Path(folder), count)[0], rules) for count in (1_000, 3_000))
        aims.append(
            Aim(
                "memory does not grow with the file",
                f"{short:.1f} MB, three times as long {long:.1f} MB",
                long < short * 1.5,
            )
        )
        data["memory_mb"] = {
            "short": short,
            "long": long,
            "process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
    return Section(
        "audit",
        "Audit throughput on one core",
        f"Best of {rounds} passes over the file, reading and JSON output included, and the first pass of all, which "
        "also compiles the policy's conditions. "
        "CPU time is what one core does; wall time is longer by what other processes took.",
        (Table(("file", "calls", "CPU per call", "calls/s CPU", "calls/s wall", "first pass"), tuple(rows)),),
        tuple(aims),
        data,
    )


def measured(path: Path, policy: Any, rounds: int) -> tuple[int, float, float, float]:
    """Calls, CPU seconds of the first pass, and wall and CPU seconds of the best one after it."""
    from circumspect.audit.auditor import audit
    from circumspect.audit.rulings import AuditedCall, line_of

    taken: list[tuple[float, float]] = []
    calls = 0
    for _ in range(rounds + 1):
        calls, wall, cpu = 0, time.perf_counter(), time.process_time()
        for row in audit([path], policy):
            line_of(row)
            calls += isinstance(row, AuditedCall)
        taken.append((time.process_time() - cpu, time.perf_counter() - wall))
    best = min(taken[1:])
    return calls, taken[0][0], best[1], best[0]


def whole(path: Path, folder: Path) -> Path | None:
    """The conversations that the lines of a file of proposals come from, one a line; None for any other file."""
    found: list[dict[str, Any]] = []
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for line in lines:
            one = json.loads(line)
            if "proposal" not in one:
                return None
            if found and found[-1]["messages"] == one["messages"][: len(found[-1]["messages"])]:
                found.pop()
            found.append(one)
    joined = folder / f"{path.name}.whole.jsonl"
    with joined.open("w") as out:
        for one in found:
            if isinstance(one.get("tools"), str):
                beside = one["tools"].partition("#")[0]
                (folder / beside).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path.parent / beside, folder / beside)
            call = {"name": one["proposal"]["tool"], "arguments": json.dumps(one["proposal"]["arguments"])}
            last = {"role": "assistant", "content": None, "tool_calls": [{"id": "last", "function": call}]}
            kept = {key: one[key] for key in ("id", "tools", "untrusted_tools") if key in one}
            out.write(json.dumps({**kept, "messages": [*one["messages"], last]}) + "\n")
    return joined


def peak(path: Path, policy: Any) -> float:
    """Megabytes at the worst moment of auditing a file."""
    from circumspect.audit.auditor import audit
    from circumspect.audit.summary import AuditSummary

    tracemalloc.start()
    summary = AuditSummary()
    for row in audit([path], policy):
        summary.add(row)
    worst = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return worst / 1e6


# --- conversations to measure on --------------------------------------------------------------------------------------


def made(folder: Path, count: int) -> tuple[Path, Path]:
    """The same conversations twice: whole, and as one line per proposed call."""
    whole, proposals = folder / f"whole{count}.jsonl", folder / f"proposals{count}.jsonl"
    lots = random.Random(7)
    with whole.open("w") as talks, proposals.open("w") as calls:
        for number in range(count):
            messages = list(_talk(number, lots))
            talks.write(json.dumps({"id": f"c{number}", "tools": _tools(), "messages": messages}) + "\n")
            for at, message in enumerate(messages):
                for call in message.get("tool_calls", ()):
                    function = call["function"]
                    proposal = {"tool": function["name"], "arguments": json.loads(function["arguments"])}
                    line = {"id": f"c{number}#{at}", "tools": _tools(), "messages": messages[:at], "proposal": proposal}
                    calls.write(json.dumps(line) + "\n")
    return whole, proposals


def _tools() -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": name.replace("_", " "),
                "parameters": {
                    "type": "object",
                    "properties": {parameter: {"type": kind} for parameter, kind in parameters.items()},
                    "required": list(parameters),
                },
            },
        }
        for name, parameters in TOOLS.items()
    ]


def _talk(number: int, lots: random.Random) -> Iterator[dict[str, Any]]:
    user, booking = (
        f"customer_{1000 + number}",
        f"{lots.choice('ABCDEF')}{lots.randint(10, 99)}{lots.choice('XYZ')}{number:03d}"[:6],
    )
    origin, goal = lots.sample(CITIES, 2)
    reservation = {
        "reservation_id": booking,
        "user_id": user,
        "origin": origin,
        "destination": goal,
        "cabin": lots.choice(("economy", "business", "basic_economy")),
        "flights": [
            {"flight_number": f"HAT{lots.randint(100, 299)}", "date": "2024-05-26", "price": 120 + at}
            for at in range(2)
        ],
        "passengers": [{"first_name": "Noa", "last_name": "Levi", "dob": "1990-01-01"}],
        "payment_history": [{"payment_id": "credit_card_4455", "amount": 241}],
        "created_at": "2024-05-10T10:00:00",
        "total_baggages": 1,
        "nonfree_baggages": 0,
        "insurance": lots.choice(("yes", "no")),
    }
    profile = {
        "name": {"first_name": "Noa", "last_name": "Levi"},
        "membership": lots.choice(("regular", "silver", "gold")),
        "payment_methods": {"credit_card_4455": {"source": "credit_card", "brand": "visa", "last_four": "4455"}},
        "reservations": [booking],
    }
    flights = [
        {
            "flight_number": f"HAT{100 + at}",
            "origin": origin,
            "destination": goal,
            "status": "available",
            "prices": {"economy": 90 + at},
        }
        for at in range(12)
    ]
    yield {"role": "user", "content": f"Hello, my user id is {user}. I would like to change something about {booking}."}
    for name, arguments, result in (
        ("get_user_details", {"user_id": user}, profile),
        ("get_reservation_details", {"reservation_id": booking}, reservation),
        ("search_direct_flight", {"origin": origin, "destination": goal, "date": "2024-05-27"}, flights),
    ):
        yield from _called(name, arguments, result)
    yield {
        "role": "assistant",
        "content": f"I have found reservation {booking} from {origin} to {goal}. What should I do?",
    }
    yield {
        "role": "user",
        "content": "Add one more checked bag, please, and tell me what it costs. I pay with my Visa.",
    }
    yield {
        "role": "assistant",
        "content": f"I will add one bag to {booking} and charge your Visa ending in 4455. Shall I proceed?",
    }
    yield {"role": "user", "content": "Yes, please go ahead. Thank you!"}
    bags = {"reservation_id": booking, "total_baggages": 2, "nonfree_baggages": 1, "payment_id": "credit_card_4455"}
    yield from _called("update_reservation_baggages", bags, {**reservation, "total_baggages": 2})
    yield {"role": "assistant", "content": "Done. Is there anything else?"}
    yield {"role": "user", "content": "Something came up. Please cancel the whole trip instead."}
    yield {"role": "assistant", "content": f"Do you confirm that I should cancel reservation {booking}?"}
    yield {"role": "user", "content": "Yes, I confirm."}
    yield from _called("cancel_reservation", {"reservation_id": booking}, {**reservation, "status": "cancelled"})


def _called(name: str, arguments: dict[str, Any], result: Any) -> Iterator[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    yield {"role": "assistant", "content": None, "tool_calls": [{"id": name, "type": "function", "function": function}]}
    yield {"role": "tool", "tool_call_id": name, "content": json.dumps(result)}


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.audit", description="Measure the audit on one core.")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--policy", type=Path, default=POLICY)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    show(asyncio.run(run(options.rounds, options.files, options.policy)))


if __name__ == "__main__":
    main()
