"""A real CalDAV server: Radicale in a process of its own, on a free port, with one user and one calendar."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from tests.patience import PATIENCE, wait_until

USER, PASSWORD = "office", "correct horse"
MAKE_CALENDAR = """<?xml version="1.0"?><C:mkcalendar xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:set><D:prop>
<D:displayname>Office</D:displayname></D:prop></D:set></C:mkcalendar>"""


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The address of a fresh calendar."""
    (folder / "users").write_text(f"{USER}:{PASSWORD}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            sys.executable, "-m", "radicale", "--config", "", "--server-hosts", f"127.0.0.1:{port}",
            "--auth-type", "htpasswd", "--auth-htpasswd-filename", str(folder / "users"),
            "--auth-htpasswd-encryption", "plain", "--auth-delay", "0",
            "--storage-filesystem-folder", str(folder / "collections"), "--logging-level", "error",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait(port, process)
        url = f"http://127.0.0.1:{port}/{USER}/calendar/"
        made = httpx2.request("MKCALENDAR", url, content=MAKE_CALENDAR, auth=(USER, PASSWORD), timeout=PATIENCE)
        made.raise_for_status()
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    def listens() -> bool:
        assert process.poll() is None, f"radicale ended with {process.returncode}"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_until(listens, pause=0.05)
