"""OpenAI Agents SDK: a tool with `needs_approval`, history in its SQLiteSession, the held run as RunState JSON.

The SDK has no store for a held run; its guide says to keep the string, so it is kept in a row of the same file.
Sessions stay open for as long as their conversation is talked to.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

from agents import Agent, Runner, RunState, SQLiteSession, function_tool, set_tracing_disabled
from agents.items import ModelResponse, TResponseInputItem, TResponseOutputItem, TResponseStreamEvent
from agents.memory import SessionSettings
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from bench.bare import connect
from bench.work import ANSWERED, ASKED, DONE, INSTRUCTIONS, ORDER, WISHED, Orders

OPEN_SESSIONS = 4


class Fake(Model):
    def __init__(self) -> None:
        self.numbers = count(1)

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],  # noqa: A002
        *_args: Any,
        **_options: Any,
    ) -> ModelResponse:
        last: Any = input[-1] if isinstance(input, list) else {"content": input}
        number = next(self.numbers)
        item: TResponseOutputItem
        if last.get("type") == "function_call_output":
            item = self._message(DONE, number)
        elif last.get("content") == WISHED:
            item = ResponseFunctionToolCall(
                id=f"fc_{number}",
                call_id=f"call_{number}",
                type="function_call",
                name="cancel_order",
                arguments=f'{{"order_id":"{ORDER}"}}',
            )
        else:
            item = self._message(ANSWERED, number)
        return ModelResponse([item], Usage(requests=1), response_id=None)

    def stream_response(self, *_args: Any, **_options: Any) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError("The benchmark does not stream.")

    def _message(self, text: str, number: int) -> ResponseOutputMessage:
        part = ResponseOutputText(text=text, type="output_text", annotations=[], logprobs=[])
        return ResponseOutputMessage(
            id=f"msg_{number}", type="message", role="assistant", status="completed", content=[part]
        )


class OpenAIAgents:
    def __init__(self, folder: Path, window: int | None) -> None:
        set_tracing_disabled(True)
        self.orders = Orders()
        self.settings = SessionSettings(limit=window)
        self.file = folder / "openai_agents.db"
        self.sessions: dict[str, SQLiteSession] = {}
        orders = self.orders

        @function_tool(needs_approval=True)
        async def cancel_order(order_id: str) -> str:
            """Cancel an order."""
            return orders.cancel(order_id)

        self.agent: Agent[None] = Agent("support", instructions=INSTRUCTIONS, model=Fake(), tools=[cancel_order])
        self.db = connect(self.file)
        self.db.execute("CREATE TABLE held (conversation TEXT PRIMARY KEY, state TEXT)")

    async def plain(self, conversation: str) -> str:
        result = await Runner.run(self.agent, ASKED, session=self._session(conversation))
        return str(result.final_output)

    async def propose(self, conversation: str) -> None:
        result = await Runner.run(self.agent, WISHED, session=self._session(conversation))
        assert result.interruptions
        self.db.execute("INSERT OR REPLACE INTO held VALUES (?, ?)", (conversation, result.to_state().to_string()))

    async def approve(self, conversation: str) -> str:
        (stored,) = self.db.execute("SELECT state FROM held WHERE conversation = ?", (conversation,)).fetchone()
        state = await RunState.from_string(self.agent, stored)
        for item in state.get_interruptions():
            state.approve(item)
        result = await Runner.run(self.agent, state, session=self._session(conversation))
        self.db.execute("DELETE FROM held WHERE conversation = ?", (conversation,))
        return str(result.final_output)

    async def close(self) -> None:
        for session in self.sessions.values():
            session.close()
        self.db.close()

    def _session(self, conversation: str) -> SQLiteSession:
        if conversation not in self.sessions:
            if len(self.sessions) == OPEN_SESSIONS:
                self.sessions.pop(next(iter(self.sessions))).close()
            self.sessions[conversation] = SQLiteSession(conversation, self.file, session_settings=self.settings)
        return self.sessions[conversation]


async def contestant(folder: Path, window: int | None = None) -> OpenAIAgents:
    """With `window`, the session hands the model so many earlier items; by default it hands over all."""
    return OpenAIAgents(folder, window)
