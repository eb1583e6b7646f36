"""The command, run in this process as a shell would run it: arguments and bytes in, exit code and bytes out.

Starting Python costs more than most of these cases, so only what needs a process of its own gets one (`spawned`).
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from circumspect.cli import main
from circumspect.stores import SqlStore

NOON = "2026-03-31T12:00:00+00:00"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def turns(self) -> list[dict[str, Any]]:
        """One JSON object a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    def refused(self, *words: str, code: int = 2) -> None:
        """It ended with a message for a person: what is wrong, what to do, and no traceback."""
        assert self.code == code, (self.code, self.out, self.err)
        assert "Traceback" not in self.err
        assert "Error: " in self.err
        for word in words:
            assert word in self.err, self.err


Run = Callable[..., Ran]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with our schema; copying it is quicker than making it."""
    path = tmp_path_factory.mktemp("template") / "circumspect.db"

    async def made() -> None:
        await (await SqlStore.open(f"sqlite:///{path}")).close()

    asyncio.run(made())
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: empty but for a database that is ready. Nothing in the environment decides anything."""
    for name in list(os.environ):
        if name.startswith(("CIRCUMSPECT_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".circumspect").mkdir()
    shutil.copy(template, tmp_path / ".circumspect" / "circumspect.db")
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    def running(*arguments: str, stdin: str | bytes = b"") -> Ran:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
        with monkeypatch.context() as patched:
            patched.setattr(sys, "argv", ["circumspect", *arguments])
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), "utf-8"))
            patched.setattr(sys, "stdout", out)
            patched.setattr(sys, "stderr", err)
            with pytest.raises(SystemExit) as ended:
                main()
        for stream in (out, err):
            stream.flush()
        code = ended.value.code
        assert isinstance(code, int)
        return Ran(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())  # type: ignore[attr-defined]

    return running


@pytest.fixture
def chat(run: Run) -> Run:
    """`chat --json` at noon: messages in, turns out."""

    def chatting(*lines: str, options: tuple[str, ...] = ()) -> Ran:
        return run("chat", "--json", "--at", NOON, *options, stdin="".join(f"{line}\n" for line in lines))

    return chatting


@pytest.fixture
def spawned() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """The real command, in a process of its own."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        piped = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        program = str(Path(sys.executable).parent / "circumspect")
        processes.append(subprocess.Popen([program, *arguments], **(piped | options)))
        return processes[-1]

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()
