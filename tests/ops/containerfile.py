"""The Containerfile as a list of instructions, for the tests that read it and the one that does what it says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPS = ROOT / "ops"


@dataclass(frozen=True)
class Instruction:
    name: str
    flags: tuple[str, ...]
    text: str

    def read_list(self) -> list[str]:
        """The words of one that is written as a JSON list."""
        found: list[str] = json.loads(self.text)
        return found


def read_instructions(text: str) -> list[Instruction]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        name, _, rest = line.strip().partition(" ")
        words = rest.strip()
        flags: list[str] = []
        while flag := re.match(r"(--\S+)\s+", words):
            flags.append(flag[1])
            words = words[flag.end() :]
        found.append(Instruction(name.upper(), tuple(flags), words))
    return found


def read_containerfile() -> list[Instruction]:
    return read_instructions((OPS / "Containerfile").read_text("utf-8"))


def read_environment(instructions: list[Instruction]) -> dict[str, str]:
    return {
        name: value
        for one in instructions
        if one.name == "ENV"
        for name, _, value in (pair.partition("=") for pair in one.text.split())
    }
