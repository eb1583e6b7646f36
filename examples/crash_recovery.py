"""A worker is killed in the middle of a call. What is recorded, and what happens next?

The call is in the ledger before it runs, so whoever comes next finds it there. Then the tool's recovery class decides:
a `keyed` tool honours our idempotency key and is called again with the same one; a `blind` tool is never called again,
the outcome is recorded as unknown, and a person is told. Either way the bank below books the payment once.

Nobody has to wait for the dead worker's leases to run out: the example sets them back by ten minutes.
"""

import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import cast

from circumspect import Agent, IdempotencyKey, tool
from circumspect.models import ScriptedModel, says
from circumspect.stores import SqlStore
from circumspect.values import ConversationId, ModelRequest, Recovery

RECOVERIES: tuple[Recovery, ...] = ("keyed", "blind")
CONVERSATION = ConversationId("c1")


def an_agent(folder: Path, recovery: Recovery, *, dies: bool) -> Agent:
    booked = folder / "booked"

    def pay(account: str, key: IdempotencyKey) -> str:
        """Pay the bill."""
        payments = booked.read_text().split() if booked.exists() else []
        if key not in payments:  # this bank honours the key: the same payment is booked once
            booked.write_text("\n".join([*payments, key]))
        if dies:
            os._exit(1)  # the power goes: booked, and nobody was told
        return f"Paid to {account}."

    def plays(request: ModelRequest) -> str:
        match request.purpose:
            case "critique":
                return '{"decision": "PROCEED", "reasoning": "", "message": ""}'
            case _ if "pay" in request.messages[-1].text.lower():
                return says("", tool="pay", params={"account": "ACME-77"})
        return says("What can I do for you?")

    return Agent(
        "office",
        tools=[tool(effect="write", recovery=recovery, phrases={"en": "pay {account}"})(pay)],
        model=ScriptedModel(plays),
        database=str(folder / "circumspect.db"),
    )


def let_leases_run_out(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "circumspect.db")) as database, database:
        database.execute("UPDATE conversations SET lease_until = lease_until - 600")
        database.execute("UPDATE tool_executions SET lease_until = lease_until - 600")


async def next_worker(folder: Path, recovery: Recovery) -> None:
    async with an_agent(folder, recovery, dies=False) as agent:
        store = cast(SqlStore, (await agent.open()).ports.store)
        (found,) = await store.executions(agent.tenant.id, CONVERSATION)
        print(f"  found in the ledger: {found.call.tool} {dict(found.call.arguments)} is '{found.state}'")
        turn = await agent.turn("Hello?", conversation=CONVERSATION)
        (ended,) = await store.executions(agent.tenant.id, CONVERSATION)
        print(f"  after the next message: '{ended.state}' ({ended.reason})")
        print(f"  the user reads: {turn.reply.splitlines()[0]}")
        for one in await store.escalations(agent.tenant.id, "open"):
            print(f"  waits for a person: {one.summary}")
    print(f"  booked {len((folder / 'booked').read_text().split())} time(s)")


def main() -> None:
    for recovery in RECOVERIES:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{recovery}: the worker dies inside the call …")
            subprocess.run([sys.executable, __file__, folder, recovery], check=False)  # noqa: S603
            let_leases_run_out(Path(folder))
            asyncio.run(next_worker(Path(folder), recovery))


if __name__ == "__main__":
    if len(sys.argv) > 1:  # the worker that dies
        doomed = an_agent(Path(sys.argv[1]), cast(Recovery, sys.argv[2]), dies=True)
        doomed.turn_sync("Pay ACME-77", conversation=CONVERSATION)
    else:
        main()
