"""A graph as LangGraph's guides show it: a check in code on what the user says, then the model. The server keeps it."""

from __future__ import annotations

import os

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

model = ChatOpenAI(model="m", base_url=os.environ["MODEL_URL"], api_key="none")


async def check(state: MessagesState) -> dict:
    if "ignore all" in str(state["messages"][-1].content).lower():
        return {"messages": [{"role": "assistant", "content": "refused"}]}
    return {}


async def answer(state: MessagesState) -> dict:
    return {"messages": [await model.ainvoke([("system", "You answer customers of a shop."), *state["messages"]])]}


def is_refused(state: MessagesState) -> str:
    return END if state["messages"][-1].type == "ai" else "answer"


builder = StateGraph(MessagesState)
builder.add_node("check", check)
builder.add_node("answer", answer)
builder.add_edge(START, "check")
builder.add_conditional_edges("check", is_refused, [END, "answer"])
builder.add_edge("answer", END)
graph = builder.compile()
