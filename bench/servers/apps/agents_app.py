"""An OpenAI Agents app on FastAPI, as its guides show it: history in SQLiteSession, a guardrail in code."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

from agents import (
    Agent,
    GuardrailFunctionOutput,
    OpenAIChatCompletionsModel,
    Runner,
    SQLiteSession,
    input_guardrail,
    set_tracing_disabled,
)
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent

set_tracing_disabled(True)


@input_guardrail
async def no_forbidden_words(_context: Any, _agent: Any, said: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered="ignore all" in str(said).lower())


agent = Agent(
    "support",
    instructions="You answer customers of a shop.",
    model=OpenAIChatCompletionsModel("m", AsyncOpenAI(base_url=os.environ["MODEL_URL"], api_key="none")),
    input_guardrails=[no_forbidden_words],
)
app = FastAPI()


@app.post("/chat")
async def chat(message: dict[str, Any]) -> Any:
    session = SQLiteSession(message["conversation"], "agents.db")
    if not message["stream"]:
        result = await Runner.run(agent, message["content"], session=session)
        session.close()
        return {"reply": result.final_output}

    async def pieces() -> AsyncIterator[str]:
        async for event in Runner.run_streamed(agent, message["content"], session=session).stream_events():
            if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
                yield event.data.delta
        session.close()

    return StreamingResponse(pieces())
