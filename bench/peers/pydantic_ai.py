"""pydantic-ai: an agent whose tool requires approval, with its history kept in SQLite by hand.

The history is stored as the project's chat example does it: each run's new messages as one JSON row, all rows read
before the next run. sqlite3 is called on the event loop, which is faster than a thread would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from bench.bare import connect
from bench.work import ANSWERED, ASKED, DONE, INSTRUCTIONS, ORDER, WISHED, Orders


def reply(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    request = messages[-1]
    assert isinstance(request, ModelRequest)
    last = request.parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse([TextPart(DONE)])
    if isinstance(last, UserPromptPart) and last.content == WISHED:
        return ModelResponse([ToolCallPart("cancel_order", {"order_id": ORDER})])
    return ModelResponse([TextPart(ANSWERED)])


class PydanticAI:
    def __init__(self, folder: Path, window: int | None) -> None:
        self.orders = Orders()
        self.window = window
        self.agent: Agent[None, str | DeferredToolRequests] = Agent(
            FunctionModel(reply), output_type=[str, DeferredToolRequests], instructions=INSTRUCTIONS
        )
        self.agent.tool_plain(requires_approval=True)(self.cancel_order)
        self.db = connect(folder / "pydantic_ai.db")
        self.db.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, conversation TEXT, message_list TEXT)")
        self.db.execute("CREATE INDEX by_conversation ON messages (conversation, id)")

    async def cancel_order(self, order_id: str) -> str:
        return self.orders.cancel(order_id)

    async def plain(self, conversation: str) -> str:
        result = await self.agent.run(ASKED, message_history=self._history(conversation))
        self._add(conversation, result.new_messages_json())
        assert isinstance(result.output, str)
        return result.output

    async def propose(self, conversation: str) -> None:
        result = await self.agent.run(WISHED, message_history=self._history(conversation))
        self._add(conversation, result.new_messages_json())
        assert isinstance(result.output, DeferredToolRequests)

    async def approve(self, conversation: str) -> str:
        history = self._history(conversation)
        held = [part for part in history[-1].parts if isinstance(part, ToolCallPart)]
        results = DeferredToolResults(approvals={call.tool_call_id: True for call in held})
        result = await self.agent.run(message_history=history, deferred_tool_results=results)
        self._add(conversation, result.new_messages_json())
        assert isinstance(result.output, str)
        return result.output

    async def close(self) -> None:
        self.db.close()

    def _history(self, conversation: str) -> Sequence[ModelMessage]:
        rows = self.db.execute(
            "SELECT message_list FROM messages WHERE conversation = ? ORDER BY id DESC LIMIT ?",
            (conversation, -1 if self.window is None else self.window),
        ).fetchall()
        return list(chain.from_iterable(ModelMessagesTypeAdapter.validate_json(row[0]) for row in reversed(rows)))

    def _add(self, conversation: str, messages: bytes) -> None:
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            self.db.execute("INSERT INTO messages (conversation, message_list) VALUES (?, ?)", (conversation, messages))


async def contestant(folder: Path, window: int | None = None) -> PydanticAI:
    """With `window`, only the rows of so many earlier runs are read; its own example reads them all."""
    return PydanticAI(folder, window)
