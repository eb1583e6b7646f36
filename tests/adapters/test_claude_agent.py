"""The Claude Agent SDK with our hooks. Claude Code's part is played by a transport that proposes what is written here:
it fires the hooks that the SDK announced, obeys them, and runs the tool as Claude Code would."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest
from examples.adapters.shop import POLICY, Shop

sdk = pytest.importorskip("claude_agent_sdk", reason="needs claude-agent-sdk: make test-adapters")
hooks = pytest.importorskip("circumspect.adapters.claude_agent")

from circumspect.gate import Gate  # noqa: E402

QUESTION = "Just to confirm: you want me to cancel order 1001? This cannot be undone. Please answer yes or no."
LOOK = ("look", "get_order", {"order_id": "1001"})
CANCEL = ("cancel", "cancel_order", {"order_id": "1001"})
Said = tuple[str, str, dict[str, str]] | str


class ScriptedClaude(sdk.Transport):
    def __init__(self, shop: Shop, *script: Said) -> None:
        self.shop, self.script = shop, iter(script)
        self.told: list[str] = []
        self._send, self._receive = anyio.create_memory_object_stream[dict[str, Any]](100)
        self._answers: dict[str, Any] = {}
        self._hooks: dict[str, list[dict[str, Any]]] = {}
        self._asked = 0

    async def connect(self) -> None: ...

    async def close(self) -> None:
        self._send.close()
        self._receive.close()

    async def end_input(self) -> None: ...

    def is_ready(self) -> bool:
        return True

    def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        return self._read()

    async def _read(self) -> AsyncIterator[dict[str, Any]]:
        async with anyio.create_task_group() as self._tasks:
            async for message in self._receive:
                yield message
            self._tasks.cancel_scope.cancel()

    async def write(self, data: str) -> None:
        message = json.loads(data)
        match message["type"]:
            case "control_request":
                self._hooks = message["request"].get("hooks") or self._hooks
                done = {"subtype": "success", "request_id": message["request_id"]}
                done["response"] = {"hook_on_failure_supported": True}
                await self._send.send({"type": "control_response", "response": done})
            case "control_response":
                self._answers[message["response"]["request_id"]] = message["response"]
            case "user":
                self._tasks.start_soon(self._turn, message["message"]["content"])

    async def _fire(self, event: str, **given: Any) -> dict[str, Any]:
        answered: dict[str, Any] = {}
        for matcher in self._hooks.get(event, ()):
            for callback in matcher["hookCallbackIds"]:
                self._asked += 1
                asked = f"hook-{self._asked}"
                about = {"hook_event_name": event, "session_id": "s1", "transcript_path": "", "cwd": "", **given}
                request = {"subtype": "hook_callback", "callback_id": callback, "input": about, "tool_use_id": None}
                await self._send.send({"type": "control_request", "request_id": asked, "request": request})
                while asked not in self._answers:
                    await anyio.sleep(0.001)
                answer = self._answers.pop(asked)
                if answer["subtype"] == "error" and matcher.get("onFailure") == "block":
                    return {"permissionDecision": "deny", "permissionDecisionReason": answer["error"]}
                answered |= answer.get("response", {}).get("hookSpecificOutput", {})
        return answered

    async def _turn(self, prompt: str) -> None:
        await self._fire("UserPromptSubmit", prompt=prompt)
        for said in self.script:
            if isinstance(said, str):
                await self._fire("Stop", stop_hook_active=False, last_assistant_message=said)
                break
            id, name, arguments = said
            about = {"tool_name": f"mcp__shop__{name}", "tool_input": arguments, "tool_use_id": id}
            ruled = await self._fire("PreToolUse", **about)
            if ruled.get("permissionDecision") == "deny":
                self.told.append(ruled["permissionDecisionReason"])
                continue
            try:
                ran = getattr(self.shop, name)(**ruled.get("updatedInput", arguments))
            except KeyError as error:
                await self._fire("PostToolUseFailure", **about, error=str(error))
                self.told.append(str(error))
                continue
            text = ran if isinstance(ran, str) else json.dumps(ran)
            self.told.append(text)
            await self._fire("PostToolUse", **about, tool_response=[{"type": "text", "text": text}])
        await self._send.send(
            {
                "type": "result",
                "subtype": "success",
                "duration_ms": 1,
                "duration_api_ms": 1,
                "is_error": False,
                "num_turns": 1,
                "session_id": "s1",
            }
        )


async def talk(claude: ScriptedClaude, *said: str, guard: Any = None) -> list[str]:
    options = sdk.ClaudeAgentOptions(hooks=guard.hooks if guard else None)
    async with sdk.ClaudeSDKClient(options, transport=claude) as client:
        for one in said:
            await client.query(one)
            async for _ in client.receive_response():
                pass
    return claude.told


def guard(ask: Callable[[Any], Any] | None = None, gate: Any = POLICY) -> Any:
    return hooks.CircumspectHooks(gate, server="shop", ask=ask)


async def test_without_us_a_shipped_order_is_cancelled_and_with_us_it_is_not() -> None:
    order = {"order_id": "1002"}
    script: tuple[Said, ...] = ("a", "get_order", order), ("b", "cancel_order", order), "It is cancelled."
    before, after = Shop(), Shop()
    await talk(ScriptedClaude(before, *script), "cancel order 1002")
    told = await talk(ScriptedClaude(after, *script), "cancel order 1002", guard=guard())
    assert before.done == ["cancelled 1002"]
    assert after.done == []
    assert "An order that has been shipped cannot be cancelled" in told[-1]


@pytest.mark.parametrize(("said", "done"), [("yes", ["cancelled 1001"]), (False, [])])
async def test_somebody_who_is_asked_at_once_decides(said: str | bool, done: list[str]) -> None:
    shop, asked = Shop(), []

    def ask(ruling: Any) -> str | bool:
        asked.append(ruling.ask_user)
        return said

    await talk(ScriptedClaude(shop, LOOK, CANCEL, "So it is."), "cancel order 1001", guard=guard(ask))
    assert asked == [QUESTION]
    assert shop.done == done


async def test_claude_asks_and_the_next_prompt_counts_once() -> None:
    shop = Shop()
    again = ("again", *CANCEL[1:])
    claude = ScriptedClaude(shop, LOOK, CANCEL, QUESTION, again, "Cancelled.", ("third", *CANCEL[1:]), "Done.")
    told = await talk(claude, "cancel order 1001", "yes", "thanks", guard=guard())
    assert QUESTION in told[1]
    assert shop.done == ["cancelled 1001"]


async def test_a_look_up_that_failed_is_no_fact() -> None:
    order = {"order_id": "9"}
    told = await talk(
        ScriptedClaude(Shop(), ("a", "get_order", order), ("b", "cancel_order", order), "Hm."),
        "cancel order 9",
        guard=guard(),
    )
    assert "get_order" in told[-1]


async def test_a_gate_that_cannot_rule_blocks_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the store is down")

    gate, shop = Gate(POLICY), Shop()
    monkeypatch.setattr(gate, "rule", fail)
    told = await talk(ScriptedClaude(shop, CANCEL, "So it is."), "cancel order 1001", guard=guard(gate=gate))
    assert told == ["the store is down"]
    assert shop.done == []
