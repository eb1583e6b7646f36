"""`make fuzz-api`: schemathesis over every operation of a running server, as a key and as an operator. For the night.

The suite tries ten made-up requests of each operation. This runs all phases that need no order between operations:
examples, coverage (each boundary of each schema, and what lies beyond it) and fuzzing, with new requests every time; the
seed is in the summary. It fails for any 5xx, for a status that the description does not name, for an operation that
nothing was sent to, and for a server that has ended.

It takes as long as it is given: the time is shared out among the operations, and what one leaves is the others'.

    python -m tests.security.fuzz_api --minutes 10 --only list_conversations --only create_conversation
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.security.fortress import Fortress

from circumspect.server.stores.access import SCOPES

LAST = ["delete_conversation", "rotate_key", "revoke_key", "end_session", "end_sessions", "delete_session"]
"""They end what the others knock with: schemathesis sends ids that it has seen in answers."""
LONG = str(24 * 60)
CHECKS = "not_a_server_error,status_code_conformance"
KNOWN = """\
[dictionaries.conversations]
values = ["fuzzed-1", "fuzzed-2", "fuzzed-3"]
[dictionaries.tenants]
values = ["shop"]
[parameters]
"path.conversation_id" = {dictionary = "conversations", probability = 0.5}
"path.tenant_id" = {dictionary = "tenants", probability = 0.5}
"query.tenant" = {dictionary = "tenants", probability = 0.8}
"""
"""Ids that exist, beside made-up ones: what is not found is not tried far."""


@dataclass(frozen=True)
class FuzzReport:
    """What came of one run."""

    held: bool
    """Everything that was chosen was sent to, and nothing that was sent broke the server."""
    operations: int
    requests: int


def furnish(fortress: Fortress) -> str:
    """Makes what exists, and a key that may do everything that a key may."""
    for name in ("fuzzed-1", "fuzzed-2", "fuzzed-3"):
        fortress.key.post("/v1/conversations", json={"id": name}).raise_for_status()
        said = fortress.key.post(f"/v1/conversations/{name}/messages", json={"content": "cancel order 12345"})
        said.raise_for_status()
    scopes = [scope for scope in SCOPES if scope != "widget"]
    made = fortress.operator.post("/v1/admin/keys", json={"name": "fuzz", "scopes": scopes, "tenant": "shop"})
    made.raise_for_status()
    return str(made.json()["key"])


def fuzz(url: str, folder: Path, token: str, only: list[str], examples: int, seconds: int | None = None) -> FuzzReport:
    """Without `only`, everything but what comes last. Without `seconds`, until every example was sent."""
    (folder / "schemathesis.toml").write_text(KNOWN, "utf-8")
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    done = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json",
            "--phases", "examples,coverage,fuzzing", "--checks", CHECKS, "--continue-on-failure",
            "--max-examples", str(examples), "--request-timeout", "60", "--warnings", "off", "--no-color",
            "--generation-database", "none", "--suppress-health-check", "all", "--header", f"Authorization: Bearer {token}",
            "--report", "json", "--report-json-path", str(report),
            *(("--max-time", str(seconds)) if seconds else ()),
            *(word for name in only for word in ("--include-operation-id", name)),
            *(word for name in LAST if not only for word in ("--exclude-operation-id", name)),
        ],
        cwd=folder,
    )  # fmt: skip
    told = json.loads(report.read_text("utf-8"))
    operations = told["operations"]
    complete = operations["tested"] == operations["selected"] > 0
    return FuzzReport(done.returncode == 0 and complete, operations["tested"], told["test_cases"]["generated"])


def try_as(fortress: Fortress, who: str, token: str, only: list[str], examples: int, seconds: int) -> bool:
    """Half an hour as an operator who was signed out in the first minute would have tried nothing."""
    print(f"\nAs {who}:", flush=True)
    found = [fuzz(fortress.url, fortress.folder, token, only, examples, seconds)]
    if not only:
        with fortress.client(token) as client:
            assert client.get("/v1/session").status_code == 200, "it was signed out on the way, and so tried nothing"
        found.append(fuzz(fortress.url, fortress.folder, token, LAST, examples, max(seconds // 10, 10)))
    ready = fortress.anyone.get("/readyz").status_code == 200
    requests, operations = sum(one.requests for one in found), sum(one.operations for one in found)
    print(f"\nAs {who}: {requests:,} requests to {operations} operations.", flush=True)
    return ready and all(one.held for one in found)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.security.fuzz_api")
    parser.add_argument("--only", action="append", default=[], metavar="OPERATION", help="this one; may be repeated")
    parser.add_argument("--examples", type=int, default=100, help="requests that are made up for each operation")
    parser.add_argument("--minutes", type=float, default=60, help="as long as it may take, all together")
    asked = parser.parse_args()
    settings = {"CIRCUMSPECT_PROVE_AGAIN_MINUTES": LONG, "CIRCUMSPECT_SESSION_IDLE_MINUTES": LONG}
    seconds = int(asked.minutes * 60 / 2 / 1.1)
    with tempfile.TemporaryDirectory() as folder, Fortress(Path(folder), **settings) as fortress:
        held = [
            try_as(fortress, who, token, asked.only, asked.examples, seconds)
            for who, token in (("a key", furnish(fortress)), ("an operator", fortress.session))
        ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
