"""What NeMo Guardrails' server asks when it begins: conversations stay in its memory, and its log is silent."""

from __future__ import annotations

import logging
from typing import Any

from nemoguardrails.server.api import register_datastore
from nemoguardrails.server.datastore.memory_store import MemoryStore


def init(_app: Any) -> None:
    register_datastore(MemoryStore())
    logging.disable(logging.INFO)  # every event of a turn, which no setting of its own turns off
