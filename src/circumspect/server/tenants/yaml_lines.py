"""The lines of a text as YAML counts them: its marks say a line and a column, and U+2028 begins a line there."""

from __future__ import annotations

import re

_LINE = re.compile(r"[^\n\x85\u2028\u2029]*[\n\x85\u2028\u2029]|[^\n\x85\u2028\u2029]+")


def split_yaml_lines(text: str) -> list[str]:
    """Each with what ends it, which is "\\n" where it was a carriage return."""
    return _LINE.findall(text.replace("\r\n", "\n").replace("\r", "\n"))
