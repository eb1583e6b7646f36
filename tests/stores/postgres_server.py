"""A PostgreSQL server of our own: a fresh cluster in a temporary folder, on a Unix socket, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE

PORT = 5432  # names the socket; nothing listens on the network


class NoPostgres(Exception):
    """Why there is none."""


def programs() -> Path:
    """The folder with initdb and pg_ctl. Debian keeps it off the PATH, one for each version."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -int(path.parent.name))
    folders += [Path("/opt/homebrew/opt/postgresql/bin"), Path("/usr/pgsql/bin")]
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    raise NoPostgres("initdb and pg_ctl are not installed; run `make services`")


class Server:
    def __init__(self, folder: Path) -> None:
        self._bin, self.folder, self._address = programs(), folder, ""
        self._data = folder / "data"
        # PostgreSQL refuses to run as root.
        self._as = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self._as:
            try:
                owner = pwd.getpwnam("postgres")
            except KeyError:
                raise NoPostgres("tests run as root and there is no user 'postgres' to run the server as") from None
            os.chown(folder, owner.pw_uid, owner.pw_gid)

    def listen(self, address: str, network: str) -> None:
        """On the network as well, from the next start on, for whoever is in it."""
        self._address = address
        with (self._data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {network} trust\n")

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}&port={PORT}"

    def start(self) -> None:
        # fsync is for power cuts; what the tests kill are processes.
        options = f"-k {self.folder} -p {PORT} -c listen_addresses={self._address} -c max_connections=200 -c fsync=off"
        self._run(
            "pg_ctl",
            "-D",
            str(self._data),
            "-o",
            options,
            "-l",
            str(self.folder / "log"),
            "-t",
            str(round(PATIENCE)),
            "-w",
            "start",
        )

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", str(self._data), "-m", mode, "-w", "stop")

    def create(self) -> None:
        self._run("initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")

    def sql(self, statement: str, database: str = "postgres") -> None:
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement)

    def _run(self, program: str, *arguments: str) -> None:
        # Not captured by pipe: the server inherits it, and would keep us waiting for its end.
        log = self.folder / "commands"
        with log.open("w") as output:
            done = subprocess.run(
                [*self._as, str(self._bin / program), *arguments],
                stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=self.folder, timeout=PATIENCE + 60,
            )  # fmt: skip
        if done.returncode:
            raise NoPostgres(f"{program} failed: {log.read_text()[-500:]}")


@contextmanager
def running() -> Iterator[Server]:
    # Not pytest's folder: the server's user could not enter it, and socket paths may have 107 characters at most.
    folder = Path(tempfile.mkdtemp(prefix="circumspect-pg-"))
    server = Server(folder)
    try:
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
