"""Run pages of the documentation: `python -m tests.docs.run_page FOLDER PAGE…`, from the root of the repository.

Prints one JSON object: what is wrong with each page, empty when nothing is. Pages run one after another in one process,
which saves importing everything again; each has names and a folder of its own. Only this machine can be reached.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import ipaddress
import json
import logging
import os
import re
import shlex
import socket
import sqlite3
import subprocess
import sys
import traceback
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from pathlib import Path
from typing import Any

from tests.docs.pages import Block, blocks, commands, fits
from tests.patience import PATIENCE

DATABASE = ".circumspect/circumspect.db"


class Wrong(Exception):
    """What a page promises is not so."""


_connect = socket.socket.connect


def local_only(self: socket.socket, address: Any) -> None:
    """In place of `socket.connect`: nothing leaves the machine."""
    host = address[0] if isinstance(address, tuple) else ""
    with contextlib.suppress(ValueError):
        if host not in ("", "localhost") and not ipaddress.ip_address(host).is_loopback:
            raise ConnectionRefusedError(f"a page tried to reach {host}")
    _connect(self, address)


def run(page: Path) -> int:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed, ran = "", 0
    with asyncio.Runner() as runner:
        for block in blocks(page):
            if block.file:
                Path(block.file).write_text(block.text, "utf-8")
            elif block.kind == "python" and block.runs:
                printed, ran = python(block, page, namespace, runner), ran + 1
            elif block.kind == "output":
                agree(block.text, printed, block.line)
            elif block.kind == "console" and block.runs:
                console(block)
                ran += 1
            elif block.kind == "sql" and block.runs:
                query(block)
                ran += 1
    return ran


def python(block: Block, page: Path, namespace: dict[str, Any], runner: asyncio.Runner) -> str:
    """Compiled at its own place on the page, so that a traceback names the page's lines."""
    source = "\n" * (block.line - 1) + block.text
    code = compile(source, page.name, "exec", flags=PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = eval(code, namespace)
        if inspect.iscoroutine(result):
            runner.run(result)
    return out.getvalue()


def console(block: Block) -> None:
    for command, expected, line in commands(block):
        code, printed = _here(command) if _PLAIN.fullmatch(command) else _shell(command)
        if code:
            raise Wrong(f"line {line}: exit code {code} of: {command}\n{printed}")
        agree(expected, printed, line)


_PLAIN = re.compile(r"circumspect [^|&;<>$`\\]*")
"""Our command and nothing of a shell's: it can run here, where everything is imported already."""


def _here(command: str) -> tuple[int, str]:
    from circumspect.cli import main

    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    before, sys.argv = sys.argv, shlex.split(command)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            main()
    except SystemExit as ended:
        return int(ended.code or 0), out.buffer.getvalue().decode()  # type: ignore[attr-defined]
    finally:
        sys.argv = before


def _shell(command: str) -> tuple[int, str]:
    done = subprocess.run(
        command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=PATIENCE
    )
    return done.returncode, done.stdout


def query(block: Block) -> None:
    """Against the database that the commands and agents of the page have filled."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{DATABASE}?mode=ro", uri=True)) as connection:
            connection.execute(block.text).fetchall()
    except sqlite3.Error as problem:
        raise Wrong(f"line {block.line}: {problem} in {block.text}") from None


def agree(expected: str, printed: str, line: int) -> None:
    if not fits(expected, printed):
        raise Wrong(f"line {line}: the page says\n{expected}\nand it is\n{printed}")


def verdict(page: Path, folder: Path) -> str:
    """What is wrong with a page, run in that folder."""
    folder.mkdir()
    os.chdir(folder)
    logger = logging.getLogger("circumspect")
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)
    try:
        run(page)
    except Wrong as problem:
        return f"{page.name}, {problem}"
    except (Exception, SystemExit):
        return traceback.format_exc()
    return ""


def main() -> None:
    folder, *pages = (Path(argument) for argument in sys.argv[1:])
    socket.socket.connect = local_only  # type: ignore[method-assign]
    verdicts = {str(page): verdict(page, folder / str(number)) for number, page in enumerate(pages)}
    print(json.dumps(verdicts))


if __name__ == "__main__":
    main()
