"""Use an installed Circumspect that has nothing but its core: gate, audit and policy, and what it says where more is
needed. Run by the Python of a clean environment, in an empty folder; ends with an error when anything is amiss.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

MOST_PACKAGES = 15
MOST_MEGABYTES = 60
POLICY = """\
version: 1
tools:
  get_order:
    effect: read
  cancel_order:
    effect: destructive
    confirm: always
    deny_unless:
      - if: facts.get_order[args.order_id].status == "processing"
        because: Only an order that has not left yet can be cancelled.
"""
TALK = """\
{"id": "c1", "messages": [{"role": "user", "content": "cancel order 12345"}, {"role": "assistant", \
"tool_calls": [{"id": "t1", "type": "function", "function": \
{"name": "cancel_order", "arguments": "{\\"order_id\\": \\"12345\\"}"}}]}]}
"""


def measure() -> tuple[int, float]:
    """Packages, and the megabytes of the files they brought; what Python has compiled since is not theirs."""
    found = [one for one in distributions() if one.metadata["Name"] not in ("pip", "setuptools")]
    files = {Path(str(file.locate())) for one in found for file in one.files or ()}
    return len(found), sum(file.stat().st_size for file in files if file.suffix != ".pyc" and file.is_file()) / 1e6


def run(*arguments: str, code: int = 0) -> str:
    command = [str(Path(sys.executable).parent / "circumspect"), *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL)  # noqa: S603
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


async def use_gate(store: str | None) -> None:
    from circumspect import CallHeld, Gate

    ran = []

    def cancel_order(order_id: str) -> str:
        ran.append(order_id)
        return f"order {order_id} is cancelled"

    def talk(status: str) -> list[dict[str, object]]:
        asked = {
            "id": "t1",
            "type": "function",
            "function": {"name": "get_order", "arguments": '{"order_id": "12345"}'},
        }
        return [
            {"role": "user", "content": "cancel order 12345"},
            {"role": "assistant", "content": None, "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": "t1", "content": f'{{"order_id": "12345", "status": "{status}"}}'},
        ]

    call = {"name": "cancel_order", "arguments": {"order_id": "12345"}}
    async with Gate("policy.yaml", store=store) as gate:
        held = await gate.rule(call, messages=talk("shipped"), conversation="shipped")
        assert held.verdict not in ("allow", "ask"), held
        told = ""
        try:
            await gate.run(held, cancel_order)
        except CallHeld as problem:
            told = str(problem)
        assert "has not left yet" in told, told
        asked = await gate.rule(call, messages=talk("processing"), conversation="processing")
        assert asked.verdict == "ask", asked
        allowed = await gate.answer(asked.intent, "yes, cancel it")
        assert allowed.verdict == "allow", allowed
        for _ in range(2):
            assert await gate.run(allowed, cancel_order) == "order 12345 is cancelled"
    assert ran == ["12345"], ran


def main() -> None:
    packages, megabytes = measure()
    Path("policy.yaml").write_text(POLICY, "utf-8")
    Path("talk.jsonl").write_text(TALK, "utf-8")
    assert "audit" in run("--help")
    assert "is sound" in run("policy", "check", "policy.yaml")
    assert "deny_unless" in run("docs", "policy")
    assert "cancel_order" in run("audit", "talk.jsonl", "--policy", "policy.yaml", "--html", "report.html")
    assert "cancel_order" in Path("report.html").read_text("utf-8")
    run("policy", "init", "talk.jsonl", "--out", "draft.yaml")
    assert "pip install 'circumspect[server]'" in run("serve", code=2)
    assert "pip install 'circumspect[agent]'" in run("check-model", "openai:gpt", code=2)
    asyncio.run(use_gate(None))
    asyncio.run(use_gate("sqlite:///gate.db"))
    print(f"Python {sys.version.split()[0]}: gate, audit and policy work; {packages} packages, {megabytes:.0f} MB")
    assert packages <= MOST_PACKAGES, f"at most {MOST_PACKAGES} packages"
    assert megabytes <= MOST_MEGABYTES, f"at most {MOST_MEGABYTES} MB"


if __name__ == "__main__":
    main()
