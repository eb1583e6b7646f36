"""LangGraph: `create_agent` with HumanInTheLoopMiddleware and its SQLite checkpointer, all at their defaults.

The synchronous graph and saver are used on purpose: here they are faster than the asynchronous pair.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from bench.work import ANSWERED, ASKED, DONE, INSTRUCTIONS, ORDER, WISHED, Orders


class Fake(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Sequence[Any], **_options: Any) -> Fake:
        return self

    def _generate(self, messages: list[BaseMessage], *_args: Any, **_options: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            said = AIMessage(DONE)
        elif isinstance(last, HumanMessage) and last.content == WISHED:
            call = {"name": "cancel_order", "args": {"order_id": ORDER}, "id": f"call_{len(messages)}"}
            said = AIMessage("", tool_calls=[call])
        else:
            said = AIMessage(ANSWERED)
        return ChatResult(generations=[ChatGeneration(message=said)])


class LangGraph:
    def __init__(self, folder: Path) -> None:
        os.environ["LANGSMITH_TRACING"] = "false"
        self.orders = Orders()
        self.db = sqlite3.connect(folder / "langgraph.db", check_same_thread=False)
        orders = self.orders

        @tool
        def cancel_order(order_id: str) -> str:
            """Cancel an order."""
            return orders.cancel(order_id)

        self.graph = create_agent(
            Fake(),
            [cancel_order],
            system_prompt=INSTRUCTIONS,
            middleware=[HumanInTheLoopMiddleware(interrupt_on={"cancel_order": True})],
            checkpointer=SqliteSaver(self.db),
        )

    async def plain(self, conversation: str) -> str:
        return self._reply(self.graph.invoke({"messages": [HumanMessage(ASKED)]}, self._thread(conversation)))

    async def propose(self, conversation: str) -> None:
        state = self.graph.invoke({"messages": [HumanMessage(WISHED)]}, self._thread(conversation))
        assert state["__interrupt__"]

    async def approve(self, conversation: str) -> str:
        resume: Command[Any] = Command(resume={"decisions": [{"type": "approve"}]})
        return self._reply(self.graph.invoke(resume, self._thread(conversation)))

    async def close(self) -> None:
        self.db.close()

    def _thread(self, conversation: str) -> RunnableConfig:
        return {"configurable": {"thread_id": conversation}}

    def _reply(self, state: dict[str, Any] | Any) -> str:
        return str(state["messages"][-1].content)


async def contestant(folder: Path) -> LangGraph:
    return LangGraph(folder)
