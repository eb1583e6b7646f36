"""`circumspect serve` as a process: what it prints, what it survives, how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import httpx
import psutil
import pytest
from tests.patience import PATIENCE, wait_until
from tests.server.house import METRICS

COMMAND = [sys.executable, "-m", "circumspect", "serve"]


@contextmanager
def serving(folder: Path, *options: str, **surroundings: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The process, its address, and what it printed before it was ready."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CIRCUMSPECT_")}
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env={**clean, **surroundings},
        start_new_session=True,
    )  # fmt: skip
    printed = ""
    try:
        assert process.stdout
        for line in process.stdout:
            printed += line
            if line.startswith("Press Ctrl-C"):
                break
        found = re.search(r"listens on (http://\S+)", printed)
        assert found, printed + (process.stderr.read() if process.stderr else "")
        ready(found[1])
        yield process, found[1], printed
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def ready(url: str) -> None:
    def is_ready() -> bool:
        with suppress(httpx.HTTPError):
            return httpx.get(f"{url}/readyz", trust_env=False, verify=False, timeout=PATIENCE).status_code == 200
        return False

    wait_until(is_ready, pause=0.1)


def test_the_demo_prints_a_line_that_works_and_keeps_its_key(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo") as (process, _, printed):
        key = tmp_path / ".circumspect" / "demo.key"
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert key.read_text().strip() in printed
        assert "offline demo model" in printed
        line = printed[printed.index("  curl") :].split("\n\n")[0]
        said = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=PATIENCE)
        assert '"outcome":"asked"' in said.stdout, said
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert out.strip().endswith("Stopped.")
        assert process.returncode == 0
        assert "Traceback" not in err
    with serving(tmp_path, "--demo") as (_, _, again):
        assert key.read_text().strip() in again


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of open files")
def test_idle_connections_are_not_too_many_for_a_shells_limit_of_open_files() -> None:
    """Of 256 that a shell begins with, a server would have none left for the 256th client, nor for its database."""
    said = "import resource as r; from circumspect.cli.serve import raise_file_limit as go; go(); print(*r.getrlimit(r.RLIMIT_NOFILE))"
    limited = ["bash", "-c", 'ulimit -Sn 256 && ulimit -Hn 4096 && exec "$@"', "bash", sys.executable, "-c", said]
    done = subprocess.run(limited, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.split() == ["4096", "4096"], done.stderr
    refused = [*limited[:2], 'ulimit -n 256 && exec "$@"', *limited[3:]]
    done = subprocess.run(refused, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.split() == ["256", "256"], "what the system does not allow stays as it is"


def test_a_busy_port_is_one_message(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*COMMAND, "--port", port], capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE
        )
    assert done.returncode == 2
    assert f"Cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "nobody:knows"], "nobody"),
        (["--database", "mysql://x/y"], "mysql"),
        (["--database", "postgresql://nobody@127.0.0.1:1/x"], "cannot be reached"),
        (["--config", "missing.toml"], "missing.toml"),
        (["--host", "no.such.host.invalid"], "no.such.host.invalid"),
    ],
)
def test_a_wrong_setting_is_one_message_before_anything_starts(tmp_path: Path, options: list[str], words: str) -> None:
    done = subprocess.run(
        [*COMMAND, "--port", "0", *options],
        capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"CIRCUMSPECT_LOG_WEBHOOK": "https://x.example"}, "CIRCUMSPECT_LOG_WEBHOOK_SECRET"),
        ({"CIRCUMSPECT_SEARCH": "google"}, "There is no search of that name"),
    ],
)
def test_the_doctor_and_the_server_find_the_same_settings_wrong(
    tmp_path: Path, variables: dict[str, str], words: str
) -> None:
    doctor = [COMMAND[0], *COMMAND[1 : COMMAND.index("serve")], "doctor"]
    for command, code in (([*COMMAND, "--port", "0"], 2), ([*doctor, "--port", "0"], 1)):
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE, env={**os.environ, **variables}
        )
        assert done.returncode == code, done.stderr
        assert words in done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr


def test_what_is_found_wrong_only_as_a_server_starts_is_one_line_with_what_to_do(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "--port", "0"], capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE,
        env={**os.environ, "CIRCUMSPECT_PUBLIC_URL": "https://agent.example.org/v1"},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "public_url" in done.stderr
    assert all(len(line) < 600 for line in done.stderr.splitlines())


def test_a_worker_that_is_killed_is_started_again_and_counts_go_on(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo", "--workers", "2", CIRCUMSPECT_METRICS_TOKEN=METRICS) as (process, url, _):
        key = (tmp_path / ".circumspect" / "demo.key").read_text().strip()
        headers = {"Authorization": f"Bearer {key}"}
        client = httpx.Client(base_url=url, headers=headers, trust_env=False, verify=False, timeout=PATIENCE)

        numbers = count()

        def workers() -> set[int]:
            found = set()
            for one in psutil.Process(process.pid).children():
                with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                    if "spawn_main" in " ".join(one.cmdline()):
                        found.add(one.pid)
            return found

        def say(number: int) -> None:
            for _ in range(number):
                # A connection of its own each time: the kernel deals them out to both workers. A conversation, too:
                # whoever hears the same three times is handed to a person.
                client.post("/v1/conversations", json={"id": (talk := f"talk-{next(numbers)}")}).raise_for_status()
                answer = httpx.post(
                    f"{url}/v1/conversations/{talk}/messages",
                    json={"content": "what are your opening hours?"},
                    headers=headers,
                    trust_env=False,
                    verify=False,
                    timeout=PATIENCE,
                )
                assert answer.status_code == 200, answer.text

        def counted() -> float:
            text = client.get("/metrics", headers={"Authorization": f"Bearer {METRICS}"}).text
            found = re.findall(r'^circumspect_turns_total\{.*outcome="answered".*\} (\S+)$', text, re.M)
            return sum(map(float, found))

        say(6)
        assert {counted() for _ in range(4)} == {6}
        before = workers()
        assert len(before) == 2
        victim = min(before)
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: len(workers() - {victim}) == 2, pause=0.1)
        ready(url)
        say(6)
        assert counted() == 12
        client.close()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        assert f"[{victim}] died" in err
        assert "Traceback" not in err
