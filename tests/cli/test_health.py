"""`circumspect health` says by its exit code what the server says by its status."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.server.house import House

from circumspect.cli import cli


def ask(*arguments: str) -> tuple[int, dict[str, object]]:
    done = CliRunner().invoke(cli, ["health", "--json", *arguments])
    return done.exit_code, json.loads(done.stdout)


def test_a_server_without_its_database_is_alive_and_not_ready(tmp_path: Path) -> None:
    with House(f"sqlite:///{tmp_path}/c.db") as house:
        port = house.url.rpartition(":")[2]
        assert ask("--port", port) == (0, {"status": "ok"})
        code, said = ask("--ready", "--port", port)
        assert (code, said["status"]) == (0, "ready")
        (tmp_path / "c.db").unlink()
        code, said = ask("--ready", "--port", port)
        assert (code, said["status"]) == (1, "not_ready")
        assert ask("--port", port)[0] == 0


def test_nobody_there_is_not_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("CIRCUMSPECT_PORT", str(free.getsockname()[1]))
        code, said = ask()
    assert (code, said["status"]) == (1, "not_reached")


def test_what_is_no_server_of_ours_is_not_alive() -> None:
    """It listens and never answers; the check does not wait for ever."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        code, said = ask("--port", str(silent.getsockname()[1]))
    assert (code, said["status"]) == (1, "not_reached")
