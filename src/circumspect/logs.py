"""Structured logs: one JSON object a line, on standard error, with the ids and reason codes that steps attach.

What a user or a model said is never logged: steps log ids and codes, and `exc_info` is reduced to types and places.
"""

from __future__ import annotations

import logging
import traceback
from datetime import UTC, datetime

import orjson

FIELDS = ("tenant", "conversation", "turn", "outcome", "reason_codes", "usage", "problem", "experiment", "arm")


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return orjson.dumps(self.describe(record), default=str).decode()

    def describe(self, record: logging.LogRecord) -> dict[str, object]:
        """What the line says."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        attached = record.__dict__
        line |= {name: attached[name] for name in FIELDS if name in attached}
        if record.exc_info and record.exc_info[0]:
            line["error"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])[-5:]
            line["where"] = [f"{frame.name}:{frame.lineno}" for frame in frames]
        return line


def configure(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger("circumspect")
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    root.propagate = False
