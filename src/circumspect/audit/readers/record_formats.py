"""Which reader reads a record: a name that was asked for, or the first that recognises it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from circumspect.audit.readers.agents_traces import AGENTS
from circumspect.audit.readers.batch_files import BATCH
from circumspect.audit.readers.inspect_logs import INSPECT
from circumspect.audit.readers.langfuse_export import LANGFUSE
from circumspect.audit.readers.langsmith_runs import LANGSMITH
from circumspect.audit.readers.mcp_logs import MCP
from circumspect.audit.readers.message_rows import MESSAGES
from circumspect.audit.readers.model_logs import REQUESTS
from circumspect.audit.readers.otlp_spans import OTLP
from circumspect.audit.readers.talk_pieces import RecordFormat

READERS: Sequence[RecordFormat] = (MCP, OTLP, AGENTS, LANGSMITH, LANGFUSE, BATCH, INSPECT, REQUESTS, MESSAGES)
"""In the order in which they are asked: those that leave least doubt come first."""
PLAIN = "transcript"
"""A record is a conversation, and its messages are in it."""
CSV = "csv"
FORMAT_NAMES: Sequence[str] = (PLAIN, *(one.name for one in READERS), CSV)


def find_reader(record: Mapping[str, Any], name: str | None = None, *, lines: bool = True) -> RecordFormat | None:
    """The reader of that name, or the one that recognises the record. A message by itself counts only as a line."""
    if name is not None:
        return next((one for one in READERS if one.name == name), None)
    return next((one for one in READERS if (lines or one is not MESSAGES) and one.recognises(record)), None)
