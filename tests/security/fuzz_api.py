"""`make fuzz-api`: schemathesis over every operation of a running server, as a key and as an operator. For the night.

The suite tries ten made-up requests of each operation. This runs all phases that need no order between operations:
examples, coverage (each boundary of each schema, and what lies beyond it) and fuzzing, with new requests every time; the
seed is in the summary. Any 5xx fails it, and so does a server that has ended.

    python -m tests.security.fuzz_api --only list_conversations --only create_conversation --examples 20
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.security.fortress import Fortress

from circumspect.server.stores.access import SCOPES

LAST = ["delete_conversation", "rotate_key", "revoke_key", "end_session", "end_sessions", "delete_session"]
"""They end what the others knock with: schemathesis sends ids that it has seen in answers."""
LONG = str(24 * 60)
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


def fuzz(url: str, folder: Path, token: str, only: list[str], examples: int) -> bool:
    """Whether nothing that was sent broke the server. Without `only`, everything but what comes last."""
    (folder / "schemathesis.toml").write_text(KNOWN, "utf-8")
    done = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json",
            "--phases", "examples,coverage,fuzzing", "--checks", "not_a_server_error", "--continue-on-failure",
            "--max-examples", str(examples), "--request-timeout", "60", "--warnings", "off", "--no-color",
            "--generation-database", "none", "--suppress-health-check", "all", "--header", f"Authorization: Bearer {token}",
            *(word for name in only for word in ("--include-operation-id", name)),
            *(word for name in LAST if not only for word in ("--exclude-operation-id", name)),
        ],
        cwd=folder,
    )  # fmt: skip
    return done.returncode == 0


def try_as(fortress: Fortress, who: str, token: str, only: list[str], examples: int) -> bool:
    print(f"\nAs {who}:", flush=True)
    held = fuzz(fortress.url, fortress.folder, token, only, examples)
    if not only:
        with fortress.client(token) as client:
            assert client.get("/v1/session").status_code == 200, "it was signed out on the way, and so tried nothing"
        held = fuzz(fortress.url, fortress.folder, token, LAST, examples) and held
    return fortress.anyone.get("/readyz").status_code == 200 and held


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.security.fuzz_api")
    parser.add_argument("--only", action="append", default=[], metavar="OPERATION", help="this one; may be repeated")
    parser.add_argument("--examples", type=int, default=100, help="requests that are made up for each operation")
    asked = parser.parse_args()
    settings = {"CIRCUMSPECT_PROVE_AGAIN_MINUTES": LONG, "CIRCUMSPECT_SESSION_IDLE_MINUTES": LONG}
    with tempfile.TemporaryDirectory() as folder, Fortress(Path(folder), **settings) as fortress:
        held = [
            try_as(fortress, who, token, asked.only, asked.examples)
            for who, token in (("a key", furnish(fortress)), ("an operator", fortress.session))
        ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
