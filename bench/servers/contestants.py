"""Who takes part: what is installed, how it is started, and what its client sends for a turn of a conversation.

Each has a check in code on what the user says, and the faster of two settings where its documents leave a choice: one
worker, no tracing, no access log. Who keeps conversations reads them from where its documents put them; whoever
does not is sent the earlier turns by the client, as its clients do.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from bench.load import ASSESSED

APPS = Path(__file__).parent / "apps"
ASKED = "when are you open?"
Request = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Contestant:
    name: str
    keeps: str
    """Where its conversations are."""
    packages: tuple[str, ...]
    prepare: Callable[[Path, str], list[str]]
    """Files into a folder, for a model at this URL; the program to run and its arguments, `PORT` for the port."""
    turn: Callable[[str, int, bool], Request]
    """Path and body of a message of a conversation, asked for in one piece or as a stream."""
    opening: Callable[[str], Request] | None = None
    """What makes a conversation, where it has to be made."""


def _app(folder: Path, name: str, called: str = "") -> None:
    shutil.copy(APPS / name, folder / (called or name))


def _history(number: int) -> list[dict[str, str]]:
    """What was said before, and the next message."""
    earlier = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": ASSESSED}] * number
    return [*earlier, {"role": "user", "content": ASKED}]


# --- OpenAI Agents on FastAPI -----------------------------------------------------------------------------------------


def _agents(folder: Path, _url: str) -> list[str]:
    _app(folder, "agents_app.py")
    return ["uvicorn", "agents_app:app", "--port", "PORT", "--log-level", "error", "--no-access-log"]


def _agents_turn(conversation: str, _number: int, stream: bool) -> Request:
    return "/chat", {"conversation": conversation, "content": ASKED, "stream": stream}


# --- LiteLLM's proxy --------------------------------------------------------------------------------------------------


def _litellm(folder: Path, url: str) -> list[str]:
    _app(folder, "litellm_guard.py")
    model = {"model": "openai/m", "api_base": url, "api_key": "none"}
    guard = {"guardrail": "litellm_guard.Guard", "mode": ["pre_call", "post_call"], "default_on": True}
    config = {
        "model_list": [{"model_name": "m", "litellm_params": model}],
        "guardrails": [{"guardrail_name": "words", "litellm_params": guard}],
        "litellm_settings": {"telemetry": False, "turn_off_message_logging": True},
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    return ["litellm", "--config", "config.yaml", "--host", "127.0.0.1", "--port", "PORT", "--num_workers", "1"]


def _completion(conversation: str, number: int, stream: bool) -> Request:
    return "/v1/chat/completions", {"model": "m", "messages": _history(number), "stream": stream, "user": conversation}


# --- NeMo Guardrails --------------------------------------------------------------------------------------------------


def _nemo(folder: Path, url: str) -> list[str]:
    """Rails in Colang, a check in code. Nothing is defined for which it would fetch a model of embeddings: what a user
    may mean is not matched with examples."""
    (folder / "shop").mkdir()
    _app(folder, "nemo_server.py", "config.py")
    _app(folder, "nemo_actions.py", "shop/actions.py")
    _app(folder, "nemo_rails.co", "shop/rails.co")
    model = {"type": "main", "engine": "openai", "model": "m", "parameters": {"base_url": url, "api_key": "none"}}
    rails = {"input": {"flows": ["check words"]}}
    (folder / "shop/config.yml").write_text(
        json.dumps({"models": [model], "passthrough": True, "streaming": True, "rails": rails})
    )
    shown = ["--default-config-id", "shop", "--disable-chat-ui", "--port", "PORT"]
    return ["nemoguardrails", "server", "--config", str(folder), *shown]


def _nemo_turn(conversation: str, _number: int, stream: bool) -> Request:
    # A stream is not written down, and a thread's name has at least 16 characters.
    rails = {} if stream else {"thread_id": f"{conversation:0>16}"}
    messages = [{"role": "user", "content": ASKED}]
    return "/v1/chat/completions", {"model": "m", "messages": messages, "stream": stream, "guardrails": rails}


# --- LangGraph's server -----------------------------------------------------------------------------------------------


def _langgraph(folder: Path, _url: str) -> list[str]:
    _app(folder, "langgraph_app.py")
    (folder / "langgraph.json").write_text(
        json.dumps({"dependencies": ["."], "graphs": {"shop": "./langgraph_app.py:graph"}})
    )
    quiet = ["--no-browser", "--no-reload", "--server-log-level", "ERROR", "--n-jobs-per-worker", "100"]
    return ["langgraph", "dev", "--port", "PORT", *quiet]


def _thread(conversation: str) -> str:
    return str(uuid5(NAMESPACE_URL, conversation))


def _langgraph_opening(conversation: str) -> Request:
    return "/threads", {"thread_id": _thread(conversation)}


def _langgraph_turn(conversation: str, _number: int, stream: bool) -> Request:
    said = {"assistant_id": "shop", "input": {"messages": [{"role": "user", "content": ASKED}]}}
    path = f"/threads/{_thread(conversation)}/runs"
    return (f"{path}/stream", {**said, "stream_mode": ["messages-tuple"]}) if stream else (f"{path}/wait", said)


PEERS = (
    Contestant(
        "OpenAI Agents on FastAPI", "SQLiteSession", ("openai-agents", "fastapi", "uvicorn"), _agents, _agents_turn
    ),
    Contestant("LiteLLM proxy, a guardrail", "the client", ("litellm[proxy]",), _litellm, _completion),
    Contestant(
        "NeMo Guardrails server", "its memory", ("nemoguardrails[server]", "langchain-openai"), _nemo, _nemo_turn
    ),
    Contestant(
        "LangGraph server, in memory", "its memory", ("langgraph-api", "langgraph-cli[inmem]", "langchain-openai"),
        _langgraph, _langgraph_turn, _langgraph_opening,
    ),
)  # fmt: skip


def ours_opening(conversation: str) -> Request:
    return "/v1/conversations", {"id": conversation}


def ours_turn(conversation: str, _number: int, _stream: bool) -> Request:
    return f"/v1/conversations/{conversation}/messages", {"content": ASKED}
