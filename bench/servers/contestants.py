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


PEERS = (
    Contestant(
        "OpenAI Agents on FastAPI", "SQLiteSession", ("openai-agents", "fastapi", "uvicorn"), _agents, _agents_turn
    ),
    Contestant("LiteLLM proxy, a guardrail", "the client", ("litellm[proxy]",), _litellm, _completion),
)


def ours_opening(conversation: str) -> Request:
    return "/v1/conversations", {"id": conversation}


def ours_turn(conversation: str, _number: int, _stream: bool) -> Request:
    return f"/v1/conversations/{conversation}/messages", {"content": ASKED}
