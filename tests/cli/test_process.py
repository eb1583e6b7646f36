"""What only a real process shows: start-up, signals, closed and broken pipes, a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest
from tests.patience import PATIENCE


def test_help_loads_nothing_that_is_slow_to_import(folder):
    heavy = ("pydantic", "sqlalchemy", "rich", "pydantic_ai", "prompt_toolkit", "yaml")
    code = f"""
import sys
from circumspect.cli import cli
try:
    cli.main(["--help"])
except SystemExit as ended:
    assert ended.code == 0
print([name for name in {heavy} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_conversation_through_the_real_command(spawned):
    process = spawned("chat", "--json", "--at", "2026-03-31T12:00:00Z")
    out, err = process.communicate(b"Cancel order 12345\nYes\n", timeout=PATIENCE)
    assert (process.returncode, err) == (0, b"")
    turns = [json.loads(line) for line in out.splitlines()]
    assert [turn["outcome"] for turn in turns] == ["asked", "acted"]


def test_ctrl_c_between_messages_ends_with_130_and_no_traceback(spawned):
    process = spawned("chat")
    process.stdin.write(b"hello\n")
    process.stdin.flush()
    assert b"Hello" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert b"Interrupted" in err


def test_a_reader_that_goes_away_ends_it_quietly(spawned):
    process = spawned("chat")
    process.stdout.close()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(b"hello\n" * 20)
        process.stdin.close()
    assert b"Traceback" not in process.stderr.read()
    assert process.wait(PATIENCE) == 141  # and not 1, which says that a check found something
    process.stdin = process.stdout = None


def test_a_full_disk_is_told_and_not_a_traceback(folder):
    command = f"{sys.executable} -c 'from circumspect.cli import main; main()' policy schema > /dev/full"
    done = subprocess.run(command, shell=True, capture_output=True, encoding="utf-8", timeout=PATIENCE)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: No space left on device.\n  Check ")
    assert "Exception ignored" not in done.stderr


def test_closed_standard_input_is_told_and_not_a_traceback(folder):
    command = f"{sys.executable} -c 'from circumspect.cli import main; main()' chat <&-"
    done = subprocess.run(command, shell=True, capture_output=True, encoding="utf-8", timeout=PATIENCE)
    assert "Traceback" not in done.stderr


class Terminal:
    """The command in a terminal of its own: type keys, wait for words."""

    def __init__(self, *arguments: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            program = os.path.join(os.path.dirname(sys.executable), "circumspect")
            os.execve(
                program, ["circumspect", *arguments], os.environ | {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
            )
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 110, 0, 0))
        self.seen = ""

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def wait_for(self, words: str) -> str:
        """Read until the words have come; what came before them, and they, are then done with."""
        deadline = time.monotonic() + PATIENCE
        while words not in self.seen:
            assert time.monotonic() < deadline, f"no {words!r} in {self.seen!r}"
            if select.select([self.fd], [], [], 0.5)[0]:
                with contextlib.suppress(OSError):
                    self.seen += re.sub(
                        r"\x1b\[[0-9;?]*[a-zA-Z]", "", os.read(self.fd, 65536).decode("utf-8", "replace")
                    )
        before, _, self.seen = self.seen.partition(words)
        return before + words

    def ended(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                if select.select([self.fd], [], [], 0.05)[0]:
                    self.seen += os.read(self.fd, 65536).decode("utf-8", "replace")
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("it did not end")


@pytest.fixture
def terminal(folder):
    opened: list[Terminal] = []

    def open_one(*arguments: str) -> Terminal:
        opened.append(Terminal(*arguments))
        return opened[-1]

    yield open_one
    for one in opened:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(one.pid, signal.SIGKILL)
            os.waitpid(one.pid, 0)
        os.close(one.fd)


def test_in_a_terminal_it_greets_answers_explains_itself_survives_mistakes_and_leaves_on_ctrl_d(terminal):
    screen = terminal("demo", "--at", "2026-03-31T12:00:00Z")
    assert "not a language model" in screen.wait_for("Ctrl-D leaves.")

    def say(keys: str, *answers: str) -> None:
        screen.wait_for("you ›")
        screen.type(keys)
        for words in answers:
            screen.wait_for(words)

    say("cancel order 12345\r", "agent › Just to confirm")
    say("half a mess\x03")  # Ctrl-C drops the line, it does not leave
    say("/nonsense\r", "There is no command /nonsense. Type /help for the list.")
    say("/mode nonsense\r", "'nonsense' is not a mode.")
    say("/help\r", "leave (so does Ctrl-D)")
    say("/debug\r")
    say("yes\r", "CONFIRMED_BY_USER", "agent › Order 12345 has been cancelled.")
    say("/tenant shop-ru\r", "Сокол и котелок")
    screen.wait_for("you ›")
    screen.type("\x04")
    assert screen.ended() == 0
    assert "Traceback" not in screen.seen
