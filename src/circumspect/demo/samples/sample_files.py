"""files: the name of one of the sample files -> what it says, read once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent / "data"


@cache
def read(name: str) -> Any:
    """The parsed file. Shared by all readers, so nobody changes it."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((DIRECTORY / f"{name}.yaml").read_text(encoding="utf-8"), Loader=loader)  # noqa: S506
